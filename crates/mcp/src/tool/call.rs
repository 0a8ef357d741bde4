//! One call of a tool: its arguments are read strictly, and it is done as the caller.

use callboard_engine::tasks::{Acting, Caller, CardFilter, Performed, TaskFilter, board, story};
use callboard_engine::{Observed, Viewpoint};
use callboard_kernel::EntityId;
use callboard_lifecycle::Words;
use callboard_lifecycle::task::TaskState;
use callboard_wire::{AttentionRequest, ClaimOneRequest, ClaimRequest, HoldShape, TaskListing, TaskOnly};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::asking;
use crate::answer::ToolError;
use crate::surroundings::{Surroundings, attention};

/// How many are shown unless somebody says how many.
const SHOWN: u32 = 50;
const SHOWN_MAX: u32 = 500;

/// Does what a tool does. A tool that waits for a person stops waiting when the caller is gone.
pub(crate) fn call(
    place: &dyn Surroundings,
    caller: &Caller,
    name: &str,
    arguments: JsonObject,
    goes_on: &dyn Fn() -> bool,
) -> Result<Value, ToolError> {
    let acting = Acting::new(place.ledger(), caller.clone(), place.clock().now());
    let at = Call { place, acting, caller };
    match name {
        "list_tasks" => at.list(&read(arguments)?),
        "attention" => at.attention(&read(arguments)?),
        "add_task" => {
            let (id, _) = at.acting.add(&read(arguments)?)?;
            at.task(id)
        }
        "claim_task" => at.claim(arguments),
        "show_task" => {
            let (id, TaskOnly {}) = at.about(arguments)?;
            at.story(id)
        }
        "heartbeat_task" => {
            let (id, renewal) = at.about(arguments)?;
            held(Some(&at.acting.heartbeat(id, &renewal)?))
        }
        "start_task" => at.act(arguments, |acting, id, report| acting.start(id, &report)),
        "report_progress" => at.act(arguments, |acting, id, report| acting.progress(id, &report)),
        "complete_task" => at.act(arguments, |acting, id, report| acting.done(id, &report)),
        "fail_task" => at.act(arguments, |acting, id, report| acting.fail(id, &report)),
        "block_task" => at.act(arguments, |acting, id, request| acting.block(id, &request)),
        "split_task" => at.act(arguments, |acting, id, request| acting.split(id, &request)),
        "release_task" => at.act(arguments, |acting, id, request| acting.release(id, &request)),
        "ask" => asking::ask(&at, arguments, goes_on),
        "permission" => asking::permission(&at, &read(arguments)?, goes_on),
        _ => Err(ToolError::new(
            "unknown_tool",
            format!("there is no tool {name:?}"),
            "use a tool of the list",
        )),
    }
}

pub(super) struct Call<'a> {
    pub(super) place: &'a dyn Surroundings,
    pub(super) acting: Acting<'a>,
    caller: &'a Caller,
}

impl Call<'_> {
    /// The task that the arguments name, and the rest of them.
    pub(super) fn about<T: DeserializeOwned>(
        &self,
        mut arguments: JsonObject,
    ) -> Result<(EntityId, T), ToolError> {
        let named = task_in(&mut arguments)?;
        let rest = read(arguments)?;
        Ok((self.acting.meant(named.as_deref())?, rest))
    }

    /// Does something to one task, and shows it.
    fn act<T: DeserializeOwned>(
        &self,
        arguments: JsonObject,
        act: impl FnOnce(&Acting<'_>, EntityId, T) -> Result<Performed, callboard_engine::tasks::ActError>,
    ) -> Result<Value, ToolError> {
        let (id, report) = self.about(arguments)?;
        act(&self.acting, id, report)?;
        self.task(id)
    }

    fn claim(&self, mut arguments: JsonObject) -> Result<Value, ToolError> {
        let named = task_in(&mut arguments)?;
        let request: ClaimRequest = read(arguments)?;
        let hold = match named {
            Some(text) => {
                let id = self.acting.meant(Some(&text))?;
                let ClaimRequest { worker, lease_s, .. } = request;
                Some(self.acting.claim(id, &ClaimOneRequest { worker, lease_s })?)
            }
            None => self.acting.claim_next(&request)?,
        };
        let mut answer = held(hold.as_ref())?;
        if let Some(id) = hold.and_then(|hold| hold.task.parse().ok()) {
            answer["task"] = self.task(id)?["task"].take();
        }
        Ok(answer)
    }

    /// The view of a task.
    pub(super) fn task(&self, id: EntityId) -> Result<Value, ToolError> {
        let stored = self.place.ledger().entity(id)?;
        let stored = stored.ok_or(callboard_engine::tasks::TaskError::NotFound { id })?;
        let sight = Viewpoint::present(self.place.clock().now(), self.place.host());
        let seen = Observed::of(self.place.ledger(), stored, &sight)?;
        Ok(json!({ "task": ToolError::written(&seen.view())? }))
    }

    fn story(&self, id: EntityId) -> Result<Value, ToolError> {
        let stored = self.acting.look(id)?;
        let mut answer = self.task(id)?;
        answer["story"] = ToolError::written(&story(self.place.ledger(), &stored)?)?;
        Ok(answer)
    }

    fn list(&self, wanted: &TaskListing) -> Result<Value, ToolError> {
        let unknown = |word: &String| {
            TaskState::parse(word).map_err(|unknown| {
                let states: Vec<&str> = TaskState::ALL.iter().map(|state| state.name()).collect();
                ToolError::new("unfit", unknown.to_string(), format!("use {}", states.join(", ")))
            })
        };
        let tasks = TaskFilter {
            states: wanted.states.iter().map(unknown).collect::<Result<_, _>>()?,
            role: wanted.role.clone(),
            labels: wanted.labels.clone().into_iter().collect(),
            repo: wanted.repo.clone(),
            all: true,
        };
        let filter = CardFilter { tasks, limit: limit(wanted.limit)? };
        let mut shown = board(self.place.ledger(), &filter, self.place.clock().now())?;
        if wanted.states.is_empty() {
            shown.columns.retain(|column| column.count > 0);
        }
        ToolError::written(&shown)
    }

    fn attention(&self, wanted: &AttentionRequest) -> Result<Value, ToolError> {
        if matches!(self.caller, Caller::Agent(_)) {
            let help = "go on with the task of your run";
            return Err(ToolError::new("not_allowed", "an agent does not see what needs people", help));
        }
        attention(self.place, limit(wanted.limit)?)
    }
}

fn held(hold: Option<&HoldShape>) -> Result<Value, ToolError> {
    Ok(json!({ "hold": ToolError::written(&hold)? }))
}

/// Takes the task out of the arguments, which are those of the wire type then.
pub(super) fn task_in(arguments: &mut JsonObject) -> Result<Option<String>, ToolError> {
    match arguments.remove("task") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(ToolError::new(
            "unfit",
            format!("task is {other}, not an ID"),
            "give the ID of a task as text",
        )),
    }
}

pub(super) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        ToolError::new(
            "unfit",
            format!("the arguments cannot be read: {error}"),
            "follow the schema of the tool",
        )
    })
}

fn limit(given: Option<u32>) -> Result<usize, ToolError> {
    match given.unwrap_or(SHOWN) {
        limit @ 1..=SHOWN_MAX => Ok(limit as usize),
        limit => Err(ToolError::new("unfit", format!("limit is {limit}"), "use a number from 1 to 500")),
    }
}
