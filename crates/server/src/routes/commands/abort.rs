//! Aborting a tool call, siblings, or a whole tree.
//!
//! Invariant: the answer lists everything that was asked, the deepest first, and calls nothing ended: the entities and the feed tell the
//! ends. Deliberately absent: waiting.

use axum::Extension;
use axum::extract::{Path, State};
use callboard_engine::tasks::TaskError;
use callboard_engine::{AbortError, AbortOrder, AbortPlan, AbortTarget};
use callboard_kernel::abort::AbortScope;
use callboard_kernel::{Actor, fact};
use callboard_lifecycle::{ActorClass, Words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{Principal, Scope};
use crate::app::{Answer, Shared, ask, no_entity};
use crate::problem::Problem;
use crate::routes::asked::body::{Json, SAID_MAX};
use crate::routes::entities::id_of;

/// How far, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct Abort {
    /// tool, sibling or session.
    scope: String,
    /// Why, in a sentence; it is recorded of everything that is stopped.
    because: String,
    /// Only list what would be stopped?
    #[serde(default)]
    dry_run: bool,
}

/// What is stopped.
#[derive(Serialize, ToSchema)]
pub(in crate::routes) struct Aborted {
    /// The one that was named.
    id: String,
    /// How far it reaches.
    scope: String,
    /// Was nobody asked?
    dry_run: bool,
    /// The tool call that is aborted.
    tool: Option<String>,
    /// Those that are stopped, in the order in which they are asked.
    targets: Vec<AbortedTarget>,
}

/// One that is stopped.
#[derive(Serialize, ToSchema)]
struct AbortedTarget {
    /// Its ID.
    id: String,
    /// What it is called.
    title: Option<String>,
    /// named, sibling or descendant.
    why: String,
    /// How far it is below the one that the walk began at.
    depth: usize,
    /// The host it is on.
    host: Option<String>,
}

impl AbortedTarget {
    fn of(target: &AbortTarget) -> Self {
        let text = |text: &str| text.to_owned();
        Self {
            id: target.id().to_string(),
            title: target.stored.entity.facts.read(fact::TITLE).map(text),
            why: target.role.word().to_owned(),
            depth: target.depth,
            host: target.host().map(text),
        }
    }
}

/// Abort the open tool call of a run, the siblings of a run or task, or a whole tree; what is stopped has ended when its state says so.
#[utoipa::path(
    post, path = "/entities/{id}/abort", tag = "commands",
    params(("id" = String, Path)),
    request_body = Abort, responses((status = 200, body = Aborted))
)]
pub(in crate::routes) async fn abort(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body, _): Json<Abort>,
) -> Result<Answer, Problem> {
    let id = id_of(&id)?;
    let scope = AbortScope::parse(&body.scope)
        .map_err(|unknown| Problem::bad_request(unknown.to_string(), "tool, sibling or session"))?;
    let because = body.because.trim().to_owned();
    if because.is_empty() || because.len() > SAID_MAX {
        let help = "say in a sentence why it is aborted";
        return Err(Problem::bad_request("because is empty or too long", help));
    }
    ask(&app, move |app| {
        let actor = match who.scope {
            Scope::Operator | Scope::Viewer => Actor::new(ActorClass::Operator, app.operator.as_str()),
            Scope::Agent(run) => Actor::new(ActorClass::Agent, run.to_string()),
        };
        let plan = AbortPlan::read(&app.ledger, app.entity(id)?, scope).map_err(problem)?;
        plan.permit(&app.ledger, &actor).map_err(problem)?;
        let (cause, now) = (Some("http abort".to_owned()), app.now());
        let order = AbortOrder { ledger: &app.ledger, actor, because: &because, cause, now };
        if !body.dry_run {
            if scope == AbortScope::Tool {
                order.ask_tool(&plan.named).map_err(problem)?;
            }
            for target in &plan.targets {
                match order.ask(target) {
                    // It ended by itself before it was asked.
                    Err(_) if app.entity(target.id())?.entity.ended_at.is_some() => {}
                    asked => drop(asked.map_err(problem)?),
                }
            }
        }
        Answer::json(&Aborted {
            id: id.to_string(),
            scope: scope.name().to_owned(),
            dry_run: body.dry_run,
            tool: plan.tool.clone(),
            targets: plan.targets.iter().map(AbortedTarget::of).collect(),
        })
    })
    .await
}

fn problem(error: AbortError) -> Problem {
    match error {
        AbortError::Read(error) => error.into(),
        AbortError::Run(error) => error.into(),
        AbortError::Task(TaskError::Refused(refusal)) => refusal.into(),
        AbortError::Task(TaskError::Store(fault)) => fault.into(),
        AbortError::Task(TaskError::Read(error)) => error.into(),
        AbortError::Task(TaskError::Unfit { problem, help }) => Problem::bad_request(problem, help),
        AbortError::Task(TaskError::NotFound { id }) => no_entity(&id.to_string()),
    }
}
