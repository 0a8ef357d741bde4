//! The runs that things are done to.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callboard_supervisor::Identity;
use callboard_supervisor::process::{self, Sent};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::event::Event;
use crate::serve::wire::Wire;

/// Longer than a supervisor keeps the store open after its run began.
const REST: Duration = Duration::from_millis(1500);
const KILL: i32 = 9;
const CONT: i32 = 18;
const STOP: i32 = 19;

/// Where runs are started.
pub(super) struct Stage<'a> {
    pub(super) callboard: &'a Path,
    pub(super) store: &'a Path,
    pub(super) scratch: &'a Path,
}

/// A run that waits for a line in its own pipe and ends as the line says.
pub(super) struct Run {
    pub(super) id: String,
    pipe: File,
    supervisor: Identity,
    command: Identity,
    /// How it is shown before anything happens to it.
    pub(super) chain: String,
}

/// A pipe with a name that can be written without somebody who reads it.
pub(super) fn pipe(path: &Path) -> Result<File, Box<dyn Error>> {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    Ok(OpenOptions::new().read(true).write(true).open(path)?)
}

/// What waits for a line and exits with it.
pub(super) fn script(pipe: &Path) -> String {
    format!("read code < {}; exit $code", pipe.display())
}

impl Stage<'_> {
    /// The binary on the store.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.callboard);
        command
            .arg("--store")
            .arg(self.store)
            .args(words)
            .env_remove("CALLBOARD_STORE")
            .env_remove("CALLBOARD_RUN");
        command
    }

    fn say(&self, words: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = self.command(words).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// So many runs, all of them at rest, and stopped already if they are to be continued.
    pub(super) fn runs(&self, event: Event, count: usize) -> Result<Vec<Run>, Box<dyn Error>> {
        let mut begun = Vec::new();
        for number in 0..count {
            let path: PathBuf = self.scratch.join(format!("{event:?}-{number}-{}", begun.len()));
            drop(std::fs::remove_file(&path));
            let pipe = pipe(&path)?;
            begun.push((self.say(&["run", "--detach", "--", "sh", "-c", &script(&path)])?, pipe));
        }
        std::thread::sleep(REST);
        let mut runs = Vec::new();
        for (id, pipe) in begun {
            runs.push(self.run(event, id, pipe)?);
        }
        // What is to be taken back has to have been told on every surface before.
        std::thread::sleep(REST);
        Ok(runs)
    }

    fn run(&self, event: Event, id: String, pipe: File) -> Result<Run, Box<dyn Error>> {
        let view =
            || Ok::<Value, Box<dyn Error>>(serde_json::from_str(&self.say(&["inspect", &id, "--json"])?)?);
        let first = view()?;
        let of = |pid: &Value| -> Result<Identity, Box<dyn Error>> {
            let pid =
                pid.as_u64().and_then(|pid| u32::try_from(pid).ok()).ok_or("a run without a process")?;
            Ok(process::of(pid)?.ok_or("a process that is gone")?)
        };
        let (supervisor, command) = (of(&first["facts"]["supervisor"]["pid"])?, of(&first["pid"])?);
        let chain = |view: &Value| view["chain"].as_str().unwrap_or_default().to_owned();
        let mut run = Run { chain: chain(&first), id: id.clone(), pipe, supervisor, command };
        if event == Event::Continued {
            signal(&run.command, STOP)?;
            for _ in 0..500 {
                run.chain = chain(&view()?);
                if run.chain != chain(&first) {
                    return Ok(run);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            return Err("a stopped command is not told".into());
        }
        Ok(run)
    }
}

pub(super) fn signal(process: &Identity, number: i32) -> Result<(), Box<dyn Error>> {
    match process::signal(process, number)? {
        Sent::Delivered => Ok(()),
        Sent::Gone => Err("a process was gone before anything was done to it".into()),
    }
}

impl Run {
    /// Does it.
    pub(super) fn suffer(&mut self, event: Event, wire: &mut Wire) -> Result<(), Box<dyn Error>> {
        match event {
            Event::Exits => Ok(self.pipe.write_all(b"0\n")?),
            Event::Fails => Ok(self.pipe.write_all(b"3\n")?),
            Event::CommandKilled => signal(&self.command, KILL),
            Event::SupervisorKilled => signal(&self.supervisor, KILL),
            Event::BothKilled => signal(&self.supervisor, KILL).and_then(|()| signal(&self.command, KILL)),
            Event::StopAsked => wire.post(&format!("/api/v1/entities/{}/stop", self.id), "{}").map(drop),
            Event::Paused => signal(&self.command, STOP),
            Event::Continued => signal(&self.command, CONT),
        }
    }

    /// Lets it end, whatever was done to it.
    pub(super) fn end(&mut self) {
        // Who is gone needs nothing.
        drop(signal(&self.command, CONT));
        self.pipe.write_all(b"0\n").ok();
    }
}
