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
mod decisions;
mod desk;
mod filing;
mod holding;
mod looking;
mod new_task;
mod reporting;
mod service;
mod signal;
#[cfg(test)]
mod tests;

pub use acting::{lease, refused};
pub use asking::{Asking, NewId, TaskError, composed, next_move};
pub(crate) use asking::{reason, settled, unfit};
pub use caller::{ActError, Acting, Caller, Performed};
pub(crate) use caller::{not_allowed, only_looks, said};
pub use decisions::retry::RetryTime;
pub use decisions::{Recovered, Rejection};
pub use desk::Decided;
pub use filing::PlanTask;
pub(crate) use holding::id_in;
pub use holding::timeouts::{ChosenTimeout, TimeoutKey, bound_told, sample_facts, timeout_for, timeouts};
pub use holding::{Hold, LEASE, NewWorker, WorkerEnd};
pub(crate) use looking::live;
pub use looking::{
    CardFilter, ClaimShown, MergeShown, Over, RunShown, TaskFilter, TaskStory, TurnShown, WorkersWanted,
    board, card_note, story, worker_names, workers,
};
pub use new_task::NewTask;
pub use reporting::retry::{NextAttempt, next_attempt};
pub use reporting::{Block, Done, TaskFailure};
pub use service::upkeep::{FORSAKEN, IDLE};
pub use service::{OVERDUE, TaskService};
pub use signal::Signal;
