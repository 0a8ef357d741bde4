//! One run: what is asked for, what is recorded, what is noticed meanwhile and what its end is called.

mod agent;
mod attribution;
mod checking;
mod ending;
mod last_words;
mod order;
mod perform;
mod recorder;
mod sandbox_report;
mod saved_end;
mod settings;
mod shared_daemons;
mod watching;

pub(crate) use checking::checks_of;
pub(crate) use ending::told;
pub use order::{RunOrder, agree};
pub(crate) use order::{process as process_facts, whereabouts};
pub use perform::{EndedRun, RunError, perform};
pub(crate) use perform::{delivered, unchecked};
pub use recorder::{Clock, Desk, RecordError, Unrecorded};
pub(crate) use saved_end::{SavedEnd, find as find_saved_end};
