//! How far an abort reaches, and what becomes of a tree when one of its parts fails.
//!
//! Invariant: nothing spreads unless somebody said so beforehand: `contain` is the default. Deliberately absent: who belongs to a tree, which
//! the records tell.

use callboard_lifecycle::words;

words! {
    /// How far an abort reaches.
    pub enum AbortScope is "scope of an abort" {
        /// The tool call that an agent waits for; its agent goes on.
        Tool = "tool",
        /// Everything else that belongs to the same parent; the parent and the one that is named go on.
        Sibling = "sibling",
        /// The one that is named, and everything below it.
        Session = "session",
    }
}

words! {
    /// What becomes of a tree when something that a parent started fails.
    pub enum OnChildFailure is "abort policy" {
        /// Nothing else is stopped.
        Contain = "contain",
        /// What the same parent started beside it is stopped.
        Siblings = "siblings",
        /// The parent is stopped, with everything below it.
        Session = "session",
    }
}
