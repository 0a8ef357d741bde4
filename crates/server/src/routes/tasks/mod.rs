//! The task board over HTTP: what people and workers do, the story of a task, and the board.
//!
//! Invariant: who asks decides as whom they act, by the same rules as every surface (`engine::tasks::Acting`); the kernel decides whether a
//! move is taken. The same key with the same body is the same act. Deliberately absent: listing tasks as entities (`entities`).

mod by_people;
mod by_workers;
mod looking;
mod performing;

pub(super) use by_people::*;
pub(super) use by_workers::*;
pub(super) use looking::*;
pub(super) use performing::{Asked, caller, problem};
