//! The protocol over standard input and output, for a client that started this program.
//!
//! Invariant: nothing but the protocol is written to standard output. It ends when the client closes standard input.

use std::io;
use std::sync::Arc;

use callboard_engine::tasks::Caller;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handler::{BoardHandler, Who};
use crate::surroundings::Surroundings;

/// Why the protocol was not served.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// No threads.
    #[error("failed to start the threads that serve the client")]
    Threads(#[source] io::Error),
    /// The client does not speak the protocol.
    #[error("the client did not begin as the protocol wants it: {0}")]
    Client(String),
}

/// Serves the board to one client as this caller, until the client goes.
pub fn serve_stdio(place: Arc<dyn Surroundings>, caller: Caller) -> Result<(), StdioError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(StdioError::Threads)?;
    let standard = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(serve_over(standard, place, caller));
    // The thread that reads standard input waits for a byte that may never come.
    runtime.shutdown_background();
    served
}

/// Serves the board to the client at the other end of a connection.
pub async fn serve_over(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    place: Arc<dyn Surroundings>,
    caller: Caller,
) -> Result<(), StdioError> {
    let handler = BoardHandler::new(place, Who::Fixed(caller));
    let service = match rmcp::serve_server(handler, connection).await {
        Ok(service) => service,
        // A client that only looked whether the program starts has nothing to complain about.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Client(error.to_string())),
    };
    service.waiting().await.map(drop).map_err(|error| StdioError::Client(error.to_string()))
}
