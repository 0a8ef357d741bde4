//! What happens by itself.
//!
//! Invariant: a step is safe to repeat. Deliberately absent: what is sent and how, which the crate `callboard-notify` knows.

mod daily_root;
mod notification;
mod notifier;

pub use notifier::{Notifier, TellError, Told, notification_due};
