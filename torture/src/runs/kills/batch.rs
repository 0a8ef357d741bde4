//! Some runs on one store at once: each is started, hit at its moment and raced for, while somebody reads the log and a
//! reaper goes round.
//!
//! Invariant: when this is over, every process that was started here has ended, and what was seen is in the history.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use callboard_kernel::{Create, EntityId, Facts, Order, Value};
use callboard_ledger::Ledger;
use callboard_lifecycle::session::SessionState;
use callboard_supervisor::process::{self, Identity};

use super::cast::{CONTRACT, Moment, Part, Rival};
use crate::harness::commands::{request, session};
use crate::harness::dice::Dice;
use crate::harness::program::{Board, PATIENCE, TOKEN, entity, start, until, wait};

/// Between two rounds of the reaper that goes round while the runs go on.
const ROUND: Duration = Duration::from_millis(150);
/// How long a moment is waited for; then it is as good as any.
const MOMENT: Duration = Duration::from_secs(20);
const SIGKILL: i32 = 9;

/// Runs that are to be played.
pub(super) struct Batch<'a> {
    board: &'a Board,
    place: &'a Path,
    parts: Vec<Part>,
    stranger: Stranger,
}

/// What was done and seen.
#[derive(Debug)]
pub(super) struct History {
    pub(super) runs: Vec<Run>,
    /// The records somebody saw while the runs went on.
    pub(super) seen: Vec<String>,
    /// The run whose supervisor's pid belongs to somebody else.
    pub(super) misnamed: EntityId,
    pub(super) stranger_lives: bool,
    /// The run that was left alone until every reaper was done, and then stopped.
    pub(super) bystander: String,
}

/// One run, as its torturer saw it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) part: Part,
    /// KILL was sent while the supervisor was there.
    pub(super) is_hit: bool,
    /// The exit code of a supervisor that was waited for and ended by itself.
    pub(super) code: Option<i32>,
}

impl<'a> Batch<'a> {
    pub(super) fn cast(
        board: &'a Board,
        place: &'a Path,
        numbers: std::ops::Range<u64>,
        dice: &mut Dice,
    ) -> Result<Self> {
        let stranger = Stranger::come()?;
        stranger.misname(&place.join("ledger.db"))?;
        let can_hide = has_groups(board)?;
        let parts = numbers.map(|number| Part::draw(number, can_hide, dice)).collect();
        Ok(Self { board, place, parts, stranger })
    }

    /// Plays all of them and reaps twice at once.
    pub(super) fn play(self) -> Result<History> {
        let Self { board, place, parts, mut stranger } = self;
        let bystander = bystand(board)?;
        let is_over = AtomicBool::new(false);
        let (runs, seen) = std::thread::scope(|scope| {
            let reading = scope.spawn(|| read_along(board, &is_over));
            let reaping = scope.spawn(|| go_round(board, &is_over));
            let playing: Vec<_> =
                parts.into_iter().map(|part| scope.spawn(|| play(board, place, part))).collect();
            let runs: Vec<Result<Run>> = playing.into_iter().map(joined).collect();
            is_over.store(true, Ordering::SeqCst);
            joined(reaping)?;
            let seen = joined(reading)?;
            Ok::<_, anyhow::Error>((runs.into_iter().collect::<Result<Vec<_>>>()?, seen))
        })?;
        std::thread::scope(|scope| {
            let both = [0, 1].map(|_| scope.spawn(|| board.ask(&["reap"])));
            both.into_iter().try_for_each(|reaping| joined(reaping).map(drop))
        })?;
        board.ask(&["stop", &bystander])?;
        let stranger_lives = stranger.lives();
        Ok(History { runs, seen, misnamed: stranger.run, stranger_lives, bystander })
    }
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads the log again and again; what was there stays there.
fn read_along(board: &Board, is_over: &AtomicBool) -> Result<Vec<String>> {
    let mut seen = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let records = board.events()?;
        if !records.starts_with(&seen) {
            bail!("the log does not begin as it did before: {} records were seen", seen.len());
        }
        seen = records;
    }
    Ok(seen)
}

fn go_round(board: &Board, is_over: &AtomicBool) -> Result<()> {
    while !is_over.load(Ordering::SeqCst) {
        board.ask(&["reap"])?;
        std::thread::sleep(ROUND);
    }
    Ok(())
}

fn play(board: &Board, place: &Path, part: Part) -> Result<Run> {
    let place = place.join(&part.token);
    std::fs::create_dir(&place).context("failed to make a directory for a run")?;
    std::fs::write(place.join("contract.yaml"), CONTRACT)?;
    let script = format!(": > there; {}\n: > bye", part.act.script);
    let mut options = vec!["run", "--quiet", "--title", &part.token];
    options.extend(part.act.options);
    options.extend(part.is_detached.then_some("--detach"));
    options.extend(["--", "sh", "-c", &script]);
    let mut command = board.command(&options);
    command.current_dir(&place).env(TOKEN, &part.token).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = start(command)?;
    let is_hit = strike(board, &place, &part, &mut child);
    let what = format!("the supervisor of {}", part.token);
    let status = wait(&mut child, &what)?;
    let is_hit = is_hit? && (part.is_detached || status.signal() == Some(SIGKILL));
    if part.is_detached {
        // The shim is nobody's child here; whoever is not hit ends by itself.
        until(PATIENCE, || (!is_supervised(board, &part)).then_some(()))?.context(what)?;
    }
    let code = status.code().filter(|_| !part.is_detached);
    Ok(Run { part, is_hit, code })
}

/// Waits for the moment, lets the rival go and kills the supervisor.
fn strike(board: &Board, place: &Path, part: &Part, child: &mut Child) -> Result<bool> {
    await_moment(board, place, part, child)?;
    let rival = match part.rival {
        Rival::Nobody => None,
        Rival::Waiter => rival(board, part, &["wait", "--timeout", "20s"])?,
        Rival::Stopper => rival(board, part, &["stop", "--timeout", "20s"])?,
    };
    let is_hit = match part.moment {
        Moment::Never => false,
        Moment::Early { .. } | Moment::Forked | Moment::Running { .. } | Moment::Ending { .. } => {
            hit(board, part, child)?
        }
    };
    if let Some(mut rival) = rival {
        // How it ends is how the run ended, or a refusal; that it ends is what matters here.
        wait(&mut rival, "a rival")?;
    }
    Ok(is_hit)
}

fn await_moment(board: &Board, place: &Path, part: &Part, child: &mut Child) -> Result<()> {
    let file = |name: &str| place.join(name).exists();
    let (micros, patience) = match part.moment {
        Moment::Early { micros } => (micros, Duration::ZERO),
        Moment::Forked | Moment::Never => (0, MOMENT),
        Moment::Running { micros } | Moment::Ending { micros } => (micros, MOMENT),
    };
    let is_over = |child: &mut Child| {
        child.try_wait().is_ok_and(|ended| ended.is_some())
            && !(part.is_detached && is_supervised(board, part))
    };
    let has_come = || match part.moment {
        Moment::Early { .. } | Moment::Never => true,
        Moment::Forked => {
            board.supervisors(&part.token).len() < crate::harness::program::holders(&part.token).len()
        }
        Moment::Running { .. } => file("there"),
        Moment::Ending { .. } if part.act.ends.is_none() || part.act.unsaid_ms.is_some() => file("there"),
        Moment::Ending { .. } => file("bye"),
    };
    until(patience, || (has_come() || is_over(child)).then_some(()))?;
    if matches!(part.moment, Moment::Ending { .. })
        && part.act.ends.is_none()
        && let Some(id) = id_of(board, part)?
    {
        // It may be ended by somebody else meanwhile.
        drop(board.ask(&["stop", "--no-wait", &id]));
    }
    // The instant of the kill is the fault itself, so this wait is not for anything.
    let unsaid = part.act.unsaid_ms.filter(|_| matches!(part.moment, Moment::Ending { .. }));
    std::thread::sleep(Duration::from_micros(micros + 1000 * unsaid.unwrap_or_default()));
    Ok(())
}

fn is_supervised(board: &Board, part: &Part) -> bool {
    !board.supervisors(&part.token).is_empty()
}

fn hit(board: &Board, part: &Part, child: &mut Child) -> Result<bool> {
    if !part.is_detached {
        return Ok(child.try_wait()?.is_none() && child.kill().is_ok());
    }
    let is_shim = |words: &str| words.contains(" shim ");
    let shim = until(MOMENT, || {
        let shim = board.supervisors(&part.token).into_iter().find(|holder| is_shim(&holder.words));
        match shim {
            Some(shim) => Some(Some(shim)),
            // Whoever was to start it has ended, so it has come and gone.
            None => child.try_wait().is_ok_and(|ended| ended.is_some()).then_some(None),
        }
    })?;
    shim.flatten().map_or(Ok(false), |shim| shim.kill(&part.token))
}

/// Somebody who wants the run's end too; nobody if it is not recorded.
fn rival(board: &Board, part: &Part, arguments: &[&str]) -> Result<Option<Child>> {
    let Some(id) = id_of(board, part)? else { return Ok(None) };
    let mut command = board.command(&[arguments, &[&id]].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    start(command).map(Some)
}

fn id_of(board: &Board, part: &Part) -> Result<Option<String>> {
    let records = board.events()?;
    let title = format!("\"title\":\"{}\"", part.token);
    let created = records.iter().find(|record| record.contains(&title));
    created.map(|record| entity(record)).transpose()
}

/// Starts a run in the background that nobody touches.
fn bystand(board: &Board) -> Result<String> {
    let mut command = board.command(&["run", "--detach", "--", "sleep", "600"]);
    command.env(TOKEN, format!("kills-{}-bystander", std::process::id())).stderr(Stdio::null());
    let output = command.output().context("failed to start the program")?;
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Does the program hold its runs in control groups here?
fn has_groups(board: &Board) -> Result<bool> {
    board.ask(&["run", "--quiet", "--", "true"])?;
    Ok(board.events()?.iter().any(|record| record.contains("\"rung\":\"cgroup\"")))
}

/// A process that has nothing to do with any run, and got the pid of a supervisor that is long dead.
struct Stranger {
    child: Child,
    identity: Identity,
    run: EntityId,
}

impl Stranger {
    fn come() -> Result<Self> {
        let mut command = std::process::Command::new("sleep");
        command.arg("600").stdin(Stdio::null());
        let child = start(command)?;
        let identity = process::of(child.id())?.context("the stranger is not there")?;
        Ok(Self { child, identity, run: session(u128::from(MISNAMED)) })
    }

    /// Records a run whose supervisor had this pid, earlier.
    fn misname(&self, store: &Path) -> Result<()> {
        let Identity { host, boot, pid, started_ticks, .. } = &self.identity;
        let supervisor = Facts::none()
            .with("pid", i64::from(*pid))
            .with("started_ticks", i64::try_from(started_ticks.saturating_sub(1_000))?);
        let data = Facts::none()
            .with("title", "misnamed")
            .with("host", host.as_str())
            .with("boot", boot.as_str())
            .with("supervisor", Value::Map(supervisor));
        let create = Create { at: SessionState::Pending.into(), reasons: Vec::new(), data };
        let ledger: Ledger = crate::harness::aftermath::open(store)?;
        ledger.append(request(self.run, 0, Order::Create(create)))?;
        Ok(())
    }

    fn lives(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // Both fail only for one that is gone already, and then that was noticed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const MISNAMED: u64 = 7;
