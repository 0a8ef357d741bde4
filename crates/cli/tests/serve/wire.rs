//! A small HTTP client: one request a connection, everything visible.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The document, which must be one.
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(document) => document,
            Err(error) => panic!("{} {error}: {}", self.status, self.text()),
        }
    }

    /// The document of an answer that must be what was asked for.
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text());
        self.json()
    }

    /// The problem it must be, with this status.
    pub(crate) fn problem(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail", "help"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field} of {problem}");
        }
        problem
    }
}

/// Sends a request as it is written and reads the whole answer; nothing if the connection breaks.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Option<Reply> {
    let mut stream = connect(address)?;
    stream.write_all(request).ok()?;
    reply(&mut BufReader::new(stream))
}

/// One answer of a connection.
pub(crate) fn reply(reader: &mut BufReader<TcpStream>) -> Option<Reply> {
    let (status, headers) = head(reader)?;
    let named = |name: &str| headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.clone());
    let body = match (named("transfer-encoding"), named("content-length")) {
        (Some(_), _) => chunks(reader)?,
        (None, Some(length)) => {
            let mut body = vec![0; length.parse().ok()?];
            reader.read_exact(&mut body).ok()?;
            body
        }
        (None, None) => Vec::new(),
    };
    Some(Reply { status, headers, body })
}

pub(crate) fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.set_nodelay(true).ok()?;
    Some(stream)
}

/// Opens a stream of events and leaves it open; the old version of the protocol has no chunks.
pub(crate) fn open(
    address: SocketAddr,
    path: &str,
    token: &str,
    last: Option<u64>,
) -> Option<BufReader<TcpStream>> {
    let mut stream = connect(address)?;
    let last = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
    let request =
        format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{last}\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let (status, _) = head(&mut reader)?;
    assert_eq!(status, 200, "{path}");
    Some(reader)
}

/// Reads one line of a stream; 0 bytes are its end.
pub(crate) fn line(reader: &mut BufReader<TcpStream>) -> std::io::Result<usize> {
    reader.read_line(&mut String::new())
}

/// One event of a stream: its name, its id, its data.
pub(crate) fn event(reader: &mut BufReader<TcpStream>) -> Option<(String, Option<u64>, String)> {
    let (mut name, mut id, mut data) = (String::new(), None, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || !line.ends_with('\n') {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("event", value)) => value.clone_into(&mut name),
            Some(("id", value)) => id = value.parse().ok(),
            Some(("data", value)) => value.clone_into(&mut data),
            _ if line == "\n" && !name.is_empty() => return Some((name, id, data)),
            _ => {}
        }
    }
}

fn head(reader: &mut impl BufRead) -> Option<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { return Some((status, headers)) };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..]).ok()?;
        reader.read_line(&mut String::new()).ok()?;
        if size == 0 {
            return Some(body);
        }
    }
}

/// Sends a request and reads no more of the answer than its head.
pub(crate) fn status(address: SocketAddr, request: &str) -> u16 {
    let Some(mut stream) = connect(address) else { panic!("no connection") };
    if let Err(error) = stream.write_all(request.as_bytes()) {
        panic!("{error}");
    }
    match head(&mut BufReader::new(stream)) {
        Some((status, _)) => status,
        None => panic!("no answer to {request}"),
    }
}
