//! A run whose process is gone, or cannot be seen from here.

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, ReasonCode};

use super::facts::SessionFacts;
use super::living::{living, pending};
use super::phrases::{ago, processes, silence};
use crate::health::judgement::Judgement;
use crate::health::process::Liveness;
use crate::health::thresholds::Thresholds;
use crate::moment::Moment;

/// Does its host vouch for it at this moment?
pub(super) fn is_vouched(facts: &SessionFacts, now: Moment) -> bool {
    facts.lease_until.is_some_and(|until| until >= now)
}

/// Its supervisor is gone.
pub(super) fn dead(facts: &SessionFacts, now: Moment) -> Judgement {
    let presence = &facts.presence;
    let alive = presence.members.unwrap_or(0).max(u32::from(presence.command == Liveness::Alive));
    let heard = ago(silence(facts, now));
    if alive > 0 {
        let seen = format!("its supervisor is gone; last heard of {heard} ago");
        let message = format!("Unsupervised, {} alive", processes(alive));
        let code = const { ReasonCode::of("run.health.unsupervised") };
        return Judgement::because(Health::ProcessDead, code, message, seen)
            .shown(format!("Unsupervised ({alive} alive)"));
    }
    if let Some(at) = facts.restored_at {
        let code = const { ReasonCode::of("run.health.unknown") };
        let message = "Its end may be recorded in the store that this one is a backup of";
        let seen = format!(
            "its process is gone, and the store was restored at {at} from a backup that was made before"
        );
        return Judgement::because(Health::Unknown, code, message, seen);
    }
    let seen = format!("the recorded process is gone; last heard of {heard} ago");
    if !facts.has_traces {
        return Judgement::because(
            Health::Orphaned,
            const { ReasonCode::of("run.health.orphaned") },
            "Nobody holds it, and it left no trace",
            seen,
        );
    }
    let message = match &facts.exited {
        Some(exited) => format!("Its supervisor is gone and wrote no end; its command {}", exited.what),
        None => "Its process is gone and wrote no end".to_owned(),
    };
    let code = const { ReasonCode::of("run.health.process_dead") };
    Judgement::because(Health::ProcessDead, code, message, seen)
}

/// On another machine or in another namespace, or not looked at: the lease is what there is to go by.
pub(super) fn unseen(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    let obstacle = facts.presence.vantage.obstacle();
    match facts.lease_until {
        Some(until) if until >= now => living(facts, thresholds, now),
        Some(until) => {
            let seen = format!("its lease ran out {} ago", ago(now.since(until)));
            Judgement::because(
                Health::Disconnected,
                const { ReasonCode::of("run.health.disconnected") },
                "Its host cannot be reached",
                seen,
            )
        }
        None if facts.state == SessionState::Pending && obstacle.is_none() => pending(facts, thresholds, now),
        None => {
            let seen = obstacle.unwrap_or("no process was seen and no lease is recorded");
            let message = format!("Cannot be told from here: {seen}");
            Judgement::because(Health::Unknown, const { ReasonCode::of("run.health.unknown") }, message, seen)
        }
    }
}
