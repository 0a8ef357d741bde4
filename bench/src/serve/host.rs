//! The server process: started, waited for until it is ready, weighed, and ended.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::wire::Wire;

/// How long a server may take until it is ready.
const READY_MAX: Duration = Duration::from_secs(30);

/// A server that runs until this is dropped.
pub(crate) struct Host {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// The link that lets a browser in once.
    pub(super) login: String,
    /// From its start until it said that it is ready.
    pub(super) ready_after: Duration,
}

#[derive(Deserialize)]
struct Ready {
    url: String,
    login: String,
}

impl Host {
    /// Starts a server on a store and waits until `/readyz` says yes.
    #[expect(clippy::disallowed_methods, reason = "what is measured is a program, and it is ended here")]
    pub(crate) fn start(callboard: &Path, store: &Path) -> Result<Self, Box<dyn Error>> {
        let began = Instant::now();
        let mut child = Command::new(callboard)
            .arg("--store")
            .arg(store)
            .args(["serve", "--json", "--rate", "0", "--listen", "127.0.0.1:0"])
            .env_remove("CALLBOARD_STORE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let ready: Ready = serde_json::from_str(&line).map_err(|_| format!("no server: {line:?}"))?;
        let address = ready.url.trim_start_matches("http://").trim_end_matches('/').parse()?;
        let directory = store.parent().ok_or("the store is in no directory")?;
        let token = std::fs::read_to_string(directory.join("operator.token"))?.trim().to_owned();
        let mut host = Self { child, address, token, login: ready.login, ready_after: Duration::ZERO };
        while !host.is_ready() {
            if began.elapsed() > READY_MAX {
                return Err(format!("not ready after {READY_MAX:?}").into());
            }
        }
        host.ready_after = began.elapsed();
        Ok(host)
    }

    fn is_ready(&self) -> bool {
        self.wire().is_ok_and(|mut wire| wire.get("/readyz").is_ok())
    }

    pub(crate) fn wire(&self) -> std::io::Result<Wire> {
        Wire::open(self.address, &self.token)
    }

    /// Proportional memory, in bytes.
    pub(super) fn memory(&self) -> Result<f64, Box<dyn Error>> {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup.lines().find(|line| line.starts_with("Pss:")).ok_or("no Pss")?;
        let kib: f64 = line.split_ascii_whitespace().nth(1).ok_or("no Pss")?.parse()?;
        Ok(kib * 1024.0)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
