//! The root of a store, sent once a day: whoever rewrites the log would have to rewrite what the receiver keeps, too.
//!
//! Invariant: whoever sends has claimed the day at the version that was read, so of several senders one sends, and what became of
//! it is recorded. A call that failed is tried again after an hour. Deliberately absent: comparing, which
//! `callboard verify --root` does.

use std::time::Duration;

use callboard_kernel::{Actor, Command, Create, EntityId, Facts, Moment, Observe, Order, RefusalCode, fact};
use callboard_ledger::{AppendError, Request, Stored};
use callboard_lifecycle::ActorClass;
use callboard_lifecycle::claim::ClaimStatus;
use callboard_notify::{ROOT, body};

use super::notifier::{Notifier, TellError, Told};

/// What the claim is called on which it is recorded.
const TITLE: &str = "roots of this store that were sent";
/// How often a root is sent.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long after a failure it is tried again.
const PAUSE: Duration = Duration::from_secs(3600);
/// After how long a sender that said nothing more is dead.
const ABANDONED: Duration = Duration::from_secs(60);

impl Notifier<'_> {
    /// Sends the root of the store, if the settings want it and none was sent within a day. `on` is the claim on which that
    /// is recorded.
    pub fn send_daily_root(&self, on: EntityId) -> Result<Told, TellError> {
        let Some(webhook) = self.settings.webhook.as_ref().filter(|_| self.settings.daily_root) else {
            return Ok(Told::NotDue);
        };
        let now = self.clock.now();
        let before = match self.ledger.entity(on)? {
            Some(stored) if !is_due(&stored.entity.facts, now) => return Ok(Told::NotDue),
            Some(stored) => stored,
            None => match self.begin(on, now)? {
                Some(stored) => stored,
                None => return Ok(Told::NotDue),
            },
        };
        if !self.record(&before, mark("sending", now), now)? {
            return Ok(Told::NotDue);
        }
        let Some(root) = self.ledger.root()? else { return Ok(Told::NotDue) };
        let id = blake3::hash(format!("root\0{on}\0{now}").as_bytes()).to_hex()[..32].to_owned();
        let sent = self.world.call(webhook, &id, body(ROOT, &id, None, now, &root)?, now);
        let seq = i64::try_from(root.seq).unwrap_or(i64::MAX);
        let told = match &sent {
            Ok(()) => mark("sent", now).and(fact::SEQ, seq),
            Err(problem) => mark("failed", now).and(fact::SEQ, seq).and(fact::PROBLEM, problem.as_str()),
        };
        if let Some(stored) = self.ledger.entity(on)? {
            self.record(&stored, told, self.clock.now())?;
        }
        Ok(sent.err().map_or(Told::Sent, Told::Failed))
    }

    /// Makes the claim; nothing if somebody else was faster.
    fn begin(&self, on: EntityId, now: Moment) -> Result<Option<Stored>, TellError> {
        let data = Facts::none().and(fact::TITLE, TITLE);
        let create = Create { at: ClaimStatus::Observed.into(), reasons: Vec::new(), data };
        match self.send(Command::new(on, Order::Create(create)), now)? {
            true => Ok(self.ledger.entity(on)?),
            false => Ok(None),
        }
    }

    /// Records at the version that was read; `false` if somebody was faster.
    fn record(&self, stored: &Stored, mark: Facts, now: Moment) -> Result<bool, TellError> {
        let data = Facts::none().and(fact::ROOT_SENT, mark);
        let mut command =
            Command::new(stored.entity.state.id, Order::Observe(Observe { reasons: Vec::new(), data }));
        command.if_version = Some(stored.entity.state.version);
        self.send(command, now)
    }

    fn send(&self, command: Command, now: Moment) -> Result<bool, TellError> {
        let actor = Actor::new(ActorClass::System, self.by());
        match self.ledger.append(Request { command, actor, now, cause: None }) {
            Ok(_) => Ok(true),
            Err(AppendError::Refused(refusal))
                if matches!(refusal.code, RefusalCode::VersionConflict | RefusalCode::Exists) =>
            {
                Ok(false)
            }
            Err(AppendError::Refused(refusal)) => Err(TellError::Refused(refusal.message)),
            Err(AppendError::Fault(fault)) => Err(TellError::Write(fault)),
        }
    }
}

fn mark(state: &str, at: Moment) -> Facts {
    Facts::none().and(fact::STATE, state).and(fact::AT, at)
}

/// Is it time for the next one? A clock that was set back must not hold it up for ever.
fn is_due(facts: &Facts, now: Moment) -> bool {
    let Some(mark) = facts.read(fact::ROOT_SENT) else { return true };
    let age = mark.read(fact::AT).map_or(Duration::MAX, |at| now.since(at).max(at.since(now)));
    age >= match mark.read(fact::STATE) {
        Some("sent") => DAY,
        Some("sending") => ABANDONED,
        Some(_) | None => PAUSE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_due_once_a_day_and_an_hour_after_a_failure() {
        let at = |second: i64| Moment::from_micros(second * 1_000_000);
        let due =
            |state: &str, second| is_due(&Facts::none().and(fact::ROOT_SENT, mark(state, at(0))), at(second));
        assert!(is_due(&Facts::none(), at(0)));
        assert!(!due("sent", 86_399) && due("sent", 86_400));
        assert!(!due("failed", 3_599) && due("failed", 3_600));
        assert!(!due("sending", 59) && due("sending", 60));
        assert!(due("sent", -86_400));
    }
}
