//! Safeguards that can be taken away, so that a torture can show that it would notice.
//!
//! Invariant: in a build without the feature `mutants` every question here is answered with a constant no and the
//! compiler removes it; in a build with it, a safeguard is removed only by the driver.

#[cfg(feature = "mutants")]
mod switched {
    use std::sync::OnceLock;

    static REMOVED: OnceLock<String> = OnceLock::new();

    /// Removes a safeguard in this process, before any is asked for.
    pub fn remove(safeguard: &str) {
        drop(REMOVED.set(safeguard.to_owned()));
    }

    /// Is this safeguard removed?
    pub(crate) fn removed(safeguard: &str) -> bool {
        REMOVED.get().is_some_and(|removed| removed == safeguard)
    }
}

#[cfg(feature = "mutants")]
pub use switched::remove;
#[cfg(feature = "mutants")]
pub(crate) use switched::removed;

/// No safeguard is ever removed in this build.
#[cfg(not(feature = "mutants"))]
pub(crate) const fn removed(_safeguard: &str) -> bool {
    false
}
