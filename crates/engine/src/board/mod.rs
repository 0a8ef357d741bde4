//! The board: the read model behind every live surface. What is alive and what needs somebody is kept in memory as the ledger
//! has it; what ended is listed from the ledger; how it went is folded from the log.
//!
//! Invariant: an answer holds everything that was recorded before it was asked for, whoever wrote it, and is judged by the
//! same judge as a single view. Deliberately absent: how a surface writes its questions and answers.

mod cached_process_table;
mod compact_entity;
mod cursor;
mod entry;
mod filter;
mod fleet;
mod listing;
mod ranked;
mod state_counts;
mod trends;

pub use cached_process_table::CachedProcessTable;
pub use cursor::{Cursor, UnreadableCursor};
pub use entry::{BoardEntry, SearchKeys, ShownEntity};
pub use filter::{Filter, StateCondition};
pub use fleet::Fleet;
pub use listing::{Listed, ListingOrder, ListingRequest, Remaining, list};
pub use ranked::{Board, ChangedVerdict};
pub use state_counts::Counts;
pub use trends::{TrendBucket, Trends};
