//! The phase of a run: what it is doing while it has not ended.
//!
//! Invariant: derived from recorded facts and a look when it is read, never stored. Nothing is said of a run that has
//! ended or whose supervisor is dead: its health says that. Deliberately absent: judging whether that is well.

use std::fmt;

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{PhaseName, Shown, Words};
use serde::Serialize;

use crate::health::{Liveness, SessionFacts, Since, Stopping, hold, told};
use crate::moment::Moment;

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// What.
    pub name: PhaseName,
    /// Since when, where that is recorded.
    pub since: Option<Moment>,
    /// Whose doing it is: who asked for a stop, what holds a process.
    pub by: Option<String>,
    /// More about it, in words.
    pub detail: Option<String>,
}

/// The phase of a run at a moment; nothing once it has ended, or where nobody carries it out.
pub fn phase(facts: &SessionFacts, now: Moment) -> Option<Phase> {
    match (facts.state, facts.liveness) {
        (
            SessionState::Completed
            | SessionState::Failed
            | SessionState::TimedOut
            | SessionState::Aborted
            | SessionState::Cancelled,
            _,
        )
        | (SessionState::Pending | SessionState::Running, Liveness::Dead)
        | (SessionState::Pending, Liveness::Unknown) => None,
        (SessionState::Pending, Liveness::Alive) => Some(
            facts
                .stopping
                .as_ref()
                .map_or_else(|| plain(PhaseName::Starting, Some(facts.created_at)), stopping),
        ),
        (SessionState::Running, Liveness::Alive | Liveness::Unknown) => Some(running(facts, now)),
    }
}

fn running(facts: &SessionFacts, now: Moment) -> Phase {
    let after_exit = facts.after_exit.as_ref().map(|phase| Phase {
        detail: facts.exited.as_ref().map(|exited| format!("its command {}", exited.what)),
        ..plain(phase.what, phase.at)
    });
    // Whichever began last: a stop ends in draining, and draining can be stopped.
    match (facts.stopping.as_ref().map(stopping), after_exit) {
        (Some(stop), Some(after)) => return if stop.since > after.since { stop } else { after },
        (Some(phase), None) | (None, Some(phase)) => return phase,
        (None, None) => {}
    }
    // Its supervisor is about to record the exit, or cannot, because somebody else holds the store.
    let presence = &facts.presence;
    if facts.pid.is_some() && presence.command == Liveness::Dead && presence.supervisor_hold.is_none() {
        let detail = Some("its command has ended, and how it ended is not recorded yet".to_owned());
        return Phase { detail, ..plain(PhaseName::Draining, None) };
    }
    if let Some(held) = hold(facts) {
        let by = held.what.map(|hold| hold.name().to_owned());
        let detail = Some(told(held.what).0.to_owned());
        return Phase { by, detail, ..plain(PhaseName::Paused, held.at) };
    }
    if let Some(Since { what, at }) = &facts.waits_for {
        return Phase { detail: Some(what.clone()), ..plain(PhaseName::Waiting, *at) };
    }
    if let Some(Since { what, at }) = facts.limited_until.as_ref().filter(|until| now < until.what) {
        let detail = Some(format!("its provider's limit holds until {what}"));
        return Phase { detail, ..plain(PhaseName::Waiting, *at) };
    }
    plain(PhaseName::Working, facts.started_at)
}

const fn plain(name: PhaseName, since: Option<Moment>) -> Phase {
    Phase { name, since, by: None, detail: None }
}

fn stopping(stop: &Since<Stopping>) -> Phase {
    let Since { what: Stopping { cause, by }, at } = stop;
    let detail = match cause.as_str() {
        "operator" => "an operator asked for it",
        "parent" => "the run that started it is ending",
        "sigint" => "SIGINT",
        "sigterm" => "SIGTERM",
        "sighup" => "SIGHUP",
        "sigquit" => "SIGQUIT",
        "deadline" => "total time limit",
        "first_output" => "first output limit",
        "silence" => "silence limit",
        "budget" => "budget",
        "shutdown" => "shutdown",
        other => other,
    };
    Phase { by: by.clone(), detail: Some(detail.to_owned()), ..plain(PhaseName::Stopping, *at) }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.name.pill().label;
        match (self.name, &self.by, &self.detail) {
            (PhaseName::Stopping, Some(by), _) => write!(f, "{label} (by {by})"),
            (PhaseName::Stopping, None, Some(detail)) => write!(f, "{label} ({detail})"),
            (PhaseName::Paused, ..) => match self.by.as_deref().map(crate::health::Hold::parse) {
                Some(Ok(hold)) => write!(f, "{label} ({})", told(Some(hold)).1),
                Some(Err(_)) | None => f.write_str(label),
            },
            (
                PhaseName::Starting
                | PhaseName::Working
                | PhaseName::Waiting
                | PhaseName::Stopping
                | PhaseName::Draining
                | PhaseName::Checking,
                ..,
            ) => f.write_str(label),
        }
    }
}

impl Phase {
    /// Does the chain show it? Plain work needs no word, and what holds a run or lets it wait is its health's to say.
    pub const fn is_shown(&self) -> bool {
        match self.name {
            PhaseName::Starting | PhaseName::Stopping | PhaseName::Draining | PhaseName::Checking => true,
            PhaseName::Working | PhaseName::Waiting | PhaseName::Paused => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Hold, Presence, samples};

    const NOW: Moment = samples::NOW;

    fn named(facts: &SessionFacts) -> Option<(&'static str, String)> {
        phase(facts, NOW).map(|phase| (phase.name.name(), phase.to_string()))
    }

    fn since<T>(what: T, seconds: i64) -> Option<Since<T>> {
        Some(Since { what, at: Some(samples::before(seconds)) })
    }

    #[test]
    fn a_run_is_in_one_phase_and_an_ended_or_unattended_one_in_none() {
        let running = samples::running();
        assert_eq!(named(&running), Some(("working", "Working".to_owned())));
        let starting = SessionFacts { state: SessionState::Pending, ..running.clone() };
        assert_eq!(named(&starting), Some(("starting", "Starting".to_owned())));
        let nobody = SessionFacts { liveness: Liveness::Unknown, ..starting };
        assert_eq!(named(&nobody), None);
        assert_eq!(named(&SessionFacts { liveness: Liveness::Dead, ..running.clone() }), None);
        for state in SessionState::ALL.iter().filter(|state| state.is_terminal()) {
            assert_eq!(named(&SessionFacts { state: *state, ..running.clone() }), None);
        }
        let waiting = SessionFacts { waits_for: since("an answer".to_owned(), 9), ..running.clone() };
        assert_eq!(named(&waiting), Some(("waiting", "Waiting".to_owned())));
        let gone = Presence { command: Liveness::Dead, ..running.presence };
        let ended = SessionFacts { presence: gone, pid: Some(7), ..running.clone() };
        assert_eq!(named(&ended), Some(("draining", "Draining".to_owned())));
        let stopped = Presence { supervisor_hold: Some(Hold::Signal), ..gone };
        let stopped = SessionFacts { presence: stopped, ..ended };
        assert_eq!(named(&stopped), Some(("working", "Working".to_owned())), "its health says what holds it");
        let held = SessionFacts { held: since(Some(Hold::Signal), 9), ..running };
        assert_eq!(named(&held), Some(("paused", "Paused (stop signal)".to_owned())));
    }

    #[test]
    fn a_stop_says_by_whom_and_what_began_last_is_the_phase() {
        let stop = |by: Option<&str>, cause: &str, seconds| {
            since(Stopping { cause: cause.to_owned(), by: by.map(str::to_owned) }, seconds)
        };
        let stopping = |stopping| SessionFacts { stopping, ..samples::running() };
        let text = |facts: &SessionFacts| phase(facts, NOW).map(|phase| phase.to_string());
        let alice = stopping(stop(Some("alice"), "operator", 5));
        assert_eq!(text(&alice).as_deref(), Some("Stopping (by alice)"));
        assert_eq!(text(&stopping(stop(None, "silence", 5))).as_deref(), Some("Stopping (silence limit)"));
        let draining = SessionFacts { after_exit: since(PhaseName::Draining, 3), ..alice.clone() };
        assert_eq!(text(&draining).as_deref(), Some("Draining"));
        let stopped = SessionFacts { after_exit: since(PhaseName::Draining, 9), ..alice };
        assert_eq!(text(&stopped).as_deref(), Some("Stopping (by alice)"));
    }
}
