//! Health of a run that has ended in the log: is anybody of it alive, and was the end all that was wanted?
//!
//! Invariant: whatever the log says, a process that is seen alive is told, and one that cannot be seen from here is unknown.

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, ReasonCode};

use super::facts::{CompletedWith, SessionFacts};
use super::phrases::{processes, short};
use crate::health::judgement::Judgement;
use crate::health::process::{Liveness, Vantage};

/// Judges a run that has ended in the log.
pub(super) fn after_the_end(facts: &SessionFacts) -> Judgement {
    let presence = &facts.presence;
    let is_alive = presence.command == Liveness::Alive;
    if facts.kill_unconfirmed {
        let code = const { ReasonCode::of("run.health.kill_unconfirmed") };
        if let Some(seen) = presence.vantage.obstacle() {
            let message =
                format!("Its kill was not confirmed when it ended; whether it lives is unknown: {seen}");
            return Judgement::because(Health::Unknown, code, message, seen)
                .shown("Kill unconfirmed".to_owned());
        }
        let members = presence.members.map(|members| members.max(u32::from(is_alive)));
        let is_restarted = presence.vantage == Vantage::Restarted;
        return match members
            .unwrap_or_else(|| if is_restarted { 0 } else { facts.leftovers.unwrap_or(0).max(1) })
        {
            0 => Judgement::because(
                Health::Ok,
                code,
                "Its kill was not confirmed when it ended; its processes are gone now",
                "no process of the run was found",
            ),
            many => {
                let seen = format!("{} alive after SIGKILL", processes(many));
                Judgement::because(Health::Degraded, code, "Its processes were killed and are alive", seen)
                    .shown(format!("Kill unconfirmed ({many} alive)"))
            }
        };
    }
    let members = presence.members.unwrap_or(0);
    if members > 0 && !is_alive {
        let code = const { ReasonCode::of("run.health.alive_after_end") };
        let message = format!("Ended in the log, {} still alive", processes(members));
        return Judgement::because(Health::Degraded, code, message, "they are in the process table")
            .shown(format!("Still alive ({members})"));
    }
    if is_alive {
        let pid = facts.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let code = const { ReasonCode::of("run.health.alive_after_end") };
        let message = format!("Ended in the log, still alive{pid}");
        return Judgement::because(Health::Degraded, code, message, "its process is in the process table")
            .shown("Still alive".to_owned());
    }
    if let (None, Some(seen)) = (facts.leftovers, presence.vantage.obstacle()) {
        return not_looked_for(seen);
    }
    if let Some(left) = facts.leftovers.filter(|left| *left > 0) {
        let seen = format!("{left} locks or processes are still there");
        return Judgement::because(
            Health::Degraded,
            const { ReasonCode::of("run.health.leftovers") },
            "It ended and left something behind",
            seen,
        );
    }
    if let Some(warning) = facts.warning.as_ref().filter(|_| facts.state == SessionState::Completed) {
        return warned(warning);
    }
    match &facts.later_end {
        Some(how) => Judgement::because(
            Health::Ok,
            const { ReasonCode::of("run.health.later_end") },
            format!("Its command ended after the run was ended in the log: {how}"),
            how.clone(),
        ),
        None => Judgement::plain(Health::Ok),
    }
}

/// A run that was ended by somebody who did not look for its processes, seen from where nobody can.
fn not_looked_for(seen: &'static str) -> Judgement {
    let code = const { ReasonCode::of("run.health.unknown") };
    let message = format!("Nobody saw its processes end; whether they are alive is unknown: {seen}");
    Judgement::because(Health::Unknown, code, message, seen).shown("Processes unknown".to_owned())
}

/// A success that is not all that was wanted.
fn warned(warning: &CompletedWith) -> Judgement {
    match warning {
        CompletedWith::Denied(tools) => {
            let code = const { ReasonCode::of("run.health.denied") };
            let message = format!("It completed, and was not allowed to use {tools}");
            let seen = format!("denied: {tools}");
            Judgement::because(Health::Degraded, code, message, seen)
                .shown(format!("Denied ({})", short(tools)))
        }
        CompletedWith::CutAnswer => {
            let code = const { ReasonCode::of("run.health.truncated") };
            let message = "It completed, and the model's output limit cut the answer";
            let seen = "the agent reported an answer that was cut";
            Judgement::because(Health::Degraded, code, message, seen).shown("Answer cut".to_owned())
        }
    }
}
