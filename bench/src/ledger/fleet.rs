//! Callers and what they ask for: agents and runs that are moved to and fro, one durable transition at a time.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition,
};
use callboard_ledger::{Ledger, Request};
use callboard_lifecycle::agent::ExecutionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, ReasonCode};

/// Callers that each move an agent of their own to and fro, one durable transition at a time.
pub(super) struct Fleet {
    ledger: Ledger,
    busy: Vec<bool>,
}

impl Fleet {
    pub(super) fn new(ledger: Ledger, callers: u64) -> Result<Self, Box<dyn Error>> {
        for caller in 0..callers {
            for order in [created(ExecutionState::Pending), SPAWNED.order(), CONNECTED.order()] {
                ledger.append(request(agent(caller), order))?;
            }
        }
        Ok(Self { ledger, busy: vec![false; callers as usize] })
    }

    pub(super) fn work(&mut self, turns: u64) -> io::Result<Duration> {
        let start = Instant::now();
        let ledger = &self.ledger;
        std::thread::scope(|scope| {
            let callers: Vec<_> = self
                .busy
                .iter_mut()
                .enumerate()
                .map(|(caller, busy)| {
                    scope.spawn(move || to_and_fro(ledger, agent(caller as u64), busy, turns))
                })
                .collect();
            callers.into_iter().try_for_each(|caller| match caller.join() {
                Ok(done) => done,
                Err(_) => Err(io::Error::other("a caller panicked")),
            })
        })?;
        Ok(start.elapsed())
    }
}

fn to_and_fro(ledger: &Ledger, id: EntityId, busy: &mut bool, turns: u64) -> io::Result<()> {
    for _ in 0..turns {
        let step = if *busy { RESULT } else { PROMPT };
        ledger.append(request(id, step.order())).map_err(io::Error::other)?;
        *busy = !*busy;
    }
    Ok(())
}

/// One move of an agent with its reason.
#[derive(Clone, Copy)]
pub(super) struct Step(ExecutionState, ReasonCode);

pub(super) const SPAWNED: Step = Step(ExecutionState::Starting, ReasonCode::of("agent.starting.spawned"));
pub(super) const CONNECTED: Step = Step(ExecutionState::Idle, ReasonCode::of("agent.idle.connected"));
pub(super) const PROMPT: Step = Step(ExecutionState::Busy, ReasonCode::of("agent.busy.prompt"));
pub(super) const RESULT: Step = Step(ExecutionState::Idle, ReasonCode::of("agent.idle.result"));

impl Step {
    pub(super) fn order(self) -> Order {
        moved(self.0, self.1)
    }
}

pub(super) fn moved(to: impl Into<Lifecycle>, code: ReasonCode) -> Order {
    let why = StateReason::new(code, "as the benchmark asked").shown_by(EvidenceRef::tool_result("seen"));
    Order::Transition(Transition::to(to, why))
}

pub(super) fn created(at: impl Into<Lifecycle>) -> Order {
    Order::Create(Create {
        at: at.into(),
        reasons: vec![],
        data: Facts::none().with("title", "fix the flaky test"),
    })
}

/// In front what grows with time, behind it what looks random, as ids are made.
fn id(number: u64) -> uuid::Uuid {
    let random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    uuid::Uuid::from_u128((u128::from(number) << 64) | u128::from(random.wrapping_mul(0xbf58_476d_1ce4_e5b9)))
}

pub(super) fn agent(number: u64) -> EntityId {
    EntityId::new(Kind::Agent, id(number))
}

pub(super) fn session(number: u64) -> EntityId {
    EntityId::new(Kind::Session, id(number))
}

pub(super) fn request(entity: EntityId, order: Order) -> Request {
    Request {
        command: Command::new(entity, order),
        actor: Actor::new(ActorClass::Supervisor, "host-a/4711"),
        now: Moment::from_micros(1_794_770_358_000_000),
        cause: None,
    }
}
