//! What is said about a task that is there: the bodies of `POST /tasks/{id}/…` and the arguments of the MCP tools.
//!
//! Invariant: a body has only what its act needs; `epoch` is in every body of an act that needs the lease, so whoever lost the lease is
//! refused although somebody else holds it. Deliberately absent: the task itself, which the path or the argument `task` names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::TaskRequest;

/// Claims the next task that fits.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// Only a task for this role or for nobody in particular; any task unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only a task with all of these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: BTreeMap<String, String>,
    /// Only a task in one of these repositories or in none; any unless given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repos: Vec<String>,
    /// What the worker is called that claims it; a worker of this name that is idle is used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How long the claim lasts without a heartbeat, in seconds; 1800 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_s: Option<f64>,
}

/// Claims one task.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimOneRequest {
    /// What the worker is called that claims it; a worker of this name that is idle is used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How long the claim lasts without a heartbeat, in seconds; 1800 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_s: Option<f64>,
}

/// A task that is held.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Hold)]
pub struct HoldShape {
    /// The task.
    pub task: String,
    /// The worker that holds it.
    pub worker: String,
    /// The turn in which it is handled.
    pub turn: String,
    /// Which claim of the task it is. Send it with every act, and an act after the claim was lost is refused.
    pub epoch: u64,
    /// Until when the claim lasts without a heartbeat.
    pub until: Option<String>,
}

/// The work has begun.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartReport {
    /// How the work begins, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The worker is there: its claim goes on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRenewal {
    /// How long the claim lasts from here on, in seconds; 1800 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86400)]
    pub lease_s: Option<f64>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// How far the work is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressReport {
    /// How far it is, in a sentence.
    pub text: String,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The work is done; it is verified next.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneReport {
    /// What was done, in a sentence.
    pub summary: String,
    /// What shows it: a commit, a file, the end of a test run; the summary unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The attempt failed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailReport {
    /// What went wrong, in a sentence.
    pub message: String,
    /// What shows it: an error message, a file, the end of a test run; the message unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Would every further attempt fail the same way? Then a person decides what follows, and there is no retry.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_final: bool,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The task needs something that is not there.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// What it waits for: the ID of a task, with :ended behind it also if that task fails; person:TEXT; time:RFC3339; or other
    /// words, which a person says are there.
    #[schema(min_items = 1)]
    pub by: Vec<String>,
    /// Why it cannot go on, in a sentence.
    pub because: String,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The task is too large: it waits for its parts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitRequest {
    /// The parts. They inherit repository, base, role and delivery unless they say otherwise.
    #[schema(min_items = 1, inline)]
    pub parts: Vec<TaskRequest>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The worker gives the task back.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// Why, in a sentence.
    pub because: String,
    /// From when on it may be claimed again: an RFC 3339 time; at once unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// A person decides something, and may say why.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A person lets a failed task be tried once more.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRequest {
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// May it take twice as long as the last attempt? At most four times the default of its scope.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more_time: bool,
}

/// A person approves a plan or a result.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The other tasks of its plan too?
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole_plan: bool,
}

/// A person rejects a plan or a result.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectionRequest {
    /// Why, in a sentence; the next attempt is told.
    pub because: String,
    /// Is the result to be done again? Otherwise the task has failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub again: bool,
    /// The other tasks of its plan too?
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole_plan: bool,
}

/// A question to a person, which the task waits for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionRequest {
    /// The question, with everything that a person needs to answer it.
    pub question: String,
    /// What will happen, or what the person should look at: a command, a diff, a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The answers to choose from; any text is an answer if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Wait this many seconds for the answer and go on with the task, instead of giving the task back until there is an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 3600)]
    pub wait_s: Option<f64>,
    /// Only if the claim is still this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// A tool that an agent wants to use, as Claude Code tells its permission prompt tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
pub struct ToolUseRequest {
    /// The tool.
    pub tool_name: String,
    /// What the tool is to be told.
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
    /// The agent program's own name for this use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
}

/// How many of those that need somebody are listed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttentionRequest {
    /// How many: 1 to 500; 50 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// Nothing but the task itself.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOnly {}

/// Which tasks are listed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskListing {
    /// Only tasks in one of these states, such as open or blocked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// Only tasks for this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only tasks with all of these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: BTreeMap<String, String>,
    /// Only tasks in this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// How many tasks of each state are shown: 1 to 500; 50 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}
