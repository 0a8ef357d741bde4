//! The distribution's chromium, without a window, with a profile of its own, in which a name was bent to this host.
//!
//! Invariant: every browser that is started here is ended here, with all its processes.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use super::EVIL;
use super::rebinder::PLACE;
use crate::harness::program::{self, PATIENCE, until};

/// What it may be called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// Where it lies where it is not on PATH.
const PLACES: [&str; 3] = ["/usr/bin", "/usr/lib/chromium", "/snap/bin"];

pub(super) struct Browser(PathBuf);

impl Browser {
    /// The browser of this host, if there is one.
    pub(super) fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(PLACES.iter().map(PathBuf::from));
        let all: Vec<PathBuf> = places.collect();
        NAMES
            .iter()
            .flat_map(|name| all.iter().map(move |place| place.join(name)))
            .find(|file| file.is_file())
            .map(Self)
    }

    pub(super) fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn command(&self, profile: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.arg(format!(
            "--host-resolver-rules=MAP {EVIL} {PLACE}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost"
        ));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command
    }

    /// What a page looks like when it is loaded.
    pub(super) fn page(&self, profile: &Path, address: &str) -> Result<String> {
        let dump = profile.with_extension("html");
        let mut command = self.command(profile);
        command.args(["--dump-dom", "--timeout=5000", address]).stdout(std::fs::File::create(&dump)?);
        let mut visit = Visit(program::start(command)?);
        let ended = until(PATIENCE, || visit.0.try_wait().transpose())?;
        if ended.is_none() {
            bail!("the browser did not show {address}");
        }
        std::fs::read_to_string(&dump).context("nothing was shown")
    }

    /// Opens a page and leaves it open.
    pub(super) fn visit(&self, profile: &Path, address: &str) -> Result<Visit> {
        let mut command = self.command(profile);
        command.args(["--remote-debugging-port=0", address]);
        Ok(Visit(program::start(command)?))
    }
}

/// A browser that is open; it ends with this.
pub(super) struct Visit(Child);

impl Drop for Visit {
    fn drop(&mut self) {
        // It leads a group of its own, which may be gone already.
        if let Some(group) = Pid::from_raw(self.0.id().cast_signed()) {
            kill_process_group(group, Signal::KILL).ok();
        }
        drop(self.0.wait());
    }
}
