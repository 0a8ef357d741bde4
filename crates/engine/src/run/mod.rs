//! One run: what is asked for, what is recorded, what is noticed meanwhile and what its end is called.

mod agent;
mod alone;
mod attribution;
mod checking;
mod ending;
mod kept_end;
mod last_words;
mod order;
mod perform;
mod recorder;
mod settings;
mod walls;
mod watching;

pub(crate) use checking::checks_of;
pub(crate) use kept_end::{KeptEnd, find as find_kept_end};
pub use order::{Order, agree};
pub(crate) use order::{process as process_facts, whereabouts};
pub use perform::{Ended, RunError, perform};
pub(crate) use perform::{delivered, unchecked};
pub use recorder::{Clock, Desk, RecordError, Unrecorded};
