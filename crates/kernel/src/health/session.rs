//! The health of a run, first match wins: what it left behind, whether it lives, whether it moves.
//!
//! Invariant: who cannot see a process says so. A look at the command outranks what its supervisor recorded of it, because
//! the supervisor may stand still itself.

use std::time::Duration;

use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{Health, PhaseName, ReasonCode};

use super::ended_session::after_the_end;
use super::judgement::Judgement;
use super::process::{Hold, Liveness, Presence, Vantage};
use super::thresholds::{RunClass, Thresholds};
use crate::moment::Moment;

/// What is recorded of a run, and what a look at its processes showed.
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
    /// Is the process that answers for it alive?
    pub liveness: Liveness,
    /// What else was seen of its processes.
    pub presence: Presence,
    /// The pid of its command.
    pub pid: Option<u32>,
    /// Until when its host vouches for it.
    pub lease_until: Option<Moment>,
    /// Does it have anything to show: artifacts, messages, output?
    pub has_traces: bool,
    /// Locks and processes that it left; nothing if nobody looked for them when it was ended.
    pub leftovers: Option<u32>,
    /// Processes were alive after they had been killed.
    pub kill_unconfirmed: bool,
    /// How its command ended after the log had said that the run ended.
    pub later_end: Option<String>,
    /// It completed, and somebody should know more than that.
    pub warning: Option<CompletedWith>,
    /// Failures in a row, such as a provider's refusals.
    pub errors_in_row: u32,
    /// What it waits for a person to do, where its stream tells.
    pub waits_for: Option<Since<String>>,
    /// That it waits was interpreted, and not said in as many words.
    pub waits_inferred: bool,
    /// Until when its provider lets it wait.
    pub limited_until: Option<Since<Moment>>,
    /// Its agent tries again after failures: how often, and what the last failure was.
    pub retrying: Option<(u32, Option<String>)>,
    /// Its agent repeats itself: for how many steps.
    pub looping: Option<u32>,
    /// What holds its command, as its supervisor recorded it.
    pub held: Option<Since<Option<Hold>>>,
    /// A stop that has begun.
    pub stopping: Option<Since<Stopping>>,
    /// How its command ended, read by its supervisor before the end of the run.
    pub exited: Option<Since<String>>,
    /// What its supervisor does after the command has exited.
    pub after_exit: Option<Since<PhaseName>>,
    /// When the store was restored from a backup that was made while it ran.
    pub restored_at: Option<Moment>,
}

/// Something that holds since a moment, where that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since<T> {
    /// What holds.
    pub what: T,
    /// Since when.
    pub at: Option<Moment>,
}

/// What somebody should know of a run that completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletedWith {
    /// Its agent was not allowed to use these tools.
    Denied(String),
    /// The model's output limit cut the answer.
    CutAnswer,
}

/// A stop that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// Why: `operator`, `deadline`, `sigint` and the like.
    pub cause: String,
    /// Who asked for it.
    pub by: Option<String>,
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
            // A machine id may be shared by clones of an image, and a clone that vouches for its run is not dead.
            Liveness::Dead if facts.presence.vantage == Vantage::Restarted && is_vouched(facts, now) => {
                unseen(facts, thresholds, now)
            }
            Liveness::Dead => dead(facts, now),
            Liveness::Unknown => unseen(facts, thresholds, now),
            Liveness::Alive => living(facts, thresholds, now),
        },
    }
}

fn is_vouched(facts: &SessionFacts, now: Moment) -> bool {
    facts.lease_until.is_some_and(|until| until >= now)
}

fn dead(facts: &SessionFacts, now: Moment) -> Judgement {
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
fn unseen(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
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

fn pending(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
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

fn living(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
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

/// A command or a supervisor that is alive and does not run.
fn held(facts: &SessionFacts) -> Option<Judgement> {
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

/// A moment in as few words as tell it: the time, and the day if that is another one.
fn time_of_day(moment: Moment, now: Moment) -> String {
    let (text, today) = (moment.to_string(), now.to_string());
    match (text.split_once('T'), today.split_once('T')) {
        (Some((day, time)), Some((today, _))) if day == today => {
            format!("{} UTC", &time[..time.len().min(5)])
        }
        (Some((day, time)), _) => format!("{day} {} UTC", &time[..time.len().min(5)]),
        (None, _) => text,
    }
}

/// The longest piece of an error that stands in a pair of parentheses.
const ERROR_CHARS: usize = 40;

pub(super) fn short(error: &str) -> String {
    let plain: String = error.chars().filter(|c| !c.is_control()).collect();
    if plain.chars().count() <= ERROR_CHARS {
        return plain;
    }
    plain.chars().take(ERROR_CHARS - 1).chain(['…']).collect()
}

pub(super) fn processes(many: u32) -> String {
    if many == 1 { "1 process".to_owned() } else { format!("{many} processes") }
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
pub(crate) mod samples {
    use super::*;

    pub(crate) const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);
    pub(super) const MINUTE: i64 = 60;

    pub(crate) fn before(seconds: i64) -> Moment {
        Moment::from_micros(NOW.as_micros() - seconds * 1_000_000)
    }

    pub(crate) fn running() -> SessionFacts {
        SessionFacts {
            state: SessionState::Running,
            class: RunClass::Agent,
            created_at: before(31 * MINUTE),
            started_at: Some(before(30 * MINUTE)),
            last_activity_at: Some(before(5)),
            last_progress_at: None,
            liveness: Liveness::Alive,
            presence: Presence::default(),
            pid: Some(42),
            lease_until: None,
            has_traces: true,
            leftovers: Some(0),
            kill_unconfirmed: false,
            warning: None,
            later_end: None,
            errors_in_row: 0,
            waits_for: None,
            waits_inferred: false,
            limited_until: None,
            retrying: None,
            looping: None,
            held: None,
            stopping: None,
            exited: None,
            after_exit: None,
            restored_at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{MINUTE, NOW, before, running};
    use super::*;
    use callboard_lifecycle::Words;
    use callboard_lifecycle::claim::ClaimStatus;

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
        let asking =
            SessionFacts { waits_for: Some(since("permission for Bash".to_owned())), ..silent.clone() };
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
}
