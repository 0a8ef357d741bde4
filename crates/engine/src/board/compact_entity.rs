//! One entity as the board keeps it: everything the ledger says of it, in little memory.
//!
//! Invariant: unpacked, it is what was packed, to the letter. What is shown is unpacked, a page at a time; ten thousand
//! entities with every fact in a place of its own would take several times the memory. Deliberately absent: judging.

use callboard_kernel::{Entity, Facts, Moment, State, StateReason};
use callboard_ledger::{Hash, Stored};
use serde::{Deserialize, Serialize};

/// An entity that takes little memory.
#[derive(Debug)]
pub(super) struct CompactEntity {
    state: State,
    /// Created, started, entered, ended, last heard of.
    moments: [Option<Moment>; 5],
    state_seq: u64,
    last_seq: u64,
    head: Hash,
    /// Its reasons and facts as JSON.
    text: Box<[u8]>,
}

#[derive(Serialize)]
struct Written<'a>(&'a [StateReason], &'a Facts);

#[derive(Deserialize)]
struct Read(Vec<StateReason>, Facts);

impl CompactEntity {
    pub(super) fn of(stored: &Stored) -> Result<Self, serde_json::Error> {
        let Stored { entity, state_seq, last_seq, head } = stored;
        let Entity { state, created_at, started_at, entered_at, ended_at, last_activity_at, reasons, facts } =
            entity;
        Ok(Self {
            state: *state,
            moments: [*created_at, *started_at, *entered_at, *ended_at, *last_activity_at],
            state_seq: *state_seq,
            last_seq: *last_seq,
            head: *head,
            text: serde_json::to_vec(&Written(reasons, facts))?.into(),
        })
    }

    pub(super) fn unpack(&self) -> Result<Stored, serde_json::Error> {
        let Read(reasons, facts) = serde_json::from_slice(&self.text)?;
        let [created_at, started_at, entered_at, ended_at, last_activity_at] = self.moments;
        let entity = Entity {
            state: self.state,
            created_at,
            started_at,
            entered_at,
            ended_at,
            last_activity_at,
            reasons,
            facts,
        };
        Ok(Stored { entity, state_seq: self.state_seq, last_seq: self.last_seq, head: self.head })
    }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::{EntityId, EvidenceRef};
    use callboard_lifecycle::session::SessionState;
    use callboard_lifecycle::{Kind, reason};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let id = EntityId::new(Kind::Session, Uuid::from_u128(7));
        let why = StateReason::new(reason("run.started.ok").unwrap(), "it did");
        let facts = r#"{"a":1,"b":-0.1,"c":{"d":[null,true,"x\n\u00e9"]},"e":9007199254740993,"f":1e300}"#;
        let stored = Stored {
            entity: Entity {
                state: State { id, version: 3, lifecycle: Some(SessionState::Running.into()) },
                created_at: Some(Moment::from_micros(1)),
                started_at: Some(Moment::from_micros(2)),
                entered_at: Some(Moment::from_micros(3)),
                ended_at: None,
                last_activity_at: Some(Moment::from_micros(5)),
                reasons: vec![why.shown_by(EvidenceRef::tool_result("seen"))],
                facts: serde_json::from_str(facts).unwrap(),
            },
            state_seq: 8,
            last_seq: 9,
            head: Hash([7; 32]),
        };
        assert_eq!(CompactEntity::of(&stored).unwrap().unpack().unwrap(), stored);
    }
}
