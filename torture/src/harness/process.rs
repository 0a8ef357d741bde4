//! Child processes that may be killed, and the acknowledgements they leave behind.
//!
//! Invariant: the one place of the driver that starts processes; each is a copy of the driver itself, and each is
//! waited for. An acknowledgement is one line, written at once, after the answer. Deliberately absent: signals to
//! anything that was not started here.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};
use callboard_ledger::{Receipt, mutant};

use crate::harness::driver::Plan;

/// A record that a child said is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// What else the child had to say of it.
    pub(crate) note: String,
}

impl Ack {
    /// Tells the parent; a parent that is gone ends the child.
    pub(crate) fn tell(receipt: &Receipt, note: &str) {
        say(&format!("{} {} {note}", receipt.record.seq, receipt.record.hash));
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        let seq = words.next()?.parse().ok()?;
        let hash = words.next()?.to_owned();
        Some(Self { seq, hash, note: words.next().unwrap_or_default().to_owned() })
    }
}

/// Writes one line to the parent, in one write.
pub(crate) fn say(line: &str) {
    if std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).is_err() {
        std::process::exit(GONE);
    }
}

/// The exit code of a child whose parent is gone.
const GONE: i32 = 3;

/// What a child said: acknowledgements, and lines that begin with `!` (trouble) or `#` (figures).
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) acks: Vec<Ack>,
    pub(crate) trouble: Vec<String>,
    pub(crate) figures: Vec<String>,
}

impl Said {
    /// Takes whole lines; the last one may be cut by the kill.
    pub(crate) fn take(&mut self, text: &str) {
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match (line.chars().next(), Ack::parse(line)) {
                (Some('#'), _) => self.figures.push(line[1..].trim().to_owned()),
                (Some('!'), _) => self.trouble.push(line[1..].trim().to_owned()),
                (_, Some(ack)) => self.acks.push(ack),
                (_, None) => self.trouble.push(format!("a line that says nothing: {line:?}")),
            }
        }
    }
}

/// How to start `child NAME …`.
pub(crate) fn child(torture: &str, store: &Path, arguments: &[String], plan: &Plan) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("the driver does not find itself")?);
    command.arg("child").arg(torture).arg(store).args(arguments).stdin(Stdio::null());
    if let Some(safeguard) = &plan.mutant {
        command.env(mutant::VARIABLE, safeguard);
    }
    Ok(command)
}

/// Runs a child to its end, or to the point where it ends itself.
pub(crate) fn run(mut command: Command) -> Result<(ExitStatus, Said)> {
    let output = command.output().context("failed to start a child")?;
    let mut said = Said::default();
    said.take(&String::from_utf8_lossy(&output.stdout));
    Ok((output.status, said))
}

/// A running child, ended at the latest when it is dropped.
pub(crate) struct Victim {
    child: Child,
    stdout: BufReader<ChildStdout>,
    said: Said,
}

impl Victim {
    #[expect(clippy::disallowed_methods, reason = "the driver starts copies of itself in order to kill them")]
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("failed to start a child")?;
        let stdout = child.stdout.take().context("a child without an output")?;
        Ok(Self { child, stdout: BufReader::new(stdout), said: Said::default() })
    }

    /// Waits for the first line, or for the end of the child.
    pub(crate) fn wait_for_a_line(&mut self) -> Result<()> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        self.said.take(&line);
        Ok(())
    }

    /// Kills the child where it is, and gives back everything it said.
    pub(crate) fn kill(mut self) -> Result<Said> {
        self.child.kill().context("failed to kill a child")?;
        self.end().map(|(_, said)| said)
    }

    /// Waits for the child to end by itself.
    pub(crate) fn end(&mut self) -> Result<(ExitStatus, Said)> {
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest)?;
        self.said.take(&String::from_utf8_lossy(&rest));
        let status = self.child.wait().context("failed to wait for a child")?;
        Ok((status, std::mem::take(&mut self.said)))
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Both fail only for a child that is gone already, which is what is wanted here.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
