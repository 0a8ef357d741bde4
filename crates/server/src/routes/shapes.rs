//! The shapes of answers whose types live in other crates, for the OpenAPI document alone.
//!
//! Invariant: a test compares them with what the server really answers. Deliberately absent: values; nothing here is
//! ever made.

#![expect(dead_code, reason = "these types are read by the schema generator and are never made")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

/// An entity as it stands, judged at a moment.
#[derive(ToSchema)]
pub(crate) struct View {
    /// Its id: the prefix of its kind and 26 characters.
    #[schema(example = "ses_01k7c3h2f4x8w6t5r3q1n0m9bz")]
    id: String,
    kind: String,
    title: Option<String>,
    labels: BTreeMap<String, Value>,
    /// How many records it has.
    version: u64,
    state: NormalizedState,
    /// The state as people read it.
    #[schema(example = "Failed · Infra OK · Trace present")]
    chain: String,
    /// One word for a pill that stands alone.
    effective: String,
    created_at: Option<String>,
    started_at: Option<String>,
    entered_at: Option<String>,
    ended_at: Option<String>,
    last_activity_at: Option<String>,
    parent: Option<String>,
    host: Option<Value>,
    pid: Option<Value>,
    exit: Exit,
    timeout: Timeout,
    artifacts: Artifacts,
    /// Everything else that was recorded.
    facts: BTreeMap<String, Value>,
}

/// A view, and the newest record that is in it.
#[derive(ToSchema)]
pub(crate) struct OneView {
    #[schema(inline)]
    #[serde(flatten)]
    view: View,
    head: u64,
}

/// The state on all axes.
#[derive(ToSchema)]
pub(crate) struct NormalizedState {
    lifecycle: Option<String>,
    outcome: Option<String>,
    phase: Option<Phase>,
    health: Option<String>,
    delivery: Option<String>,
    severity: String,
    tone: String,
    reasons: Vec<Reason>,
    evaluated_at: String,
    policy_version: String,
    source: String,
}

/// What a run is doing while it has not ended.
#[derive(ToSchema)]
pub(crate) struct Phase {
    #[schema(example = "stopping")]
    name: String,
    /// Since when, where that is known.
    since: Option<String>,
    /// Who asked for a stop, or what holds the process.
    by: Option<String>,
    /// More about it, in words.
    detail: Option<String>,
}

/// Why, with what shows it.
#[derive(ToSchema)]
pub(crate) struct Reason {
    #[schema(example = "run.failed.exit_nonzero")]
    code: String,
    message: String,
    claim_status: String,
    confidence: f64,
    evidence: Vec<Value>,
}

/// How its process ended.
#[derive(ToSchema)]
pub(crate) struct Exit {
    code: Option<Value>,
    signal: Option<Value>,
    oom: Option<Value>,
    timed_out: Option<bool>,
}

/// Its bound, and how long it ran.
#[derive(ToSchema)]
pub(crate) struct Timeout {
    configured_s: Option<f64>,
    elapsed_s: Option<f64>,
}

/// What it promised, where, and what became of it.
#[derive(ToSchema)]
pub(crate) struct Artifacts {
    dir: Option<Value>,
    contract: Option<Value>,
    verification: Option<Value>,
}

/// One record of the log.
#[derive(ToSchema)]
pub(crate) struct Record {
    seq: u64,
    at: String,
    entity: EntityRef,
    version: u64,
    r#type: String,
    channel: String,
    from: Option<String>,
    to: String,
    trigger: Option<String>,
    actor: ActorRef,
    reasons: Vec<Reason>,
    cause: Option<String>,
    key: Option<String>,
    data: BTreeMap<String, Value>,
    /// The guards that held, where the row has any.
    guards: Option<Vec<String>>,
    /// Which of how many records of its group it is; absent if it was recorded alone.
    group: Option<GroupMember>,
    hash: String,
}

/// A place in a group of records that were recorded together.
#[derive(ToSchema)]
pub(crate) struct GroupMember {
    /// Counted from 0.
    at: u32,
    of: u32,
}

/// An entity by name.
#[derive(ToSchema)]
pub(crate) struct EntityRef {
    kind: String,
    id: String,
}

/// Who asked for it.
#[derive(ToSchema)]
pub(crate) struct ActorRef {
    r#type: String,
    id: String,
}

/// What needs somebody.
#[derive(ToSchema)]
pub(crate) struct Attention {
    generated_at: String,
    total: u64,
    by_severity: BTreeMap<String, u64>,
    set_aside: u64,
    /// Since when nothing has needed anybody; null while something does.
    clear_since: Option<String>,
    items: Vec<AttentionItem>,
    head: u64,
}

/// One thing that needs somebody.
#[derive(ToSchema)]
pub(crate) struct AttentionItem {
    fingerprint: String,
    severity: String,
    tone: String,
    entity: Subject,
    chain: String,
    reason: Option<Cause>,
    cluster: String,
    cluster_size: u64,
    first_seen_at: Option<String>,
    snoozed_until: Option<String>,
    dismissed: bool,
    actions: Vec<Action>,
}

/// What an item is about.
#[derive(ToSchema)]
pub(crate) struct Subject {
    kind: String,
    id: String,
    title: Option<String>,
}

/// Why it needs somebody.
#[derive(ToSchema)]
pub(crate) struct Cause {
    code: String,
    message: String,
}

/// What can be done about it.
#[derive(ToSchema)]
pub(crate) struct Action {
    name: String,
    command: String,
}

/// Why a request was not answered as it wished (RFC 9457).
#[derive(ToSchema)]
pub(crate) struct Problem {
    r#type: String,
    title: String,
    status: u16,
    detail: String,
    /// What to do next.
    help: String,
    /// The kernel's refusal, where it was the kernel that said no.
    refused: Option<Refusal>,
}

/// The kernel's no.
#[derive(ToSchema)]
pub(crate) struct Refusal {
    code: String,
    message: String,
    entity: EntityRef,
    from: Option<String>,
    to: Option<String>,
    allowed: Vec<String>,
    /// The guard that stands in the way, where one does.
    guard: Option<String>,
    help: String,
}
