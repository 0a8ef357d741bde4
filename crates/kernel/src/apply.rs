//! Where an entity stands, and the one function that moves it.
//!
//! Invariant: live writes, recovery and time travel all go through `apply`; a history that does not follow the table
//! does not load. Deliberately absent: permission. Whoever took a row was judged when the event was decided.

use callboard_lifecycle::Lifecycle;

use crate::entry::has_conversation;
use crate::event::{Event, EventType};
use crate::id::EntityId;

/// Where one entity stands: all that `decide` needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The entity.
    pub id: EntityId,
    /// How many events it has; 0 before it exists.
    pub version: u64,
    /// Its lifecycle; `None` before it exists.
    pub lifecycle: Option<Lifecycle>,
}

impl State {
    /// An entity that does not exist yet.
    pub const fn unborn(id: EntityId) -> Self {
        Self { id, version: 0, lifecycle: None }
    }
}

/// An event that does not follow the state it claims to follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It speaks of another entity.
    #[error("the event belongs to {event}, not to {state}")]
    Entity {
        /// The entity of the event.
        event: EntityId,
        /// The entity of the state.
        state: EntityId,
    },
    /// It skips or repeats a version.
    #[error("{id} has version {has}, and the event makes version {makes}")]
    Version {
        /// The entity.
        id: EntityId,
        /// The version it has.
        has: u64,
        /// The version the event makes.
        makes: u64,
    },
    /// It leaves a state the entity is not in, or takes an edge that is not in the table.
    #[error("{id} at version {version} cannot go from {from:?} to {to:?}")]
    Edge {
        /// The entity.
        id: EntityId,
        /// The version the event makes.
        version: u64,
        /// The state the event leaves.
        from: Option<Lifecycle>,
        /// The state the event enters.
        to: Lifecycle,
    },
}

/// Moves the state by one event, or says why the event does not follow it.
pub fn apply(state: &mut State, event: &Event) -> Result<(), Misfit> {
    if event.entity != state.id {
        return Err(Misfit::Entity { event: event.entity, state: state.id });
    }
    // A store that somebody edited may hold any number.
    if state.version.checked_add(1) != Some(event.version) {
        return Err(Misfit::Version { id: state.id, has: state.version, makes: event.version });
    }
    if event.from != state.lifecycle || !follows(event) {
        return Err(Misfit::Edge { id: state.id, version: event.version, from: event.from, to: event.to });
    }
    state.version = event.version;
    state.lifecycle = Some(event.to);
    Ok(())
}

fn follows(event: &Event) -> bool {
    let machine = event.entity.kind().machine();
    if event.to.kind() != event.entity.kind() {
        return false;
    }
    match (event.kind, event.from) {
        (EventType::Created, None) => machine.start.has(event.to.position()),
        (EventType::Transitioned, Some(from)) => machine.can_transition(from.position(), event.to.position()),
        (EventType::Observed, Some(from)) => from == event.to,
        (EventType::Entry, Some(from)) => from == event.to && has_conversation(event.entity.kind()),
        (EventType::Created, Some(_))
        | (EventType::Transitioned | EventType::Observed | EventType::Entry, None) => false,
    }
}
