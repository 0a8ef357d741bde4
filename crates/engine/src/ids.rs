//! Ids of entities: new ones, and those that belong to a key.

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;
use uuid::{Builder, NoContext, Timestamp, Uuid};

/// A new id, which sorts by the moment it was made.
pub fn new_id(kind: Kind, now: Moment) -> EntityId {
    let micros = u64::try_from(now.as_micros()).unwrap_or(0);
    let nanos = u32::try_from(micros % 1_000_000 * 1_000).unwrap_or(0);
    let timestamp = Timestamp::from_unix(NoContext, micros / 1_000_000, nanos);
    EntityId::new(kind, Uuid::new_v7(timestamp))
}

/// The id that belongs to an idempotency key, so that asking twice is asking once.
pub fn id_of_key(kind: Kind, key: &str) -> EntityId {
    let hash = blake3::hash(format!("{kind}\0{key}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    EntityId::new(kind, Builder::from_custom_bytes(bytes).into_uuid())
}

/// The claim on which it is recorded that the root of the store was sent.
pub fn id_of_roots() -> EntityId {
    id_of_key(Kind::Claim, "roots of this store")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_sort_by_time_and_a_key_always_gives_the_same() {
        let [early, late] = [1, 2].map(|second| new_id(Kind::Task, Moment::from_micros(second * 1_000_000)));
        assert!(early.uuid() < late.uuid());
        assert_eq!(late.uuid().get_version_num(), 7);
        assert_eq!(id_of_key(Kind::Task, "k"), id_of_key(Kind::Task, "k"));
        assert_ne!(id_of_key(Kind::Task, "k").uuid(), id_of_key(Kind::Show, "k").uuid());
    }
}
