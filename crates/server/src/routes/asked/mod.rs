//! What a request says beside its path: its body, its key, and what is written behind the question mark.

pub(super) mod body;
pub(super) mod listing_query;
pub(super) mod range;
