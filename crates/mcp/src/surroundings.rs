//! Where the board is: the store, the clock, the host, and the fleet that tells what needs somebody.

use std::sync::Arc;

use callboard_engine::board::{BoardEntry, Fleet, ShownEntity};
use callboard_engine::{Choice, Clock, Host, View, evaluate_as, triage};
use callboard_ledger::{Ledger, ReadError};
use serde_json::Value;

use crate::answer::ToolError;

/// Where the board is.
pub trait Surroundings: Send + Sync + 'static {
    /// The store.
    fn ledger(&self) -> &Ledger;
    /// The clock.
    fn clock(&self) -> &(dyn Clock + Send + Sync);
    /// This host.
    fn host(&self) -> &Host;
    /// What is kept of the store to answer at once.
    fn fleet(&self) -> &Fleet;
}

/// A place of its own, for a process that serves nothing else.
pub struct OwnSurroundings {
    ledger: Ledger,
    clock: Arc<dyn Clock + Send + Sync>,
    host: Host,
    fleet: Fleet,
}

impl OwnSurroundings {
    /// A place at this store.
    pub fn new(ledger: Ledger, clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self { ledger, clock, host: Host::this(), fleet: Fleet::new(Box::new(|| ())) }
    }
}

impl Surroundings for OwnSurroundings {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn clock(&self) -> &(dyn Clock + Send + Sync) {
        &*self.clock
    }

    fn host(&self) -> &Host {
        &self.host
    }

    fn fleet(&self) -> &Fleet {
        &self.fleet
    }
}

/// What needs somebody, the most urgent and oldest first.
pub(crate) fn attention(place: &dyn Surroundings, limit: usize) -> Result<Value, ToolError> {
    let choice = Choice { limit, set_aside: false };
    let asked: Result<_, ReadError> =
        place.fleet().ask(place.ledger(), place.clock(), place.host(), |board| {
            let urgent: Vec<&BoardEntry> = board.urgent().collect();
            let triage = triage(urgent.iter().map(|entry| (entry.keys.id, &entry.verdict)), choice);
            let shown: Vec<ShownEntity> = triage.shown.iter().map(|place| urgent[*place].shown()).collect();
            (triage, shown)
        });
    let (triage, shown) = asked?;
    let stored = shown.iter().map(ShownEntity::unpack).collect::<Result<Vec<_>, _>>();
    let stored =
        stored.map_err(|error| ToolError::internal(format!("what was kept cannot be read: {error}")))?;
    let views: Vec<View<'_>> =
        stored.iter().zip(&shown).map(|(stored, shown)| evaluate_as(stored, shown.look)).collect();
    ToolError::written(&triage.attention(views.iter(), place.clock().now()))
}
