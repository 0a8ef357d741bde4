//! A small HTTP client that shows everything: one request a connection, sent as it is written.
//!
//! Invariant: an answer is whole or it is none; nothing is tried again here. Deliberately absent: what an answer means.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Its head, as it came.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The document it carries; null if it carries none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The document of an answer that is what was asked for.
    pub(crate) fn ok(&self) -> Result<Value> {
        ensure!((200..300).contains(&self.status), "it was answered with {} {}", self.status, self.text());
        Ok(self.json())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.filter(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).context("no connection")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Who asks, as a header.
pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// A request as it goes over the wire; `headers` end with a line break each, and name the host if they like.
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> String {
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Asks, and reads the whole answer.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Result<Reply> {
    let mut stream = connect(address)?;
    stream.write_all(request(address, method, path, headers, body).as_bytes())?;
    answer(&mut BufReader::new(stream)).with_context(|| format!("{method} {path}"))
}

/// Asks, and reads no more of the answer than its head: a stream has no end.
pub(crate) fn glance(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Result<Reply> {
    let mut stream = connect(address)?;
    stream.write_all(request(address, method, path, headers, body).as_bytes())?;
    let (status, head) = head(&mut BufReader::new(stream))?;
    Ok(Reply { status, head, body: Vec::new() })
}

/// Reads a whole answer.
pub(crate) fn answer(reader: &mut impl BufRead) -> Result<Reply> {
    let (status, head) = head(reader)?;
    let mut reply = Reply { status, head, body: Vec::new() };
    let is_chunked = reply.header("transfer-encoding").is_some();
    let length = reply.header("content-length").map(str::parse::<usize>).transpose()?;
    match length {
        _ if is_chunked => reply.body = chunks(reader)?,
        Some(length) => {
            reply.body.resize(length, 0);
            reader.read_exact(&mut reply.body)?;
        }
        None => {}
    }
    Ok(reply)
}

/// Reads the head of an answer.
pub(crate) fn head(reader: &mut impl BufRead) -> Result<(u16, String)> {
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        ensure!(reader.read_line(&mut text)? > 0, "the connection ended in the head of an answer");
    }
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok((status.context("an answer without a status")?, text))
}

fn chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).context("a chunk without a size")?;
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Opens a stream of events behind a record and leaves it open, its head read; in the old version of the protocol, which
/// has no chunks.
pub(crate) fn open(
    address: SocketAddr,
    path: &str,
    token: &str,
    last: Option<u64>,
) -> Result<BufReader<TcpStream>> {
    let mut stream = connect(address)?;
    let last = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{}{last}\r\n", bearer(token));
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let (status, _) = head(&mut reader)?;
    ensure!(status == 200, "{path} was answered with {status}");
    Ok(reader)
}
