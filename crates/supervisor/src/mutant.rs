//! Safeguards that can be taken away, so that a torture can show that it would notice.
//!
//! Invariant: in a build without the feature `mutants` every question here is answered with a constant no and the
//! compiler removes it; in a build with it, a safeguard is removed only by the driver or by its environment variable.

#[cfg(feature = "mutants")]
mod switched {
    use std::sync::OnceLock;

    static REMOVED: OnceLock<Option<String>> = OnceLock::new();

    /// The variable that names the removed safeguard, for child processes.
    pub const VARIABLE: &str = "CALLBOARD_MUTANT";

    /// Removes a safeguard in this process, before any is asked for.
    pub fn remove(safeguard: &str) {
        drop(REMOVED.set(Some(safeguard.to_owned())));
    }

    /// Is this safeguard removed?
    pub fn removed(safeguard: &str) -> bool {
        REMOVED.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref() == Some(safeguard)
    }
}

/// The variables that a run has to inherit in this build: the removed safeguard, and the mark of a torture.
pub const VARIABLES: &[&str] =
    if cfg!(feature = "mutants") { &["CALLBOARD_MUTANT", "CALLBOARD_TORTURE"] } else { &[] };

#[cfg(feature = "mutants")]
pub use switched::{VARIABLE, remove, removed};

/// No safeguard is ever removed in this build.
#[cfg(not(feature = "mutants"))]
pub const fn removed(_safeguard: &str) -> bool {
    false
}
