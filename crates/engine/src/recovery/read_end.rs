//! The end of a run whose exit was read and recorded by a supervisor that died before it wrote the end.
//!
//! Invariant: what was read is the end; what was not read is not guessed. A program that reports its own end has said more
//! than its exit code, and that is lost with its supervisor, so a clean exit of such a program is evidence and no end.
//! Deliberately absent: whether the supervisor is dead, which the reaper asks the judge.

use callboard_agents::Program;
use callboard_delivery::Verification;
use callboard_kernel::fact::{self, Fact, Number};
use callboard_kernel::{EvidenceRef, Facts, StateReason, Transition};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::session::{SessionState, SessionTrigger};

/// Is what a run promised kept?
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<'a> {
    /// All that was required, or nothing was promised.
    Yes,
    /// Something that was required is missing or wrong.
    No(&'a Verification),
    /// Something that was required could not be checked.
    Unknown,
}

/// How a command ended, as it is recorded.
#[derive(Debug)]
pub(crate) struct ReadExit<'a> {
    facts: &'a Facts,
    exited: &'a Facts,
    code: Option<u8>,
    signal: Option<i64>,
}

impl<'a> ReadExit<'a> {
    /// The exit that was read, if one was.
    pub(crate) fn of(facts: &'a Facts) -> Option<Self> {
        let exited = facts.read(fact::EXITED)?;
        let code = exited.read(fact::CODE).and_then(|code| u8::try_from(code).ok());
        let signal = exited.read(fact::SIGNAL);
        (code.is_some() || signal.is_some()).then_some(Self { facts, exited, code, signal })
    }

    /// What was read, in words.
    pub(crate) fn seen(&self) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        let at = self.exited.read(fact::AT).map_or_else(String::new, |at| format!(" at {at}"));
        format!("{how}, read by its supervisor{at}, which died before it wrote the end")
    }

    /// What was read, as facts.
    pub(crate) fn data(&self) -> Facts {
        let mut data = Facts::none().and(fact::EXIT_CODE, self.code).and(fact::SIGNAL, self.signal);
        data.copy(fact::ELAPSED_S, self.exited, fact::ELAPSED_S);
        data
    }

    /// The end that follows from it; none where the exit alone does not tell.
    pub(crate) fn end(&self, kept: Kept<'_>) -> Option<Transition> {
        let stop = self.facts.read(fact::STOPPING).and_then(|stop| self.stopped(stop));
        let (to, trigger, mut reasons) = match (stop, self.code, self.signal) {
            (Some(stopped), ..) => stopped,
            (None, Some(0), _) => self.clean(kept)?,
            (None, Some(code), _) => {
                failed(const { ReasonCode::of("run.failed.exit_nonzero") }, format!("exited with {code}"))
            }
            (None, None, signal) => failed(
                const { ReasonCode::of("run.failed.signal") },
                format!("killed by signal {}", signal.unwrap_or_default()),
            ),
        };
        let first = reasons.first_mut()?;
        first.evidence.insert(0, EvidenceRef::tool_result(self.seen()));
        let mut data = self.data().and(fact::SHELL_CODE, i64::from(self.shell_code(to)));
        if to == SessionState::TimedOut {
            data.copy(fact::TIMEOUT_S, self.facts, self.bound()?);
        }
        Some(Transition { to: Some(to.into()), trigger: Some(trigger.into()), reasons, data })
    }

    fn clean(&self, kept: Kept<'_>) -> Option<End> {
        if reports_end(self.facts) {
            return None;
        }
        match kept {
            // A clean exit is not a completed run before its contract is known to be kept.
            Kept::Unknown => None,
            // The exit is the system's to tell; the row for a broken contract is the supervisor's.
            Kept::No(verified) => {
                Some((SessionState::Failed, SessionTrigger::ExitedDirty, verified.effect()?.reasons))
            }
            Kept::Yes => {
                let code = const { ReasonCode::of("run.completed.ok") };
                let reasons = vec![StateReason::new(code, "exited with 0")];
                Some((SessionState::Completed, SessionTrigger::ExitedClean, reasons))
            }
        }
    }

    /// What a stop that had begun makes of the exit.
    fn stopped(&self, stop: &Facts) -> Option<End> {
        let by = stop.read(fact::BY).map_or_else(String::new, |by| format!(" ({by})"));
        let timed_out = |code, what: &str| {
            self.bound()?;
            let reasons = vec![StateReason::new(code, format!("stopped for its {what}"))];
            Some((SessionState::TimedOut, SessionTrigger::DeadlineReached, reasons))
        };
        let cancelled = |code, message: String| {
            let reasons = vec![StateReason::new(code, message)];
            Some((SessionState::Cancelled, SessionTrigger::StopAsked, reasons))
        };
        match stop.read(fact::CAUSE)? {
            "deadline" => timed_out(const { ReasonCode::of("run.timed_out.deadline") }, "total time limit"),
            "first_output" => {
                timed_out(const { ReasonCode::of("run.timed_out.first_output") }, "first output limit")
            }
            "silence" => timed_out(const { ReasonCode::of("run.timed_out.silence") }, "silence limit"),
            "operator" => cancelled(
                const { ReasonCode::of("run.cancelled.operator") },
                format!("stopped by an operator{by}"),
            ),
            "parent" => cancelled(
                const { ReasonCode::of("run.cancelled.parent") },
                format!("stopped with the run that started it{by}"),
            ),
            "agent" => {
                cancelled(const { ReasonCode::of("run.cancelled.agent") }, format!("stopped by an agent{by}"))
            }
            "budget" => cancelled(
                const { ReasonCode::of("run.cancelled.budget") },
                "its budget was used up".to_owned(),
            ),
            "shutdown" => cancelled(
                const { ReasonCode::of("run.cancelled.system") },
                "its owner was shut down".to_owned(),
            ),
            "sigterm" | "sighup" => cancelled(
                const { ReasonCode::of("run.cancelled.sigterm") },
                format!("its supervisor was told to terminate{by}"),
            ),
            "sigint" | "sigquit" => {
                let code = const { ReasonCode::of("run.aborted.sigint") };
                let reasons = vec![StateReason::new(code, format!("interrupted{by}"))];
                Some((SessionState::Aborted, SessionTrigger::Interrupted, reasons))
            }
            _ => None,
        }
    }

    /// The bound of the timer that stopped it.
    fn bound(&self) -> Option<Fact<Number>> {
        self.exited.known(fact::ELAPSED_S)?;
        let name = match self.facts.read(fact::STOPPING).and_then(|stop| stop.read(fact::CAUSE))? {
            "deadline" => fact::TIMEOUT_S,
            "first_output" => fact::FIRST_OUTPUT_S,
            "silence" => fact::IDLE_TIMEOUT_S,
            _ => return None,
        };
        self.facts.known(name).map(|_| name)
    }

    /// What a shell is told.
    fn shell_code(&self, to: SessionState) -> u8 {
        let own = match (self.code, self.signal) {
            (Some(code), _) => Some(code),
            (None, signal) => signal.and_then(|signal| u8::try_from(128 + signal).ok()),
        };
        match to {
            SessionState::Failed => own.filter(|code| *code > 0).unwrap_or(1),
            SessionState::Pending
            | SessionState::Running
            | SessionState::Completed
            | SessionState::TimedOut
            | SessionState::Aborted
            | SessionState::Cancelled => to.exit_code().unwrap_or(1),
        }
    }
}

type End = (SessionState, SessionTrigger, Vec<StateReason>);

fn failed(code: ReasonCode, message: String) -> End {
    (SessionState::Failed, SessionTrigger::ExitedDirty, vec![StateReason::new(code, message)])
}

/// Does the program of a run report its own end? One that is not known any more may have.
fn reports_end(facts: &Facts) -> bool {
    facts.read(fact::ADAPTER).is_some_and(|name| name.parse::<Program>().map_or(true, Program::reports_end))
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Value;

    use super::*;

    fn facts(exited: Facts, stopping: Option<&str>, adapter: &str) -> Facts {
        let exited = exited.with("at", "2026-01-01T00:00:00Z").with("elapsed_s", 3_i64);
        let mut facts = Facts::none()
            .with("exited", Value::Map(exited))
            .with("adapter", adapter)
            .with("idle_timeout_s", 2_i64);
        if let Some(cause) = stopping {
            facts.set("stopping", Value::Map(Facts::none().with("cause", cause).with("by", "ann")));
        }
        facts
    }

    fn end(facts: &Facts) -> Option<(String, &'static str, Option<i64>)> {
        let end = ReadExit::of(facts)?.end(Kept::Yes)?;
        let code = end.reasons.first()?.code.as_str();
        Some((end.to?.to_string(), code, end.data.read(fact::SHELL_CODE)))
    }

    #[test]
    fn an_exit_that_was_read_is_the_end_and_what_was_not_read_is_not_guessed() {
        let code = |code: i64| Facts::none().with("code", code);
        let signal = |signal: i64| Facts::none().with("signal", signal);
        let plain = |exited, stop| facts(exited, stop, "plain");
        let is = |state: &str, reason, code| Some((state.to_owned(), reason, Some(code)));
        assert_eq!(end(&plain(code(0), None)), is("completed", "run.completed.ok", 0));
        assert_eq!(end(&plain(code(3), None)), is("failed", "run.failed.exit_nonzero", 3));
        assert_eq!(end(&plain(signal(9), None)), is("failed", "run.failed.signal", 137));
        let operator = is("cancelled", "run.cancelled.operator", 143);
        assert_eq!(end(&plain(signal(15), Some("operator"))), operator);
        assert_eq!(end(&plain(signal(15), Some("silence"))), is("timed_out", "run.timed_out.silence", 124));
        assert_eq!(end(&plain(signal(2), Some("sigint"))), is("aborted", "run.aborted.sigint", 130));
        assert_eq!(end(&facts(code(0), None, "claude")), None, "what its agent said is lost");
        assert_eq!(end(&facts(code(3), None, "claude")), is("failed", "run.failed.exit_nonzero", 3));
        assert_eq!(end(&Facts::none()), None);
        let unchecked = |facts: &Facts| ReadExit::of(facts).and_then(|exit| exit.end(Kept::Unknown));
        assert_eq!(unchecked(&plain(code(0), None)), None, "it may have broken its contract");
        assert!(unchecked(&plain(code(3), None)).is_some(), "it failed, whatever it delivered");
    }

    #[test]
    fn every_end_is_one_that_the_system_may_write() {
        use callboard_lifecycle::{ActorClass, Kind};
        let causes = ["operator", "parent", "sigint", "sigterm", "silence", "budget", "shutdown"];
        for cause in causes.map(Some).into_iter().chain([None]) {
            for code in [0, 3] {
                let facts = facts(Facts::none().with("code", code), cause, "plain");
                let end = ReadExit::of(&facts).and_then(|exit| exit.end(Kept::Yes)).unwrap();
                let (to, trigger) = (end.to.unwrap(), end.trigger.unwrap());
                let rows = Kind::Session.machine().rows.iter();
                let fits = rows.filter(|row| {
                    row.from == SessionState::Running as u8
                        && row.to == to.position()
                        && row.fires_on(trigger.position())
                        && row.actors.has(ActorClass::System)
                        && end.reasons[0].code.def().is_among(row.because)
                });
                assert_eq!(fits.count(), 1, "{cause:?} {code}");
            }
        }
    }
}
