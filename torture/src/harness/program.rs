//! The real program on one store: how it is started, what it says, and what is left of it on the host.
//!
//! Invariant: it is the program that lies beside the driver, built with it, so a removed safeguard reaches it through
//! its environment. Every process it leads to carries a token in its environment or its arguments, and only such a
//! process is ever signalled. Deliberately absent: what its answers mean.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_engine::mutant;
use callboard_supervisor::process::{self, Sent};
use serde_json::Value;

use crate::harness::driver::{Plan, Tally};
use crate::harness::scene::{self, Scene};

/// The variable that carries a token.
pub(crate) const TOKEN: &str = "CALLBOARD_TORTURE";
/// The longest that anything is waited for. On a machine that is kept busy on purpose, a process that holds a store has been seen
/// without a processor for a minute.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

const KILL: i32 = 9;

/// The program, and the store it works on.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    program: PathBuf,
    store: PathBuf,
    mutant: Option<String>,
}

impl Board {
    pub(crate) fn new(store: &Path, plan: &Plan) -> Result<Self> {
        let driver = std::env::current_exe().context("the driver does not find itself")?;
        let program = driver.with_file_name("callboard");
        if !program.is_file() {
            bail!("there is no {}; `cargo xtask torture` builds it", program.display());
        }
        Ok(Self { program, store: store.to_owned(), mutant: plan.mutant.clone() })
    }

    /// Where the program lies.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The program with these arguments, in an environment that names its store and nothing of ours.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("CALLBOARD_STORE", &self.store).stdin(Stdio::null());
        command.env_remove(process::MARKER_VARIABLE).env_remove(mutant::VARIABLE);
        if let Some(safeguard) = &self.mutant {
            command.env(mutant::VARIABLE, safeguard);
        }
        command
    }

    /// What it wrote, if it ended well.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).output().context("failed to start the program")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("callboard {} ended with {}: {said}", arguments.join(" "), output.status);
        }
        String::from_utf8(output.stdout).context("it wrote something that is no text")
    }

    /// The one document it wrote.
    pub(crate) fn json(&self, arguments: &[&str]) -> Result<Value> {
        serde_json::from_str(&self.ask(arguments)?).context("it wrote something that is no JSON")
    }

    /// The records of the log, one a line.
    pub(crate) fn events(&self) -> Result<Vec<String>> {
        Ok(self.ask(&["events", "--json"])?.lines().map(str::to_owned).collect())
    }

    /// Ends everybody who carries the token, and what is recorded of them: what a removed safeguard leaves behind must not
    /// outlive the torture.
    pub(crate) fn sweep(&self, token: &str) -> Result<()> {
        until(PATIENCE, || {
            let holders = holders(token);
            // One that cannot be killed is met again in the next round.
            holders.iter().for_each(|holder| drop(holder.kill(token)));
            holders.is_empty().then_some(())
        })?;
        if !self.store.exists() {
            return Ok(());
        }
        let whole = Self { mutant: None, ..self.clone() };
        whole.ask(&["reap"])?;
        let ids = whole.events()?.iter().map(|record| entity(record)).collect::<Result<Vec<_>>>()?;
        for group in groups(&ids) {
            // One that is inside of another is removed with the next look, if ever there is one.
            drop(std::fs::remove_dir(group));
        }
        Ok(())
    }

    /// The processes with this token that are this program.
    pub(crate) fn supervisors(&self, token: &str) -> Vec<Holder> {
        let program = std::fs::canonicalize(&self.program).unwrap_or_else(|_| self.program.clone());
        let exe = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        holders(token).into_iter().filter(|holder| exe(holder.pid).as_ref() == Some(&program)).collect()
    }
}

/// Starts a program whose life is a matter of the torture.
#[expect(clippy::disallowed_methods, reason = "the driver starts the program in order to kill it")]
pub(crate) fn start(mut command: Command) -> Result<Child> {
    command.spawn().with_context(|| format!("failed to start {command:?}"))
}

/// Waits for a process of ours; one that does not end within the patience is killed, and that is an error.
pub(crate) fn wait(child: &mut Child, what: &str) -> Result<ExitStatus> {
    let ended = until(PATIENCE, || child.try_wait().transpose())?;
    match ended {
        Some(status) => Ok(status?),
        None => {
            // It may end in this very moment, which changes nothing.
            drop(child.kill());
            drop(child.wait());
            bail!("{what} did not end within {} s", PATIENCE.as_secs())
        }
    }
}

/// Asks again and again, until there is an answer or the time is over.
pub(crate) fn until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Result<Option<T>> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return Ok(Some(answer));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that carries a token.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    /// Its arguments, or what stands for them.
    pub(crate) words: String,
}

impl Holder {
    /// Has it ended?
    pub(crate) fn is_gone(&self) -> bool {
        !is_alive(self.pid)
    }

    /// Kills it, if it is still the one that carries the token; was it there?
    pub(crate) fn kill(&self, token: &str) -> Result<bool> {
        let Some(identity) = process::of(self.pid)? else { return Ok(false) };
        if !carries(self.pid, token) {
            return Ok(false);
        }
        Ok(process::signal(&identity, KILL)? == Sent::Delivered)
    }
}

/// The entity a record is about.
pub(crate) fn entity(record: &str) -> Result<String> {
    let record: Value = serde_json::from_str(record).context("a record that is no JSON")?;
    Ok(record["entity"]["id"].as_str().context("a record without an id")?.to_owned())
}

/// Everybody who carries the token in the environment or in the arguments and has not ended.
pub(crate) fn holders(token: &str) -> Vec<Holder> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && carries(*pid, token) && is_alive(*pid))
        .map(|pid| Holder { pid, words: words(pid) })
        .collect()
}

fn carries(pid: u32, token: &str) -> bool {
    ["environ", "cmdline"].iter().any(|file| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.windows(token.len()).any(|window| window == token.as_bytes())
    })
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X' | 'x'))
}

fn words(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

/// Plays with the real program on a scene of its own; whoever is left of it is ended.
pub(crate) fn play(plan: &Plan, play: impl FnOnce(&Board, &Scene, &mut Tally) -> Result<()>) -> Tally {
    scene::play(plan, |scene, tally| {
        let board = Board::new(&scene.store(), plan)?;
        let outcome = play(&board, scene, tally);
        board.sweep(&scene.path().display().to_string())?;
        outcome
    })
}

/// The control groups of these runs, and of what belongs to them.
pub(crate) fn groups(ids: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(PathBuf::from("/sys/fs/cgroup"), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if ids.iter().any(|id| name.starts_with(&format!("callboard-{id}"))) {
                found.push(entry.path());
            }
            if depth < GROUP_DEPTH {
                waiting.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

/// How deep groups are looked for.
const GROUP_DEPTH: usize = 8;
