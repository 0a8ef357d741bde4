//! What is noticed while a run goes on: its agent's stream, signs of life, and whoever wants it to stop.
//!
//! Invariant: nothing is written while nothing happens, because hundreds of runs may wait at once; what changes how the
//! run is judged is written within a second, mere signs of life once a minute. Deliberately absent: the output itself,
//! which the supervisor keeps and passes on.

use std::time::{Duration, Instant};

use callboard_agents::{Reader, Signal, Summary};
use callboard_kernel::{EntityId, Facts, Moment, Order, Transition, Value};
use callboard_supervisor::{
    Answer, Caught, Cause, End, How, Notification, Observer, StopCause, Stream, process,
};

use super::agent::{Conditions, JUDGED_BY};
use super::last_words::LastWords;
use super::recorder::Recorder;
use crate::host::identity;
use crate::read::keeper;
use crate::stop::{StopFor, wish};

/// How soon it is written that the process is there. A command that ends before that costs one sync less.
const BEGIN: Duration = Duration::from_millis(5);
/// How soon a change of what is known is written.
const SOON: Duration = Duration::from_secs(1);
/// How often signs of life are written.
const LIFE: Duration = Duration::from_secs(60);
/// How long a host vouches for its runs, and how often it does.
const LEASE: Duration = Duration::from_secs(60);
const LEASE_RENEWAL: Duration = Duration::from_secs(20);
/// After how long a store that is not needed is let go.
const REST: Duration = Duration::from_secs(1);
/// The signals that a stop sends: HUP, INT, KILL and TERM.
const STOPS: [i32; 4] = [1, 2, 9, 15];

pub(crate) struct Watching<'a, 'b> {
    recorder: &'b mut Recorder<'a>,
    /// That the process is there, until it is written.
    begun: Option<(Instant, Transition)>,
    parent: Option<EntityId>,
    reader: Reader,
    /// What was written last, so that only changes are.
    written: Facts,
    lived: bool,
    changed: Option<Instant>,
    life_due: Option<Instant>,
    lease_due: Option<Instant>,
    rest_due: Option<Instant>,
    last_progress: Option<Moment>,
    status: Option<String>,
    is_stopped: bool,
    /// Who asked for a stop, as it was recorded.
    pub(crate) asked_by: Option<String>,
    last_words: LastWords,
    conditions: Conditions,
}

impl<'a, 'b> Watching<'a, 'b> {
    pub(crate) fn new(
        recorder: &'b mut Recorder<'a>,
        begun: Option<Transition>,
        reader: Reader,
        parent: Option<EntityId>,
    ) -> Self {
        let now = Instant::now();
        let begun = begun.map(|begun| (now + BEGIN, begun));
        let lease_due = recorder.is_shared().then_some(now + LEASE_RENEWAL);
        Self {
            recorder,
            begun,
            parent,
            reader,
            written: Facts::none(),
            lived: false,
            changed: None,
            life_due: None,
            lease_due,
            rest_due: Some(now + REST),
            last_progress: None,
            status: None,
            is_stopped: false,
            asked_by: None,
            last_words: LastWords::default(),
            conditions: Conditions::default(),
        }
    }

    /// What the agent's stream said, all of it.
    pub(crate) fn finish(mut self) -> (Summary, Facts, Option<String>, LastWords) {
        drop(self.reader.finish());
        self.conditions.note(self.reader.summary(), || self.recorder.now());
        if let Some((_, begun)) = self.begun.take() {
            self.recorder.begin_with_end(Order::Transition(begun));
        }
        self.is_stopped = false;
        let facts = self.known();
        (self.reader.summary().clone(), facts, self.asked_by, self.last_words)
    }

    /// Takes note of what the agent said.
    fn heard(&mut self, signals: &[Signal]) {
        if signals.is_empty() {
            return;
        }
        if signals.iter().any(is_progress) {
            self.last_progress = Some(self.recorder.now());
        }
        self.conditions.note(self.reader.summary(), || self.recorder.now());
        if self.changed.is_none() && self.weighs() {
            self.changed = Some(Instant::now());
        }
    }

    /// Queues the record that the process is there, if that was not done yet.
    fn begin(&mut self) {
        if let Some((_, begun)) = self.begun.take() {
            drop(self.recorder.begin(Order::Transition(begun)));
        }
    }

    /// What is known of the run beside its state.
    fn known(&self) -> Facts {
        let summary = self.reader.summary();
        let mut facts = Facts::none();
        let text = |value: Option<String>| value.map_or(Value::Null, Value::Text);
        facts.set("last_progress_at", text(self.last_progress.map(|at| at.to_string())));
        facts.merge(&self.conditions.facts(summary, &self.written));
        if let Some(status) = &self.status {
            facts.set("status", status.as_str());
        }
        // What was said once is taken back too.
        if self.is_stopped || self.written.has("is_stopped") {
            facts.set("is_stopped", self.is_stopped);
        }
        facts
    }

    /// Is something known that changes how the run is judged?
    fn weighs(&self) -> bool {
        let known = self.known();
        JUDGED_BY
            .iter()
            .chain(&["status", "is_stopped"])
            .any(|name| known.get(name) != self.written.get(name))
    }

    fn write(&mut self) {
        let mut known = self.known();
        if self.lease_due.is_some() {
            let until = self.recorder.now().plus(LEASE);
            known.set("lease_until", until.to_string());
        }
        note_beginnings(&mut known, &self.written, self.recorder.now());
        if let Some(ticket) = self.recorder.observe(known.clone()) {
            drop(ticket);
        }
        self.written = known;
        (self.lived, self.changed) = (false, None);
        let now = Instant::now();
        self.life_due = Some(now + LIFE);
        self.rest_due = Some(now + REST);
    }

    fn dues(&self) -> [Option<Instant>; 5] {
        let changed = self.changed.map(|at| at + SOON);
        let life = self.life_due.filter(|_| self.lived);
        let begun = self.begun.as_ref().map(|(at, _)| *at);
        [begun, changed, life, self.lease_due, self.rest_due]
    }

    /// Whose doing an end was. A stop reaches a whole tree at once, so the command may be gone before its supervisor
    /// has heard of the stop: a signal that ends it while a stop is wished for is that stop, unless memory ran out.
    pub(crate) fn attributed(&mut self, end: &End) -> Cause {
        match (end.cause, end.how) {
            (Cause::OfItself, How::Signaled { signal, .. }) if STOPS.contains(&signal) && !end.oom => {
                self.behalf().map_or(end.cause, Cause::Stopped)
            }
            _ => end.cause,
        }
    }

    /// On whose behalf the run is to end: a recorded wish, a parent that ends, or nobody known.
    fn behalf(&mut self) -> Option<StopCause> {
        let id = self.recorder.id;
        let wished = self.recorder.stored(id).and_then(|stored| wish(&stored.entity.facts));
        if let Some((wanted, by)) = wished {
            self.asked_by = Some(by);
            return Some(match wanted {
                StopFor::Operator => StopCause::Operator,
                StopFor::Parent => StopCause::Parent,
            });
        }
        let parent = self.parent.and_then(|parent| self.recorder.stored(parent));
        let ends = parent.filter(|parent| {
            let facts = &parent.entity.facts;
            parent.entity.ended_at.is_some() || wish(facts).is_some() || is_abandoned(facts)
        });
        let parent = ends?;
        self.asked_by = Some(parent.entity.state.id.to_string());
        Some(StopCause::Parent)
    }
}

impl Observer for Watching<'_, '_> {
    fn output(&mut self, stream: Stream, bytes: &[u8], _: Duration) {
        if self.life_due.is_none() {
            self.life_due = Some(Instant::now() + LIFE);
        }
        self.lived = true;
        self.last_words.note(stream, bytes);
        let signals = match stream {
            Stream::Stdout => self.reader.stdout(bytes),
            Stream::Stderr => self.reader.stderr(bytes),
        };
        self.heard(&signals);
    }

    fn notified(&mut self, notification: Notification) {
        self.lived = true;
        match notification {
            Notification::Status(status) => {
                self.status = Some(status);
                self.changed.get_or_insert_with(Instant::now);
            }
            Notification::Ready => self.last_progress = Some(self.recorder.now()),
            Notification::Watchdog
            | Notification::Stopping
            | Notification::Extend(_)
            | Notification::Other(_) => {}
        }
    }

    fn stopped(&mut self, stopped: bool) {
        self.is_stopped = stopped;
        self.changed.get_or_insert_with(Instant::now);
    }

    fn due(&mut self) -> Option<Duration> {
        let now = Instant::now();
        self.dues().into_iter().flatten().map(|at| at.saturating_duration_since(now)).min()
    }

    fn tick(&mut self) {
        let now = Instant::now();
        let [begun, changed, life, lease, rest] = self.dues().map(|due| due.is_some_and(|at| at <= now));
        if begun {
            self.begin();
        }
        if lease {
            self.lease_due = Some(now + LEASE_RENEWAL);
        }
        if changed || life || lease {
            self.write();
        } else if rest {
            self.recorder.rest();
            self.rest_due = None;
        }
    }

    fn signal(&mut self, caught: Caught) -> Answer {
        match caught {
            Caught::Terminate => Answer::Stop(self.behalf().unwrap_or(StopCause::Terminate)),
            Caught::Interrupt
            | Caught::Hangup
            | Caught::Quit
            | Caught::Resize
            | Caught::Suspend
            | Caught::Resume => caught.usual_answer(),
        }
    }
}

/// Is the supervisor of a run dead, so that whoever ends it now ends what was started inside of it?
fn is_abandoned(facts: &Facts) -> bool {
    let seen = keeper(facts).map(|keeper| process::look(&identity(&keeper)));
    matches!(seen, Some(Ok(process::Sighting::Gone | process::Sighting::Zombie)))
}

/// Keeps since when a condition holds that is heard of again and again while it does.
fn note_beginnings(known: &mut Facts, before: &Facts, now: Moment) {
    let conditions =
        [("waits_for", "waits_since"), ("limited_until", "limited_since"), ("errors_in_row", "errors_since")];
    for (what, since) in conditions {
        let goes_on = match (known.get(what), before.get(what)) {
            (None | Some(Value::Null | Value::Int(0)), _) => continue,
            // Failures that add up are one condition; another question is another one.
            (Some(Value::Int(_)), Some(Value::Int(count))) => *count > 0,
            (now, before) => now == before,
        };
        let began = before.get(since).filter(|_| goes_on).cloned();
        known.set(since, began.unwrap_or_else(|| Value::Text(now.to_string())));
    }
}

const fn is_progress(signal: &Signal) -> bool {
    match signal {
        Signal::Progress | Signal::ToolEnded { ok: true, .. } => true,
        Signal::Activity
        | Signal::Waiting(_)
        | Signal::WaitingOver
        | Signal::Retry { .. }
        | Signal::RateLimited { .. }
        | Signal::ToolStarted { .. }
        | Signal::ToolEnded { ok: false, .. }
        | Signal::Unknown { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_began_when_it_was_first_seen_and_another_question_is_another_one() {
        let at = |second: i64| Moment::from_micros(second * 1_000_000);
        let mut written = Facts::none();
        let mut since = |second, waits_for: Option<&str>, errors: i64| {
            let waits_for = waits_for.map_or(Value::Null, |text| Value::Text(text.to_owned()));
            let mut known = Facts::none().with("waits_for", waits_for).with("errors_in_row", errors);
            note_beginnings(&mut known, &written, at(second));
            written = known.clone();
            ["waits_since", "errors_since"].map(|name| crate::read::moment(&known, name))
        };
        assert_eq!(since(1, None, 0), [None, None]);
        assert_eq!(since(2, Some("a"), 1), [Some(at(2)), Some(at(2))]);
        assert_eq!(since(3, Some("a"), 4), [Some(at(2)), Some(at(2))]);
        assert_eq!(since(4, Some("b"), 0), [Some(at(4)), None]);
        assert_eq!(since(5, None, 1), [None, Some(at(5))]);
    }
}
