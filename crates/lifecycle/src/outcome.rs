//! The outcome: how an entity ended, in the one vocabulary every kind shares.
//!
//! Invariant: the name of every end of every machine is an outcome (proved while compiling), so no end can be shown
//! as anything but itself. Deliberately absent: severity; an outcome alone does not say whether somebody is needed.

use crate::vocabulary;

vocabulary! {
    /// How an entity ended.
    pub enum Outcome is "outcome" in "outcome" {
        /// The call did what it was asked.
        Succeeded = "succeeded" ("Succeeded", Success, Check),
        /// Finished normally.
        Completed = "completed" ("Completed", Success, Check),
        /// Good, and merged.
        Merged = "merged" ("Merged", Success, Merge),
        /// Ended with an error.
        Failed = "failed" ("Failed", Error, XCircle),
        /// A time bound was reached; the natural answer is more time, not debugging.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// Called off by the system, a parent or an operator.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
        /// Broken off: a person's Ctrl-C, or a process that died without writing its end.
        Aborted = "aborted" ("Aborted", Neutral, Stop),
        /// Passed over on purpose.
        Skipped = "skipped" ("Skipped", Neutral, Skip),
        /// Only a part was produced, and it is usable.
        Partial = "partial" ("Partial", Warning, Half),
        /// Useful text came, then the turn failed; the text is evidence, not an answer.
        PartialFailed = "partial_failed" ("Partial, failed", Error, Half),
        /// Broken off by the operator or the presenter.
        Interrupted = "interrupted" ("Interrupted", Neutral, Stop),
        /// Stopped, and can be started again.
        Stopped = "stopped" ("Stopped", Neutral, Stop),
        /// Put away.
        Archived = "archived" ("Archived", Neutral, Archive),
        /// Verified and closed.
        Closed = "closed" ("Closed", Success, Check),
        /// The process is gone.
        Dead = "dead" ("Dead", Neutral, Slash),
        /// Cleaned up.
        Reaped = "reaped" ("Reaped", Neutral, Archive),
        /// Replaced by a newer fact.
        Superseded = "superseded" ("Superseded", Neutral, Archive),
        /// A person, or a standing rule of a person, answered.
        Answered = "answered" ("Answered", Success, Check),
        /// Nobody answered in time, and the default took effect.
        Expired = "expired" ("Expired", Warning, Hourglass),
        /// Taken back before anybody answered.
        Withdrawn = "withdrawn" ("Withdrawn", Neutral, Slash),
        /// No longer in force.
        Revoked = "revoked" ("Revoked", Neutral, Slash),
        /// Cannot be told.
        Unknown = "unknown" ("Outcome unknown", Neutral, Question),
    }
    old names { "killed" => Cancelled, "canceled" => Cancelled, "timeout" => TimedOut, "success" => Succeeded }
}
