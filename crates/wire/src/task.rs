//! A task that somebody asks for: the body of `POST /tasks`, the arguments of the MCP tool and of `callboard task add`, and one task of a plan.
//!
//! Invariant: whatever a task can be told is a field here, so no surface can do less than another. Deliberately absent: checking,
//! which the engine does once for all surfaces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A task that is asked for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    /// What it is called.
    pub title: String,
    /// What its agent is told to do; the title unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Who it is for: workers with this role, and workers without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How urgent it is: 1 comes first; 2 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1000)]
    pub priority: Option<i64>,
    /// How much work it is: small, medium, large or xl. It sets the time that an attempt may take; medium unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What somebody sorts it by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: BTreeMap<String, String>,
    /// The tasks it depends on: IDs; with :ended behind one, also if that task fails or is cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// What else it depends on: person:TEXT, time:RFC3339, command:COMMAND (until it succeeds) or merged:COMMAND (which succeeds once
    /// a pull request is merged).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    /// Paths in the repository that no other task may work on at the same time; a directory stands for everything below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The git repository it works on: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The branch that it begins from and is merged into; the branch that the repository is on unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Commands that must succeed in its worktree before it is merged; a shell reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Paths or globs of files that must be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<String>,
    /// Files that must contain a text: PATH=TEXT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// JSON files that must fit a JSON schema: PATH=SCHEMA, both in the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<String>,
    /// The artifact contract that must hold: a file in the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// A command that reviews the work, after all other checks; a shell reads it. It fails to reject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Must something have changed?
    #[serde(default, skip_serializing_if = "is_false")]
    pub expect_diff: bool,
    /// How often it is tried again after a failure; 3 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 100)]
    pub max_retries: Option<i64>,
    /// How long one attempt may take, in seconds; what its scope says unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// What becomes of its parts when one of them fails: contain, siblings or session; contain unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_child_failure: Option<String>,
    /// The task it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Must a person approve the result before it is merged?
    #[serde(default, skip_serializing_if = "is_false")]
    pub approval: bool,
    /// How a verified result is delivered: merge, or branch; merge unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver: Option<String>,
}

/// Changes to a task that nobody has claimed. What is left out stays as it is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskChange {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its agent is told to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Who it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// How much work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// How often it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// How long one attempt may take, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}
