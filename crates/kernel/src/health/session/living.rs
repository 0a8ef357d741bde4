//! A run that lives, or that nobody has started yet: whether it moves.

use std::time::Duration;

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, ReasonCode};

use super::facts::{SessionFacts, Since};
use super::held::held;
use super::phrases::{ago, short, silence, time_of_day};
use crate::health::judgement::Judgement;
use crate::health::process::Liveness;
use crate::health::thresholds::Thresholds;
use crate::moment::Moment;

/// It is recorded and not started.
pub(super) fn pending(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    let age = now.since(facts.created_at);
    if age <= thresholds.pending {
        return Judgement::plain(Health::Ok);
    }
    let seen = format!("recorded {} ago and not started", ago(age));
    let message = match facts.liveness {
        Liveness::Alive => "Its supervisor has not started it yet",
        Liveness::Dead | Liveness::Unknown => "It was recorded and nobody started it",
    };
    Judgement::because(Health::Stalled, const { ReasonCode::of("run.health.stalled") }, message, seen)
}

/// Its supervisor is alive, or its host vouches for it.
pub(super) fn living(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    if let Some(held) = held(facts) {
        return held;
    }
    if facts.state == SessionState::Pending {
        return pending(facts, thresholds, now);
    }
    // Silence after the exit is nobody's.
    if facts.exited.is_some() || facts.after_exit.is_some() {
        return Judgement::plain(Health::Running);
    }
    if let Some(wait) = waiting(facts, now) {
        return wait;
    }
    if let Some(silent) = silent(facts, thresholds, now) {
        return silent;
    }
    if let Some(errs) = erring(facts, thresholds, now) {
        return errs;
    }
    let age = facts.started_at.map_or(Duration::ZERO, |started| now.since(started));
    if age > thresholds.slow {
        let seen = format!("at work for {}", ago(age));
        return Judgement::because(
            Health::Running,
            const { ReasonCode::of("run.health.slow") },
            "Slower than most runs",
            seen,
        );
    }
    Judgement::plain(Health::Running)
}

fn silent(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Option<Judgement> {
    let silence = silence(facts, now);
    let seen = format!("nothing was heard for {}", ago(silence));
    if silence > thresholds.stalled_for(facts.class) {
        let code = const { ReasonCode::of("run.health.stalled") };
        return Some(Judgement::because(Health::Stalled, code, "Silent for too long", seen));
    }
    (silence > thresholds.idle).then(|| {
        let code = const { ReasonCode::of("run.health.idle") };
        Judgement::because(Health::Idle, code, "Alive and silent", seen)
    })
}

/// Busy, and not getting anywhere.
fn erring(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Option<Judgement> {
    if let Some((count, error)) = &facts.retrying {
        let error = error.as_deref().map_or_else(String::new, |error| format!(", {}", short(error)));
        let code = const { ReasonCode::of("run.health.retrying") };
        let seen = format!("{count} retries{error}");
        return Some(
            Judgement::because(Health::Degraded, code, format!("Retrying: {seen}"), seen)
                .shown(format!("Retrying ({count}{error})")),
        );
    }
    if let Some(steps) = facts.looping {
        let code = const { ReasonCode::of("run.health.looping") };
        let seen = format!("{steps} steps without a change");
        return Some(
            Judgement::because(Health::Degraded, code, format!("Looping: {seen}"), seen)
                .shown(format!("Looping ({steps} steps)")),
        );
    }
    if let Some(progress) = facts.last_progress_at
        && now.since(progress) > thresholds.stuck
    {
        let seen = format!("active, and nothing new for {}", ago(now.since(progress)));
        let code = const { ReasonCode::of("run.health.stuck") };
        return Some(Judgement::because(Health::Stalled, code, "Busy without getting anywhere", seen));
    }
    (facts.errors_in_row >= thresholds.errors_in_row).then(|| {
        let seen = format!("{} failures in a row", facts.errors_in_row);
        let code = const { ReasonCode::of("run.health.erroring") };
        Judgement::because(Health::Degraded, code, "Alive and failing", seen)
    })
}

/// Silence that has a known cause is no stall.
fn waiting(facts: &SessionFacts, now: Moment) -> Option<Judgement> {
    if let Some(Since { what, .. }) = &facts.waits_for {
        let code = const { ReasonCode::of("run.health.waiting") };
        let message = format!("It waits for a person: {what}");
        let waits = Judgement::because(Health::Degraded, code, message, what.clone());
        let waits = if facts.waits_inferred { waits.inferred() } else { waits };
        return Some(waits.shown("Waiting".to_owned()));
    }
    let until = facts.limited_until.as_ref().filter(|until| now < until.what)?.what;
    let code = const { ReasonCode::of("run.health.limited") };
    let seen = format!("its provider's limit holds until {until}");
    let limited = Judgement::because(Health::Degraded, code, "It waits for its provider", seen);
    Some(limited.shown(format!("Limited (until {})", time_of_day(until, now))))
}
