//! The server: what it was asked, and what it does to whoever asks.
//!
//! Invariant: it listens on 127.0.0.1 and a port of the system's choice, and it is the proxy of the programs as well: a
//! program that wants to reach anything else asks it to `CONNECT`, is refused, and the request is in the list.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::dialect::{Answer, Dialect, board_call, shell_call};
use super::http::{self, Request};

/// What the model does to every request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Act {
    /// It says hello.
    Answers,
    /// It lets the program run a shell command, and then says that it is done.
    Calls(&'static str),
    /// It lets the program call these tools one after the other, and then says that it is done.
    Follows(&'static [Step]),
    /// It says these words.
    Says(&'static str),
    /// It refuses with this status.
    Refuses(u16),
    /// It refuses the first request with this status, and then says hello.
    RefusesOnce(u16),
    /// Its stream breaks off in the middle.
    BreaksOff,
    /// Its first stream breaks off in the middle, and then it says hello.
    BreaksOffOnce,
    /// Its stream stops in the middle, and the connection stays open.
    Stalls,
    /// Its output limit ends the answer.
    IsTruncated,
    /// One event of the stream is not JSON.
    Garbles,
}

/// A tool that the model lets the program call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// A tool of the task board, with its arguments as JSON.
    Board(&'static str, &'static str),
    /// A shell command.
    Shell(&'static str),
}

/// Longer than any program waits for an answer before a test ends it.
const STALL_MAX: Duration = Duration::from_secs(120);
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server; it accepts nobody after it is dropped.
#[derive(Debug)]
pub(crate) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    act: Act,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<String>,
    /// The models that were asked for, where the request says so.
    models: Vec<String>,
    /// What tools had answered when the model was last asked, as JSON.
    results: Vec<String>,
    /// The last request that offered no tool that a step needs.
    unoffered: Option<String>,
    /// The requests that a model answered, or refused to.
    asked: usize,
    is_stopping: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelServer {
    /// Starts it.
    pub(crate) fn start(act: Act) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { act, state: Mutex::default(), has_changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, address, &accepting));
        Ok(Self { address, shared })
    }

    /// The address without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked for, each as `METHOD target`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.state().requests.clone()
    }

    /// What the tools answered, as the model was told it.
    pub(crate) fn tool_results(&self) -> Vec<String> {
        self.shared.state().results.clone()
    }

    /// The request that offered no tool for the next step, if there was one.
    pub(crate) fn unoffered(&self) -> Option<String> {
        self.shared.state().unoffered.clone()
    }

    /// Was this model asked for? A program may name its provider before it, and a target may name the model.
    pub(crate) fn is_asked_for(&self, model: &str) -> bool {
        let state = self.shared.state();
        let name = model.rsplit('/').next().unwrap_or(model);
        let in_target = state.requests.iter().any(|request| request.contains(&format!("/{name}:")));
        in_target || state.models.iter().any(|asked| asked == name)
    }

    /// Waits until the model was asked, however long the program takes to start; false if it took too long.
    pub(crate) fn is_asked_within(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.state();
        while state.asked == 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state =
                self.shared.has_changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.state().is_stopping = true;
        self.shared.has_changed.notify_all();
        // Accepting has no timeout; one more connection ends the wait.
        drop(TcpStream::connect(self.address));
    }
}

fn accept(listener: &TcpListener, address: SocketAddr, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.state().is_stopping {
            break;
        }
        let Ok(connection) = connection else { continue };
        let shared = Arc::clone(shared);
        // A client that goes away in the middle is the client's business.
        std::thread::spawn(move || drop(serve(connection, address, &shared)));
    }
}

/// One request and its answer. A tunnel to the server itself is answered as if it were not there.
fn serve(mut out: TcpStream, address: SocketAddr, shared: &Shared) -> io::Result<()> {
    out.set_read_timeout(Some(PATIENCE))?;
    out.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(out.try_clone()?);
    let Some(mut request) = http::read(&mut reader)? else { return Ok(()) };
    if request.method == "CONNECT" && request.target == address.to_string() {
        out.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
        let Some(inner) = http::read(&mut reader)? else { return Ok(()) };
        request = inner;
    }
    let number = {
        let mut state = shared.state();
        state.requests.push(format!("{} {}", request.method, request.target));
        state.models.extend(request.body["model"].as_str().map(str::to_owned));
        state.asked += usize::from(Dialect::of(&request.target).is_some());
        state.asked
    };
    let outcome = match Dialect::of(&request.target) {
        Some(dialect) => play(&mut out, dialect, &request, effective(shared.act, number), shared),
        None => http::write_json(
            &mut out,
            404,
            "",
            &serde_json::json!({"error": {"message": "no such endpoint"}}),
        ),
    };
    shared.has_changed.notify_all();
    outcome
}

/// What is done to the request of this number.
fn effective(act: Act, number: usize) -> Act {
    if let Act::RefusesOnce(status) = act {
        return if number == 1 { Act::Refuses(status) } else { Act::Answers };
    }
    if act == Act::BreaksOffOnce {
        return if number == 1 { Act::BreaksOff } else { Act::Answers };
    }
    act
}

fn play(
    out: &mut TcpStream,
    dialect: Dialect,
    request: &Request,
    act: Act,
    shared: &Shared,
) -> io::Result<()> {
    if let Act::Refuses(status) = act {
        let (message, header) = match status {
            401 => ("the key is not valid", ""),
            404 => ("no such model", ""),
            429 => ("too many requests", "retry-after: 1\r\n"),
            _ => ("the model is out of order", "retry-after-ms: 10\r\n"),
        };
        return http::write_json(out, status, header, &dialect.refusal(status, message));
    }
    let events = dialect.events(&answer(dialect, request, act, shared));
    let sent = if matches!(act, Act::BreaksOff | Act::Stalls) { events.len() / 2 } else { events.len() };
    http::begin_stream(out)?;
    for (number, event) in events[..sent].iter().enumerate() {
        if act == Act::Garbles && number == 1 {
            http::write_chunk(out, "data: {\"this is\": not JSON\n\n")?;
        }
        http::write_chunk(out, event)?;
    }
    if act == Act::Stalls {
        stall(shared);
    }
    if sent < events.len() { Ok(()) } else { out.write_all(b"0\r\n\r\n") }
}

fn answer(dialect: Dialect, request: &Request, act: Act, shared: &Shared) -> Answer {
    let (mut call, mut text) = (None, "Hello from loopback.");
    let results = dialect.tool_results(&request.body);
    if let Act::Says(words) = act {
        text = words;
    }
    if let Act::Calls(command) = act {
        text = "Done.";
        if results.is_empty() {
            call = shell_call(request, command);
        }
    }
    if let Act::Follows(steps) = act {
        text = "Done.";
        let step = steps.get(results.len());
        call = step.and_then(|step| match step {
            Step::Board(tool, arguments) => {
                board_call(request, tool, &serde_json::from_str(arguments).unwrap_or_default())
            }
            Step::Shell(command) => shell_call(request, command),
        });
        let mut state = shared.state();
        if step.is_some() && call.is_none() {
            state.unoffered = Some(request.body.to_string());
        }
        if results.len() >= state.results.len() {
            state.results = results.iter().map(ToString::to_string).collect();
        }
    }
    let model = request.body["model"].as_str().unwrap_or("gemini-2.5-flash").to_owned();
    Answer {
        text: text.to_owned(),
        call,
        nth: results.len() + 1,
        is_truncated: act == Act::IsTruncated,
        model,
    }
}

/// Says nothing more until the server stops.
fn stall(shared: &Shared) {
    shared.has_changed.notify_all();
    let deadline = Instant::now() + STALL_MAX;
    let mut state = shared.state();
    while !state.is_stopping && Instant::now() < deadline {
        state = shared
            .has_changed
            .wait_timeout(state, Duration::from_secs(1))
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}
