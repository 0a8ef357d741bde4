//! The protocol over streamable HTTP, behind whatever lets a request in.
//!
//! Invariant: there are no sessions, so nothing but the token of each request says who asks. Deliberately absent: checking Host, Origin and
//! tokens, which the gate of the server does before.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use callboard_engine::tasks::Caller;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::handler::{BoardHandler, Who};
use crate::surroundings::Surroundings;

/// An answer of the protocol.
pub type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// Answers requests of the protocol.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<BoardHandler, NeverSessionManager>);

impl HttpService {
    /// The board at a place.
    pub fn new(place: Arc<dyn Surroundings>) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let handler = BoardHandler::new(place, Who::OfRequest);
        Self(StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        ))
    }

    /// Answers one request as this caller.
    pub async fn answer(&self, request: Request<Bytes>, caller: Caller) -> HttpAnswer {
        let mut request = request.map(Full::new);
        request.extensions_mut().insert(caller);
        self.0.handle(request).await
    }
}
