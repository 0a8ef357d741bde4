//! Small commands made the way callers make them: what the children of the tortures send.
//!
//! Invariant: the same arguments give the same request, so a script can be sent again after a crash. Deliberately
//! absent: randomness; `wild` has that.

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Observe, Order, StateReason, Transition,
};
use callboard_ledger::{AppendError, Ledger, Receipt, Request};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, reason};

/// The session with this number.
pub(crate) fn session(number: u128) -> EntityId {
    EntityId::new(Kind::Session, uuid::Uuid::from_u128(number))
}

/// A request by the supervisor at a second of a made-up day.
pub(crate) fn request(entity: EntityId, second: i64, order: Order) -> Request {
    Request {
        command: Command::new(entity, order),
        actor: Actor::new(ActorClass::Supervisor, "host/1"),
        now: Moment::from_micros(1_800_000_000_000_000 + second * 1_000_000),
        cause: None,
    }
}

/// The same request, under a key.
pub(crate) fn keyed(mut request: Request, key: impl Into<String>) -> Request {
    request.command.key = Some(key.into());
    request
}

/// Let a session come to be.
pub(crate) fn create(title: &str) -> Order {
    let data = Facts::none().with("title", title);
    Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data })
}

/// Move a session, with evidence.
pub(crate) fn go(to: impl Into<Lifecycle>, code: &str) -> Order {
    let Ok(code) = reason(code) else { unreachable!("BUG: {code} is not registered") };
    let why = StateReason::new(code, "it happened").shown_by(EvidenceRef::tool_result("seen by the torture"));
    Order::Transition(Transition::to(to, why))
}

/// Record something about a session.
pub(crate) fn observe(name: &'static str, value: i64) -> Order {
    Order::Observe(Observe { reasons: vec![], data: Facts::none().with(name, value) })
}

/// The orders of a run that ends well.
pub(crate) fn whole_run() -> [Order; 4] {
    [
        create("a run"),
        go(SessionState::Running, "run.started.ok"),
        observe("beats", 1),
        go(SessionState::Completed, "run.completed.ok"),
    ]
}

/// One more append by the tortures themselves: a store that survived must still take it.
pub(crate) fn one_more(ledger: &Ledger, number: u128) -> Result<Receipt, AppendError> {
    ledger.append(request(session(number), 0, create("one more")))
}
