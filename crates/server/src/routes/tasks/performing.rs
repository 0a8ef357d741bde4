//! One act on the board, from the request to the view of the task that it was done on.

use std::time::Instant;

use axum::http::StatusCode;
use callboard_engine::tasks::{ActError, Acting, Caller, Performed, TaskError};
use callboard_engine::{Observed, Viewpoint};
use callboard_kernel::EntityId;

use super::super::asked::body::Key;
use super::super::entities::id_of;
use crate::access::{Principal, Scope};
use crate::app::{Answer, App, Shared, ask, no_entity};
use crate::problem::Problem;

/// Who acts on the board: a person, somebody who looks, or the agent of a run.
pub(crate) fn caller(app: &App, who: &Principal) -> Caller {
    match who.scope {
        Scope::Operator => Caller::Person(app.operator.clone()),
        Scope::Viewer => Caller::Viewer,
        Scope::Agent(run) => Caller::Agent(run.to_string()),
    }
}

/// What was asked for, beside the act itself.
pub(in super::super) struct Asked {
    caller: Caller,
    key: Option<String>,
    cause: String,
}

impl Asked {
    /// Counts what is recorded against the share of the caller.
    pub(in super::super) fn new(
        app: &App,
        who: &Principal,
        act: &str,
        key: &Key,
        body: &[u8],
    ) -> Result<Self, Problem> {
        app.shares.record(who, body.len(), Instant::now())?;
        let digest = blake3::hash(body).to_hex();
        Ok(Self {
            caller: caller(app, who),
            key: key.of(who),
            cause: format!("http task {act} {}", &digest[..16]),
        })
    }

    /// Acts on a thread that may wait.
    pub(in super::super) async fn with<T: Send + 'static>(
        self,
        app: &Shared,
        act: impl FnOnce(&App, &Acting<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        ask(app, move |app| {
            let Self { caller, key, cause } = self;
            let acting = Acting { ledger: &app.ledger, caller, now: app.now(), key, cause: Some(cause) };
            act(app, &acting)
        })
        .await
    }

    /// Does something to one task, and shows it.
    pub(super) async fn act(
        self,
        app: &Shared,
        id: &str,
        act: impl FnOnce(&Acting<'_>, EntityId) -> Result<Performed, ActError> + Send + 'static,
    ) -> Result<Answer, Problem> {
        let id = id_of(id)?;
        self.with(app, move |app, acting| {
            act(acting, id).map_err(problem)?;
            shown(app, id, StatusCode::OK)
        })
        .await
    }
}

/// A task as it stands, as an answer.
pub(super) fn shown(app: &App, id: EntityId, status: StatusCode) -> Result<Answer, Problem> {
    let stored = app.entity(id)?;
    let seen = Observed::of(&app.ledger, stored, &Viewpoint::present(app.now(), &app.host))?;
    Answer::with(status, &seen.view())
}

/// Why an act was not done, as a problem.
pub(crate) fn problem(error: ActError) -> Problem {
    match error {
        ActError::NotAllowed { problem, help } => Problem::forbidden(problem, help),
        ActError::NotHeld { problem, help } => Problem::conflict(problem, help),
        ActError::KeyReused => Problem::key_reused(),
        ActError::Task(TaskError::Unfit { problem, help }) => Problem::bad_request(problem, help),
        ActError::Task(TaskError::NotFound { id }) => no_entity(&id.to_string()),
        ActError::Task(TaskError::Refused(refusal)) => refusal.into(),
        ActError::Task(TaskError::Store(fault)) => fault.into(),
        ActError::Task(TaskError::Read(error)) => error.into(),
    }
}
