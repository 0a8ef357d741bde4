//! The task board over the Model Context Protocol, as streamable HTTP.
//!
//! Invariant: the gate has let the request in, and the token decides what its tools may do. Deliberately absent: streams that the server
//! opens by itself, so `GET /mcp` is not allowed; the tools (`callboard-mcp`).

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use callboard_engine::board::Fleet;
use callboard_engine::{Clock, Host};
use callboard_ledger::Ledger;
use callboard_mcp::{HttpService, Surroundings};

use super::asked::body::{BODY_MAX, BODY_TIME, whole};
use super::tasks::caller;
use crate::access::Principal;
use crate::app::Shared;
use crate::problem::Problem;

/// The board that this server shows.
struct Board(Shared);

impl Surroundings for Board {
    fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    fn clock(&self) -> &(dyn Clock + Send + Sync) {
        &*self.0.clock
    }

    fn host(&self) -> &Host {
        &self.0.host
    }

    fn fleet(&self) -> &Fleet {
        &self.0.fleet
    }
}

/// The path of the protocol.
pub(crate) fn mcp(app: &Shared) -> MethodRouter<Shared> {
    let service = HttpService::new(Arc::new(Board(Arc::clone(app))));
    post(move |State(app): State<Shared>, Extension(who): Extension<Principal>, request: Request| {
        let service = service.clone();
        async move { answer(&service, &app, &who, request).await }
    })
}

async fn answer(
    service: &HttpService,
    app: &Shared,
    who: &Principal,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bytes = whole(body, BODY_MAX, BODY_TIME).await?;
    app.shares.record(who, bytes.len(), Instant::now())?;
    let request = Request::from_parts(parts, bytes);
    Ok(service.answer(request, caller(app, who)).await.map(Body::new))
}
