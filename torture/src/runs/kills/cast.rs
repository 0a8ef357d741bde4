//! The commands that are run, each with the ends it can come to by itself, and the moments at which their supervisors
//! are killed.

use crate::harness::dice::Dice;

/// A command.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) name: &'static str,
    pub(super) options: &'static [&'static str],
    /// What the shell runs between the file that says that it is there and the one that says that it is done.
    pub(super) script: &'static str,
    /// The reason of its own end; an act without one goes on until it is stopped.
    pub(super) ends: Option<&'static str>,
    /// It ends without saying that it is done: so long after it has said that it is there.
    pub(super) unsaid_ms: Option<u64>,
    /// Somebody of it can only be found in its control group.
    pub(super) hides: bool,
}

const OK: Option<&str> = Some("run.completed.ok");

const fn act(name: &'static str, script: &'static str, ends: Option<&'static str>) -> Act {
    Act { name, options: &[], script, ends, unsaid_ms: None, hides: false }
}

pub(super) const ACTS: &[Act] = &[
    act("short", "", OK),
    Act { unsaid_ms: Some(0), ..act("fails", "exit 7", Some("run.failed.exit_nonzero")) },
    Act { unsaid_ms: Some(0), ..act("dies", "kill -SEGV $$", Some("run.failed.signal")) },
    act("chatty", "head -c 300000 /dev/zero; head -c 100000 /dev/zero >&2", OK),
    act("leaves a daemon", "(setsid sleep 300 </dev/null >/dev/null 2>&1 &)", OK),
    act("leaves one that holds its output", "sleep 300 &", OK),
    Act { options: &["--expect", "out"], ..act("delivers", "echo done > out", OK) },
    Act {
        options: &["--expect", "out"],
        ..act("claims", "echo I wrote out", Some("run.failed.missing_artifact"))
    },
    Act { options: &["--contract", "contract.yaml"], ..act("is checked", "echo done > out", OK) },
    Act {
        options: &["--timeout", "150ms", "--grace", "100ms"],
        unsaid_ms: Some(130),
        ..act("is late", "sleep 300", Some("run.timed_out.deadline"))
    },
    act("waits", "exec sleep 300", None),
    act("has a family", "sleep 300 & sleep 300 & (sleep 300; :) & wait", None),
    act("has a daemon", "(setsid sh -c 'sleep 300; :' </dev/null >/dev/null 2>&1 &); sleep 300", None),
    act("talks", "yes a line that comes again and again", None),
    act("ignores TERM", "trap '' TERM; while :; do sleep 0.05; done", None),
    act(
        "has a daemon that ignores TERM",
        "(trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &); sleep 300",
        None,
    ),
    Act {
        hides: true,
        ..act(
            "hides",
            ": > \"$CALLBOARD_TORTURE\"
             (env -i setsid tail -n 0 -f \"$PWD/$CALLBOARD_TORTURE\" </dev/null >/dev/null 2>&1 &); sleep 300",
            None,
        )
    },
];

/// A contract with a check that leaves somebody behind.
pub(super) const CONTRACT: &str = "\
artifacts:
  - id: out
    path: out
    command: [sh, -c, \"(setsid sleep 300 </dev/null >/dev/null 2>&1 &); sleep 0.05\"]
";

/// When the supervisor is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So long after it was started, whatever it does then.
    Early { micros: u64 },
    /// As soon as somebody of its command can be seen.
    Forked,
    /// So long after the command has said that it is there.
    Running { micros: u64 },
    /// So long after the command has said that it is done, or after it was asked to stop.
    Ending { micros: u64 },
    /// Not at all.
    Never,
}

/// Who else is at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    Nobody,
    Waiter,
    Stopper,
}

/// One run of the batch.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) act: &'static Act,
    pub(super) token: String,
    pub(super) is_detached: bool,
    pub(super) moment: Moment,
    pub(super) rival: Rival,
}

impl Part {
    pub(super) fn draw(number: u64, can_hide: bool, dice: &mut Dice) -> Self {
        let mut act = dice.pick(ACTS);
        while act.hides && !can_hide {
            act = dice.pick(ACTS);
        }
        let moment = match dice.roll(5) {
            0 => Moment::Early { micros: dice.roll(60_000) },
            1 => Moment::Forked,
            2 => Moment::Running { micros: dice.roll(50_000) },
            4 if act.ends.is_some() => Moment::Never,
            _ => Moment::Ending { micros: dice.roll(15_000) },
        };
        let rival = match dice.roll(4) {
            0 => Rival::Waiter,
            1 => Rival::Stopper,
            _ => Rival::Nobody,
        };
        // Others may run the same torture at the same time, so the process is part of the token.
        let token = format!("kills-{}-{number}-{:08x}", std::process::id(), dice.roll(1 << 32));
        Self { act, token, is_detached: dice.roll(2) == 0, moment, rival }
    }
}
