//! The agent machine: a long-lived agent that takes prompts and can be restarted.
//!
//! The older, coarser words (`AgentStatus`, `ActivityState`) are still served, and are derived from the one state.

use crate::machine;
use crate::words;

machine! {
    /// A long-lived agent that takes prompts and can be restarted.
    Agent "agt" as "agent" with "agent" reasons;
    nature Perpetual;

    states ExecutionState is "agent state" in "agent" {
        /// Recorded; its backend is not started yet.
        Pending = "pending" ("Pending", Neutral, Clock),
        /// Its backend is started; it has not connected yet.
        Starting = "starting" ("Starting", Running, Clock),
        /// Connected, and waiting for a prompt.
        Idle = "idle" ("Idle", Neutral, Pause),
        /// At work on a prompt.
        Busy = "busy" ("Busy", Running, Activity),
        /// Held for a while: its context is being cleared, or its connection is lost.
        Suspended = "suspended" ("Suspended", Warning, Pause),
        /// Exited cleanly; it can be restarted.
        Stopped = "stopped" ("Stopped", Neutral, Stop),
        /// Its process failed or crashed; it can be restarted.
        Failed = "failed" ("Failed", Error, XCircle),
    }
    triggers TransitionTrigger is "agent trigger" {
        /// It was spawned.
        Spawn = "spawn",
        /// It connected.
        Connected = "connected",
        /// Its connection was lost.
        Disconnected = "disconnected",
        /// A prompt was sent to it.
        PromptReceived = "prompt_received",
        /// It returned a result.
        ResultReceived = "result_received",
        /// Its context was cleared.
        ContextCleared = "context_cleared",
        /// Somebody asked it to stop.
        UserTerminated = "user_terminated",
        /// Its process exited.
        ProcessExited = "process_exited",
        /// Its process crashed.
        ProcessCrashed = "process_crashed",
        /// Somebody restarted it.
        Restart = "restart",
        /// What is recorded was compared with what is there, at start-up.
        Reconciliation = "reconciliation",
    }

    start [Pending];
    ends [];
    settled [Stopped, Failed];

    rows {
        Pending   => Starting  on [Spawn] by [Operator, System, Supervisor];
        Pending   => Failed    on [ProcessExited, ProcessCrashed, UserTerminated, Reconciliation] by [Operator, System, Supervisor] because ["agent.failed.*"];
        Starting  => Idle      on [Connected, Reconciliation] by [System, Supervisor];
        Starting  => Failed    on [ProcessExited, ProcessCrashed, Disconnected, UserTerminated, Reconciliation] by [Operator, System, Supervisor] because ["agent.failed.*"];
        Idle      => Busy      on [PromptReceived, Reconciliation] by [Operator, System, Supervisor];
        Idle      => Suspended on [ContextCleared, Disconnected, Reconciliation] by [Operator, System, Supervisor];
        Idle      => Stopped   on [UserTerminated, ProcessExited, Reconciliation] by [Operator, System, Supervisor] because ["agent.stopped.*"];
        Idle      => Failed    on [ProcessCrashed, Disconnected, Reconciliation] by [System, Supervisor] because ["agent.failed.*"];
        Busy      => Idle      on [ResultReceived, Reconciliation] by [System, Supervisor];
        Busy      => Suspended on [ContextCleared, Disconnected, Reconciliation] by [Operator, System, Supervisor];
        Busy      => Stopped   on [UserTerminated, ProcessExited, Reconciliation] by [Operator, System, Supervisor] because ["agent.stopped.*"];
        Busy      => Failed    on [ProcessCrashed, Disconnected, Reconciliation] by [System, Supervisor] because ["agent.failed.*"];
        Suspended => Idle      on [Connected, ContextCleared, Reconciliation] by [System, Supervisor];
        Suspended => Busy      on [PromptReceived, Connected, Reconciliation] by [Operator, System, Supervisor];
        Suspended => Stopped   on [UserTerminated, ProcessExited, Reconciliation] by [Operator, System, Supervisor] because ["agent.stopped.*"];
        Suspended => Failed    on [ProcessCrashed, Disconnected, Reconciliation] by [System, Supervisor] because ["agent.failed.*"];
        Stopped   => Starting  on [Restart] by [Operator, System];
        Failed    => Starting  on [Restart] by [Operator, System];
    }

    reasons {
        "agent.starting.spawned": "Its backend was started.";
        "agent.starting.restarted" by choice: "Somebody restarted it.";
        "agent.starting.auto_restart": "Its restart rule started it again.";
        "agent.idle.connected": "It connected and waits for a prompt.";
        "agent.idle.result": "It returned a result.";
        "agent.idle.context_cleared": "Its context is clear.";
        "agent.idle.reconciled": "Found waiting when the system came up.";
        "agent.busy.prompt": "A prompt was sent to it.";
        "agent.busy.resumed": "It took up the prompt it had left.";
        "agent.busy.reconciled": "Found at work when the system came up.";
        "agent.suspended.context_clear": "Its context is being cleared.";
        "agent.suspended.disconnected": "Its connection is lost; it may come back.";
        "agent.suspended.reconciled": "Found suspended when the system came up.";
        "agent.stopped.operator" by choice: "Somebody asked it to stop.";
        "agent.stopped.exited": "Its process exited cleanly.";
        "agent.stopped.reconciled": "Found stopped when the system came up.";
        "agent.failed.spawn": "It could not be started.";
        "agent.failed.crashed": "Its process crashed.";
        "agent.failed.exited_early": "Its process exited before it connected.";
        "agent.failed.disconnected": "Its connection was lost for good.";
        "agent.failed.terminated": "It was stopped before it had started.";
        "agent.failed.reconciled": "Found gone when the system came up.";
    }
}

words! {
    /// What older callers of the agent API know of an agent.
    pub enum AgentStatus is "agent status" {
        /// Not connected yet.
        Pending = "pending",
        /// Connected.
        Running = "running",
        /// Exited.
        Stopped = "stopped",
        /// Crashed.
        Failed = "failed",
    }
}

words! {
    /// Whether older callers see an agent at work.
    pub enum ActivityState is "activity state" {
        /// Not at work.
        Idle = "idle",
        /// At work on a prompt.
        Busy = "busy",
    }
}

impl ExecutionState {
    /// Could it process work?
    pub const fn is_active(&self) -> bool {
        matches!(self.to_agent_status(), AgentStatus::Running)
    }

    /// The status older callers know.
    pub const fn to_agent_status(&self) -> AgentStatus {
        match self {
            Self::Pending | Self::Starting => AgentStatus::Pending,
            Self::Idle | Self::Busy | Self::Suspended => AgentStatus::Running,
            Self::Stopped => AgentStatus::Stopped,
            Self::Failed => AgentStatus::Failed,
        }
    }

    /// The activity older callers know.
    pub const fn to_activity_state(&self) -> ActivityState {
        match self {
            Self::Busy => ActivityState::Busy,
            Self::Pending | Self::Starting | Self::Idle | Self::Suspended | Self::Stopped | Self::Failed => {
                ActivityState::Idle
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_agent_cannot_be_busy_without_a_restart() {
        assert!(ExecutionState::Stopped.transition_to(ExecutionState::Busy).is_err());
        assert_eq!(
            ExecutionState::Stopped.transition_to(ExecutionState::Starting),
            Ok(ExecutionState::Starting)
        );
    }

    #[test]
    fn stopped_and_failed_are_the_terminal_states_of_seed_and_table() {
        use ExecutionState::{Busy, Failed, Idle, Pending, Starting, Stopped, Suspended};
        assert!([Stopped, Failed].iter().all(|state| state.is_terminal() && !state.is_active()));
        assert!([Idle, Busy, Suspended].iter().all(|state| !state.is_terminal() && state.is_active()));
        assert!([Pending, Starting].iter().all(|state| !state.is_terminal() && !state.is_active()));
    }

    #[test]
    fn text_and_json_round_trip() {
        let state: ExecutionState = "suspended".parse().unwrap();
        assert_eq!(state.to_string(), "suspended");
        assert_eq!(serde_json::to_string(&TransitionTrigger::PromptReceived).unwrap(), "\"prompt_received\"");
        assert_eq!(serde_json::from_str::<ExecutionState>("\"busy\"").unwrap(), ExecutionState::Busy);
    }
}
