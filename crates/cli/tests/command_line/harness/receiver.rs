//! A web server on loopback that answers as it was told, and checks signatures without the code that made them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What the server does with a call.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    Status(u16),
    /// Reads it, and says nothing for as long as the test lasts.
    Hang,
}

/// One call.
pub(crate) struct Call {
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// The certificate of the encrypted server, which is valid for 127.0.0.1 and signed by itself.
pub(crate) const CERTIFICATE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/loopback/certificate.pem");
const KEY_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/loopback/key.pem");

/// A server; its threads end with the process of the test.
pub(crate) struct Receiver {
    scheme: &'static str,
    port: u16,
    calls: Inbox<Call>,
}

/// The bytes of the secret that the tests sign with.
const KEY: [u8; 32] = *b"thirty-two bytes of no real use!";

/// The secret as it is configured.
pub(crate) fn secret() -> String {
    format!("whsec_{}", STANDARD.encode(KEY))
}

impl Receiver {
    /// Answers as listed, and the last answer to every further call.
    pub(crate) fn start(answers: &[Answer]) -> Self {
        Self::listen("http", answers, None)
    }

    /// The same, encrypted.
    pub(crate) fn start_secure(answers: &[Answer]) -> Self {
        Self::listen("https", answers, Some(certified()))
    }

    fn listen(scheme: &'static str, answers: &[Answer], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = match TcpListener::bind("127.0.0.1:0") {
            Ok(listener) => listener,
            Err(error) => panic!("{error}"),
        };
        let port = listener.local_addr().map_or(0, |address| address.port());
        let (tell, calls) = channel();
        let answers = answers.to_vec();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let answer = answers.get(number).or(answers.last()).copied().unwrap_or(Answer::Hang);
                let (tell, tls) = (tell.clone(), tls.clone());
                std::thread::spawn(move || match tls.map(ServerConnection::new) {
                    None => serve(stream, answer, &tell),
                    Some(Ok(connection)) => serve(StreamOwned::new(connection, stream), answer, &tell),
                    Some(Err(error)) => panic!("{error}"),
                });
            }
        });
        Self { scheme, port, calls }
    }

    /// The address, with a path and a login that nobody must see.
    pub(crate) fn url(&self) -> String {
        format!("{}://ann:hunter2@127.0.0.1:{}/hook/hunter3", self.scheme, self.port)
    }

    /// The next call, with its signature checked.
    pub(crate) fn call(&self) -> Call {
        match self.calls.recv_timeout(Duration::from_secs(30)) {
            Ok(call) => {
                call.check_signature();
                call
            }
            Err(error) => panic!("nobody called: {error}"),
        }
    }

    /// The calls that came until this moment.
    pub(crate) fn arrived(&self) -> Vec<Call> {
        let calls: Vec<Call> = self.calls.try_iter().collect();
        calls.iter().for_each(Call::check_signature);
        calls
    }

    /// No call came until this moment.
    pub(crate) fn is_quiet(&self) -> bool {
        self.arrived().is_empty()
    }

    /// No call comes within this time.
    pub(crate) fn stays_quiet(&self, span: Duration) -> bool {
        matches!(self.calls.recv_timeout(span), Err(RecvTimeoutError::Timeout))
    }
}

fn certified() -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = || -> Result<ServerConfig, Box<dyn std::error::Error>> {
        let certificate = CertificateDer::from_pem_file(CERTIFICATE)?;
        let key = PrivateKeyDer::from_pem_file(KEY_FILE)?;
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(builder.with_no_client_auth().with_single_cert(vec![certificate], key)?)
    };
    match config() {
        Ok(config) => Arc::new(config),
        Err(error) => panic!("{error}"),
    }
}

fn serve(stream: impl Read + Write, answer: Answer, tell: &Sender<Call>) {
    let mut stream = BufReader::new(stream);
    let Some(call) = read(&mut stream) else { return };
    let mut writer = stream.into_inner();
    if tell.send(call).is_err() {
        return;
    }
    match answer {
        Answer::Status(status) => {
            let place = "Location: /elsewhere\r\n";
            let head = format!("HTTP/1.1 {status} As told\r\n{place}Content-Length: 0\r\n\r\n");
            drop(writer.write_all(head.as_bytes()).and_then(|()| writer.flush()));
        }
        Answer::Hang => {
            // Ends when the caller hangs up.
            let mut rest = [0; 1];
            while writer.read(&mut rest).is_ok_and(|count| count > 0) {}
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Call> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.strip_prefix("POST ")?.split(' ').next()?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Call { target, headers, body })
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(document) => document,
            Err(error) => panic!("{error}"),
        }
    }

    fn check_signature(&self) {
        let mut signed =
            format!("{}.{}.", self.header("webhook-id"), self.header("webhook-timestamp")).into_bytes();
        signed.extend_from_slice(&self.body);
        let expected = format!("v1,{}", STANDARD.encode(hmac_sha256(&KEY, &signed)));
        assert_eq!(self.header("webhook-signature"), expected);
        assert!(!self.header("webhook-id").is_empty());
    }
}

/// HMAC as RFC 2104 writes it down.
fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let padded = |pad: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ pad).collect() };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}
