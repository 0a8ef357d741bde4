//! Starts, watches, stops and reaps processes, and reads how each of them ended.
//!
//! Invariant: ended means reaped. Nothing here reports an end because a signal was sent; what could not be confirmed is
//! counted and said. How a process ended is read from its wait status and its control group, never guessed.
//! Deliberately absent: agents, the ledger, states and reasons. An owner turns an [`End`] into a record.
//!
//! One run is one thread: [`start`] and [`Running::watch`] happen on it, and it sleeps in one `poll` until something is
//! due. [`Stopper`] is what other threads hold.

mod before_exec;
pub mod containment;
mod end;
mod error;
mod format;
mod image;
mod keys;
mod listen;
#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;
mod notify;
mod nursery;
mod observer;
pub mod output;
pub mod probe;
pub mod process;
mod pty;
mod public;
mod reaping;
mod running;
pub mod sandbox;
mod sender;
mod signals;
mod spec;
mod start;
mod stop;
mod timers;
mod wake;
mod watch;

pub use before_exec::is_inherited;
pub use containment::{Containment, Force, Rung};
pub use end::{Cause, End, How, Kept, Passed, StopCause, Survivor, Timer, Usage};
pub use error::StartError;
pub use observer::{Answer, Caught, Notification, Observer, Quiet, Received, StoppedBy, Stream, Wait};
pub use process::Identity;
pub use public::is_public;
pub use running::{Running, Stopper};
pub use sender::Sender;
pub use signals::Signals;
pub use spec::{Audience, Climb, Keep, Limits, Privileges, Spec, Stdin, Timers};
pub use start::{Prepared, SANDBOX_VARIABLE, prepare, start};
