//! Starts, watches, stops and reaps processes, and reads how each of them ended.
//!
//! Invariant: ended means reaped. Nothing here reports an end because a signal was sent; what could not be confirmed is
//! counted and said. How a process ended is read from its wait status and its control group, never guessed.
//! Deliberately absent: agents, the ledger, states and reasons. An owner turns an [`End`] into a record.
//!
//! One run is one thread: [`start`] and [`Running::watch`] happen on it, and it sleeps in one `poll` until something is
//! due. [`Stopper`] is what other threads hold.

mod child;
pub mod containment;
mod end;
mod error;
pub mod mutant;
mod observer;
pub mod output;
pub mod private_files;
pub mod probe;
pub mod process;
mod programs;
pub mod sandbox;
mod spec;
mod watching;

pub use child::before_exec::is_inherited;
pub use child::start::{Prepared, SANDBOX_VARIABLE, prepare, start};
pub use containment::{Containment, Force, Rung};
pub use end::{Cause, End, How, Kept, Passed, StopCause, Survivor, Timer, Usage};
pub use error::StartError;
pub use observer::{
    Answer, Caught, Notification, Observer, Quiet, Received, StoppedBy, Stream, ToolEnd, Wait,
};
pub use process::Identity;
pub use programs::on_path;
pub use sandbox::public_address::is_public;
pub use spec::{Audience, Climb, Keep, Limits, Privileges, Spec, Stdin, Timers};
pub use watching::running::{Running, Stopper};
pub use watching::sender::Sender;
pub use watching::signals::Signals;
