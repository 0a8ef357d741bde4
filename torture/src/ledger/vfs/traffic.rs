//! Commands as callers send them: sessions that begin, run, are watched and end.
//!
//! Invariant: the same dice give the same commands, each with a key of its own, and each legal if all before it were
//! recorded. Deliberately absent: commands that must be refused; the model torture sends those.

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Observe, Order, StateReason, Transition,
};
use callboard_ledger::{AppendError, Ledger, Receipt, Request};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, reason};

use super::disk::Disk;
use crate::harness::dice::Dice;

/// A source of commands.
pub(crate) struct Traffic {
    dice: Dice,
    first: u128,
    sessions: Vec<Phase>,
    sent: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Pending,
    Running,
    Ended,
}

/// A text longer than a page makes SQLite chain pages.
const TEXT_MAX: u64 = 6000;

impl Traffic {
    /// Commands about sessions whose ids begin at `first`.
    pub(crate) const fn new(dice: Dice, first: u128) -> Self {
        Self { dice, first, sessions: Vec::new(), sent: 0 }
    }

    /// Commands about as many different sessions, so that none of them needs another.
    pub(crate) fn several(&mut self, count: usize) -> Vec<Request> {
        let mut live: Vec<usize> =
            (0..self.sessions.len()).filter(|at| self.sessions[*at] != Phase::Ended).collect();
        (0..count)
            .map(|_| {
                if live.is_empty() || self.dice.roll(3) == 0 {
                    self.sessions.push(Phase::Pending);
                    let order = self.create();
                    self.request(self.sessions.len() - 1, order)
                } else {
                    let at = live.swap_remove(self.dice.roll(live.len() as u64) as usize);
                    let order = self.next(at);
                    self.request(at, order)
                }
            })
            .collect()
    }

    fn create(&mut self) -> Order {
        let long = if self.dice.roll(8) == 0 { TEXT_MAX } else { 40 };
        let text = "a".repeat(1 + self.dice.roll(long) as usize);
        let data = Facts::none().with("text", text);
        Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data })
    }

    fn next(&mut self, at: usize) -> Order {
        match (self.sessions[at], self.dice.roll(3)) {
            (Phase::Pending, _) => {
                self.sessions[at] = Phase::Running;
                go(SessionState::Running, "run.started.ok")
            }
            (Phase::Running, 0) => {
                self.sessions[at] = Phase::Ended;
                go(SessionState::Completed, "run.completed.ok")
            }
            (Phase::Running, 1) => {
                self.sessions[at] = Phase::Ended;
                go(SessionState::Failed, "run.failed.exit_nonzero")
            }
            (Phase::Running | Phase::Ended, _) => {
                let beats = i64::try_from(self.sent).unwrap_or(i64::MAX);
                Order::Observe(Observe { reasons: vec![], data: Facts::none().with("beats", beats) })
            }
        }
    }

    fn request(&mut self, session: usize, order: Order) -> Request {
        self.sent += 1;
        let entity = EntityId::new(Kind::Session, uuid::Uuid::from_u128(self.first + session as u128));
        let mut command = Command::new(entity, order);
        command.key = Some(format!("{}-{}", self.first, self.sent));
        Request {
            command,
            actor: Actor::new(ActorClass::Supervisor, "host/1"),
            now: Moment::from_micros(1_800_000_000_000_000 + self.sent as i64 * 1_000_000),
            cause: None,
        }
    }
}

fn go(to: impl Into<Lifecycle>, code: &str) -> Order {
    let code = reason(code).unwrap_or_else(|_| unreachable!("BUG: {code} is a registered reason"));
    let why = StateReason::new(code, "it happened").shown_by(EvidenceRef::tool_result("seen by the torture"));
    Order::Transition(Transition::to(to, why))
}

/// Sends the first command, and the others while the writer is busy with it, so that they share a transaction in
/// every run; `None` if the writer never came to the disk.
pub(crate) fn together(
    disk: &Disk,
    ledger: &Ledger,
    requests: Vec<Request>,
) -> Option<Vec<Result<Receipt, AppendError>>> {
    let mut requests = requests.into_iter();
    let Some(first) = requests.next() else { return Some(Vec::new()) };
    disk.close_gate();
    let mut tickets = vec![ledger.submit(first)];
    let came = disk.await_arrival();
    tickets.extend(requests.map(|request| ledger.submit(request)));
    disk.open_gate();
    came.then(|| tickets.into_iter().map(callboard_ledger::Ticket::wait).collect())
}
