//! Folding the log when a newer program has written some of it.
//!
//! Invariant: every record goes through the kernel's `apply`. One whose type is unknown moves the entity as its own
//! columns say, and what it carries stays unread. Deliberately absent: deciding; these records were decided elsewhere.

use callboard_kernel::{Actor, Channel, Event, EventType, Facts};
use callboard_lifecycle::{ActorClass, Lifecycle, Words};

use crate::body::Body;
use crate::error::ReadError;
use crate::record::{Record, Unreadable};
use crate::store::Stored;

impl Stored {
    /// Folds one more record in, whoever wrote it.
    pub(crate) fn follow(&mut self, record: &Record) -> Result<(), ReadError> {
        let event = match EventType::parse(&record.event_type) {
            Ok(_) => record.event()?,
            Err(_) => opaque(record)?,
        };
        self.take(&event, record)
    }
}

/// What a record of an unknown type does to its entity, going by the columns that every record has.
fn opaque(record: &Record) -> Result<Event, Unreadable> {
    let id = record.id()?;
    let to = Lifecycle::parse(id.kind(), &record.to_state)?;
    let from = match record.from_state.as_str() {
        "" => None,
        name => Some(Lifecycle::parse(id.kind(), name)?),
    };
    let (kind, reasons) = match from {
        Some(from) if from == to => (EventType::Observed, Vec::new()),
        Some(_) => (EventType::Transitioned, Body::parse(&record.body)?.reasons()?),
        None => (EventType::Created, Body::parse(&record.body)?.reasons()?),
    };
    Ok(Event {
        entity: id,
        version: record.version,
        at: record.at,
        kind,
        channel: Channel::Audit,
        from,
        to,
        trigger: None,
        actor: Actor::new(ActorClass::System, ""),
        reasons,
        cause: None,
        key: None,
        data: Facts::none(),
    })
}
