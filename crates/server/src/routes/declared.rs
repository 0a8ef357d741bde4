//! Every path of the API, declared once.
//!
//! Invariant: what is not listed here is neither served nor described. Deliberately absent: who may use it, which the
//! table of access says.

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    admin, artifacts, commands, entities, events, health, output, overview, questions, reference, runs,
    services, tasks,
};
use crate::app::Shared;

/// The API below `/api/v1`.
pub(crate) fn api() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(entities::list))
        .routes(routes!(entities::one))
        .routes(routes!(entities::records))
        .routes(routes!(entities::children))
        .routes(routes!(output::pieces))
        .routes(routes!(output::raw))
        .routes(routes!(artifacts::overview))
        .routes(routes!(artifacts::file))
        .routes(routes!(events::of_entity))
        .routes(routes!(events::all))
        .routes(routes!(commands::transition))
        .routes(routes!(commands::stop))
        .routes(routes!(commands::abort::abort))
        .routes(routes!(commands::snooze))
        .routes(routes!(commands::dismiss))
        .routes(routes!(commands::undo))
        .routes(routes!(commands::note))
        .routes(routes!(commands::heartbeat))
        .routes(routes!(runs::retry))
        .routes(routes!(runs::start))
        .routes(routes!(tasks::add))
        .routes(routes!(tasks::edit))
        .routes(routes!(tasks::claim_next))
        .routes(routes!(tasks::claim))
        .routes(routes!(tasks::start))
        .routes(routes!(tasks::beat))
        .routes(routes!(tasks::progress))
        .routes(routes!(tasks::done))
        .routes(routes!(tasks::fail))
        .routes(routes!(tasks::block))
        .routes(routes!(tasks::unblock))
        .routes(routes!(tasks::split))
        .routes(routes!(tasks::release))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::retry))
        .routes(routes!(tasks::approve))
        .routes(routes!(tasks::reject))
        .routes(routes!(tasks::story))
        .routes(routes!(tasks::diff))
        .routes(routes!(tasks::board))
        .routes(routes!(tasks::workers))
        .routes(routes!(questions::list))
        .routes(routes!(questions::ask))
        .routes(routes!(questions::one))
        .routes(routes!(questions::answer))
        .routes(routes!(questions::withdraw))
        .routes(routes!(questions::list_rules))
        .routes(routes!(questions::revoke))
        .routes(routes!(overview::attention))
        .routes(routes!(overview::counts))
        .routes(routes!(overview::trends))
        .routes(routes!(reference::machines))
        .routes(routes!(reference::reasons))
        .routes(routes!(reference::vocabulary))
        .routes(routes!(health::health))
        .routes(routes!(services::services))
        .routes(routes!(admin::info))
        .routes(routes!(admin::reap))
        .routes(routes!(admin::verify))
        .routes(routes!(admin::vacuum))
        .routes(routes!(admin::checkpoint))
        .routes(routes!(admin::export))
        .routes(routes!(admin::import_legacy))
}
