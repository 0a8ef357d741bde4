//! A task: judged by its state, and offered what moves it on.
//!
//! Invariant: a command is offered only where it moves the task out of the state it is in, or shows why it is there.

use callboard_lifecycle::task::TaskState;

use super::rules::{KindRules, typed};
use crate::judging::view::View;

pub(super) struct Rules;

impl KindRules for Rules {
    fn commands(&self, view: &View<'_>) -> &'static [&'static str] {
        let Some(state) = view.state.lifecycle else { return &["task show"] };
        match typed::<TaskState>(state) {
            TaskState::Planned | TaskState::PendingApproval => &["task show", "task approve", "task reject"],
            TaskState::Failed => &["task show", "task retry"],
            TaskState::Blocked => &["task show", "task unblock"],
            TaskState::Open
            | TaskState::Claimed
            | TaskState::InProgress
            | TaskState::Done
            | TaskState::WaitingForSubtasks
            | TaskState::Orphaned
            | TaskState::Closed
            | TaskState::Cancelled => &["task show"],
        }
    }
}
