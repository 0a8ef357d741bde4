//! The health of a run, first match wins: what it left behind, whether it lives, whether it moves.

use std::time::Duration;

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, ReasonCode};

use super::judgement::Judgement;
use super::process::Liveness;
use super::thresholds::{RunClass, Thresholds};
use crate::moment::Moment;

/// What is recorded of a run, and what a look at its process showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// Where it stands.
    pub state: SessionState,
    /// What sort of run it is.
    pub class: RunClass,
    /// When it was recorded.
    pub created_at: Moment,
    /// When its process was started.
    pub started_at: Option<Moment>,
    /// When anything was last heard of it: bytes, pings, heartbeats.
    pub last_activity_at: Option<Moment>,
    /// When it last produced something new, where its stream tells.
    pub last_progress_at: Option<Moment>,
    /// Is its process alive?
    pub liveness: Liveness,
    /// Until when its host vouches for it.
    pub lease_until: Option<Moment>,
    /// Does it have anything to show: artifacts, messages, output?
    pub has_traces: bool,
    /// Locks and processes that are still there.
    pub leftovers: u32,
    /// Failures in a row, such as a provider's refusals.
    pub errors_in_row: u32,
    /// What it waits for a person to do, where its stream tells.
    pub waits_for: Option<String>,
    /// Until when its provider lets it wait.
    pub limited_until: Option<Moment>,
}

/// Judges the health of a run.
pub fn judge_session(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    match facts.state {
        SessionState::Completed
        | SessionState::Failed
        | SessionState::TimedOut
        | SessionState::Aborted
        | SessionState::Cancelled => after_the_end(facts),
        SessionState::Pending | SessionState::Running => match facts.liveness {
            Liveness::Dead => dead(facts, now),
            Liveness::Unknown => unseen(facts, thresholds, now),
            Liveness::Alive => living(facts, thresholds, now),
        },
    }
}

fn after_the_end(facts: &SessionFacts) -> Judgement {
    if facts.leftovers == 0 {
        return Judgement::plain(Health::Ok);
    }
    let seen = format!("{} locks or processes are still there", facts.leftovers);
    Judgement::because(
        Health::Degraded,
        const { ReasonCode::of("run.health.leftovers") },
        "It ended and left something behind",
        seen,
    )
}

fn dead(facts: &SessionFacts, now: Moment) -> Judgement {
    let seen = format!("the recorded process is gone; last heard of {} ago", ago(silence(facts, now)));
    if facts.has_traces {
        Judgement::because(
            Health::ProcessDead,
            const { ReasonCode::of("run.health.process_dead") },
            "Its process is gone and wrote no end",
            seen,
        )
    } else {
        Judgement::because(
            Health::Orphaned,
            const { ReasonCode::of("run.health.orphaned") },
            "Nobody holds it, and it left no trace",
            seen,
        )
    }
}

/// On another host, or on one that was not asked: the lease is what there is to go by.
fn unseen(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
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
        None if facts.state == SessionState::Pending => pending(facts, thresholds, now),
        None => {
            let seen = "no process was seen and no lease is recorded";
            Judgement::because(
                Health::Unknown,
                const { ReasonCode::of("run.health.unknown") },
                "Cannot be told from here",
                seen,
            )
        }
    }
}

fn pending(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    let age = now.since(facts.created_at);
    if age <= thresholds.pending {
        return Judgement::plain(Health::Ok);
    }
    let seen = format!("recorded {} ago and not started", ago(age));
    Judgement::because(
        Health::Stalled,
        const { ReasonCode::of("run.health.stalled") },
        "It was recorded and nobody started it",
        seen,
    )
}

fn living(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    if facts.state == SessionState::Pending {
        return pending(facts, thresholds, now);
    }
    if let Some(wait) = waiting(facts, now) {
        return wait;
    }
    let silence = silence(facts, now);
    if silence > thresholds.stalled_for(facts.class) {
        let seen = format!("nothing was heard for {}", ago(silence));
        return Judgement::because(
            Health::Stalled,
            const { ReasonCode::of("run.health.stalled") },
            "Silent for too long",
            seen,
        );
    }
    if silence > thresholds.idle {
        let seen = format!("nothing was heard for {}", ago(silence));
        return Judgement::because(
            Health::Idle,
            const { ReasonCode::of("run.health.idle") },
            "Alive and silent",
            seen,
        );
    }
    if let Some(progress) = facts.last_progress_at
        && now.since(progress) > thresholds.stuck
    {
        let seen = format!("active, and nothing new for {}", ago(now.since(progress)));
        return Judgement::because(
            Health::Stalled,
            const { ReasonCode::of("run.health.stuck") },
            "Busy without getting anywhere",
            seen,
        );
    }
    if facts.errors_in_row >= thresholds.errors_in_row {
        let seen = format!("{} failures in a row", facts.errors_in_row);
        return Judgement::because(
            Health::Degraded,
            const { ReasonCode::of("run.health.erroring") },
            "Alive and failing",
            seen,
        );
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

/// Silence that has a known cause is no stall.
fn waiting(facts: &SessionFacts, now: Moment) -> Option<Judgement> {
    if let Some(what) = &facts.waits_for {
        let code = const { ReasonCode::of("run.health.waiting") };
        let message = format!("It waits for a person: {what}");
        return Some(Judgement::because(Health::Degraded, code, message, what.clone()));
    }
    let until = facts.limited_until.filter(|until| now < *until)?;
    let code = const { ReasonCode::of("run.health.limited") };
    let seen = format!("its provider's limit holds until {until}");
    Some(Judgement::because(Health::Degraded, code, "It waits for its provider", seen))
}

fn silence(facts: &SessionFacts, now: Moment) -> Duration {
    now.since(facts.last_activity_at.or(facts.started_at).unwrap_or(facts.created_at))
}

/// A span in its two largest units.
fn ago(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s}s"),
        (0, 0, m, s) => format!("{m}m {s}s"),
        (0, h, m, _) => format!("{h}h {m}m"),
        (d, h, _, _) => format!("{d}d {h}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callboard_lifecycle::Words;

    const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);
    const MINUTE: i64 = 60;

    fn before(seconds: i64) -> Moment {
        Moment::from_micros(NOW.as_micros() - seconds * 1_000_000)
    }

    fn running() -> SessionFacts {
        SessionFacts {
            state: SessionState::Running,
            class: RunClass::Agent,
            created_at: before(31 * MINUTE),
            started_at: Some(before(30 * MINUTE)),
            last_activity_at: Some(before(5)),
            last_progress_at: None,
            liveness: Liveness::Alive,
            lease_until: None,
            has_traces: true,
            leftovers: 0,
            errors_in_row: 0,
            waits_for: None,
            limited_until: None,
        }
    }

    fn judged(facts: &SessionFacts) -> (Health, Option<&'static str>) {
        let judgement = judge_session(facts, &Thresholds::default(), NOW);
        (judgement.health, judgement.reasons.first().map(|reason| reason.code.as_str()))
    }

    #[test]
    fn a_run_that_works_needs_no_explanation() {
        assert_eq!(judged(&running()), (Health::Running, None));
    }

    #[test]
    fn silence_is_idle_after_an_hour_and_a_stall_after_the_threshold_of_its_class() {
        let silent =
            |seconds, class| SessionFacts { last_activity_at: Some(before(seconds)), class, ..running() };
        let hours = |h: i64| h * 60 * MINUTE;
        let idle = (Health::Idle, Some("run.health.idle"));
        let stalled = (Health::Stalled, Some("run.health.stalled"));
        assert_eq!(
            judged(&silent(hours(1), RunClass::Agent)),
            (Health::Running, None),
            "exactly the bound is fine"
        );
        assert_eq!(judged(&silent(hours(1) + 1, RunClass::Agent)), idle);
        assert_eq!(judged(&silent(hours(6), RunClass::Agent)), idle);
        assert_eq!(judged(&silent(hours(6) + 1, RunClass::Agent)), stalled);
        assert_eq!(judged(&silent(hours(6) + 1, RunClass::Flow)), idle);
        assert_eq!(judged(&silent(hours(12) + 1, RunClass::Flow)), stalled);
    }

    #[test]
    fn activity_without_progress_is_stuck_and_long_work_is_only_slow() {
        let stuck = SessionFacts { last_progress_at: Some(before(60 * MINUTE + 1)), ..running() };
        assert_eq!(judged(&stuck), (Health::Stalled, Some("run.health.stuck")));
        let slow = SessionFacts { started_at: Some(before(60 * MINUTE + 1)), ..running() };
        assert_eq!(judged(&slow), (Health::Running, Some("run.health.slow")));
    }

    #[test]
    fn a_dead_process_outranks_every_clock() {
        let dead = SessionFacts { liveness: Liveness::Dead, ..running() };
        assert_eq!(judged(&dead), (Health::ProcessDead, Some("run.health.process_dead")));
        assert_eq!(
            judged(&SessionFacts { has_traces: false, ..dead.clone() }),
            (Health::Orphaned, Some("run.health.orphaned"))
        );
        let unstarted = SessionFacts { state: SessionState::Pending, ..dead };
        assert_eq!(judged(&unstarted).0, Health::ProcessDead);
    }

    #[test]
    fn another_host_is_judged_by_its_lease_alone() {
        let foreign = SessionFacts { liveness: Liveness::Unknown, ..running() };
        assert_eq!(judged(&foreign), (Health::Unknown, Some("run.health.unknown")));
        let held = SessionFacts { lease_until: Some(before(-30)), ..foreign.clone() };
        assert_eq!(judged(&held), (Health::Running, None));
        let lapsed = SessionFacts { lease_until: Some(before(1)), ..foreign };
        assert_eq!(judged(&lapsed), (Health::Disconnected, Some("run.health.disconnected")));
    }

    #[test]
    fn an_ended_run_is_ok_unless_it_left_something_behind() {
        for state in SessionState::ALL.iter().filter(|state| state.is_terminal()) {
            let ended = SessionFacts { state: *state, liveness: Liveness::Dead, ..running() };
            assert_eq!(judged(&ended), (Health::Ok, None));
            let messy = SessionFacts { leftovers: 2, ..ended };
            assert_eq!(judged(&messy), (Health::Degraded, Some("run.health.leftovers")));
        }
    }

    #[test]
    fn a_run_that_nobody_starts_stalls() {
        let fresh = SessionFacts {
            state: SessionState::Pending,
            liveness: Liveness::Unknown,
            created_at: before(MINUTE),
            ..running()
        };
        assert_eq!(judged(&fresh), (Health::Ok, None));
        let forgotten = SessionFacts { created_at: before(MINUTE + 1), ..fresh };
        assert_eq!(judged(&forgotten), (Health::Stalled, Some("run.health.stalled")));
    }

    #[test]
    fn a_wait_with_a_known_cause_is_no_stall() {
        let silent = SessionFacts { last_activity_at: Some(before(90_000)), ..running() };
        let asking = SessionFacts { waits_for: Some("permission for Bash".to_owned()), ..silent.clone() };
        assert_eq!(judged(&asking), (Health::Degraded, Some("run.health.waiting")));
        let limited = |seconds: i64| SessionFacts { limited_until: Some(before(seconds)), ..silent.clone() };
        assert_eq!(judged(&limited(-1)), (Health::Degraded, Some("run.health.limited")));
        assert_eq!(judged(&limited(0)), (Health::Stalled, Some("run.health.stalled")), "the wait is over");
    }

    #[test]
    fn repeated_failures_degrade_a_living_run() {
        let erring = SessionFacts { errors_in_row: 3, ..running() };
        assert_eq!(judged(&erring), (Health::Degraded, Some("run.health.erroring")));
    }

    #[test]
    fn whatever_the_facts_the_value_is_one_of_the_kind_and_its_reason_is_registered() {
        let values = callboard_lifecycle::session::MACHINE.health;
        for state in SessionState::ALL {
            for liveness in [Liveness::Alive, Liveness::Dead, Liveness::Unknown] {
                for lease_until in [None, Some(before(9)), Some(before(-9))] {
                    for seconds in [1, 4_000, 90_000] {
                        let facts = SessionFacts {
                            state: *state,
                            liveness,
                            lease_until,
                            last_activity_at: Some(before(seconds)),
                            ..running()
                        };
                        let judgement = judge_session(&facts, &Thresholds::default(), NOW);
                        assert!(values.contains(&judgement.health), "{facts:?}");
                        assert!(judgement.reasons.iter().all(|reason| reason.check().is_ok()));
                    }
                }
            }
        }
    }
}
