//! Whose run it is: the user who started it, as its supervisor recorded it.
//!
//! Invariant: a reaper, a sweep and a stop touch only runs of the user who runs them. Root is a user like any other here,
//! because a store may be shared, and root must not act on what somebody else wrote into it. The recorded uid is the
//! word of whoever wrote the record, so what is done for a run of one's own is harmless even if that word is a lie: no
//! recorded program is run, and on a shared store no recorded path is read.

use callboard_kernel::{Facts, fact};

/// The user we are.
pub(crate) fn this_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Why a run on this machine is not ours; nothing if it is. A store that is a file was written by who can write the file, so
/// a record without a uid is taken for ours there; a shared store was written by anybody.
pub(crate) fn stranger(facts: &Facts, is_shared: bool) -> Option<String> {
    let own = this_uid();
    match facts.read(fact::UID) {
        Some(uid) if uid == i64::from(own) => None,
        Some(uid) => Some(format!("it belongs to uid {uid}, and only that user ends it (this is uid {own})")),
        None if is_shared => Some("its record does not say which user it belongs to".to_owned()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_ours_only_if_our_uid_is_recorded() {
        let of = |uid: i64| Facts::none().and(fact::UID, uid);
        let own = i64::from(this_uid());
        for is_shared in [false, true] {
            assert_eq!(stranger(&of(own), is_shared), None);
            for other in [own + 1, -1, i64::MAX] {
                let because = stranger(&of(other), is_shared).unwrap_or_default();
                assert!(because.contains(&format!("uid {other},")), "{because}");
            }
        }
        assert_eq!(stranger(&Facts::none(), false), None);
        assert!(stranger(&Facts::none(), true).is_some());
    }
}
