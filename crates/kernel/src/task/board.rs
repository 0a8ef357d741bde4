//! Where a task stands on the board, for whoever lists or draws it.
//!
//! Invariant: every state that is not over has one column. Deliberately absent: drawing.

use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::task_turn::TaskTurnState;
use callboard_lifecycle::{Token, words};

use super::{JANITOR, MERGE_QUEUE, is_moved_by, state};
use crate::entity::Entity;
use crate::way::turn_state;

words! {
    /// A column of the board.
    pub enum BoardColumn is "column" {
        /// Waits for the approval of its plan.
        Planned = "planned",
        /// Can be claimed, now or later.
        Open = "open",
        /// A worker has it.
        Working = "working",
        /// Reported as done: verified, merged or approved next.
        Review = "review",
        /// Waits for something, or for its recovery.
        Blocked = "blocked",
        /// Failed for good.
        Failed = "failed",
    }
}

impl BoardColumn {
    /// What people read above it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Planned => "Planned",
            Self::Open => "Open",
            Self::Working => "Working",
            Self::Review => "Review",
            Self::Blocked => "Blocked",
            Self::Failed => "Failed",
        }
    }

    /// The colour of its title.
    pub const fn token(self) -> Token {
        match self {
            Self::Planned | Self::Review => Token::Review,
            Self::Open => Token::Neutral,
            Self::Working => Token::Running,
            Self::Blocked => Token::Warning,
            Self::Failed => Token::Error,
        }
    }

    /// The column of a state; nothing if a task in it is over.
    pub const fn of(state: TaskState) -> Option<Self> {
        Some(match state {
            TaskState::Planned => Self::Planned,
            TaskState::Open => Self::Open,
            TaskState::Claimed | TaskState::InProgress => Self::Working,
            TaskState::Done | TaskState::PendingApproval => Self::Review,
            TaskState::Blocked | TaskState::WaitingForSubtasks | TaskState::Orphaned => Self::Blocked,
            TaskState::Failed => Self::Failed,
            TaskState::Closed | TaskState::Cancelled => return None,
        })
    }
}

/// Is nothing to be done about a task in this state any more?
pub const fn is_over(state: TaskState) -> bool {
    BoardColumn::of(state).is_none()
}

/// Does the result of a task wait for the decision of a person? Its machine counts that as an end.
pub fn is_undecided(task: &Entity) -> bool {
    state(task) == Some(TaskState::PendingApproval)
}

/// Is a task that was reported as done in this turn being verified or merged? Not while it waits for a person or for a pull request.
pub fn is_handed_in(task: &Entity, turn: &Entity) -> bool {
    let is_reported = turn_state(turn).is_some_and(|state| match state {
        TaskTurnState::Verifying | TaskTurnState::Completing => true,
        TaskTurnState::Idle
        | TaskTurnState::Claiming
        | TaskTurnState::Spawning
        | TaskTurnState::Running
        | TaskTurnState::ToolUse
        | TaskTurnState::Compacting
        | TaskTurnState::Failed
        | TaskTurnState::Reaped => false,
    });
    is_reported && (is_moved_by(task, JANITOR) || is_moved_by(task, MERGE_QUEUE))
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Words;

    use super::*;

    #[test]
    fn every_state_that_is_not_over_has_a_column_and_every_column_a_state() {
        for column in BoardColumn::ALL {
            assert!(TaskState::ALL.iter().any(|state| BoardColumn::of(*state) == Some(*column)), "{column}");
            assert_eq!(column.title().to_lowercase(), column.name());
        }
        let over: Vec<&str> =
            TaskState::ALL.iter().filter(|state| is_over(**state)).map(|state| state.name()).collect();
        assert_eq!(over, ["closed", "cancelled"]);
    }
}
