//! The way from where a task turn or a worker stands to where an act leaves it, as the events on the way.
//!
//! Invariant: each event is the next row of the table, so a group that sends them in order is taken. Deliberately absent: what led
//! to the act.

use callboard_lifecycle::task_turn::{TaskTurnEvent, TaskTurnState};
use callboard_lifecycle::worker::{WorkerState, WorkerTrigger};
use callboard_lifecycle::{Kind, Words};

use crate::entity::Entity;

/// Where an act leaves a task turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnGoal {
    /// Its agent is at work.
    Running,
    /// Its agent uses a tool.
    ToolUse,
    /// Its agent compacts its context.
    Compacting,
    /// The work is done and is verified.
    Verifying,
    /// It failed.
    Failed,
    /// It is cleaned up.
    Reaped,
}

/// The state of a task turn; nothing if it is none, or has none yet.
pub fn turn_state(entity: &Entity) -> Option<TaskTurnState> {
    let state = entity.state.lifecycle.filter(|state| state.kind() == Kind::TaskTurn)?;
    Some(TaskTurnState::ALL[usize::from(state.position())])
}

/// The state of a worker; nothing if it is none, or has none yet.
pub fn worker_state(entity: &Entity) -> Option<WorkerState> {
    let state = entity.state.lifecycle.filter(|state| state.kind() == Kind::Worker)?;
    Some(WorkerState::ALL[usize::from(state.position())])
}

/// The events that lead a task turn to a goal; nothing if there is no way, none if it is there.
pub fn turn_way(from: TaskTurnState, goal: TurnGoal) -> Option<Vec<TaskTurnEvent>> {
    use TaskTurnEvent as Event;
    use TaskTurnState as State;
    let to = match goal {
        TurnGoal::Running => State::Running,
        TurnGoal::ToolUse => State::ToolUse,
        TurnGoal::Compacting => State::Compacting,
        TurnGoal::Verifying => State::Verifying,
        TurnGoal::Failed => State::Failed,
        TurnGoal::Reaped => State::Reaped,
    };
    let (mut at, mut way) = (from, Vec::new());
    while at != to {
        let next = match at {
            State::Idle => Event::TaskClaimed,
            State::Reaped => return None,
            State::Failed | State::Completing if to == State::Reaped => Event::AgentReaped,
            State::Failed | State::Completing => return None,
            State::Claiming | State::Spawning if matches!(to, State::Failed | State::Reaped) => {
                Event::TaskFailed
            }
            State::Claiming | State::Spawning => Event::AgentSpawned,
            State::Running => match to {
                State::ToolUse => Event::ToolStarted,
                State::Compacting => Event::CompactNeeded,
                State::Verifying => Event::VerifyRequested,
                State::Failed | State::Reaped => Event::TaskFailed,
                State::Idle | State::Claiming | State::Spawning | State::Running | State::Completing => {
                    return None;
                }
            },
            State::ToolUse | State::Compacting | State::Verifying
                if matches!(to, State::Failed | State::Reaped) =>
            {
                Event::TaskFailed
            }
            State::ToolUse => Event::ToolCompleted,
            State::Compacting => Event::VerifyRequested,
            // An agent that said it is done and compacts its context after all is not done yet.
            State::Verifying if to == State::Compacting => Event::CompactNeeded,
            State::Verifying => return None,
        };
        way.push(next);
        at = at.after(next)?;
    }
    Some(way)
}

/// The triggers that lead a worker to work on a task, or to be ready for another; nothing if there is no way.
pub fn worker_way(from: WorkerState, to: WorkerState) -> Option<Vec<WorkerTrigger>> {
    use WorkerState as State;
    use WorkerTrigger as Trigger;
    Some(match (from, to) {
        (State::Starting, State::Working) => vec![Trigger::Ready],
        (State::Starting, State::Idle) => vec![Trigger::Ready, Trigger::TaskFinished],
        (State::Working, State::Idle) => vec![Trigger::TaskFinished],
        (State::Idle, State::Working) => vec![Trigger::TaskAssigned],
        (State::Working, State::Working) | (State::Idle, State::Idle) => Vec::new(),
        (_, State::Starting | State::Dead) | (State::Dead, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOALS: [TurnGoal; 6] = [
        TurnGoal::Running,
        TurnGoal::ToolUse,
        TurnGoal::Compacting,
        TurnGoal::Verifying,
        TurnGoal::Failed,
        TurnGoal::Reaped,
    ];

    #[test]
    fn a_way_follows_the_table_to_its_goal() {
        let mut ways = 0;
        for from in TaskTurnState::ALL.iter().copied() {
            for goal in GOALS {
                let Some(way) = turn_way(from, goal) else { continue };
                let mut at = from;
                for event in way {
                    at = at.after(event).unwrap_or_else(|| panic!("{from} to {goal:?}: {event} from {at}"));
                }
                assert!(
                    at.name().replace('_', "") == format!("{goal:?}").to_lowercase(),
                    "{from} to {goal:?}: {at}"
                );
                ways += 1;
            }
        }
        assert!(ways > 30, "{ways}");
        assert_eq!(
            turn_way(TaskTurnState::Verifying, TurnGoal::ToolUse),
            None,
            "what an agent does after it said it is done changes nothing"
        );
        assert_eq!(
            turn_way(TaskTurnState::Verifying, TurnGoal::Compacting),
            Some(vec![TaskTurnEvent::CompactNeeded, TaskTurnEvent::CompactNeeded]),
            "unless its context grew so much that it is summarised first"
        );
    }

    #[test]
    fn a_worker_that_is_heard_of_for_the_first_time_is_ready() {
        assert_eq!(
            worker_way(WorkerState::Starting, WorkerState::Idle),
            Some(vec![WorkerTrigger::Ready, WorkerTrigger::TaskFinished])
        );
        assert_eq!(worker_way(WorkerState::Dead, WorkerState::Working), None);
    }
}
