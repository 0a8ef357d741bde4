//! A small HTTP client that keeps its connection, and costs the machine as little as it can.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One connection with its token.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
    headers: String,
    body: Vec<u8>,
}

/// An answer: its status, and its body until the next question.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
}

impl Wire {
    pub(crate) fn open(address: SocketAddr, token: &str) -> std::io::Result<Self> {
        let stream = connect(address)?;
        let headers = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n");
        Ok(Self { stream: BufReader::new(stream), headers, body: Vec::new() })
    }

    /// Asks, and wants it answered with what was asked for.
    pub(crate) fn get(&mut self, path: &str) -> Result<&[u8], Box<dyn Error>> {
        self.ask("GET", path, "", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<&[u8], Box<dyn Error>> {
        self.ask("POST", path, "Content-Type: application/json\r\n", body)
    }

    fn ask(&mut self, method: &str, path: &str, more: &str, body: &str) -> Result<&[u8], Box<dyn Error>> {
        let answer = self.send(method, path, more, body)?;
        if answer.status == 200 {
            return Ok(answer.body);
        }
        Err(format!("{method} {path}: {} {}", answer.status, String::from_utf8_lossy(answer.body)).into())
    }

    /// Sends a request with some more headers.
    pub(super) fn send(
        &mut self,
        method: &str,
        path: &str,
        more: &str,
        body: &str,
    ) -> Result<Answer<'_>, Box<dyn Error>> {
        let (headers, length) = (&self.headers, body.len());
        let request =
            format!("{method} {path} HTTP/1.1\r\n{headers}{more}Content-Length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no answer")?;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse()?
                }
                Some(_) => {}
                None => break,
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        Ok(Answer { status, body: &self.body })
    }
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

/// A stream of events whose head was read; the old version of the protocol has no chunks, so what follows are the
/// bytes of the events and nothing else.
pub(crate) fn listen(address: SocketAddr, token: &str) -> Result<TcpStream, Box<dyn Error>> {
    let mut stream = connect(address)?;
    let request =
        format!("GET /api/v1/events HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    // The greeting comes right behind the head, and nothing behind it before something is recorded.
    while !head.ends_with(b"retry: 1000\n\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head.len() > 4096 {
            return Err(format!("no stream: {}", String::from_utf8_lossy(&head)).into());
        }
    }
    Ok(stream)
}
