//! A model on loopback that answers in a vendor's stream, for agent programs that must not reach a real one.
//!
//! Invariant: it listens on 127.0.0.1 and a port of the system's choice, answers every request at once, and is gone when
//! it is dropped. It can also be named as a proxy: a program that wants to reach anything else then asks it to `CONNECT`,
//! is refused, and the request is in the list. Not here: tools, reasoning, and anything but the standard library.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How the model behaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// It says hello.
    Answers,
    /// Every request fails with status 500.
    Fails,
    /// The stream breaks off after the first words.
    BreaksOff,
    /// It says that it wrote `review.md`, and asks for no tool that would do so.
    ClaimsAFile,
}

/// What the model says of its use in every answer.
pub(crate) const INPUT_TOKENS: u64 = 11;
pub(crate) const CACHED_TOKENS: u64 = 3;
pub(crate) const OUTPUT_TOKENS: u64 = 7;

/// The name under which the model answers.
pub(crate) const MODEL: &str = "mock-model";

const HEADER_BYTES_MAX: u64 = 64 * 1024;
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    is_stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts it.
    pub(crate) fn start(mode: Mode) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_stopping = Arc::new(AtomicBool::new(false));
        let accepting = {
            let (requests, is_stopping) = (Arc::clone(&requests), Arc::clone(&is_stopping));
            std::thread::spawn(move || accept(&listener, mode, &requests, &is_stopping))
        };
        Ok(Self { address, requests, is_stopping, accepting: Some(accepting) })
    }

    /// The address without a path, as a proxy is named.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What an agent program takes as the base of its provider.
    pub(crate) fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// The requests so far, each as `METHOD target`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        // Accepting has no timeout; one more connection ends the wait.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn accept(listener: &TcpListener, mode: Mode, requests: &Arc<Mutex<Vec<String>>>, is_stopping: &AtomicBool) {
    let mut connections = Vec::new();
    for connection in listener.incoming() {
        if is_stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(connection) = connection else { continue };
        let requests = Arc::clone(requests);
        // A client that goes away in the middle is the client's business.
        connections.push(std::thread::spawn(move || drop(serve(connection, mode, &requests))));
    }
    for connection in connections {
        drop(connection.join());
    }
}

/// One request and its answer; the connection is closed after it.
fn serve(connection: TcpStream, mode: Mode, requests: &Mutex<Vec<String>>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let (request, length) = head(&mut reader)?;
    if request.is_empty() {
        return Ok(());
    }
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    let mut out = connection;
    match (request.as_str(), mode) {
        (request, _) if !request.starts_with("POST ") => {
            refuse(&mut out, "404 Not Found", "only POST is answered")
        }
        (_, Mode::Fails) => refuse(&mut out, "500 Internal Server Error", "the model is out of order"),
        (request, mode) if request.ends_with("/responses") => stream(&mut out, &responses(mode), mode),
        (request, mode) if request.ends_with("/chat/completions") => stream(&mut out, &chat(mode), mode),
        (_, _) => refuse(&mut out, "404 Not Found", "no such endpoint"),
    }
}

/// The first line without its version, and the length of the body.
fn head(reader: &mut BufReader<TcpStream>) -> io::Result<(String, u64)> {
    let mut limited = reader.take(HEADER_BYTES_MAX);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if limited.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            return Ok((request, length));
        }
        let line = line.trim_end();
        if request.is_empty() {
            request = line.rsplit_once(' ').map_or(line, |(request, _)| request).to_owned();
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0).min(BODY_BYTES_MAX);
        }
    }
}

fn refuse(out: &mut TcpStream, status: &str, message: &str) -> io::Result<()> {
    let body = format!("{{\"error\":{{\"message\":\"{message}\",\"type\":\"server_error\"}}}}");
    let length = body.len();
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Every event is a chunk of its own; a stream that breaks off lacks the chunk that ends it.
fn stream(out: &mut TcpStream, events: &[String], mode: Mode) -> io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    let sent = if mode == Mode::BreaksOff { events.len() / 2 } else { events.len() };
    for event in &events[..sent] {
        write!(out, "{:x}\r\n{event}\r\n", event.len())?;
    }
    if mode != Mode::BreaksOff {
        out.write_all(b"0\r\n\r\n")?;
    }
    out.flush()
}

const fn words(mode: Mode) -> &'static str {
    match mode {
        Mode::Answers | Mode::Fails | Mode::BreaksOff => "Hello from loopback.",
        Mode::ClaimsAFile => "I wrote review.md.",
    }
}

/// The Responses API.
fn responses(mode: Mode) -> Vec<String> {
    let text = words(mode);
    let item = |status: &str, content: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"{status}\",\"content\":[{content}]}}"
        )
    };
    let whole =
        item("completed", &format!("{{\"type\":\"output_text\",\"text\":\"{text}\",\"annotations\":[]}}"));
    let total = INPUT_TOKENS + OUTPUT_TOKENS;
    let usage = format!(
        "{{\"input_tokens\":{INPUT_TOKENS},\"input_tokens_details\":{{\"cached_tokens\":{CACHED_TOKENS}}},\
         \"output_tokens\":{OUTPUT_TOKENS},\"output_tokens_details\":{{\"reasoning_tokens\":0}},\"total_tokens\":{total}}}"
    );
    [
        ("response.created", "\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}".to_owned()),
        ("response.output_item.added", format!("\"output_index\":0,\"item\":{}", item("in_progress", ""))),
        (
            "response.output_text.delta",
            format!("\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\""),
        ),
        ("response.output_item.done", format!("\"output_index\":0,\"item\":{whole}")),
        (
            "response.completed",
            format!(
                "\"response\":{{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[{whole}],\"usage\":{usage}}}"
            ),
        ),
    ]
    .iter()
    .enumerate()
    .map(|(number, (kind, fields))| {
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"sequence_number\":{number},{fields}}}\n\n")
    })
    .collect()
}

/// The Chat Completions API.
fn chat(mode: Mode) -> Vec<String> {
    let text = words(mode);
    let chunk = |choices: &str, rest: &str| {
        format!(
            "data: {{\"id\":\"c_1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"{MODEL}\",\
             \"choices\":[{choices}]{rest}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        format!("{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":{finish}}}")
    };
    let total = INPUT_TOKENS + OUTPUT_TOKENS;
    let usage = format!(
        ",\"usage\":{{\"prompt_tokens\":{INPUT_TOKENS},\"completion_tokens\":{OUTPUT_TOKENS},\"total_tokens\":{total}}}"
    );
    vec![
        chunk(&choice("\"role\":\"assistant\",\"content\":\"\"", "null"), ""),
        chunk(&choice(&format!("\"content\":\"{text}\""), "null"), ""),
        chunk(&choice("", "\"stop\""), ""),
        chunk("", &usage),
        "data: [DONE]\n\n".to_owned(),
    ]
}

/// What a plain client gets for a request.
fn ask(server: &ModelServer, request: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(server.address)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    write!(connection, "{request} HTTP/1.1\r\nhost: loopback\r\ncontent-length: 2\r\n\r\n{{}}")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn both_streams_end_as_their_vendors_end_them() {
    let server = ModelServer::start(Mode::Answers).expect("loopback is there");
    let responses = ask(&server, "POST /v1/responses").expect("it answers");
    assert!(responses.contains("event: response.completed"), "{responses}");
    assert!(responses.ends_with("0\r\n\r\n"), "{responses}");
    let chat = ask(&server, "POST /v1/chat/completions").expect("it answers");
    assert!(chat.contains("\"prompt_tokens\":11") && chat.contains("data: [DONE]"), "{chat}");
    assert_eq!(server.requests(), ["POST /v1/responses", "POST /v1/chat/completions"]);
}

#[test]
fn a_stream_that_breaks_off_has_no_end() {
    let server = ModelServer::start(Mode::BreaksOff).expect("loopback is there");
    for path in ["/v1/responses", "/v1/chat/completions"] {
        let answer = ask(&server, &format!("POST {path}")).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(!answer.contains("completed\n") && !answer.contains("[DONE]"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    }
}

#[test]
fn whatever_else_is_asked_for_is_refused_and_remembered() {
    let server = ModelServer::start(Mode::Fails).expect("loopback is there");
    let tunnel = ask(&server, "CONNECT elsewhere:443").expect("it answers");
    assert!(tunnel.starts_with("HTTP/1.1 404"), "{tunnel}");
    let failed = ask(&server, "POST /v1/responses").expect("it answers");
    assert!(failed.starts_with("HTTP/1.1 500"), "{failed}");
    assert_eq!(server.requests(), ["CONNECT elsewhere:443", "POST /v1/responses"]);
}

#[test]
fn a_claim_is_words_and_no_call_of_a_tool() {
    let server = ModelServer::start(Mode::ClaimsAFile).expect("loopback is there");
    assert!(server.base_url().starts_with("http://127.0.0.1:") && server.base_url().ends_with("/v1"));
    let answer = ask(&server, "POST /v1/responses").expect("it answers");
    assert!(answer.contains("I wrote review.md.") && !answer.contains("function_call"), "{answer}");
}
