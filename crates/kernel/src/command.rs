//! Commands: orders that may be refused.
//!
//! Invariant: a command names everything that decides about it except who asks and when; the context brings those.
//! Deliberately absent: effects. What must be done in the world follows from the event, after it is recorded.

use callboard_lifecycle::{Lifecycle, Trigger};

use crate::entry::Entry;
use crate::facts::Facts;
use crate::guard::Testimony;
use crate::id::EntityId;
use crate::lease::LeaseTerms;
use crate::reason::StateReason;

/// One order about one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The entity it is about.
    pub entity: EntityId,
    /// The same key with the same order is the same command, however often it arrives.
    pub key: Option<String>,
    /// Refuse unless the entity has exactly this version.
    pub if_version: Option<u64>,
    /// What is asked for.
    pub order: Order,
    /// What the sender saw, for the guards of the row to ask.
    pub testimony: Testimony,
    /// What it says about the lease of the entity, if anything.
    pub lease: Option<LeaseTerms>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Let the entity come to be.
    Create(Create),
    /// Move it to another state.
    Transition(Transition),
    /// Record something that was seen.
    Observe(Observe),
    /// Add a piece to its conversation.
    Entry(Entry),
}

/// Let an entity come to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// Where it begins; one of its machine's start states.
    pub at: Lifecycle,
    /// Why it is there, if there is more to say than that it was asked for.
    pub reasons: Vec<StateReason>,
    /// Its title, labels, parent and whatever else its kind records.
    pub data: Facts,
}

/// Move an entity to another state.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// The target; `None` lets the trigger name it.
    pub to: Option<Lifecycle>,
    /// What caused it; `None` takes the first cause the table allows the actor.
    pub trigger: Option<Trigger>,
    /// Why; the first one must be among the reasons of the row.
    pub reasons: Vec<StateReason>,
    /// What else is recorded; a state may require some of it.
    pub data: Facts,
}

/// Record something that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Observe {
    /// What it explains, if anything.
    pub reasons: Vec<StateReason>,
    /// What was seen.
    pub data: Facts,
}

impl Order {
    /// Why it is asked for, and what it records.
    pub fn content(&self) -> (&[StateReason], &Facts) {
        match self {
            Self::Create(order) => (&order.reasons, &order.data),
            Self::Transition(order) => (&order.reasons, &order.data),
            Self::Observe(order) => (&order.reasons, &order.data),
            Self::Entry(entry) => (&[], entry.data()),
        }
    }
}

impl Command {
    /// A command without key and condition.
    pub const fn new(entity: EntityId, order: Order) -> Self {
        let testimony = Testimony { supervisor: None, subtasks: None };
        Self { entity, key: None, if_version: None, order, testimony, lease: None }
    }

    /// The same command, about another entity wherever it speaks of this one by its id.
    #[must_use]
    pub fn about(mut self, from: EntityId, to: EntityId) -> Self {
        if self.entity == from {
            self.entity = to;
        }
        let (old, new) = (from.to_string(), to.to_string());
        match &mut self.order {
            Order::Create(order) => order.data.exchange(&old, &new),
            Order::Transition(order) => order.data.exchange(&old, &new),
            Order::Observe(order) => order.data.exchange(&old, &new),
            Order::Entry(_) => {}
        }
        self
    }
}

impl Transition {
    /// Move to `to` because of `reason`.
    pub fn to(to: impl Into<Lifecycle>, reason: StateReason) -> Self {
        Self { to: Some(to.into()), trigger: None, reasons: vec![reason], data: Facts::none() }
    }

    /// Follow `trigger` wherever the table leads.
    pub fn on(trigger: impl Into<Trigger>, reason: StateReason) -> Self {
        Self { to: None, trigger: Some(trigger.into()), reasons: vec![reason], data: Facts::none() }
    }

    /// The same, recording `data` too.
    #[must_use]
    pub fn with(mut self, data: Facts) -> Self {
        self.data = data;
        self
    }

    /// The same, caused by `trigger` and nothing else.
    #[must_use]
    pub fn caused_by(mut self, trigger: impl Into<Trigger>) -> Self {
        self.trigger = Some(trigger.into());
        self
    }
}
