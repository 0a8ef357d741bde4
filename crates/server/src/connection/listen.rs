//! Accepting connections and serving them until the server is to stop.
//!
//! Invariant: a connection that sends its request too slowly, or nothing, is closed, and so is one that does not take its answer;
//! there are never more connections than the bound, and whoever sends nothing makes room for whoever does. On a stop
//! nothing new is accepted, and what is being answered gets a few seconds. Deliberately absent: what is answered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::{Extension, Router};
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Semaphore, watch};

use crate::connection::patient::Patient;
use crate::connection::seats::{Busy, Seat, Seats};
use crate::connection::socket::Socket;

/// How long the head of a request may take.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Bytes of the head of a request at the most.
const HEAD_BYTES: usize = 16 * 1024;
/// Connections at the most.
const CONNECTIONS_MAX: usize = 4096;
/// Connections that wait for a request at the most.
const WAITING_MAX: usize = 1024;
/// How long a connection may wait for its request, however many do.
const GRACE: Duration = Duration::from_secs(1);
/// How long what is being answered may take when the server is to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Where connections come from.
pub(crate) struct Doors {
    pub(crate) listener: TcpListener,
    /// For programs of the same user.
    pub(crate) socket: Option<Socket>,
}

/// A connection, by whichever door.
enum Came {
    Tcp(TcpStream),
    Socket(UnixStream),
}

/// The request came over the socket, where a name of a host has no meaning.
#[derive(Clone, Copy)]
pub(crate) struct OverSocket;

impl Doors {
    async fn accept(&self) -> io::Result<Came> {
        let over_socket = async {
            match &self.socket {
                Some(socket) => socket.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.listener.accept() => accepted.map(|(stream, _)| Came::Tcp(stream)),
            accepted = over_socket => accepted.map(Came::Socket),
        }
    }
}

/// Serves until it is to stop, and until what is being answered is answered or the time for it is over.
pub(crate) async fn serve(doors: Doors, router: Router, mut stopping: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let seats = Seats::new(waiting_max(), GRACE);
    let graceful = GracefulShutdown::new();
    let over_socket = router.clone().layer(Extension(OverSocket));
    loop {
        let came = tokio::select! {
            accepted = doors.accept() => match accepted {
                Ok(came) => came,
                // Nobody we know, and no lack of anything.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                // Out of descriptors, or a connection that was gone already: others may still come.
                Err(_) => {
                    seats.evict();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                }
            },
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        if places.available_permits() == 0 {
            seats.evict();
        }
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        let seat = seats.take();
        let room = (place, seat);
        match came {
            Came::Tcp(stream) => {
                // Without this an event waits for the acknowledgement of the one before.
                stream.set_nodelay(true).ok();
                converse(stream, router.clone(), room, &graceful);
            }
            Came::Socket(stream) => {
                converse(stream, over_socket.clone(), room, &graceful);
            }
        }
    }
    drop(doors);
    // What does not end in time is broken off; its client asks again.
    drop(tokio::time::timeout(DRAIN, graceful.shutdown()).await);
}

/// The place of a connection: among all of them, and among those that wait.
type Room<P> = (P, Arc<Seat>);

/// Serves one connection.
fn converse<S, P>(stream: S, router: Router, (place, seat): Room<P>, graceful: &GracefulShutdown)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    P: Send + 'static,
{
    let (router, answered) = (TowerToHyperService::new(router), Arc::clone(&seat));
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = answered.busy();
        let answer = router.call(request);
        async move { answer.await.map(|answer| answer.map(|body| Body::new(Answering { body, _busy: busy }))) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        tokio::select! {
            // A connection that broke off is the other side's affair.
            _ = connection => {}
            () = seat.evicted() => {}
        }
        drop(place);
    });
}

/// A quarter of the files that may be open is for whoever sends nothing.
fn waiting_max() -> usize {
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
    files.map_or(WAITING_MAX, |files| WAITING_MAX.min(files / 4))
}

/// An answer; its connection waits for the next request when it is over.
struct Answering {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answering {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
