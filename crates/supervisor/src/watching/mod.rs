//! A run that goes on: one thread in one `poll`, its timers, what reaches it from outside, and the stages of stopping it.
//!
//! Invariant: one thread puts every event of a run in order. Deliberately absent: what an owner makes of an event.

pub(crate) mod incoming;
pub(crate) mod keys;
pub(crate) mod notify_socket;
pub(crate) mod poll_loop;
pub(crate) mod running;
pub(crate) mod sender;
pub(crate) mod signals;
pub(crate) mod stages;
pub(crate) mod timers;
pub(crate) mod tool_call;
pub(crate) mod waker;
