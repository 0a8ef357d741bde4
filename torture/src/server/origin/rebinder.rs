//! The host of a page that attacks: it serves the page, and then carries everything to the server, as a name does that
//! was rebound.
//!
//! Invariant: it listens on the same port as the server, on another address of this host, so that the page and the server
//! have the same origin for the browser. Of what it carries it changes nothing but that a connection ends after one request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::harness::http;

/// The address that the bent name leads to.
pub(super) const PLACE: &str = "127.0.0.2";
/// How much the page tries.
pub(super) const ATTEMPTS: usize = 9;

/// Tries everything a page can, and tells what came of each: a status, nothing, or what it got.
const PAGE: &str = r#"<!doctype html><title>attack</title><script>
const port = location.port, out = {}, json = {'Content-Type': 'application/json'};
const rebound = (name, path, how) => fetch(path, how).then(async r => { out['rebound ' + name] = String(r.status) },
  () => { out['rebound ' + name] = 'nothing' });
const across = async (name, host, path, how) => {
  try {
    const r = await fetch('http://' + host + ':' + port + path, {credentials: 'include', ...how});
    out['across ' + name] = r.type === 'opaque' ? 'nothing' : 'read ' + r.status + ' ' + await r.text();
  } catch { out['across ' + name] = 'nothing' }
};
const stream = (name, address, kind) => new Promise(done => {
  const source = new EventSource(address, {withCredentials: true});
  source.onopen = () => { out[name] = 'opened'; source.close(); done() };
  source.onerror = () => { out[name] ??= kind; source.close(); done() };
});
const form = host => new Promise(done => {
  const frame = document.createElement('iframe'); frame.name = 'f' + host; document.body.append(frame);
  const form = document.createElement('form');
  Object.assign(form, {method: 'POST', enctype: 'text/plain', target: frame.name, action: 'http://' + host + ':' + port + '/api/v1/admin/checkpoint'});
  const field = document.createElement('input'); field.name = '{"a":"'; field.value = '"}'; form.append(field);
  document.body.append(form); frame.onload = () => { done() }; setTimeout(done, 3000); form.submit();
});
onload = async () => {
  await rebound('read', '/api/v1/counts');
  await rebound('page', '/docs');
  await rebound('change', '/api/v1/admin/checkpoint', {method: 'POST', headers: json, body: '{}'});
  await stream('rebound stream', '/api/v1/events', '421');
  for (const host of ['127.0.0.1', 'localhost']) {
    await across('read ' + host, host, '/api/v1/counts');
    await across('blind ' + host, host, '/api/v1/counts', {mode: 'no-cors'});
    await across('change ' + host, host, '/api/v1/admin/checkpoint', {method: 'POST', mode: 'no-cors', body: '{}'});
    await across('preflight ' + host, host, '/api/v1/admin/checkpoint', {method: 'POST', headers: json, body: '{}'});
    await stream('across stream ' + host, 'http://' + host + ':' + port + '/api/v1/events', 'nothing');
    await form(host);
  }
  await fetch('/report', {method: 'POST', body: JSON.stringify(out)});
};
</script><body>"#;

pub(super) struct Rebinder {
    place: SocketAddr,
    reports: Receiver<String>,
    is_over: Arc<AtomicBool>,
}

impl Rebinder {
    /// Listens beside the server until this is dropped.
    pub(super) fn start(server: SocketAddr) -> Result<Self> {
        let address: Ipv4Addr = PLACE.parse()?;
        let listener =
            TcpListener::bind((address, server.port())).context("failed to listen beside the server")?;
        let place = listener.local_addr()?;
        let (tell, reports) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Acquire) {
                    break;
                }
                let tell = tell.clone();
                // A connection that breaks off is the browser's affair.
                std::thread::spawn(move || drop(answer(stream, server, &tell)));
            }
        });
        Ok(Self { place, reports, is_over })
    }

    /// What the page says came of its attempts.
    pub(super) fn report(&self, patience: Duration) -> Result<String> {
        self.reports.recv_timeout(patience).context("the page that attacks said nothing")
    }
}

impl Drop for Rebinder {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes whoever accepts; if nobody does, it is over already.
        drop(TcpStream::connect(self.place));
    }
}

/// One request: the page, its report, or something that is carried to the server.
fn answer(mut client: TcpStream, server: SocketAddr, tell: &Sender<String>) -> Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        ensure!(reader.read_line(&mut line)? > 0, "it ended in its head");
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
        if !name.eq_ignore_ascii_case("connection") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    match head.split(' ').nth(1).unwrap_or_default() {
        "/attack" => {
            let length = PAGE.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            client.write_all(format!("{head}Content-Length: {length}\r\n\r\n{PAGE}").as_bytes())?;
        }
        "/report" => {
            client.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")?;
            tell.send(String::from_utf8(body)?)?;
        }
        _ => {
            let mut upstream = http::connect(server)?;
            upstream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
            upstream.write_all(&body)?;
            std::io::copy(&mut upstream, &mut client)?;
        }
    }
    Ok(client.shutdown(Shutdown::Both)?)
}
