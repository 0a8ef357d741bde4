//! One situation being played: its run is started, its steps are done, and meanwhile the server is asked again and again.
//!
//! Invariant: every answer that comes while the run is alive is held against what may be said at that moment. A step that
//! cannot be done within the patience is an error. Deliberately absent: what the answers at the end have to be.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use callboard_kernel::health::Thresholds;
use callboard_supervisor::process;
use serde_json::Value;

use super::place::{Place, held};
use super::row::{Alive, Output, Row, Said, Start, Step, Way, Whom};
use super::start::{self, Seat};
use super::{judge, surfaces};
use crate::harness::program::{PATIENCE, wait};

/// The longest that anything is waited for. Without a safeguard something is waited for in vain, and not for long.
pub(crate) fn patience() -> Duration {
    if IS_MUTANT.load(Ordering::SeqCst) { PATIENCE / 30 } else { PATIENCE }
}

pub(crate) static IS_MUTANT: AtomicBool = AtomicBool::new(false);

/// Asks again and again, less often than other tortures do, because many situations wait side by side.
pub(crate) fn until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Result<Option<T>> {
    crate::harness::program::until(patience, || {
        let answer = ask();
        if answer.is_none() {
            std::thread::sleep(BETWEEN);
        }
        answer
    })
}

const BETWEEN: Duration = Duration::from_millis(15);
/// Between two looks at a run that is alive.
const LOOK: Duration = Duration::from_millis(60);
const KILL: i32 = 9;

/// A situation and everything that was started for it.
pub(crate) struct Play<'a> {
    pub(crate) place: &'a Place,
    pub(crate) row: &'a Row,
    /// A directory of its own.
    pub(crate) dir: PathBuf,
    /// The title of the run, which is in the environment of all its processes too.
    pub(crate) token: String,
    child: RefCell<Option<Child>>,
    seat: RefCell<Option<Seat>>,
    exit: Cell<Option<i32>>,
    /// The supervisor, once it was looked for.
    supervisor: Cell<Option<u32>>,
    watch: &'a Watched,
}

/// What the one who looks on shares with the one who acts.
pub(crate) struct Watched {
    began: Instant,
    allowed: Mutex<Alive>,
    false_words: Mutex<Vec<String>>,
    is_over: AtomicBool,
    /// The server is made to stand still, so nothing is asked.
    is_blind: AtomicBool,
}

/// Plays one situation, and says what did not hold.
pub(crate) fn play(place: &Place, row: &Row, number: usize) -> Result<Played> {
    // No token is the beginning of another one.
    let token = format!("{}{number:05}", place.prefix);
    let dir = place.path().join(format!("row-{number}"));
    std::fs::create_dir(&dir).context("failed to make a directory for a run")?;
    let watch = Watched {
        began: Instant::now(),
        allowed: Mutex::new(row.alive),
        false_words: Mutex::new(Vec::new()),
        is_over: AtomicBool::new(false),
        is_blind: AtomicBool::new(false),
    };
    let outcome = std::thread::scope(|scope| {
        let watching = scope.spawn(|| look_on(place, row, &token, &watch));
        let play = Play {
            place,
            row,
            dir: dir.clone(),
            token: token.clone(),
            child: RefCell::new(None),
            seat: RefCell::new(None),
            exit: Cell::new(None),
            supervisor: Cell::new(None),
            watch: &watch,
        };
        let outcome = play.act();
        watch.is_over.store(true, Ordering::SeqCst);
        watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        play.leave();
        outcome
    });
    let said = held(&watch.false_words);
    let told = outcome.and_then(|()| {
        ensure!(said.is_empty(), "false while it went on: {}", said.join("; "));
        Ok(())
    });
    match told {
        Err(error) if was_refused(&dir) => Ok(Played::Refused(error)),
        told => told.map(|()| Played::Held),
    }
}

/// How a situation went that was played to its end.
pub(crate) enum Played {
    Held,
    /// It did not hold, and the run was told that another process had the store for longer than it waits: it was not started,
    /// or its end was not recorded. That is another situation than the one that was meant.
    Refused(anyhow::Error),
}

fn was_refused(dir: &Path) -> bool {
    let told = std::fs::read_to_string(dir.join("stderr")).unwrap_or_default();
    told.contains("another writer holds the store")
}

/// Asks the server again and again while the situation is played.
fn look_on(place: &Place, row: &Row, token: &str, watch: &Watched) {
    let (mut known, mut earlier) = (0, *held(&watch.allowed));
    while row.start.is_some() && !watch.is_over.load(Ordering::SeqCst) {
        std::thread::sleep(LOOK);
        let Some(id) = place.id_of(token) else { continue };
        let before = *held(&watch.allowed);
        let (looks, count) = place.looks_at(&id, known);
        known = count;
        for look in looks {
            // It was told since the last round, when something else may have been true.
            if let (Err(error), Err(_)) =
                (may_be_said(&look, before, row, watch.began), may_be_said(&look, earlier, row, watch.began))
            {
                held(&watch.false_words).push(format!("on the feed: {error:#}"));
            }
        }
        earlier = before;
        let asked = !watch.is_blind.load(Ordering::SeqCst);
        let Some(view) = asked.then(|| surfaces::served(place, &id).ok()).flatten() else { continue };
        let after = *held(&watch.allowed);
        if let (Err(error), Err(_)) =
            (may_be_said(&view, before, row, watch.began), may_be_said(&view, after, row, watch.began))
        {
            let mut said = held(&watch.false_words);
            let error = format!("{error:#}");
            if said.len() < FALSE_WORDS_SHOWN && !said.contains(&error) {
                said.push(error);
            }
        }
    }
}

/// More would hide the first.
const FALSE_WORDS_SHOWN: usize = 3;

/// Is this view one of those that may be shown at this moment?
fn may_be_said(view: &Value, alive: Alive, row: &Row, began: Instant) -> Result<()> {
    let (chain, word) = (&view["chain"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
    let state = word(&view["state"]["lifecycle"]);
    if state == "pending" || state == "running" {
        let (health, phase) = (word(&view["state"]["health"]), word(&view["state"]["phase"]["name"]));
        let is_slow =
            state == "pending" && health == "stalled" && began.elapsed() > Thresholds::default().pending;
        ensure!(is_slow || alive.health.contains(&health.as_str()), "{chain} (health {health:?})");
        ensure!(phase.is_empty() || alive.phase.contains(&phase.as_str()), "{chain} (phase {phase:?})");
        return Ok(());
    }
    ensure!(alive.end, "{chain}, and it has not ended");
    match &row.end {
        Some(end) => judge::state(view, end),
        None => Ok(()),
    }
}

impl Play<'_> {
    fn act(&self) -> Result<()> {
        if let Some(before) = self.row.before {
            before(self).context("what has to be there before")?;
        }
        if let Some(start) = &self.row.start {
            self.start(start)?;
        }
        for (number, step) in self.row.steps.iter().enumerate() {
            self.step(step).with_context(|| format!("step {}", number + 1))?;
        }
        match &self.row.end {
            Some(end) => judge::end(self, end),
            None => Ok(()),
        }
    }

    fn start(&self, start: &Start) -> Result<()> {
        rustix::fs::mkfifoat(rustix::fs::CWD, self.dir.join("go"), rustix::fs::Mode::from_raw_mode(0o600))
            .context("failed to make a gate")?;
        let (child, seat) = start::start(self, start)?;
        *self.child.borrow_mut() = Some(child);
        *self.seat.borrow_mut() = seat;
        if start.way == Way::Detached {
            // It is told as soon as it is started; if it cannot be started, that is its exit code.
            let status = self.wait_for_child()?;
            self.exit.set((status != 0).then_some(status));
        }
        if start.is_gated {
            self.await_file("there")?;
        }
        Ok(())
    }

    /// The exit code of what was started, after its end; that of a signal is 128 and the signal.
    pub(crate) fn wait_for_child(&self) -> Result<i32> {
        use std::os::unix::process::ExitStatusExt;
        let mut child = self.child.borrow_mut();
        let child = child.as_mut().context("nothing was started")?;
        let status = wait(child, "what was started")?;
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
    }

    /// What a shell was told, once the run has ended; of a run in the background that is what `wait` is told.
    pub(crate) fn exit_code(&self, id: &str) -> Result<i32> {
        if let Some(exit) = self.exit.get() {
            return Ok(exit);
        }
        let waited = self.place.board.command(&["wait", "--timeout", "300s", id]).output()?;
        let waited = waited.status.code().context("wait was ended by a signal")?;
        if self.row.start.as_ref().is_some_and(|start| start.way != Way::Detached) {
            let own = self.wait_for_child()?;
            ensure!(own == waited, "run ended with {own}, wait with {waited}");
        }
        Ok(waited)
    }

    fn step(&self, step: &Step) -> Result<()> {
        match step {
            Step::Await(file) => self.await_file(file),
            Step::Go => self.go(),
            Step::Signal(whom, signal) => self.signal(*whom, *signal),
            Step::Ask(words) => self.ask(words).map(drop),
            Step::Type(keys) => {
                let seat = self.seat.borrow();
                let screen = &seat.as_ref().context("there is no terminal")?.screen;
                // A key that comes earlier is one of the terminal's own.
                let is_passed_on = || {
                    let modes = rustix::termios::tcgetattr(screen).ok()?;
                    (!modes.local_modes.contains(rustix::termios::LocalModes::ISIG)).then_some(())
                };
                until(patience(), is_passed_on)?.context("the keys are not passed on")?;
                Ok((&*screen).write_all(keys)?)
            }
            Step::HangUp => {
                drop(self.seat.borrow_mut().take());
                Ok(())
            }
            Step::Hold(time) => {
                std::thread::sleep(*time);
                Ok(())
            }
            Step::Say(said) => surfaces::until_said(self, said),
            Step::Only(alive) => {
                *held(&self.watch.allowed) = *alive;
                Ok(())
            }
            Step::AwaitSupervisorsEnd => self.await_supervisors_end(),
            Step::Do(act) => act(self),
        }
    }

    /// Asks callboard, with the id of the run in the place of `{}`.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<std::process::Output> {
        let id = self.id()?;
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "{}" { id.as_str() } else { *word }).collect();
        Ok(self.place.board.command(&words).output()?)
    }

    pub(crate) fn await_file(&self, name: &str) -> Result<()> {
        let path = self.dir.join(name);
        until(patience(), || path.exists().then_some(()))?
            .with_context(|| format!("the command made no {name}: {}", self.told()))
    }

    /// Lets the command go that waits at its gate.
    pub(crate) fn go(&self) -> Result<()> {
        let open = || {
            let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
            rustix::fs::open(self.dir.join("go"), flags, rustix::fs::Mode::empty()).ok()
        };
        let gate = until(patience(), open)?.context("nobody waits at the gate")?;
        File::from(gate).write_all(b"go\n").context("nobody came through the gate")
    }

    /// The id of the run.
    pub(crate) fn id(&self) -> Result<String> {
        self.id_titled(&self.token)
    }

    /// The id of a run with this title.
    pub(crate) fn id_titled(&self, title: &str) -> Result<String> {
        let id = until(patience(), || self.place.id_of(title))?;
        id.with_context(|| format!("the feed did not tell of a run called {title}: {}", self.told()))
    }

    /// What the run wrote for people, so that a failure can be understood.
    fn told(&self) -> String {
        std::fs::read_to_string(self.dir.join("stderr")).unwrap_or_default()
    }

    pub(crate) fn pid(&self, whom: Whom) -> Result<u32> {
        let in_file = |name: &str| -> Result<u32> {
            let path = self.dir.join(name);
            let read = || std::fs::read_to_string(&path).ok()?.trim().parse().ok();
            until(patience(), read)?.with_context(|| format!("no pid in {name}"))
        };
        match whom {
            Whom::Supervisor => {
                let all = self.place.board.supervisors(&self.token);
                // In the foreground or in the background.
                let is_supervisor = |words: &str| words.contains(" run ") || words.contains(" shim ");
                let run = all.iter().find(|holder| is_supervisor(&holder.words));
                let pid = run.with_context(|| format!("no supervisor among {all:?}"))?.pid;
                self.supervisor.set(Some(pid));
                Ok(pid)
            }
            Whom::Command => in_file("command"),
            Whom::Named(file) => in_file(file),
        }
    }

    pub(crate) fn signal(&self, whom: Whom, signal: i32) -> Result<()> {
        let pid = self.pid(whom)?;
        send(pid, signal)
    }

    /// A process that is about to go has lost its environment before it is gone, so it is known by its pid.
    fn await_supervisors_end(&self) -> Result<()> {
        let pid = self.supervisor.get().context("no supervisor was signalled")?;
        // The first thread may be gone while others of the process are not.
        let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().count();
        let is_gone = || {
            let has_ended = matches!(state_of(pid), None | Some('Z' | 'X')) && threads() <= 1;
            has_ended.then_some(())
        };
        until(patience(), is_gone)?.context("its supervisor does not go")
    }

    /// From here on the server stands still, and nobody asks it; or it goes on.
    pub(crate) fn blind(&self, is_blind: bool) {
        self.watch.is_blind.store(is_blind, Ordering::SeqCst);
    }

    pub(crate) fn is_blind(&self) -> bool {
        self.watch.is_blind.load(Ordering::SeqCst)
    }

    /// What stands on the terminal so far, if there is one and the program still writes to it.
    pub(crate) fn screen(&self) -> String {
        let mut text = String::new();
        if let Some(seat) = self.seat.borrow().as_ref() {
            text.push_str(&seat.shown());
        }
        text
    }

    /// Takes the end of the pipe that the run writes into.
    pub(crate) fn pipe(&self) -> Result<impl Read + use<>> {
        let mut child = self.child.borrow_mut();
        let out = child.as_mut().and_then(|child| child.stdout.take());
        match self.row.start.as_ref().map(|start| start.output) {
            Some(Output::Pipe) => out.context("the pipe was taken already"),
            Some(Output::Kept | Output::Full) | None => bail!("it does not write into a pipe"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Ends what this situation started itself, if it is still there.
    fn leave(&self) {
        drop(self.seat.borrow_mut().take());
        let gone = |child: &mut Child| child.try_wait().is_ok_and(|ended| ended.is_some());
        if let Some(child) = self.child.borrow_mut().as_mut()
            && !gone(child)
        {
            // It may end in this very moment, which changes nothing.
            drop(child.kill());
            drop(child.wait());
        }
        // Those who stand still do not go by themselves.
        for holder in crate::harness::program::holders(&self.token) {
            drop(holder.kill(&self.token));
        }
    }
}

/// Sends a signal to a process of ours.
pub(crate) fn send(pid: u32, signal: i32) -> Result<()> {
    let identity = process::of(pid)?.with_context(|| format!("{pid} is gone"))?;
    process::signal(&identity, signal)?;
    Ok(())
}

/// Kills a process of ours, which may be gone.
pub(crate) fn put_down(pid: u32) {
    drop(send(pid, KILL));
}

/// The state letter of a process.
pub(crate) fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Words that a surface has to say, checked by name.
pub(crate) fn says(view: &Value, said: &Said) -> Result<()> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state = &view["state"];
    let pairs = [
        ("state", said.state, word(&state["lifecycle"])),
        ("health", said.health, word(&state["health"])),
        ("phase", said.phase, word(&state["phase"]["name"])),
    ];
    for (name, expected, found) in pairs {
        ensure!(expected.is_none_or(|expected| expected == found), "{name} is {found:?}: {}", view["chain"]);
    }
    let text = format!("{} {} {}", word(&view["chain"]), state["reasons"], state["phase"]);
    match said.words.iter().find(|word| !text.contains(**word)) {
        Some(missing) => bail!("{missing:?} is not said: {text}"),
        None => Ok(()),
    }
}
