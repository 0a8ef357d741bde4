//! Asking for what an abort stops: a run through its supervisor, a task on the board, a tool call through the supervisor of its run.
//!
//! Invariant: who asked and why is in the log before anything happens. What an agent asks for is kept as a fact, not as a person's word.

use callboard_kernel::{Actor, Command, EvidenceRef, Facts, Moment, Observe, Order, StateReason, fact};
use callboard_ledger::{Ledger, Request, Stored};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::plan::{AbortError, AbortRole, AbortTarget};
use crate::stop::{StopFor, StopOutcome, StopWish, wake, wish_to_stop};
use crate::tasks::Asking;

/// An abort that somebody asks for.
#[derive(Clone)]
pub struct AbortOrder<'a> {
    /// Where it is recorded.
    pub ledger: &'a Ledger,
    /// Who asks.
    pub actor: Actor,
    /// Why, in their own words.
    pub because: &'a str,
    /// What led to it.
    pub cause: Option<String>,
    /// When.
    pub now: Moment,
}

/// What became of a tool call that was to be aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTool {
    /// How many processes it had.
    pub processes: i64,
    /// How many of them are left although they were killed.
    pub left: i64,
}

impl AbortOrder<'_> {
    /// Asks one of those that an abort stops; nothing is said of whether a supervisor was reached for a task, which the board moves.
    pub fn ask(&self, target: &AbortTarget) -> Result<Option<StopOutcome>, AbortError> {
        if target.id().kind() == Kind::Task {
            let asking = Asking::new(self.ledger, self.actor.clone(), self.now);
            asking.call_off(target.id(), target.role, self.because)?;
            return Ok(None);
        }
        let is_agent = self.actor.class == ActorClass::Agent;
        let wanted = match target.role {
            AbortRole::Named if is_agent => StopFor::Agent,
            AbortRole::Named => StopFor::Operator,
            AbortRole::Sibling => StopFor::Sibling,
            AbortRole::Descendant => StopFor::Parent,
            AbortRole::FailedChild => StopFor::Child,
        };
        let wish = StopWish {
            actor: self.actor.clone(),
            wanted,
            said: Some(self.because.to_owned()),
            key: None,
            cause: self.cause.clone(),
            now: self.now,
        };
        let (_, outcome) = wish_to_stop(self.ledger, &target.stored, wish)?;
        Ok(Some(outcome))
    }

    /// Asks the supervisor of a run to end the processes of its open tool call.
    pub fn ask_tool(&self, run: &Stored) -> Result<StopOutcome, AbortError> {
        let wish = Facts::none()
            .and(fact::BY, self.actor.id.as_str())
            .and(fact::AT, self.now)
            .and(fact::MESSAGE, self.because);
        let note = StateReason::new(const { ReasonCode::of("system.operator.note") }, self.because)
            .shown_by(EvidenceRef::human_assertion(self.because));
        let reasons = if self.actor.class == ActorClass::Agent { Vec::new() } else { vec![note] };
        let order = Observe { reasons, data: Facts::none().and(fact::TOOL_ABORT_WISH, wish) };
        let command = Command::new(run.entity.state.id, Order::Observe(order));
        let (actor, now, cause) = (self.actor.clone(), self.now, self.cause.clone());
        self.ledger.append(Request { command, actor, now, cause })?;
        Ok(wake(run, self.ledger.is_shared()))
    }
}

/// What became of the tool call that was to be aborted at a moment; nothing until the supervisor recorded it.
pub fn aborted_tool(run: &Facts, asked_at: Moment) -> Option<AbortedTool> {
    let aborted = run.read(fact::TOOL_ABORTED)?;
    let is_it = aborted.read(fact::SINCE).is_some_and(|since| since >= asked_at);
    is_it.then(|| AbortedTool {
        processes: aborted.read(fact::COUNT).map_or(0, i64::from),
        left: aborted.read(fact::LEFTOVERS).map_or(0, i64::from),
    })
}
