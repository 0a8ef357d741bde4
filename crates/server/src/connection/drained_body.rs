//! A request body whose unread rest is drained after the handler drops it.
//!
//! Why: closing a socket with unread bytes sends a reset, which can destroy an answer that the client has not read yet. So
//! a handler may answer early, and the client still gets the answer and can reuse the connection. Invariant: draining is
//! bounded in bytes and in time, so an endless body costs no more than one that is too large.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The most bytes that are drained.
const UNWANTED_MAX: usize = 1024 * 1024;
/// How long draining may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// A body whose rest is drained when its reader drops it.
pub(crate) struct DrainedBody(Body);

impl DrainedBody {
    /// Wraps a body, unless it is empty.
    pub(crate) fn of(body: Body) -> Body {
        if body.is_end_stream() { body } else { Body::new(Self(body)) }
    }
}

impl HttpBody for DrainedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl Drop for DrainedBody {
    fn drop(&mut self) {
        if self.0.is_end_stream() {
            return;
        }
        let rest = std::mem::take(&mut self.0);
        if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn(timeout(PATIENCE, swallow(rest))));
        }
    }
}

async fn swallow(mut body: Body) {
    let mut taken = 0;
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        taken += frame.data_ref().map_or(0, Bytes::len);
        if taken > UNWANTED_MAX {
            return;
        }
    }
}
