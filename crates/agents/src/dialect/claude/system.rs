//! Claude Code's `system` messages: the session itself, retries, background tasks.
//!
//! Invariant: `background_tasks_changed` is the whole truth of what runs in the background and replaces what the single
//! task messages said; those alone can lose an end.

use serde::Deserialize;

use super::{Claude, with};
use crate::dialect::fields::{List, Text, lenient};
use crate::signal::{Waiting, WaitingFor};
use crate::summary::Note;
use crate::tally::Tally;

impl Claude {
    pub(super) fn system(&mut self, subtype: &str, line: &str, tally: &mut Tally) {
        match subtype {
            "init" => {
                self.refused = false;
                self.failed_request = None;
                tally.begin_turn();
                with(line, tally, init);
            }
            "api_retry" => with(line, tally, api_retry),
            "session_state_changed" => with(line, tally, session_state),
            "background_tasks_changed" => with(line, tally, background_tasks),
            "task_started" | "task_updated" | "task_notification" => {
                with(line, tally, |task, tally| background_task(subtype, task, tally));
            }
            "permission_denied" => with(line, tally, permission_denied),
            "session_writes_lost" => tally.note(Note::WritesLost),
            "model_refusal_no_fallback" => self.refused = true,
            "compact_boundary" => {
                tally.compacts(false);
                tally.progress();
            }
            "files_persisted" | "local_command_output" => tally.progress(),
            "status" => with(line, tally, status),
            "hook_started"
            | "hook_progress"
            | "hook_response"
            | "notification"
            | "task_progress"
            | "thinking_tokens"
            | "commands_changed"
            | "plugin_install"
            | "memory_recall"
            | "elicitation_complete"
            | "mirror_error"
            | "informational"
            | "model_refusal_fallback"
            | "worker_shutting_down"
            | "control_request_progress" => tally.activity(),
            _ => tally.unknown(&format!("system/{subtype}")),
        }
    }
}

#[derive(Deserialize)]
struct Init<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    model: Option<Text<'a>>,
}

fn init(init: Init<'_>, tally: &mut Tally) {
    if let Some(model) = Text::of(&init.model) {
        tally.model(model);
    }
    tally.activity();
}

#[derive(Deserialize)]
struct ApiRetry<'a> {
    #[serde(default, deserialize_with = "lenient")]
    attempt: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_retries: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    retry_delay_ms: Option<f64>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    error_status: Option<u64>,
}

fn api_retry(retry: ApiRetry<'_>, tally: &mut Tally) {
    let error = Text::of(&retry.error).unwrap_or("unknown");
    let error = match retry.error_status {
        Some(status) => format!("{error} ({status})"),
        None => error.to_owned(),
    };
    // The backoff is a float in some releases; a fraction of a millisecond is of no interest.
    let delay_ms = retry.retry_delay_ms.map(|delay| delay as u64);
    tally.retry(retry.attempt, retry.max_retries, delay_ms, &error, retry.error_status);
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
}

/// It says when it begins to summarise its context; any other word, or none, means that it does not.
fn status(status: Status<'_>, tally: &mut Tally) {
    tally.compacts(Text::or_empty(&status.status) == "compacting");
    tally.activity();
}

#[derive(Deserialize)]
struct SessionState<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    state: Option<Text<'a>>,
}

fn session_state(state: SessionState<'_>, tally: &mut Tally) {
    match Text::or_empty(&state.state) {
        // The request that says what is asked may have come before; it knows more.
        "requires_action" if tally.summary.waiting.is_some() => {}
        "requires_action" => tally.waits(Waiting::in_stream(WaitingFor::Action, None)),
        "running" | "idle" => {
            tally.waits_no_more();
            tally.activity();
        }
        _ => tally.unknown("system/session_state_changed"),
    }
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    task_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    description: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    is_backgrounded: Option<bool>,
    /// Housekeeping that ends with the agent.
    #[serde(default, deserialize_with = "lenient")]
    ambient: Option<bool>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    reason: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    patch: Option<TaskPatch<'a>>,
}

#[derive(Deserialize)]
struct TaskPatch<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    is_backgrounded: Option<bool>,
}

#[derive(Deserialize)]
struct Tasks<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    tasks: Option<List<Task<'a>>>,
}

fn background_tasks(tasks: Tasks<'_>, tally: &mut Tally) {
    let Some(tasks) = tasks.tasks else { return tally.unknown("system/background_tasks_changed") };
    tally.summary.children.clear();
    for task in tasks.0.iter().filter(|task| task.ambient != Some(true)) {
        tally.child(Text::or_empty(&task.task_id), Text::of(&task.description));
    }
    tally.progress();
}

fn background_task(subtype: &str, task: Task<'_>, tally: &mut Tally) {
    let id = Text::or_empty(&task.task_id);
    let patch = task.patch.as_ref();
    let status = patch.map_or("", |patch| Text::or_empty(&patch.status));
    if subtype == "task_notification" || matches!(status, "completed" | "failed" | "killed") {
        tally.child_ended(id);
        if Text::of(&task.reason) == Some("worker_restart") {
            tally.note(Note::OrphanedChild { id: crate::tally::bounded(id, 256) });
        }
        return tally.progress();
    }
    let is_backgrounded = task.is_backgrounded.or(patch.and_then(|patch| patch.is_backgrounded));
    if is_backgrounded == Some(true) && task.ambient != Some(true) {
        tally.child(id, Text::of(&task.description));
    }
    tally.activity();
}

#[derive(Deserialize)]
struct PermissionDenied<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
}

fn permission_denied(denied: PermissionDenied<'_>, tally: &mut Tally) {
    tally.denied(Text::or_empty(&denied.tool_name));
    tally.activity();
}
