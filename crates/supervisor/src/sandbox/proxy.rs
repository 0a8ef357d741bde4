//! The proxy of a sandbox whose network is a list of hosts: the only way out of its network namespace.
//!
//! Invariant: nothing is connected that is not listed, and nothing whose name leads inside beyond what is listed; the
//! address that was judged is the one that is connected, so a name that leads elsewhere a moment later changes
//! nothing. Every request is written down before it is answered. Connections, heads and times have bounds; a command
//! that uses them up waits for itself. Deliberately absent: what is said inside of a connection; TLS is not opened.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::hosts::{AllowedHost, Wanted, is_listed, may_lead_to};
use super::sightings::{Notebook, Outcome};

/// Connections at once; further ones wait.
const CONNECTIONS_MAX: usize = 128;
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// How long a head, the look-up of a name and a connection may take, each.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing may move on a connection.
const IDLE_MAX: Duration = Duration::from_secs(15 * 60);
/// How long requests that are not tunnelled may go on in one connection.
const PLAIN_MAX: Duration = Duration::from_secs(60 * 60);
const STACK_BYTES: usize = 512 * 1024;
const PIECE_BYTES: usize = 16 * 1024;

type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// A proxy that goes on until it is dropped.
#[derive(Debug)]
pub(super) struct Proxy(#[expect(dead_code, reason = "it is dropped to end the proxy")] oneshot::Sender<()>);

impl Proxy {
    /// Starts it on a thread of its own.
    pub(super) fn start(
        listener: std::net::TcpListener,
        hosts: Vec<AllowedHost>,
        notebook: Arc<Notebook>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (keep, gone) = oneshot::channel();
        let serve = move || -> io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(4)
                .thread_stack_size(STACK_BYTES)
                .build()?;
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                let door = Arc::new(Door { hosts, notebook });
                tokio::select! {
                    _ = gone => {}
                    () = accept(&listener, &door) => {}
                }
                Ok::<(), io::Error>(())
            })?;
            // A look-up that goes on is not waited for.
            runtime.shutdown_background();
            Ok(())
        };
        let thread = std::thread::Builder::new().name("proxy".to_owned()).stack_size(STACK_BYTES);
        // Who cannot serve closes the socket, and the command is told that nobody listens.
        thread.spawn(move || drop(serve()))?;
        Ok(Self(keep))
    }
}

/// What decides who gets out.
struct Door {
    hosts: Vec<AllowedHost>,
    notebook: Arc<Notebook>,
}

async fn accept(listener: &TcpListener, door: &Arc<Door>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(door), Arc::new(place)))),
            // No descriptors are left, or the peer is gone already.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Serves one connection. The place is given back when its tunnel has ended, too.
async fn serve(stream: TcpStream, door: Arc<Door>, place: Arc<OwnedSemaphorePermit>) {
    let service = service_fn(move |request| {
        let (door, place) = (Arc::clone(&door), Arc::clone(&place));
        async move { Ok::<_, Infallible>(answer(&door, place, request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(HEAD_MAX_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // How a client leaves is its own affair.
    drop(timeout(PLAIN_MAX, connection).await);
}

async fn answer(door: &Door, place: Arc<OwnedSemaphorePermit>, request: Request<Incoming>) -> Answer {
    let Some((wanted, port)) = target(request.method(), request.uri()) else {
        return told(
            StatusCode::BAD_REQUEST,
            "this is a proxy: use CONNECT HOST:PORT, or an address that begins with http://",
        );
    };
    let stream = match door.connect(&wanted, port).await {
        Ok(stream) => stream,
        Err(refusal) => return refusal.told(&wanted, port),
    };
    match *request.method() {
        Method::CONNECT => {
            tokio::spawn(tunnel(request, stream, place));
            Response::new(Either::Left(Full::default()))
        }
        _ => forward(request, stream, place).await.unwrap_or_else(|_| Refusal::Unreached.told(&wanted, port)),
    }
}

/// The host and port that a request is for.
fn target(method: &Method, uri: &Uri) -> Option<(Wanted, u16)> {
    let wanted = Wanted::read(uri.host()?)?;
    let port = match (method, uri.scheme_str()) {
        (&Method::CONNECT, None) => uri.port_u16()?,
        (&Method::CONNECT, Some(_)) => return None,
        (_, Some("http")) => uri.port_u16().unwrap_or(80),
        (_, Some(_) | None) => return None,
    };
    Some((wanted, port))
}

/// Why a host is not connected.
enum Refusal {
    NotListed,
    Inward,
    Unresolved,
    Unreached,
}

impl Refusal {
    fn told(&self, wanted: &Wanted, port: u16) -> Answer {
        let (status, why) = match self {
            Self::NotListed => (StatusCode::FORBIDDEN, "is not in the network of this sandbox"),
            Self::Inward => (
                StatusCode::FORBIDDEN,
                "leads to an address that is not public and not in the network of this sandbox",
            ),
            Self::Unresolved => (StatusCode::BAD_GATEWAY, "has no address"),
            Self::Unreached => (StatusCode::BAD_GATEWAY, "does not answer"),
        };
        told(status, &format!("{wanted}:{port} {why}"))
    }
}

fn told(status: StatusCode, why: &str) -> Answer {
    let mut answer = Response::new(Either::Left(Full::from(format!("callboard sandbox: {why}\n"))));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, plain);
    answer
}

impl Door {
    /// Connects a host if that is allowed, and writes down what became of it.
    async fn connect(&self, wanted: &Wanted, port: u16) -> Result<TcpStream, Refusal> {
        let connected = match is_listed(&self.hosts, wanted, port) {
            true => self.reach(wanted, port).await,
            false => Err(Refusal::NotListed),
        };
        let outcome = match &connected {
            Ok(_) => Outcome::Allowed,
            Err(Refusal::Unresolved | Refusal::Unreached) => Outcome::Failed,
            Err(Refusal::NotListed) => Outcome::NotListed,
            Err(Refusal::Inward) => Outcome::Inward,
        };
        self.notebook.host(&wanted.to_string(), port, outcome);
        connected
    }

    async fn reach(&self, wanted: &Wanted, port: u16) -> Result<TcpStream, Refusal> {
        let found = addresses(wanted, port).await.ok_or(Refusal::Unresolved)?;
        let open = |address: &&IpAddr| may_lead_to(&self.hosts, wanted, **address, port);
        let mut refusal = Refusal::Inward;
        for address in found.iter().filter(open) {
            match timeout(PATIENCE, TcpStream::connect(SocketAddr::new(*address, port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(_)) | Err(_) => refusal = Refusal::Unreached,
            }
        }
        Err(refusal)
    }
}

/// The addresses that a host has; this machine's own name is asked for nowhere.
async fn addresses(wanted: &Wanted, port: u16) -> Option<Vec<IpAddr>> {
    const HERE: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    /// The most addresses that are tried.
    const TRIED: usize = 8;
    let name = match wanted {
        Wanted::Address(address) => return Some(vec![*address]),
        Wanted::Name(_) if wanted.is_localhost() => return Some(HERE.to_vec()),
        Wanted::Name(name) => name.as_str(),
    };
    let found = timeout(PATIENCE, tokio::net::lookup_host((name, port))).await.ok()?.ok()?;
    let mut found: Vec<IpAddr> = found.map(|place| place.ip()).collect();
    found.dedup();
    found.truncate(TRIED);
    (!found.is_empty()).then_some(found)
}

/// Passes on what both sides say until one has nothing more, or both are silent for too long.
async fn tunnel(request: Request<Incoming>, stream: TcpStream, place: Arc<OwnedSemaphorePermit>) {
    let Ok(Ok(upgraded)) = timeout(PATIENCE, hyper::upgrade::on(request)).await else { return };
    let (from, mut to) = tokio::io::split(TokioIo::new(upgraded));
    let (back, mut out) = stream.into_split();
    let moved = std::sync::Mutex::new(Instant::now());
    let both = async { tokio::join!(pass(from, &mut out, &moved), pass(back, &mut to, &moved)) };
    tokio::select! {
        _ = both => {}
        () = silence(&moved) => {}
    }
    drop(place);
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    moved: &std::sync::Mutex<Instant>,
) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = from.read(&mut piece).await.unwrap_or(0);
        let Some(read) = piece.get(..count).filter(|read| !read.is_empty()) else { break };
        if to.write_all(read).await.is_err() {
            break;
        }
        if let Ok(mut moved) = moved.lock() {
            *moved = Instant::now();
        }
    }
    // The other side may be gone.
    drop(to.shutdown().await);
}

/// Ends when nothing has moved for too long.
async fn silence(moved: &std::sync::Mutex<Instant>) {
    loop {
        let until = moved.lock().map_or_else(|_| Instant::now(), |moved| *moved) + IDLE_MAX;
        if until <= Instant::now() {
            return;
        }
        sleep_until(until).await;
    }
}

/// What is meant for the proxy alone, or for one connection.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    HeaderName::from_static("proxy-connection"),
];

/// Sends a request on as its host expects it, and gives back the answer.
async fn forward(
    mut request: Request<Incoming>,
    stream: TcpStream,
    place: Arc<OwnedSemaphorePermit>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let authority = request.uri().authority().ok_or("no authority")?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = HeaderValue::from_str(host)?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse()?;
    strip(request.headers_mut());
    // What the request line says counts, whatever else the client wrote.
    request.headers_mut().insert(header::HOST, host);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake::<_, Incoming>(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        drop(timeout(PLAIN_MAX, connection).await);
        drop(place);
    });
    let mut answer = timeout(IDLE_MAX, sender.send_request(request)).await??;
    strip(answer.headers_mut());
    Ok(answer.map(Either::Right))
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}
