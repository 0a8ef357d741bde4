//! The demonstration: a small believable fleet of scripted agents and a board of tasks, on a store of its own.
//!
//! Invariant: nothing of it is pretended. The agents are processes, their runs are supervised as any run is, and every
//! state is read from what happened; only the stalled one is written into the past, because nobody wants to wait for it.
//! Deliberately absent: anything that touches the user's own store.

mod backlog;
mod board;
mod cast;
mod stage;
mod story;

pub(crate) use board::Board;
pub(crate) use stage::Stage;
pub(crate) use story::{Scene, clear, play};
