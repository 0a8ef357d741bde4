//! The little of HTTP/1.1 that the model server needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

const HEADER_BYTES_MAX: u64 = 64 * 1024;
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One request with its body.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Value,
}

/// The next request of the connection; none if the client closed it.
pub(super) fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let (mut line, mut length, mut is_chunked) = (String::new(), 0, false);
    {
        let mut header = reader.by_ref().take(HEADER_BYTES_MAX);
        loop {
            let mut text = String::new();
            if header.read_line(&mut text)? == 0 || text.trim_end().is_empty() {
                break;
            }
            if line.is_empty() {
                line = text;
                continue;
            }
            let text = text.trim_end().to_ascii_lowercase();
            if let Some(value) = text.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0).min(BODY_BYTES_MAX);
            } else if text.starts_with("transfer-encoding:") {
                is_chunked = text.ends_with("chunked");
            }
        }
    }
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut bytes = Vec::new();
    if is_chunked {
        read_chunks(reader, &mut bytes)?;
    } else {
        reader.by_ref().take(length).read_to_end(&mut bytes)?;
    }
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Some(Request { method: method.to_owned(), target: target.to_owned(), body }))
}

fn read_chunks(reader: &mut BufReader<TcpStream>, bytes: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0).min(BODY_BYTES_MAX);
        reader.by_ref().take(size).read_to_end(bytes)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// A whole answer with a body of JSON.
pub(super) fn write_json(out: &mut TcpStream, status: u16, header: &str, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        out,
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{header}connection: close\r\n\r\n{body}"
    )
}

/// The head of a stream; each event is then a chunk, and `0\r\n\r\n` its end.
pub(super) fn begin_stream(out: &mut TcpStream) -> io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )
}

pub(super) fn write_chunk(out: &mut TcpStream, event: &str) -> io::Result<()> {
    write!(out, "{:x}\r\n{event}\r\n", event.len())?;
    out.flush()
}
