//! A body that is taken in to its end, whoever reads it.
//!
//! Invariant: who is answered before all of their request has arrived gets the answer, and may go on with the connection:
//! a connection that is closed over unread bytes can take the answer along. Bounded in bytes and in time, so a body
//! without an end costs no more than one that is too large. Deliberately absent: reading a body for somebody.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Bytes that are taken in although nobody wants them.
const UNWANTED_MAX: usize = 1024 * 1024;
/// How long they are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A body whose rest is taken in when its reader lets go of it.
pub(crate) struct TakenIn(Body);

impl TakenIn {
    /// Looks after a body, unless there is none.
    pub(crate) fn of(body: Body) -> Body {
        if body.is_end_stream() { body } else { Body::new(Self(body)) }
    }
}

impl HttpBody for TakenIn {
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

impl Drop for TakenIn {
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
