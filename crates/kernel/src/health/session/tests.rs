//! The judge of a run, case by case.

use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, Words};

use super::samples::{MINUTE, NOW, before, running};
use super::*;
use crate::health::process::{Hold, Liveness, Presence, Vantage};
use crate::health::thresholds::{RunClass, Thresholds};

fn since<T>(what: T) -> Since<T> {
    Since { what, at: None }
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
        let messy = SessionFacts { leftovers: Some(2), ..ended.clone() };
        assert_eq!(judged(&messy), (Health::Degraded, Some("run.health.leftovers")));
        let from = |vantage| {
            let presence = Presence { vantage, ..Presence::default() };
            judged(&SessionFacts { leftovers: None, presence, ..ended.clone() })
        };
        assert_eq!(from(Vantage::OtherMachine), (Health::Unknown, Some("run.health.unknown")));
        assert_eq!(from(Vantage::Here), (Health::Ok, None));
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
    let asking = SessionFacts { waits_for: Some(since("permission for Bash".to_owned())), ..silent.clone() };
    assert_eq!(judged(&asking), (Health::Degraded, Some("run.health.waiting")));
    let limited =
        |seconds: i64| SessionFacts { limited_until: Some(since(before(seconds))), ..silent.clone() };
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
    let machine = &callboard_lifecycle::session::MACHINE;
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
                    assert!(machine.has_health(judgement.health), "{facts:?}");
                    assert!(judgement.reasons.iter().all(|reason| reason.check().is_ok()));
                }
            }
        }
    }
}

fn shown(facts: &SessionFacts) -> (Health, Option<&'static str>, Option<String>) {
    let judgement = judge_session(facts, &Thresholds::default(), NOW);
    let code = judgement.reasons.first().map(|reason| reason.code.as_str());
    (judgement.health, code, judgement.shown)
}

fn seen(command: Liveness, command_hold: Option<Hold>, supervisor_hold: Option<Hold>) -> SessionFacts {
    let presence = Presence { command, command_hold, supervisor_hold, ..Presence::default() };
    SessionFacts { presence, ..running() }
}

#[test]
fn what_is_held_is_paused_and_a_look_outranks_the_record() {
    let paused = |label: &str| (Health::Paused, Some("run.health.paused"), Some(label.to_owned()));
    let alive = |hold, supervisor| seen(Liveness::Alive, hold, supervisor);
    assert_eq!(shown(&alive(Some(Hold::Signal), None)), paused("Paused (stop signal)"));
    assert_eq!(shown(&alive(Some(Hold::Freezer), None)), paused("Paused (frozen)"));
    assert_eq!(shown(&alive(Some(Hold::Signal), Some(Hold::Signal))), paused("Paused (stop signal)"));
    let at = Some(before(9));
    let held = Some(Since { what: Some(Hold::Suspended), at });
    let suspended = SessionFacts { held: held.clone(), ..alive(Some(Hold::Signal), Some(Hold::Signal)) };
    assert_eq!(shown(&suspended), paused("Paused (suspended)"));
    assert_eq!(hold(&suspended).and_then(|hold| hold.at), at);
    let unseen = SessionFacts { held: held.clone(), ..seen(Liveness::Unknown, None, None) };
    assert_eq!(shown(&unseen), paused("Paused (suspended)"));
    let goes_on = SessionFacts { held, ..alive(None, None) };
    assert_eq!(shown(&goes_on), (Health::Running, None, None), "it was continued a moment ago");
}

#[test]
fn a_stopped_supervisor_hides_neither_a_dead_command_nor_a_living_one() {
    let stopped = |command| shown(&seen(command, None, Some(Hold::Signal)));
    let degraded =
        |label: &str| (Health::Degraded, Some("run.health.supervisor_stopped"), Some(label.to_owned()));
    assert_eq!(stopped(Liveness::Dead), degraded("Exited, supervisor stopped"));
    assert_eq!(stopped(Liveness::Alive), degraded("Supervisor stopped"));
}

#[test]
fn a_dead_supervisor_with_living_processes_is_unsupervised() {
    let dead = |command, members| {
        let presence = Presence { command, members, ..Presence::default() };
        shown(&SessionFacts { liveness: Liveness::Dead, presence, ..running() })
    };
    let unsupervised =
        |label: &str| (Health::ProcessDead, Some("run.health.unsupervised"), Some(label.to_owned()));
    assert_eq!(dead(Liveness::Alive, None), unsupervised("Unsupervised (1 alive)"));
    assert_eq!(dead(Liveness::Alive, Some(3)), unsupervised("Unsupervised (3 alive)"));
    assert_eq!(dead(Liveness::Dead, Some(2)), unsupervised("Unsupervised (2 alive)"));
    let gone = (Health::ProcessDead, Some("run.health.process_dead"), None);
    assert_eq!(dead(Liveness::Dead, Some(0)), gone);
}

#[test]
fn an_ended_run_whose_process_lives_is_told() {
    let ended = |command, members, kill_unconfirmed| {
        let presence = Presence { command, members, ..Presence::default() };
        let state = SessionState::Cancelled;
        shown(&SessionFacts { state, presence, kill_unconfirmed, liveness: Liveness::Dead, ..running() })
    };
    let degraded = |code, label: &str| (Health::Degraded, Some(code), Some(label.to_owned()));
    let after = "run.health.alive_after_end";
    assert_eq!(ended(Liveness::Alive, None, false), degraded(after, "Still alive"));
    let unconfirmed = "run.health.kill_unconfirmed";
    let one = degraded(unconfirmed, "Kill unconfirmed (1 alive)");
    assert_eq!(ended(Liveness::Alive, Some(1), true), one);
    assert_eq!(ended(Liveness::Unknown, None, true), one, "recorded, and not to be seen from here");
    assert_eq!(ended(Liveness::Dead, Some(0), true), (Health::Ok, Some(unconfirmed), None), "gone since");
    assert_eq!(ended(Liveness::Dead, Some(2), false), degraded(after, "Still alive (2)"), "its children");
    let from = |vantage| {
        let presence = Presence { vantage, ..Presence::default() };
        let state = SessionState::Cancelled;
        shown(&SessionFacts { state, presence, kill_unconfirmed: true, ..running() })
    };
    let unknown = (Health::Unknown, Some(unconfirmed), Some("Kill unconfirmed".to_owned()));
    for vantage in [Vantage::OtherPidNamespace, Vantage::OtherTimeNamespace, Vantage::OtherMachine] {
        assert_eq!(from(vantage), unknown, "{vantage:?}");
    }
    assert_eq!(from(Vantage::Restarted), (Health::Ok, Some(unconfirmed), None), "nobody outlives a boot");
}

#[test]
fn what_cannot_be_seen_is_unknown_and_neither_dead_nor_stalled() {
    for vantage in [Vantage::OtherPidNamespace, Vantage::OtherTimeNamespace, Vantage::OtherMachine] {
        for state in [SessionState::Pending, SessionState::Running] {
            let presence = Presence { vantage, ..Presence::default() };
            let hidden = SessionFacts { state, presence, liveness: Liveness::Unknown, ..running() };
            assert_eq!(judged(&hidden), (Health::Unknown, Some("run.health.unknown")), "{vantage:?}");
        }
    }
}

#[test]
fn a_clone_of_the_machine_that_vouches_for_its_run_is_not_taken_for_an_earlier_boot() {
    let presence = Presence { vantage: Vantage::Restarted, ..Presence::default() };
    let restarted = SessionFacts { liveness: Liveness::Dead, presence, ..running() };
    assert_eq!(judged(&restarted).0, Health::ProcessDead);
    let vouched = SessionFacts { lease_until: Some(before(-30)), ..restarted };
    assert_eq!(judged(&vouched), (Health::Running, None));
}

#[test]
fn retrying_and_looping_are_said_and_silence_after_the_exit_is_nobodys() {
    let retrying = SessionFacts { retrying: Some((9, Some("401".to_owned()))), ..running() };
    let label = Some("Retrying (9, 401)".to_owned());
    assert_eq!(shown(&retrying), (Health::Degraded, Some("run.health.retrying"), label));
    let looping = SessionFacts { looping: Some(253), ..running() };
    let label = Some("Looping (253 steps)".to_owned());
    assert_eq!(shown(&looping), (Health::Degraded, Some("run.health.looping"), label));
    let exited = Some(since("exited with 0".to_owned()));
    let draining = SessionFacts { exited, last_activity_at: Some(before(90_000)), ..running() };
    assert_eq!(judged(&draining), (Health::Running, None));
}

#[test]
fn a_success_that_was_denied_something_says_so_and_no_other_end_does() {
    let with = |state, warning| shown(&SessionFacts { state, warning: Some(warning), ..running() });
    let denied = || CompletedWith::Denied("Bash".to_owned());
    let label = |text: &str| Some(text.to_owned());
    assert_eq!(
        with(SessionState::Completed, denied()),
        (Health::Degraded, Some("run.health.denied"), label("Denied (Bash)"))
    );
    assert_eq!(
        with(SessionState::Completed, CompletedWith::CutAnswer),
        (Health::Degraded, Some("run.health.truncated"), label("Answer cut"))
    );
    assert_eq!(with(SessionState::Failed, denied()), (Health::Ok, None, None));
}

#[test]
fn a_limit_says_until_when_and_an_inferred_wait_that_it_is_inferred() {
    let limited = |seconds: i64| {
        let limited_until = Some(since(before(-seconds)));
        shown(&SessionFacts { limited_until, ..running() }).2
    };
    let day_and_time = NOW.to_string();
    let day = day_and_time.split('T').next().unwrap_or_default();
    assert!(
        limited(1).is_some_and(|label| label.ends_with(" UTC)") && !label.contains(day)),
        "{:?}",
        limited(1)
    );
    assert!(limited(90_000).is_some_and(|label| label.contains('-')), "{:?}", limited(90_000));
    let claim = |waits_inferred| {
        let waits_for = Some(since("an answer".to_owned()));
        let facts = SessionFacts { waits_for, waits_inferred, ..running() };
        judge_session(&facts, &Thresholds::default(), NOW).reasons[0].claim_status
    };
    assert_eq!((claim(false), claim(true)), (ClaimStatus::Observed, ClaimStatus::Inferred));
}
