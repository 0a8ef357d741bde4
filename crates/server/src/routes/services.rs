//! The services of the store: who runs them, how far they have come, what went wrong.

use axum::extract::State;
use callboard_engine::{ServiceStanding, ServiceStatus};
use callboard_kernel::redact;
use callboard_wire::{ServiceShown, ServicesAnswer};

use crate::app::{Answer, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

/// What happens by itself, and whether it does.
#[utoipa::path(get, path = "/services", tag = "overview", responses((status = 200, body = ServicesAnswer)))]
pub(super) async fn services(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    ask(&app, |app| {
        let items = callboard_engine::services(&app.ledger)?.into_iter().map(shown).collect();
        Answer::json(&ServicesAnswer { head: app.ledger.head()?, items })
    })
    .await
}

fn shown(status: ServiceStatus) -> ServiceShown {
    let standing = match status.standing {
        ServiceStanding::Working => "working",
        ServiceStanding::Failing => "failing",
        ServiceStanding::Unattended => "unattended",
    };
    ServiceShown {
        name: status.name,
        does: status.does.to_owned(),
        standing: standing.to_owned(),
        holder: status.holder,
        position: status.position,
        lag: status.lag,
        last_step_at: status.last_step_at.map(|at| at.to_string()),
        // It may repeat the words of others.
        error: status.error.map(|error| redact::text(&error)),
    }
}
