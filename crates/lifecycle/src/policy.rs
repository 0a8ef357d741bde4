//! The names of the severity policies.
//!
//! Invariant: a policy that was released keeps its name and its verdicts for ever; a better one gets a new name.
//! Deliberately absent: the policies themselves, which the kernel evaluates.

use crate::words;

words! {
    /// Which rules derive severity and tone.
    pub enum PolicyVersion is "policy" {
        /// The first cascade over outcome, health and delivery, to the letter.
        V1 = "v1",
        /// `v1`, plus what it leaves quiet though a person is needed: blocked work and open decisions.
        V2 = "v2",
    }
}
