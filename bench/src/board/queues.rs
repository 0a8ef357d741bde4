//! Job queues beside the board: what others call a job that is added, taken and finished.
//!
//! Invariant: a queue is installed or built into a directory of its own, is used by its documented calls, and syncs before it answers. One
//! that does not install is left out with a word. A job of theirs is not a task of ours: ours also has a worker, a turn, reasons and
//! a log. Deliberately absent: queues in memory.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::histories::Engine;
use super::run::Lap;
use crate::python::install;

/// A queue that is installed: a program that works for a lap and prints what it did.
pub(super) struct Queue {
    pub(super) name: &'static str,
    program: PathBuf,
    /// What stands before the place, the workers, the seconds and the jobs behind.
    arguments: Vec<&'static str>,
    is_for_files: bool,
}

/// How long a queue works at a time.
const SECONDS: &str = "1";
const PROCRASTINATE: &str = "procrastinate";
const PACKAGES: [&str; 2] = ["procrastinate", "psycopg[binary,pool]"];
const PROGRAM: &str = include_str!("../../peers/procrastinate_jobs.py");
const APALIS: &str = "apalis";

/// The queues that install here; the others are told of.
pub(super) fn all(directory: &Path) -> Vec<Queue> {
    let made = [(APALIS, apalis(&directory.join(APALIS))), (PROCRASTINATE, procrastinate(directory))];
    let mut queues = Vec::new();
    for (name, queue) in made {
        match queue {
            Ok(queue) => queues.push(queue),
            Err(problem) => println!("{name}: does not install here: {problem}"),
        }
    }
    queues
}

fn procrastinate(directory: &Path) -> Result<Queue, String> {
    let program = install(&directory.join(PROCRASTINATE), &PACKAGES)?;
    let arguments = vec!["-W", "ignore", "-c", PROGRAM];
    Ok(Queue { name: PROCRASTINATE, program, arguments, is_for_files: false })
}

/// A crate of a workspace of its own, which links another SQLite than ours.
fn apalis(target: &Path) -> Result<Queue, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/apalis/Cargo.toml");
    let output = Command::new("cargo")
        .args(["build", "--release", "--locked", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(target)
        .output()
        .map_err(|error| error.to_string())?;
    let problem = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(problem.lines().last().unwrap_or("it does not say why").to_owned());
    }
    let program = target.join("release/apalis-jobs");
    Ok(Queue { name: APALIS, program, arguments: Vec::new(), is_for_files: true })
}

impl Queue {
    /// Does it work on this engine?
    pub(super) const fn is_for(&self, engine: &Engine<'_>) -> bool {
        match engine {
            Engine::Sqlite(_) => self.is_for_files,
            Engine::Postgres(_) => true,
        }
    }

    /// Lets it work in a file or a database. The first lap makes its tables, with as many finished jobs in them.
    pub(super) fn lap(&self, place: &str, workers: u64, behind: u64) -> Result<Lap, Box<dyn Error>> {
        let output = Command::new(&self.program)
            .args(&self.arguments)
            .args([place, &workers.to_string(), SECONDS, &behind.to_string()])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rate, p50, p99] = numbers[..] else {
            let problem = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} does not run: {}", self.name, problem.trim()).into());
        };
        Ok(Lap { rate, p50: Duration::from_secs_f64(p50), p99: Duration::from_secs_f64(p99) })
    }
}
