//! The lease of an entity, as commands and guards speak of it.
//!
//! Invariant: a lease is judged by the store, inside the transaction that decides the command; nobody who sends a command can say
//! who holds it. Deliberately absent: the clock and the rows, which are the store's.

use std::time::Duration;

use crate::moment::Moment;

/// What a command says about the lease of its entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseTerms {
    /// The epoch that the sender was given: the command is refused unless the lease with this epoch is in force.
    pub epoch: Option<u64>,
    /// What becomes of the lease with this command.
    pub change: LeaseChange,
}

/// What becomes of the lease of an entity with a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LeaseChange {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is granted, with a new epoch, unless somebody else holds it.
    Grant {
        /// Who is to hold it.
        holder: String,
        /// For how long, unless it is renewed.
        length: Duration,
    },
    /// It ends. Without an epoch only one whose time is over, unless a person or the system takes it away.
    End,
}

impl LeaseTerms {
    /// Grants the lease.
    pub fn grant(holder: impl Into<String>, length: Duration) -> Self {
        Self { epoch: None, change: LeaseChange::Grant { holder: holder.into(), length } }
    }

    /// Only while the lease with this epoch is in force.
    pub const fn carrying(epoch: u64) -> Self {
        Self { epoch: Some(epoch), change: LeaseChange::Keep }
    }

    /// The same, and the lease ends with it.
    #[must_use]
    pub fn and_end(self) -> Self {
        Self { change: LeaseChange::End, ..self }
    }
}

/// A lease that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLease {
    /// Who holds it.
    pub holder: String,
    /// Given once.
    pub epoch: u64,
    /// When it ends by the clock of the store, unless it is renewed.
    pub until: Moment,
}

/// What the store says about the lease of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeaseState<'a> {
    /// Nobody asked the store.
    #[default]
    NotAsked,
    /// None is in force.
    Free,
    /// Somebody holds it.
    Held(&'a HeldLease),
}
