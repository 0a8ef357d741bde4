//! Job queues beside the board: what others call a job that is added, taken and finished.
//!
//! Invariant: a queue is installed into a directory of its own, is used by its documented calls, and syncs before it answers. One that
//! does not install is left out with a word. A job of theirs is not a task of ours: ours also has a worker, a turn, reasons and
//! a log. Deliberately absent: queues in memory.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::run::Lap;
use crate::python::install;

/// A queue in Python that is installed.
pub(super) struct Queue {
    python: PathBuf,
}

/// How long a queue works at a time.
const SECONDS: &str = "1";
const PACKAGES: [&str; 2] = ["procrastinate", "psycopg[binary,pool]"];
const PROGRAM: &str = include_str!("../../peers/procrastinate_jobs.py");

impl Queue {
    pub(super) const NAME: &str = "procrastinate";

    /// Installs it.
    pub(super) fn install(directory: &Path) -> Result<Self, String> {
        let python = install(&directory.join(Self::NAME), &PACKAGES)?;
        Ok(Self { python })
    }

    /// Lets it work on a database. The first lap makes its tables, with as many finished jobs in them.
    pub(super) fn lap(&self, url: &str, workers: u64, behind: u64) -> Result<Lap, Box<dyn Error>> {
        let output = Command::new(&self.python)
            .args(["-W", "ignore", "-c", PROGRAM, url])
            .args([workers.to_string(), SECONDS.to_owned(), behind.to_string()])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rate, p50, p99] = numbers[..] else {
            let problem = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} does not run: {}", Self::NAME, problem.trim()).into());
        };
        Ok(Lap { rate, p50: Duration::from_secs_f64(p50), p99: Duration::from_secs_f64(p99) })
    }
}
