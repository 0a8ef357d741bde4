//! A record where it lies: the same columns as `Record`, borrowed from the row that is being read.
//!
//! Invariant: the bytes that are hashed are written here and nowhere else. Deliberately absent: anything that takes
//! memory; who walks through the whole log looks at millions of these.

use callboard_kernel::Moment;
use uuid::Uuid;

use crate::record::{Hash, Record};

/// One record of the log, borrowed; the columns are those of `Record`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borrowed<'a> {
    pub(crate) seq: u64,
    pub(crate) entity: Uuid,
    pub(crate) version: u64,
    pub(crate) at: Moment,
    pub(crate) kind: &'a str,
    pub(crate) event_type: &'a str,
    pub(crate) channel: &'a str,
    pub(crate) from_state: &'a str,
    pub(crate) via: &'a str,
    pub(crate) to_state: &'a str,
    pub(crate) actor_type: &'a str,
    pub(crate) actor_id: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) body: &'a str,
    pub(crate) hash: Hash,
}

impl Borrowed<'_> {
    /// The hash this record must have after `before`.
    pub(crate) fn hash_after(&self, before: Hash, scratch: &mut Vec<u8>) -> Hash {
        scratch.clear();
        scratch.extend_from_slice(&before.0);
        scratch.extend_from_slice(&self.seq.to_le_bytes());
        scratch.extend_from_slice(self.entity.as_bytes());
        scratch.extend_from_slice(&self.version.to_le_bytes());
        scratch.extend_from_slice(&self.at.as_micros().to_le_bytes());
        let texts = [
            self.kind,
            self.event_type,
            self.channel,
            self.from_state,
            self.via,
            self.to_state,
            self.actor_type,
            self.actor_id,
            self.body,
        ];
        for text in texts {
            push(scratch, Some(text));
        }
        push(scratch, self.key);
        Hash(*blake3::hash(scratch).as_bytes())
    }

    /// The same with memory of its own.
    pub(crate) fn to_record(self) -> Record {
        Record {
            seq: self.seq,
            entity: self.entity,
            kind: self.kind.to_owned(),
            version: self.version,
            at: self.at,
            event_type: self.event_type.to_owned(),
            channel: self.channel.to_owned(),
            from_state: self.from_state.to_owned(),
            via: self.via.to_owned(),
            to_state: self.to_state.to_owned(),
            actor_type: self.actor_type.to_owned(),
            actor_id: self.actor_id.to_owned(),
            key: self.key.map(str::to_owned),
            body: self.body.to_owned(),
            hash: self.hash,
        }
    }
}

impl Record {
    /// The record, borrowed.
    pub(crate) fn borrowed(&self) -> Borrowed<'_> {
        Borrowed {
            seq: self.seq,
            entity: self.entity,
            version: self.version,
            at: self.at,
            kind: &self.kind,
            event_type: &self.event_type,
            channel: &self.channel,
            from_state: &self.from_state,
            via: &self.via,
            to_state: &self.to_state,
            actor_type: &self.actor_type,
            actor_id: &self.actor_id,
            key: self.key.as_deref(),
            body: &self.body,
            hash: self.hash,
        }
    }
}

/// A length before each text keeps ("ab", "c") and ("a", "bc") apart; absent is not empty.
fn push(scratch: &mut Vec<u8>, text: Option<&str>) {
    let len = text.map_or(u32::MAX, |text| text.len() as u32);
    scratch.extend_from_slice(&len.to_le_bytes());
    scratch.extend_from_slice(text.unwrap_or("").as_bytes());
}
