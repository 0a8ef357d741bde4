//! One situation: what is done, what is true, and what may be said meanwhile and afterwards.
//!
//! Invariant: a row says nothing about how fast anything is. What may be said while a run is alive is a set of words; its
//! end is one. Deliberately absent: how a situation is brought about (`play`) and who is asked (`surfaces`).

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::play::Play;

/// A situation.
pub(crate) struct Row {
    /// What is done, in a few words; unique within its group.
    pub(crate) name: String,
    /// What is made ready before anything is started.
    pub(crate) before: Option<fn(&Play<'_>) -> Result<()>>,
    pub(crate) start: Option<Start>,
    pub(crate) steps: Vec<Step>,
    pub(crate) alive: Alive,
    pub(crate) end: Option<End>,
    /// The end of the run that was started inside of this one.
    pub(crate) inner: Option<End>,
    /// Played in a store of its own.
    pub(crate) alone: bool,
    /// Left out unless everything is played.
    pub(crate) repeats: bool,
    /// Fails without the safeguard of its group.
    pub(crate) shows: bool,
    /// Takes several seconds, so it is played before the others.
    pub(crate) slow: bool,
}

impl Row {
    /// A situation of one run.
    pub(crate) fn new(name: impl Into<String>, start: Start, end: End) -> Self {
        let name = format!("{}, {}", name.into(), start.told());
        Self { start: Some(start), end: Some(end), ..Self::free(name) }
    }

    /// A situation that is brought about and judged by its steps alone.
    pub(crate) fn free(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            before: None,
            start: None,
            steps: Vec::new(),
            alive: Alive::WORKING,
            end: None,
            inner: None,
            alone: false,
            repeats: false,
            shows: false,
            slow: false,
        }
    }

    pub(crate) fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(crate) fn does(self, act: impl Fn(&Play<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        self.then(Step::Do(Box::new(act)))
    }

    pub(crate) fn before(mut self, act: fn(&Play<'_>) -> Result<()>) -> Self {
        self.before = Some(act);
        self
    }

    pub(crate) fn may(mut self, alive: Alive) -> Self {
        self.alive = alive;
        self
    }

    pub(crate) fn inner(mut self, end: End) -> Self {
        self.inner = Some(end);
        self
    }

    pub(crate) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    pub(crate) fn shows(mut self) -> Self {
        self.shows = true;
        self
    }

    pub(crate) fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// The same situation several times; all but one are left out unless everything is played.
    pub(crate) fn times(count: usize, row: impl Fn() -> Self) -> Vec<Self> {
        let one = |number: usize| {
            let row = row();
            let name = if number == 0 { row.name.clone() } else { format!("{} (again {number})", row.name) };
            Self { name, repeats: number > 0, ..row }
        };
        (0..count).map(one).collect()
    }
}

/// How a run is started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) way: Way,
    pub(crate) rung: Rung,
    pub(crate) within: Within,
    pub(crate) options: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) output: Output,
    /// What is wrapped around the supervisor, such as `setpriv`.
    pub(crate) wrapper: Vec<String>,
    /// The command has begun only when it says so by a file called `there`.
    pub(crate) is_gated: bool,
}

/// A shell command under supervision, in the foreground, held by a control group where there is one.
pub(crate) fn run(script: &str) -> Start {
    argv(&["sh", "-c", script])
}

/// The same of a command line.
pub(crate) fn argv(words: &[&str]) -> Start {
    Start {
        way: Way::Foreground,
        rung: Rung::Group,
        within: Within::Here,
        options: Vec::new(),
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        output: Output::Kept,
        wrapper: Vec::new(),
        is_gated: false,
    }
}

/// A shell command that says that it is there, waits to be let go, and then does this.
pub(crate) fn gated(script: &str) -> Start {
    let script = format!("echo $$ > command; : > there; read _ < go; {script}");
    Start { is_gated: true, ..run(&script) }
}

/// A shell command that says that it is there and then does this.
pub(crate) fn there(script: &str) -> Start {
    let script = format!("echo $$ > command; : > there; {script}");
    Start { is_gated: true, ..run(&script) }
}

/// The same of a command that has to make itself ready before it says that it is there.
pub(crate) fn ready(first: &str, script: &str) -> Start {
    let script = format!("echo $$ > command; {first}; : > there; {script}");
    Start { is_gated: true, ..run(&script) }
}

impl Start {
    pub(crate) fn way(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    pub(crate) fn rung(mut self, rung: Rung) -> Self {
        self.rung = rung;
        self
    }

    pub(crate) fn within(mut self, within: Within) -> Self {
        self.within = within;
        self
    }

    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|word| (*word).to_owned()));
        self
    }

    pub(crate) fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    pub(crate) fn wrapped(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    fn told(&self) -> String {
        let way = match self.way {
            Way::Foreground => "foreground",
            Way::Detached => "detached",
            Way::Terminal => "terminal",
        };
        let rung = match self.rung {
            Rung::Group => "control group",
            Rung::Tree => "tree",
        };
        let within = match self.within {
            Within::Here => String::new(),
            Within::PidNamespace => ", pid namespace".to_owned(),
            Within::TimeNamespace => ", time namespace".to_owned(),
            Within::Sandbox => ", sandbox".to_owned(),
            Within::Host(name) => format!(", host {name}"),
        };
        format!("{way}, {rung}{within}")
    }
}

/// Who sees the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Foreground,
    Detached,
    /// In the foreground of a terminal.
    Terminal,
}

/// What holds the tree of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rung {
    Group,
    /// The control groups are hidden from the supervisor.
    Tree,
}

pub(crate) const RUNGS: [Rung; 2] = [Rung::Group, Rung::Tree];
pub(crate) const WAYS: [Way; 2] = [Way::Foreground, Way::Detached];

/// Where a process of callboard stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    Here,
    PidNamespace,
    TimeNamespace,
    /// A container with a boot id of its own.
    Sandbox,
    /// On this machine under another name.
    Host(&'static str),
}

/// Where the output of a run in the foreground goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Kept,
    /// A device that takes nothing.
    Full,
    /// A pipe that nobody reads until the row says so.
    Pipe,
}

/// The words that may be said of a run that is alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alive {
    pub(crate) health: &'static [&'static str],
    pub(crate) phase: &'static [&'static str],
    /// May its end be said yet?
    pub(crate) end: bool,
}

impl Alive {
    /// It starts, or is at work, or its command has ended, or all of it has.
    pub(crate) const WORKING: Self =
        Self { health: &["ok", "running"], phase: &["starting", "working", "draining"], end: true };

    pub(crate) const fn health(self, health: &'static [&'static str]) -> Self {
        Self { health, ..self }
    }

    pub(crate) const fn phase(self, phase: &'static [&'static str]) -> Self {
        Self { phase, ..self }
    }

    /// Its end would be a false word.
    pub(crate) const fn living(self) -> Self {
        Self { end: false, ..self }
    }
}

/// What every surface has to say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    pub(crate) state: Option<&'static str>,
    pub(crate) health: Option<&'static str>,
    pub(crate) phase: Option<&'static str>,
    /// Words of the chain, of a reason or of its evidence.
    pub(crate) words: &'static [&'static str],
}

impl Said {
    pub(crate) const fn health(health: &'static str) -> Self {
        Self { health: Some(health), state: None, phase: None, words: &[] }
    }

    pub(crate) const fn state(state: &'static str) -> Self {
        Self { state: Some(state), health: None, phase: None, words: &[] }
    }

    pub(crate) const fn phase(phase: &'static str) -> Self {
        Self { phase: Some(phase), state: None, health: None, words: &[] }
    }

    pub(crate) const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

pub(crate) type Act = Box<dyn Fn(&Play<'_>) -> Result<()> + Send + Sync>;

/// One thing that is done.
pub(crate) enum Step {
    /// Waits until the command has made a file.
    Await(&'static str),
    /// Lets a command go on that waits at its gate.
    Go,
    /// Sends a signal.
    Signal(Whom, i32),
    /// Asks callboard something about the run: `{}` stands for its id. Its exit code is not looked at.
    Ask(&'static [&'static str]),
    /// Types at the terminal.
    Type(&'static [u8]),
    /// Closes the terminal.
    HangUp,
    /// Lets time pass that the situation consists of.
    Hold(Duration),
    /// Waits until every surface says this.
    Say(Said),
    /// From here on, only this may be said of it while it is alive.
    Only(Alive),
    /// Waits until the supervisor is gone.
    AwaitSupervisorsEnd,
    /// Anything else.
    Do(Act),
}

/// A process of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    Supervisor,
    Command,
    /// The process whose pid the command has written to this file.
    Named(&'static str),
}

/// What is true of a run that has ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) state: &'static str,
    /// The reason; one of these where several are true.
    pub(crate) codes: Vec<&'static str>,
    /// What a shell is told.
    pub(crate) exit: Option<i32>,
    /// The exit code and the signal of the command, where they are known.
    pub(crate) how: Option<How>,
    pub(crate) health: &'static [&'static str],
    pub(crate) says: Vec<&'static str>,
    pub(crate) never: Vec<&'static str>,
    /// Values in its view, by JSON pointer.
    pub(crate) facts: Vec<(&'static str, Value)>,
}

/// How the command's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Code(i64),
    Signal(i64),
    /// Nobody can know.
    Unknown,
}

/// Words that are false unless a person at a terminal did something.
pub(crate) const NOBODY_PRESSED: [&str; 2] = ["pressed Ctrl", "terminal was closed"];

impl End {
    fn of(state: &'static str, code: &'static str, exit: i32) -> Self {
        Self {
            state,
            codes: vec![code],
            exit: Some(exit),
            how: None,
            health: &["ok"],
            says: Vec::new(),
            never: NOBODY_PRESSED.to_vec(),
            facts: Vec::new(),
        }
    }

    pub(crate) fn completed() -> Self {
        let never = ["Failed", "signal", "timed out", "stopped by", "out of memory"];
        Self::of("completed", "run.completed.ok", 0).how(How::Code(0)).never(&never)
    }

    /// It exited with a code of its own.
    pub(crate) fn exited(code: i32) -> Self {
        let never = ["killed by", "timed out", "stopped by", "Cancelled", "Aborted"];
        let end = Self::of("failed", "run.failed.exit_nonzero", code);
        end.how(How::Code(code.into())).never(&never)
    }

    /// A signal ended it that callboard did not send.
    pub(crate) fn signaled(signal: i32) -> Self {
        let never = ["exited with", "timed out", "stopped by", "Cancelled", "Aborted"];
        let end = Self::of("failed", "run.failed.signal", 128 + signal);
        end.how(How::Signal(signal.into())).never(&never)
    }

    pub(crate) fn failed(code: &'static str, exit: i32) -> Self {
        Self::of("failed", code, exit).never(&["Cancelled", "Aborted", "timed out"])
    }

    pub(crate) fn timed_out(code: &'static str) -> Self {
        Self::of("timed_out", code, 124).never(&["stopped by", "Failed", "Cancelled"])
    }

    pub(crate) fn cancelled(code: &'static str) -> Self {
        Self::of("cancelled", code, 143).never(&["Failed", "Timed out", "not sent by callboard"])
    }

    pub(crate) fn aborted(code: &'static str) -> Self {
        Self::of("aborted", code, 130).never(&["Failed", "Timed out", "not sent by callboard"])
    }

    /// Its supervisor died, and a reaper ended it.
    pub(crate) fn reaped() -> Self {
        let mut end = Self::of("aborted", "system.health.process_dead_no_terminal", 130);
        end.exit = None;
        end.how(How::Unknown)
    }

    pub(crate) fn or(mut self, code: &'static str) -> Self {
        self.codes.push(code);
        self
    }

    pub(crate) fn how(mut self, how: How) -> Self {
        self.how = Some(how);
        self
    }

    pub(crate) fn exits(mut self, exit: i32) -> Self {
        self.exit = Some(exit);
        self
    }

    pub(crate) fn says(mut self, words: &[&'static str]) -> Self {
        self.says.extend(words);
        self
    }

    pub(crate) fn never(mut self, words: &[&'static str]) -> Self {
        self.never.extend(words);
        self
    }

    /// Takes back a word that must never be said.
    pub(crate) fn may_say(mut self, word: &str) -> Self {
        self.never.retain(|never| *never != word);
        self
    }

    pub(crate) fn health(mut self, health: &'static [&'static str]) -> Self {
        self.health = health;
        self
    }

    pub(crate) fn fact(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((pointer, value.into()));
        self
    }
}
