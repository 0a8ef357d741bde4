//! The task board: tasks that are added, claimed once, worked on under a lease, verified and merged.
//!
//! Invariant: every act is one group of commands, so a task, its worker and its turn never disagree; whoever acts for a task carries the
//! epoch of its lease. Nothing here decides: a refusal of the kernel is the answer. Deliberately absent: processes and git,
//! which `callboard-crew` has.

mod acting;
mod asking;
mod by_people;
mod by_workers;
mod caller;
mod cards;
mod decisions;
mod filing;
mod holding;
mod new_task;
mod reporting;
mod service;
mod signal;
mod story;
#[cfg(test)]
mod tests;

pub use acting::{lease, refused};
pub use asking::{Asking, NewId, TaskError, composed, next_move};
pub use caller::{ActError, Acting, Caller, Performed};
pub use cards::{CardFilter, board};
pub use decisions::{Decided, Recovered, Rejection};
pub use filing::PlanTask;
pub use holding::{Hold, LEASE, NewWorker, WorkerEnd};
pub use new_task::NewTask;
pub use reporting::retry::{NextAttempt, next_attempt};
pub use reporting::{Block, Done, TaskFailure};
pub use service::upkeep::IDLE;
pub use service::{OVERDUE, TaskService};
pub use signal::Signal;
pub use story::{ClaimShown, MergeShown, RunShown, TaskStory, TurnShown, story};
