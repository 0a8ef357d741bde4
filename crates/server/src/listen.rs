//! Accepting connections and serving them until the server is to stop.
//!
//! Invariant: a connection that sends its request too slowly, or nothing, is closed; there are never more connections
//! than the bound. On a stop nothing new is accepted, and what is being answered gets a few seconds. Deliberately
//! absent: what is answered.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// How long the head of a request may take.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Bytes of the head of a request at the most.
const HEAD_BYTES: usize = 64 * 1024;
/// Connections at the most.
const CONNECTIONS_MAX: usize = 4096;
/// How long what is being answered may take when the server is to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until it is to stop, and until what is being answered is answered or the time for it is over.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut stopping: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of descriptors, or a connection that was gone already: others may still come.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        // Without this an event waits for the acknowledgement of the one before.
        stream.set_nodelay(true).ok();
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_MAX)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that broke off is the other side's affair.
            drop(connection.await);
            drop(place);
        });
    }
    drop(listener);
    // What does not end in time is broken off; its client asks again.
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
}
