//! One HTTP/1.1 request with a body, and the status it is answered with.
//!
//! Invariant: it ends by its deadline, whatever the other side does, and it reads no more than the head of the answer.
//! Nothing is followed and nothing is kept: a redirect is an answer, and no proxy is asked. Deliberately absent:
//! everything a client has that sends more than one small message.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::address::Address;

/// The most that is read of an answer.
const HEAD_MAX: usize = 32 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("its name is not known: {0}")]
    Name(io::Error),
    #[error("its name leads to {0}, which is not public; name the host in webhook_allow if it is meant")]
    Inward(IpAddr),
    #[error("no connection: {0}")]
    Connect(io::Error),
    #[error("no safe connection: {0}")]
    Tls(String),
    #[error("no answer: {0}")]
    Answer(io::Error),
    #[error("no answer in time")]
    Late,
}

/// Sends a body and gives the status of the answer, or why there is none; either comes within this time. The address is called
/// wherever its name leads.
pub fn call(
    address: &Address,
    headers: &[(&str, String)],
    body: &[u8],
    within: Duration,
) -> Result<u16, String> {
    post(&address.clone().inward(), headers, body, Instant::now() + within).map_err(|error| error.to_string())
}

/// Sends a body and gives the status of the answer.
pub(crate) fn post(
    address: &Address,
    headers: &[(&str, String)],
    body: &[u8],
    deadline: Instant,
) -> Result<u16, PostError> {
    let plain = Timed { stream: connect(address, deadline)?, deadline };
    let head = head(address, headers, body.len());
    let exchange = |mut stream: Box<dyn Stream>| {
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        status(&mut stream)
    };
    let answered = match address.is_secure {
        false => exchange(Box::new(plain)),
        true => exchange(Box::new(secured(address, plain)?)),
    };
    answered.map_err(|error| {
        // What is wrong with a certificate arrives as bad data.
        let is = |kind: io::ErrorKind| error.kind() == kind;
        if is(io::ErrorKind::TimedOut) || is(io::ErrorKind::WouldBlock) {
            PostError::Late
        } else if address.is_secure && is(io::ErrorKind::InvalidData) {
            PostError::Tls(error.to_string())
        } else {
            PostError::Answer(error)
        }
    })
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn connect(address: &Address, deadline: Instant) -> Result<TcpStream, PostError> {
    let places = (address.host.as_str(), address.port).to_socket_addrs().map_err(PostError::Name)?;
    let mut last = PostError::Name(io::Error::other("it has no address"));
    for place in places {
        // The address that is checked is the one that is called, so a name that changes what it leads to gains nothing.
        if !address.may_call(place.ip()) {
            last = PostError::Inward(place.ip());
            continue;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(PostError::Late);
        }
        match TcpStream::connect_timeout(&place, left) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => last = PostError::Late,
            Err(error) => last = PostError::Connect(error),
        }
    }
    Err(last)
}

fn secured(address: &Address, plain: Timed) -> Result<StreamOwned<ClientConnection, Timed>, PostError> {
    let name =
        ServerName::try_from(address.host.clone()).map_err(|error| PostError::Tls(error.to_string()))?;
    let connection =
        ClientConnection::new(trust()?, name).map_err(|error| PostError::Tls(error.to_string()))?;
    Ok(StreamOwned::new(connection, plain))
}

/// Whom the system trusts; read once.
fn trust() -> Result<Arc<ClientConfig>, PostError> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err("the system has no trusted roots".to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    });
    config.clone().map_err(PostError::Tls)
}

/// A stream whose every step ends by the deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn head(address: &Address, headers: &[(&str, String)], length: usize) -> String {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\nConnection: close\r\nUser-Agent: callboard/{}\r\n",
        address.target,
        address.authority(),
        env!("CARGO_PKG_VERSION"),
    );
    let login = address.authorization.iter().map(|value| ("Authorization", value));
    for (name, value) in login.chain(headers.iter().map(|(name, value)| (*name, value))) {
        head += &format!("{name}: {value}\r\n");
    }
    head + "\r\n"
}

/// The status of the answer; those that only say that the answer is coming are passed over.
fn status(stream: &mut dyn Stream) -> io::Result<u16> {
    let mut read = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        while let Some((status, rest)) = first(&read)? {
            if !(100..200).contains(&status) || status == 101 {
                return Ok(status);
            }
            match rest {
                Some(rest) => read = rest,
                None => break,
            }
        }
        let count = stream.read(&mut chunk)?;
        if count == 0 || read.len() + count > HEAD_MAX {
            return Err(io::Error::other("it is not the answer of a web server"));
        }
        read.extend_from_slice(&chunk[..count]);
    }
}

/// The status at the beginning, and what follows its head as far as that has come.
fn first(read: &[u8]) -> io::Result<Option<(u16, Option<Vec<u8>>)>> {
    let Some(end) = read.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
    let line = String::from_utf8_lossy(&read[..end]);
    let number =
        line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|text| text.parse().ok());
    let status = number.ok_or_else(|| io::Error::other("it is not the answer of a web server"))?;
    let rest = read.windows(4).position(|four| four == b"\r\n\r\n").map(|at| read[at + 4..].to_vec());
    Ok(Some((status, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_the_first_that_is_final() {
        let said = |bytes: &[u8]| {
            let mut stream = io::Cursor::new(bytes.to_vec());
            status(&mut stream).ok()
        };
        assert_eq!(said(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(said(b"HTTP/1.0 500 Oh\r\nA: b\r\n\r\nbody"), Some(500));
        assert_eq!(said(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), Some(200));
        for bad in
            [&b""[..], b"HTTP/1.1 100 Continue\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 xx\r\n", b"HTTP/1.1"]
        {
            assert_eq!(said(bad), None, "{bad:?}");
        }
        let endless: Vec<u8> = vec![b'x'; HEAD_MAX * 2];
        assert_eq!(said(&endless), None);
    }
}
