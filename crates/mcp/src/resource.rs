//! Resources: the story of a task, and why an entity is in its state.
//!
//! Invariant: an agent reads the task of its run and the run itself, nothing else. Every text is data of the store, not an instruction.

use callboard_engine::tasks::{Acting, Caller, story};
use callboard_engine::{Observed, Viewpoint};
use callboard_kernel::EntityId;
use callboard_ledger::{Page, RecordScope};
use callboard_lifecycle::Kind;
use rmcp::model::ResourceTemplate;
use serde_json::{Value, json};

use crate::answer::ToolError;
use crate::surroundings::Surroundings;

const TASK: &str = "callboard://task/";
const WHY: &str = "callboard://why/";
/// Records of a history that are told.
const RECORDS_MAX: usize = 200;

/// What can be read.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let task = ResourceTemplate::new(format!("{TASK}{{id}}"), "task")
        .with_description("A task with its whole story: claims, turns, runs, checks and merge.");
    let why = ResourceTemplate::new(format!("{WHY}{{id}}"), "why").with_description(
        "Why an entity is in its state: its reasons with their evidence, and its records, newest first.",
    );
    [task, why].into_iter().map(|template| template.with_mime_type("application/json")).collect()
}

/// Reads one.
pub(crate) fn read(place: &dyn Surroundings, caller: &Caller, uri: &str) -> Result<Value, ToolError> {
    let help = "read callboard://task/ID or callboard://why/ID";
    let unknown = || ToolError::new("not_found", format!("there is no resource {uri:?}"), help);
    let (is_task, id) = match (uri.strip_prefix(TASK), uri.strip_prefix(WHY)) {
        (Some(id), _) => (true, id),
        (None, Some(id)) => (false, id),
        (None, None) => return Err(unknown()),
    };
    let id: EntityId = id.parse().map_err(|_| unknown())?;
    let acting = Acting::new(place.ledger(), caller.clone(), place.clock().now());
    let stored = match caller {
        Caller::Agent(run) if !is_task && *run == id.to_string() => {
            place.ledger().entity(id)?.ok_or_else(unknown)?
        }
        Caller::Person(_) | Caller::Viewer if !is_task => place.ledger().entity(id)?.ok_or_else(unknown)?,
        _ if id.kind() == Kind::Task => acting.look(id)?,
        Caller::Person(_) | Caller::Viewer => return Err(unknown()),
        Caller::Agent(_) => {
            let help = "read the task of your run, or the run itself";
            return Err(ToolError::new("not_allowed", format!("{id} does not belong to this run"), help));
        }
    };
    let told = if is_task { Some(ToolError::written(&story(place.ledger(), &stored)?)?) } else { None };
    let sight = Viewpoint::present(place.clock().now(), place.host());
    let seen = Observed::of(place.ledger(), stored, &sight)?;
    let view = seen.view();
    if let Some(story) = told {
        return Ok(json!({ "task": ToolError::written(&view)?, "story": story }));
    }
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
    let records = place.ledger().records(page)?;
    let lines = records.iter().rev().take(RECORDS_MAX).filter_map(|record| record.line().ok());
    let records: Vec<Value> = lines.filter_map(|line| serde_json::from_str(&line).ok()).collect();
    let state = ToolError::written(&view.state)?;
    Ok(
        json!({ "id": view.id, "kind": view.kind, "title": view.title, "chain": view.chain, "state": state, "records": records }),
    )
}
