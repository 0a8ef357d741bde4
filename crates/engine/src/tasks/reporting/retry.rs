//! What follows a failed attempt: whether the task is tried again, when, and how the next attempt begins.
//!
//! Invariant: every canonical reason has a row. A retry that would fail the same way is not made. Deliberately absent: counting, which
//! the guard `retries_left` does.

use std::time::Duration;

use callboard_lifecycle::task::TransitionReason;

/// How the next attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    /// In the agent program's own session, told what was wrong.
    Resume,
    /// In a new session, told what was wrong.
    Fresh,
    /// Not by itself: a person decides.
    Never,
}

/// The first pause before a task is tried again; each further one is twice as long.
pub(in crate::tasks) const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// What a failed attempt is followed by.
pub const fn next_attempt(reason: Option<TransitionReason>) -> NextAttempt {
    match reason {
        // The prompt, the request or the summary was too much for a session that is as long as this one.
        Some(
            TransitionReason::PromptTooLong
            | TransitionReason::Provider413
            | TransitionReason::CompactionFailed,
        ) => NextAttempt::Fresh,
        Some(
            TransitionReason::MaxOutputTokens
            | TransitionReason::MaxTurns
            | TransitionReason::Provider529
            | TransitionReason::StopHookBlocked
            | TransitionReason::Retry
            | TransitionReason::Completed,
        ) => NextAttempt::Resume,
        Some(TransitionReason::OrphanRecovered | TransitionReason::SiblingAborted) | None => {
            NextAttempt::Fresh
        }
        // Somebody broke it off, or forbade something: trying again changes neither.
        Some(TransitionReason::Aborted | TransitionReason::PermissionDenied) => NextAttempt::Never,
    }
}

/// How long to wait before the nth retry, counted from 1, if the first one waits this long.
pub(super) fn pause(first: Duration, nth: i64) -> Duration {
    let doublings = u32::try_from(nth.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    first.saturating_mul(1 << doublings).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        let seconds: Vec<u64> =
            [1, 2, 3, 7, 100].into_iter().map(|nth| pause(PAUSE, nth).as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 300, 300]);
    }
}
