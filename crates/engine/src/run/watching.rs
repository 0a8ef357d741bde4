//! What is noticed while a run goes on: its agent's stream, signs of life, and whoever wants it to stop.
//!
//! Invariant: nothing is written while nothing happens, because hundreds of runs may wait at once; what changes how the
//! run is judged is written within a second, mere signs of life once a minute. Deliberately absent: the output itself,
//! which the supervisor keeps and passes on.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use callboard_agents::{Reader, Signal, Summary};
use callboard_kernel::{EntityId, Facts, Moment, Order, Transition, fact};
use callboard_ledger::Ticket;
use callboard_supervisor::sandbox::Sightings;
use callboard_supervisor::{
    Answer, Caught, Cause, End, How, Notification, Observer, Received, StartError, StopCause, StoppedBy,
    Stream, ToolEnd, Wait,
};

use super::agent::{Conditions, JUDGED_BY, note_beginnings};
use super::attribution::stop_word;
use super::ending::Asked;
use super::last_words::LastWords;
use super::recorder::Recorder;
use super::sandbox_report::Seen;
use crate::world::World;

/// How soon it is written that the process is there. A command that ends before that costs one sync less.
const BEGIN: Duration = Duration::from_millis(5);
/// How soon a change of what is known is written.
const SOON: Duration = Duration::from_secs(1);
/// How soon it is written that the command was stopped or goes on, unless it was written just before.
const HELD: Duration = Duration::from_millis(5);
/// How often signs of life are written.
const LIFE: Duration = Duration::from_secs(60);
/// How long a host vouches for its runs, and how often it does.
const LEASE: Duration = Duration::from_secs(60);
const LEASE_RENEWAL: Duration = Duration::from_secs(20);
/// How soon it is written that the command has exited, if its end is not written before.
const EXIT: Duration = Duration::from_millis(50);
/// After how long a store that is not needed is let go.
const REST: Duration = Duration::from_secs(1);
/// How long the record that the run is suspended may delay that.
const SUSPENDING: Duration = Duration::from_millis(300);

pub(crate) struct Watching<'a, 'b> {
    pub(super) recorder: &'b mut Recorder<'a>,
    /// That the process is there, until it is written.
    begun: Option<(Instant, Transition)>,
    /// The process has not become the program yet, so it is not written that the run goes on.
    is_starting: bool,
    /// Why it did not become the program.
    stillborn: Option<StartError>,
    /// The runs that this one is inside of, innermost first.
    pub(super) around: Vec<EntityId>,
    reader: Reader,
    /// The tool call that is waited for, and how many there were.
    open_tool: (Option<String>, u64),
    /// What was written last, so that only changes are.
    written: Facts,
    lived: bool,
    changed: Option<Instant>,
    life_due: Option<Instant>,
    lease_due: Option<Instant>,
    rest_due: Option<Instant>,
    last_progress: Option<Moment>,
    status: Option<String>,
    /// What stopped the command, and since when.
    stopped: Option<(StoppedBy, Moment)>,
    /// The stop that has begun, as it is recorded.
    stopping: Option<Facts>,
    pub(super) stop_cause: Option<StopCause>,
    /// How the command exited, when its wait status was read.
    exited: Option<Facts>,
    /// What goes on after the exit, and since when.
    phase: Option<(&'static str, Moment)>,
    exit_due: Option<Instant>,
    /// When it is to be written that the command was stopped or goes on, and not before when it is next.
    held_due: Option<Instant>,
    held_after: Option<Instant>,
    /// Whose doing the end was, judged when it came: what is wished for later did not cause it.
    cause: Option<Cause>,
    /// The wish for the end of a tool call that was met last.
    pub(super) tool_abort: Option<Moment>,
    /// The log is to be looked at for a wish that nobody could send a signal for.
    looks_for_wish: bool,
    /// Who asked for a stop, as it was recorded.
    pub(super) asked_by: Option<String>,
    /// The signal that asked for a stop, and its sender.
    pub(super) signalled: Option<String>,
    last_words: LastWords,
    conditions: Conditions,
    /// What the sandbox noticed.
    seen: Seen,
}

impl<'a, 'b> Watching<'a, 'b> {
    pub(crate) fn new(recorder: &'b mut Recorder<'a>, begun: Option<Transition>, reader: Reader) -> Self {
        let around = recorder.world().markers_around();
        let around = around.iter().rev().filter_map(|marker| marker.parse().ok());
        let own = recorder.id;
        let now = recorder.instant();
        let begun = begun.map(|begun| (now + BEGIN, begun));
        let lease_due = recorder.is_shared().then_some(now + LEASE_RENEWAL);
        Self {
            recorder,
            begun,
            is_starting: false,
            stillborn: None,
            around: around.filter(|id| *id != own).collect(),
            reader,
            open_tool: (None, 0),
            written: Facts::none(),
            lived: false,
            changed: None,
            life_due: None,
            lease_due,
            rest_due: Some(now + REST),
            last_progress: None,
            status: None,
            stopped: None,
            stopping: None,
            stop_cause: None,
            exited: None,
            phase: None,
            exit_due: None,
            held_due: None,
            held_after: None,
            cause: None,
            tool_abort: None,
            looks_for_wish: false,
            asked_by: None,
            signalled: None,
            last_words: LastWords::default(),
            conditions: Conditions::default(),
            seen: Seen::default(),
        }
    }

    /// Waits for the process to become the program before it is written that the run goes on.
    pub(crate) fn starting(mut self, is_starting: bool) -> Self {
        self.is_starting = is_starting;
        self
    }

    /// Why the process did not become the program, if it did not.
    pub(crate) fn take_stillborn(&mut self) -> Option<StartError> {
        self.stillborn.take()
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Moment {
        self.recorder.now()
    }

    /// Whose doing the end was.
    pub(crate) fn cause(&self, end: &End) -> Cause {
        self.cause.unwrap_or(end.cause)
    }

    /// What the sandbox noticed, in sentences.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.told().collect()
    }

    /// The artifacts are looked at from here on.
    pub(crate) fn checking(&mut self) {
        self.enter("checking");
    }

    /// Something goes on after the exit that people can see and stop.
    fn enter(&mut self, phase: &'static str) {
        self.phase = Some((phase, self.recorder.now()));
        self.exit_due = self.exit_due.or(Some(self.recorder.instant() + EXIT));
    }

    /// What the agent's stream said, all of it.
    pub(crate) fn finish(mut self) -> (Summary, Facts, Asked, LastWords) {
        drop(self.reader.finish());
        self.conditions.note(self.reader.summary(), || self.recorder.now());
        if let Some(begun) = self.take_begun() {
            self.recorder.begin_with_end(Order::Transition(begun));
        }
        self.stopped = None;
        let had_phase = self.written.known(fact::PHASE).is_some();
        (self.exited, self.phase) = (None, None);
        let mut facts = self.known();
        if had_phase {
            facts.forget(fact::PHASE);
        }
        let asked = Asked { by: self.asked_by, signal: self.signalled };
        (self.reader.summary().clone(), facts, asked, self.last_words)
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
            self.changed = Some(self.recorder.instant());
        }
    }

    /// Queues the record that the process is there, if that was not done yet.
    fn begin(&mut self) {
        if let Some(begun) = self.take_begun() {
            drop(self.recorder.begin(Order::Transition(begun)));
        }
    }

    /// The record that the process is there, if it was not written yet. A process whose `exec` has not returned is there, and
    /// its program does not run.
    fn take_begun(&mut self) -> Option<Transition> {
        let (_, mut begun) = self.begun.take()?;
        if self.is_starting
            && let Some(first) = begun.reasons.first_mut()
        {
            first.message = "the process was started, and its program had not begun to run".to_owned();
        }
        Some(begun)
    }

    /// What is known of the run beside its state.
    fn known(&self) -> Facts {
        let summary = self.reader.summary();
        let mut facts = Facts::none();
        facts.record(fact::LAST_PROGRESS_AT, self.last_progress);
        facts.merge(&self.conditions.facts(summary, &self.written));
        if let Some(status) = &self.status {
            facts.record(fact::STATUS, status.as_str());
        }
        // What was said once is taken back too.
        if self.stopped.is_some() || self.written.known(fact::IS_STOPPED).is_some() {
            facts.record(fact::IS_STOPPED, self.stopped.is_some());
            facts.record(fact::STOPPED_SINCE, self.stopped.map(|(_, since)| since));
            facts.record(fact::STOPPED_BY, self.stopped.map(|(by, _)| stopped_by(by)));
        }
        if let Some(seen) = self.seen.facts() {
            facts.record(fact::SANDBOX_SEEN, seen.clone());
        }
        if let Some(stopping) = &self.stopping {
            facts.record(fact::STOPPING, stopping.clone());
        }
        if let Some(exited) = &self.exited {
            facts.record(fact::EXITED, exited.clone());
        }
        if let Some((phase, since)) = self.phase {
            facts.record(fact::PHASE, phase);
            facts.record(fact::PHASE_SINCE, since);
        }
        facts
    }

    /// Is something known that changes how the run is judged?
    fn weighs(&self) -> bool {
        let known = self.known();
        JUDGED_BY
            .iter()
            .chain(&[fact::STATUS.name(), fact::IS_STOPPED.name()])
            .any(|name| known.get(name) != self.written.get(name))
    }

    fn write(&mut self) -> Option<Ticket> {
        let mut known = self.known();
        if self.lease_due.is_some() {
            let until = self.recorder.now().plus(LEASE);
            known.record(fact::LEASE_UNTIL, until);
        }
        note_beginnings(&mut known, &self.written, self.recorder.now());
        let ticket = self.recorder.observe(known.clone());
        self.written = known;
        (self.lived, self.changed) = (false, None);
        let now = self.recorder.instant();
        if self.held_due.take().is_some() {
            self.held_after = Some(now + SOON);
        }
        self.life_due = Some(now + LIFE);
        self.rest_due = Some(now + REST);
        ticket
    }

    fn dues(&self) -> [Option<Instant>; 7] {
        let changed = self.changed.map(|at| at + SOON);
        let life = self.life_due.filter(|_| self.lived);
        let begun = self.begun.as_ref().map(|(at, _)| *at).filter(|_| !self.is_starting);
        [begun, changed, life, self.lease_due, self.rest_due, self.exit_due, self.held_due]
    }
}

impl Observer for Watching<'_, '_> {
    fn output(&mut self, stream: Stream, bytes: &[u8], _: Duration) {
        if self.life_due.is_none() {
            self.life_due = Some(self.recorder.instant() + LIFE);
        }
        self.lived = true;
        self.last_words.note(stream, bytes);
        let signals = match stream {
            Stream::Stdout => self.reader.stdout(bytes),
            Stream::Stderr => self.reader.stderr(bytes),
        };
        self.heard(&signals);
    }

    fn typed(&mut self) {
        let signals = self.reader.typed();
        self.heard(&signals);
    }

    fn notified(&mut self, notification: Notification) {
        self.lived = true;
        match notification {
            Notification::Status(status) => {
                self.status = Some(status);
                self.changed = self.changed.or_else(|| Some(self.recorder.instant()));
            }
            Notification::Ready => self.last_progress = Some(self.recorder.now()),
            Notification::Watchdog
            | Notification::Stopping
            | Notification::Extend(_)
            | Notification::Other(_) => {}
        }
    }

    fn sighted(&mut self, sightings: &Sightings) {
        if self.seen.note(sightings, self.recorder.now()) {
            self.changed = self.changed.or_else(|| Some(self.recorder.instant()));
        }
    }

    fn stopped(&mut self, by: Option<StoppedBy>) {
        self.stopped = by.map(|by| (by, self.recorder.now()));
        // A command that is stopped and continued all the time is not worth a record each time.
        let soon = self.recorder.instant() + HELD;
        self.held_due = Some(self.held_after.map_or(soon, |after| after.max(soon)));
        if by == Some(StoppedBy::Suspended) {
            // Nothing can be written while we are stopped ourselves.
            self.begin();
            let ticket = self.write();
            ticket.into_iter().for_each(|ticket| wait_for(ticket, SUSPENDING, self.recorder.world()));
        }
    }

    fn waits(&mut self) -> Option<Wait> {
        let summary = self.reader.summary();
        if summary.waiting.is_some() {
            return Some(Wait::Person);
        }
        let open = summary.open_tool.as_ref().filter(|_| summary.end.is_none()).map(|tool| &tool.id);
        if open != self.open_tool.0.as_ref() {
            self.open_tool = (open.cloned(), self.open_tool.1 + 1);
        }
        let call = self.open_tool.1;
        self.open_tool.0.as_ref().map(|_| Wait::Tool { call })
    }

    fn stopping(&mut self, cause: Cause) {
        self.stop_cause = match cause {
            Cause::Stopped(cause) => Some(cause),
            Cause::Timer { .. } | Cause::OfItself => None,
        };
        let by = self.stopped_for(cause);
        let since = self.recorder.now();
        self.stopping =
            Some(Facts::none().and(fact::CAUSE, stop_word(cause)).and(fact::BY, by).and(fact::SINCE, since));
        self.begin();
        drop(self.write());
    }

    fn started(&mut self) {
        self.is_starting = false;
    }

    fn not_started(&mut self, error: StartError) {
        self.stillborn = Some(error);
    }

    fn exited(&mut self, how: How, at: Duration) {
        let mut exited = Facts::none().and(fact::AT, self.recorder.now()).and(fact::ELAPSED_S, at);
        match how {
            How::Exited { code } => exited.record(fact::CODE, i64::from(code)),
            How::Signaled { signal, .. } => exited.record(fact::SIGNAL, i64::from(signal)),
            How::Unconfirmed => return,
        }
        self.exited = Some(exited);
        self.exit_due = Some(self.recorder.instant() + EXIT);
    }

    fn draining(&mut self, _: u64) {
        self.enter("draining");
    }

    fn ended(&mut self, end: &End) {
        self.cause = Some(self.attributed(end));
    }

    fn due(&mut self) -> Option<Duration> {
        let now = self.recorder.instant();
        self.dues().into_iter().flatten().map(|at| at.saturating_duration_since(now)).min()
    }

    fn tick(&mut self) {
        let now = self.recorder.instant();
        let [begun, changed, life, lease, rest, exited, held] =
            self.dues().map(|due| due.is_some_and(|at| at <= now));
        if exited {
            self.exit_due = None;
        }
        if begun || exited || held {
            self.begin();
        }
        if lease {
            (self.lease_due, self.looks_for_wish) = (Some(now + LEASE_RENEWAL), true);
        }
        if changed || life || lease || exited || held {
            drop(self.write());
        } else if rest {
            self.recorder.rest();
            self.rest_due = None;
        }
    }

    fn asks(&mut self) -> Answer {
        match std::mem::take(&mut self.looks_for_wish) {
            true => self.wished_elsewhere(),
            false => Answer::Ignore,
        }
    }

    fn tool_ended(&mut self, end: Option<ToolEnd>) {
        self.record_tool_end(end);
    }

    fn signal(&mut self, received: Received) -> Answer {
        if received.caught == Caught::Terminate
            && let Some(cause) = self.wished(received.sender)
        {
            return Answer::Stop(cause);
        }
        if received.caught == Caught::Terminate
            && let Some(answer) = self.tool_wished(received.sender)
        {
            return answer;
        }
        if let Some(around) = self.sent_for(received.sender) {
            // Each of the runs around this one stops it, and that is one stop.
            if self.stop_cause == Some(StopCause::Parent) {
                return Answer::Ignore;
            }
            self.asked_by = Some(around.to_string());
            return Answer::Stop(StopCause::Parent);
        }
        if received.caught.may_stop() {
            self.signalled.get_or_insert_with(|| received.words());
        }
        received.usual_answer()
    }
}

const fn stopped_by(by: StoppedBy) -> &'static str {
    match by {
        StoppedBy::Signal => "signal",
        StoppedBy::Suspended => "suspended",
    }
}

/// Waits for a record, but not for ever.
fn wait_for(mut ticket: Ticket, within: Duration, world: &dyn World) {
    let until = world.instant() + within;
    let mut context = Context::from_waker(Waker::noop());
    while Pin::new(&mut ticket).poll(&mut context).is_pending() && world.instant() < until {
        world.sleep(Duration::from_millis(1));
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
