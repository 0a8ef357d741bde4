//! Whose doing the end of a run was: its own, a wish that is recorded, a run around it, or whoever sent a signal.
//!
//! Invariant: what happened decides, not who the parent is. A stop is blamed on a run around this one only if that run was
//! being stopped, has just ended, or sent the signal itself.

use std::time::Duration;

use callboard_kernel::health::{Liveness, Vantage, liveness};
use callboard_kernel::{EntityId, EvidenceRef, Facts, Moment, Observe, Order, StateReason, fact};
use callboard_ledger::Stored;
use callboard_lifecycle::ReasonCode;
use callboard_supervisor::{Answer, Cause, End, How, Sender, StopCause, Timer, ToolEnd, process};

use super::watching::Watching;
use crate::judging::recorded::keeper;
use crate::mutant;
use crate::stop::{StopFor, wish};
use crate::world::World;

/// How long after the end of the run around it a run can have been ended with it.
const TOGETHER: Duration = Duration::from_secs(5);
/// The signals that a stop sends: HUP, INT, QUIT, KILL and TERM.
const STOPS: [i32; 5] = [1, 2, 3, 9, 15];

impl Watching<'_, '_> {
    /// Whose doing an end was. A stop reaches a whole tree at once, so the command may be gone before its supervisor
    /// has heard of the stop: a signal that ends it while a stop is wished for, or while a run around it is being stopped,
    /// is that stop, unless memory ran out.
    pub(super) fn attributed(&mut self, end: &End) -> Cause {
        match (end.cause, end.how) {
            (Cause::OfItself, How::Signaled { signal, .. })
                if STOPS.contains(&signal) && end.oom != Some(true) =>
            {
                let cause = self.wished_lately(end.stood_still);
                let cause = cause.or_else(|| self.stopped_around(end.stood_still));
                cause.map_or(end.cause, Cause::Stopped)
            }
            _ => end.cause,
        }
    }

    /// For whom TERM asks this run to stop, if somebody has recorded that wish. An old one that nobody could tell us of is
    /// not what another program's TERM means.
    pub(super) fn wished(&mut self, sender: Sender) -> Option<StopCause> {
        let is_of_another_program = sender.identity().is_some() && !sender.is_our_program();
        self.wish_within(if is_of_another_program { TOGETHER } else { Duration::MAX })
    }

    /// For whom somebody has just asked this run to stop: a wish that was not heard long ago explains no signal.
    fn wished_lately(&mut self, stood_still: Duration) -> Option<StopCause> {
        self.wish_within(TOGETHER.max(stood_still))
    }

    fn wish_within(&mut self, window: Duration) -> Option<StopCause> {
        let (id, now) = (self.recorder.id, self.recorder.now());
        let stored = self.recorder.stored(id)?;
        let (wanted, by, at) = wish(&stored.entity.facts)?;
        if at.is_some_and(|at| now.since(at) > window) {
            return None;
        }
        self.asked_by = Some(by);
        Some(match wanted {
            StopFor::Operator => StopCause::Operator,
            StopFor::Parent => StopCause::Parent,
            StopFor::Sibling => StopCause::Sibling,
            StopFor::Child => StopCause::Child,
            StopFor::Agent => StopCause::Agent,
        })
    }

    /// What a TERM asks of the tool call that is open, if somebody has recorded that it is to be aborted. A signal for a wish that was met
    /// just before is that wish once more, and never a stop.
    pub(super) fn tool_wished(&mut self, sender: Sender) -> Option<Answer> {
        let is_of_another_program = sender.identity().is_some() && !sender.is_our_program();
        let (at, is_met) = self.tool_wish()?;
        let is_late = self.recorder.now().since(at) > TOGETHER;
        if (is_of_another_program || is_met) && is_late || self.sent_for(sender).is_some() {
            return None;
        }
        Some(if is_met { Answer::Ignore } else { self.meet_tool_wish(at) })
    }

    /// What is wished for in the log, where nobody could send a signal: by somebody on another host.
    pub(super) fn wished_elsewhere(&mut self) -> Answer {
        if self.stop_cause.is_some() {
            return Answer::Ignore;
        }
        if let Some(cause) = self.wish_within(Duration::MAX) {
            return Answer::Stop(cause);
        }
        match self.tool_wish() {
            Some((at, false)) => self.meet_tool_wish(at),
            Some((_, true)) | None => Answer::Ignore,
        }
    }

    fn meet_tool_wish(&mut self, at: Moment) -> Answer {
        self.tool_abort = Some(at);
        Answer::EndTool
    }

    /// When somebody wished for the end of a tool call, and whether that was met.
    fn tool_wish(&mut self) -> Option<(Moment, bool)> {
        let stored = self.recorder.stored(self.recorder.id)?;
        let at = stored.entity.facts.read(fact::TOOL_ABORT_WISH)?.read(fact::AT)?;
        Some((at, self.tool_abort.is_some_and(|met| met >= at)))
    }

    /// Records what became of a tool call that was to be aborted.
    pub(super) fn record_tool_end(&mut self, end: Option<ToolEnd>) {
        let stored = self.recorder.stored(self.recorder.id);
        let wish = stored.as_ref().and_then(|stored| stored.entity.facts.read(fact::TOOL_ABORT_WISH));
        let text = |name| wish.and_then(|wish| wish.read(name)).unwrap_or("somebody").to_owned();
        let asked = format!("{}: {}", text(fact::BY), text(fact::MESSAGE));
        let (code, message) = match end {
            Some(end) => (
                const { ReasonCode::of("run.tool.aborted") },
                format!("aborted by {asked}; {} processes ended, {} left", end.asked - end.left, end.left),
            ),
            None => (
                const { ReasonCode::of("run.tool.absent") },
                format!("{asked}; no tool call was open, so nobody was ended"),
            ),
        };
        let reason =
            StateReason::new(code, message.as_str()).shown_by(EvidenceRef::tool_result(message.as_str()));
        let aborted = Facts::none()
            .and(fact::SINCE, self.tool_abort)
            .and(fact::AT, self.recorder.now())
            .and(fact::COUNT, end.map_or(0, |end| i64::from(end.asked)))
            .and(fact::KILLED, end.is_some_and(|end| end.killed))
            .and(fact::LEFTOVERS, end.map_or(0, |end| i64::from(end.left)));
        let data = Facts::none().and(fact::TOOL_ABORTED, aborted);
        // What is seen on the way may be lost with the store; the agent goes on.
        drop(self.recorder.submit(Order::Observe(Observe { reasons: vec![reason], data })));
    }

    /// Is a run around this one being stopped, or has one just ended?
    pub(super) fn stopped_around(&mut self, stood_still: Duration) -> Option<StopCause> {
        if mutant::removed("stop_of_the_parent") {
            return None;
        }
        let (now, window) = (self.recorder.now(), TOGETHER.max(stood_still));
        let around = self.around.clone();
        let stops = |stored: &Stored| match stored.entity.ended_at {
            Some(at) => now.since(at) <= window,
            None => {
                let wish = wish(&stored.entity.facts);
                let is_new = wish.is_some_and(|(_, _, at)| at.is_none_or(|at| now.since(at) <= window));
                is_new || stored.entity.facts.read(fact::STOPPING).is_some()
            }
        };
        let found = around.into_iter().find(|id| self.recorder.stored(*id).as_ref().is_some_and(stops))?;
        self.asked_by = Some(found.to_string());
        Some(StopCause::Parent)
    }

    /// The run around this one on whose behalf a signal was sent: by its supervisor, or, where that is gone, by whoever of
    /// our own program ends what it left behind.
    pub(super) fn sent_for(&mut self, sender: Sender) -> Option<EntityId> {
        let Sender::Process { pid, .. } = sender else { return None };
        if mutant::removed("stop_of_the_parent") {
            return None;
        }
        let world = self.recorder.world();
        let sent = |stored: &Stored| {
            let facts = &stored.entity.facts;
            let is_its_supervisor = keeper(facts).is_some_and(|keeper| {
                // One that is gone by now has not been followed by another with its pid.
                let same = |other: process::Identity| other.started_ticks == keeper.started_ticks;
                keeper.pid == pid && sender.identity().is_none_or(same)
            });
            let is_over = || stored.entity.ended_at.is_some() || is_abandoned(facts, world);
            is_its_supervisor || (sender.is_our_program() && is_over())
        };
        let around = self.around.clone();
        around.into_iter().find(|id| self.recorder.stored(*id).as_ref().is_some_and(sent))
    }

    /// Who asked for the stop that has begun, as far as it is known.
    pub(super) fn stopped_for(&self, cause: Cause) -> Option<String> {
        match cause {
            Cause::Stopped(
                StopCause::Operator
                | StopCause::Parent
                | StopCause::Sibling
                | StopCause::Child
                | StopCause::Agent,
            ) => self.asked_by.clone(),
            Cause::Stopped(_) => self.signalled.clone(),
            Cause::Timer { .. } | Cause::OfItself => None,
        }
    }
}

/// The word for a stop, as it is recorded.
pub(super) const fn stop_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Timer { timer, .. } => match timer {
            Timer::Total => "deadline",
            Timer::FirstOutput => "first_output",
            Timer::Silence => "silence",
            Timer::Waiting => "waiting",
            Timer::Tool => "tool",
        },
        Cause::Stopped(cause) => match cause {
            StopCause::Interrupt | StopCause::SentInterrupt => "sigint",
            StopCause::Quit | StopCause::SentQuit => "sigquit",
            StopCause::Hangup | StopCause::SentHangup => "sighup",
            StopCause::Terminate => "sigterm",
            StopCause::Operator => "operator",
            StopCause::Parent => "parent",
            StopCause::Sibling => "sibling",
            StopCause::Child => "child",
            StopCause::Agent => "agent",
            StopCause::Budget => "budget",
            StopCause::Shutdown => "shutdown",
        },
        Cause::OfItself => "none",
    }
}

/// Is the supervisor of a run dead, so that whoever ends it now ends what was started inside of it?
fn is_abandoned(facts: &Facts, table: &dyn World) -> bool {
    keeper(facts).is_some_and(|keeper| {
        keeper.place.seen_from(table.here()) == Vantage::Here
            && liveness(Some(&keeper), table.here(), table.look(keeper.pid)) == Liveness::Dead
    })
}
