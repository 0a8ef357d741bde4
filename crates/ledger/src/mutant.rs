//! Safeguards that can be taken away, so that a torture can show that it would notice.
//!
//! Invariant: in a build without the feature `mutants` every question here is answered with a constant no and the
//! compiler removes it; in a build with it, a safeguard is removed only by the driver or by its environment variable.
//! A point is a place where the process can be made to end, as a crash would.

#[cfg(feature = "mutants")]
mod switched {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static REMOVED: OnceLock<Option<String>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    /// The variable that names the removed safeguard, for child processes.
    pub const VARIABLE: &str = "CALLBOARD_MUTANT";
    /// The variable that names the point to end at, as `name:nth`.
    pub const CRASH_AT: &str = "CALLBOARD_CRASH_AT";

    /// The points of the write path, in the order in which an append passes them.
    pub const WRITE_POINTS: &[&str] = &[
        "before_begin",
        "before_insert",
        "before_view",
        "before_checkpoint",
        "after_checkpoint",
        "before_commit",
        "after_commit",
        "inside_rebuild",
    ];
    /// The points of the write path on a server, in the order in which a batch passes them.
    pub const SERVER_POINTS: &[&str] = &[
        "before_begin",
        "lock_held",
        "before_checkpoint",
        "after_checkpoint",
        "before_commit",
        "commit_sent",
        "after_commit",
        "inside_rebuild",
    ];
    /// The point between two steps of archiving.
    pub const ARCHIVE_POINT: &str = "archive";
    /// The point between two steps of a migration, and every few instructions inside of it.
    pub const MIGRATE_POINT: &str = "migrate";

    /// Removes a safeguard in this process, before any is asked for.
    pub fn remove(safeguard: &str) {
        drop(REMOVED.set(Some(safeguard.to_owned())));
    }

    /// Is this safeguard removed?
    pub(crate) fn removed(safeguard: &str) -> bool {
        REMOVED.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref() == Some(safeguard)
    }

    /// Ends the process here if the environment says so.
    pub(crate) fn point(name: &str) {
        let is_known = [WRITE_POINTS, SERVER_POINTS].iter().any(|points| points.contains(&name));
        debug_assert!(
            [MIGRATE_POINT, ARCHIVE_POINT].contains(&name) || is_known,
            "BUG: nobody ends at {name}"
        );
        static TARGET: OnceLock<Option<(String, u64)>> = OnceLock::new();
        let target = TARGET.get_or_init(|| {
            let text = std::env::var(CRASH_AT).ok()?;
            let (name, nth) = text.split_once(':')?;
            Some((name.to_owned(), nth.parse().ok()?))
        });
        if let Some((wanted, nth)) = target
            && wanted == name
            && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *nth
        {
            std::process::abort();
        }
    }

    /// The same, once what the other futures of this task send has been sent.
    pub(crate) async fn point_behind(name: &str) {
        // One turn hands it to the connection, and in the next ones the connection writes it.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        point(name);
    }
}

#[cfg(feature = "mutants")]
pub use switched::{ARCHIVE_POINT, CRASH_AT, MIGRATE_POINT, SERVER_POINTS, VARIABLE, WRITE_POINTS, remove};
#[cfg(feature = "mutants")]
pub(crate) use switched::{point, point_behind, removed};

/// No safeguard is ever removed in this build.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn removed(_safeguard: &str) -> bool {
    false
}

/// Nothing ends here in this build.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn point(_name: &str) {}

/// Nothing ends here in this build.
#[cfg(not(feature = "mutants"))]
pub(crate) fn point_behind(_name: &str) -> std::future::Ready<()> {
    std::future::ready(())
}
