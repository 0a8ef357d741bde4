//! What holds a run: a signal, a freezer, a debugger, or a supervisor that is stopped itself.

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, ReasonCode};

use super::facts::{SessionFacts, Since};
use crate::health::judgement::Judgement;
use crate::health::process::{Hold, Liveness};

/// A command or a supervisor that is alive and does not run.
pub(super) fn held(facts: &SessionFacts) -> Option<Judgement> {
    let presence = &facts.presence;
    if let Some(hold) = hold(facts) {
        let (by, label) = told(hold.what);
        let since = hold.at.map_or_else(String::new, |at| format!(", since {at}"));
        let code = const { ReasonCode::of("run.health.paused") };
        return Some(
            Judgement::because(Health::Paused, code, format!("Paused: {by}{since}"), by)
                .shown(format!("Paused ({label})")),
        );
    }
    presence.supervisor_hold?;
    let code = const { ReasonCode::of("run.health.supervisor_stopped") };
    let by = "its supervisor is stopped";
    Some(match presence.command {
        Liveness::Dead if facts.state == SessionState::Running => Judgement::because(
            Health::Degraded,
            code,
            "Its supervisor is stopped; the command has exited",
            by,
        )
        .shown("Exited, supervisor stopped".to_owned()),
        Liveness::Alive => {
            Judgement::because(Health::Degraded, code, "Its supervisor is stopped; the command runs on", by)
                .shown("Supervisor stopped".to_owned())
        }
        Liveness::Dead | Liveness::Unknown => {
            Judgement::because(Health::Degraded, code, "Its supervisor is stopped", by)
                .shown("Supervisor stopped".to_owned())
        }
    })
}

/// What holds the command. A look outranks the record, which may be about to be taken back.
pub(crate) fn hold(facts: &SessionFacts) -> Option<Since<Option<Hold>>> {
    let recorded = facts.held.as_ref();
    match (facts.presence.command, facts.presence.command_hold) {
        (Liveness::Alive, Some(hold)) => {
            // Stopped together with its supervisor by Ctrl-Z is a stop by a signal too.
            let same = recorded.filter(|held| is_same(held.what, hold));
            Some(same.cloned().unwrap_or(Since { what: Some(hold), at: None }))
        }
        (Liveness::Alive, None) | (Liveness::Dead, _) => None,
        (Liveness::Unknown, _) => recorded.cloned(),
    }
}

fn is_same(recorded: Option<Hold>, seen: Hold) -> bool {
    match recorded {
        Some(Hold::Suspended | Hold::Signal) | None => seen == Hold::Signal,
        Some(Hold::Freezer | Hold::Tracer) => recorded == Some(seen),
    }
}

/// What holds a command: as a sentence, and in a pair of parentheses.
pub(crate) const fn told(hold: Option<Hold>) -> (&'static str, &'static str) {
    match hold {
        Some(Hold::Freezer) => ("its control group is frozen", "frozen"),
        Some(Hold::Suspended) => ("it was suspended together with its supervisor", "suspended"),
        Some(Hold::Tracer) => ("a debugger stopped its process", "debugger"),
        Some(Hold::Signal) | None => ("a signal stopped its process", "stop signal"),
    }
}
