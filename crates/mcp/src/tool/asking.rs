//! Tools that ask a person, and wait for the answer where the caller wants to.
//!
//! Invariant: without an answer the agent is told that there is none, and a tool that nobody allowed is denied. A question whose asker is gone
//! is taken back.

use std::time::Duration;

use callboard_engine::questions::{PermissionRequest, QuestionEnd, wait};
use callboard_kernel::EntityId;
use callboard_wire::{AskRequest, QuestionRequest, ToolUseRequest};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::call::{Call, read, task_in};
use crate::answer::ToolError;

/// How long an agent waits to be permitted a tool.
const PERMISSION_WAIT: Duration = Duration::from_secs(3600);
const WAIT_MAX_S: f64 = 3600.0;

/// Asks a question: the task waits for the answer, or the agent does.
pub(super) fn ask(
    at: &Call<'_>,
    mut arguments: JsonObject,
    goes_on: &dyn Fn() -> bool,
) -> Result<Value, ToolError> {
    let named = task_in(&mut arguments)?;
    let QuestionRequest { question, context, options, wait_s, epoch } = read(arguments)?;
    let mut request = AskRequest { text: question, context, options, ..AskRequest::default() };
    let Some(seconds) = wait_s else {
        let task = at.acting.meant(named.as_deref())?;
        let id = at.acting.ask_for_task(task, &request, epoch)?;
        let mut answer = at.task(task)?;
        answer["question"] = json!(id.to_string());
        return Ok(answer);
    };
    if !(1.0..=WAIT_MAX_S).contains(&seconds) {
        return Err(ToolError::new("unfit", format!("wait_s is {seconds}"), "use from 1 to 3600 seconds"));
    }
    request.expires_s = Some(seconds);
    let (id, _) = at.acting.ask(&request)?;
    Ok(match waited(at, id, Duration::from_secs_f64(seconds), goes_on)? {
        Some(QuestionEnd::Answered { answer, by, because }) => {
            json!({ "question": id.to_string(), "answer": answer, "answered_by": by, "because": because })
        }
        Some(QuestionEnd::NoAnswer { .. } | QuestionEnd::Withdrawn) | None => {
            json!({ "question": id.to_string(), "answer": null, "message": "no answer: nobody answered in time" })
        }
    })
}

/// Asks whether a tool may be used, and answers as Claude Code expects it.
pub(super) fn permission(
    at: &Call<'_>,
    request: &ToolUseRequest,
    goes_on: &dyn Fn() -> bool,
) -> Result<Value, ToolError> {
    let input = serde_json::to_string_pretty(&request.input)
        .map_err(|error| ToolError::internal(format!("the input cannot be written: {error}")))?;
    let id = at.acting.ask_permission(&request.tool_name, input, PERMISSION_WAIT)?;
    let denied = |message: String| json!({ "behavior": "deny", "message": message });
    Ok(match waited(at, id, PERMISSION_WAIT, goes_on)? {
        Some(QuestionEnd::Answered { answer, .. }) if answer == PermissionRequest::ALLOW => {
            json!({ "behavior": "allow", "updatedInput": request.input })
        }
        Some(QuestionEnd::Answered { by, because, .. }) => {
            denied(because.map_or_else(|| format!("{by} denied it"), |why| format!("{by} denied it: {why}")))
        }
        Some(QuestionEnd::NoAnswer { .. } | QuestionEnd::Withdrawn) | None => {
            denied("no answer: nobody answered in time, so it is not permitted".to_owned())
        }
    })
}

fn waited(
    at: &Call<'_>,
    id: EntityId,
    length: Duration,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<QuestionEnd>, ToolError> {
    let until = at.acting.now.plus(length);
    let verdict = wait(at.place.ledger(), id, until, at.place.clock(), goes_on)?;
    if verdict.is_none() && !goes_on() {
        // Nobody is left to be told.
        at.acting.retract(id)?;
    }
    Ok(verdict)
}
