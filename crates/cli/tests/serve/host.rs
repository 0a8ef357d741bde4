//! A server of its own on a store of its own, ended when the test ends.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callboard_ledger::{Ledger, Options};
use serde_json::Value;

use crate::wire::{Reply, exchange};

pub(crate) struct Host {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) login: String,
    pub(crate) token: String,
    pub(crate) server: Child,
}

/// The binary on a store, in an environment that says nothing about it.
pub(crate) fn callboard(store: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callboard"));
    command.arg("--store").arg(store).args(words).stdin(Stdio::null()).env_remove("CALLBOARD_STORE");
    command
}

impl Host {
    pub(crate) fn start() -> Self {
        Self::start_with(&["--rate", "0"])
    }

    pub(crate) fn start_with(words: &[&str]) -> Self {
        Self::start_among(words, &[])
    }

    /// Starts it as a process that ignores a signal.
    pub(crate) fn start_without_signal(signal: &str) -> Self {
        Self::start_by(&format!("trap '' {signal}"))
    }

    /// Starts it as a process that may have so many files open.
    pub(crate) fn start_with_files(files: u32) -> Self {
        Self::start_by(&format!("ulimit -n {files}"))
    }

    /// Starts it by a shell that does something to itself before.
    fn start_by(before: &str) -> Self {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let store = dir.path().join("store/s.db");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}; exec \"$0\" \"$@\"")]).arg(env!("CARGO_BIN_EXE_callboard"));
        command.arg("--store").arg(&store).args([
            "serve",
            "--json",
            "--listen",
            "127.0.0.1:0",
            "--rate",
            "0",
        ]);
        command.stdin(Stdio::null()).env_remove("CALLBOARD_STORE");
        let (server, address, login) = begin(&mut command);
        Self::of(dir, server, address, login)
    }

    fn of(dir: tempfile::TempDir, server: Child, address: SocketAddr, login: String) -> Self {
        let token = std::fs::read_to_string(dir.path().join("store/operator.token"));
        let token = token.unwrap_or_else(|error| panic!("{error}")).trim().to_owned();
        Self { dir, address, login, token, server }
    }

    /// Starts it with these variables.
    pub(crate) fn start_among(words: &[&str], variables: &[(&str, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let (server, address, login) = serve(&dir.path().join("store/s.db"), "127.0.0.1:0", words, variables);
        Self::of(dir, server, address, login)
    }

    /// Ends the server without a word and starts it again where it was.
    pub(crate) fn kill_and_restart(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
        self.restart();
    }

    pub(crate) fn restart(&mut self) {
        let address = self.address.to_string();
        let (server, _, login) = serve(&self.store(), &address, &["--rate", "0"], &[]);
        (self.server, self.login) = (server, login);
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("store/s.db")
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.store(), Options::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs the command line on the same store, and gives what it prints.
    pub(crate) fn callboard(&self, words: &[&str]) -> String {
        let output = callboard(&self.store(), words).current_dir(self.dir.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{error}"));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &self.bearer(&self.token), "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_as(&self.token, path, body, None)
    }

    pub(crate) fn post_as(&self, token: &str, path: &str, body: &Value, key: Option<&str>) -> Reply {
        let key = key.map_or_else(String::new, |key| format!("Idempotency-Key: {key}\r\n"));
        let headers = format!("{}Content-Type: application/json\r\n{key}", self.bearer(token));
        self.send("POST", path, &headers, &body.to_string())
    }

    pub(crate) fn bearer(&self, token: &str) -> String {
        format!("Authorization: Bearer {token}\r\n")
    }

    /// A request with these headers, which end with a line break each.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        match exchange(self.address, request.as_bytes()) {
            Some(reply) => reply,
            None => panic!("no answer to {method} {path}"),
        }
    }

    /// Waits until an entity is as it should be.
    pub(crate) fn until(&self, id: &str, is: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let view = self.get(&format!("/api/v1/entities/{id}")).ok();
            if is(&view) {
                return view;
            }
            assert!(Instant::now() < until, "{view}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn serve(
    store: &Path,
    listen: &str,
    words: &[&str],
    variables: &[(&str, String)],
) -> (Child, SocketAddr, String) {
    let mut command = callboard(store, &["serve", "--json", "--listen", listen]);
    begin(command.args(words).envs(variables.iter().cloned()))
}

#[expect(clippy::disallowed_methods, reason = "a test ends the server it starts")]
fn begin(command: &mut Command) -> (Child, SocketAddr, String) {
    let server = command.stdout(Stdio::piped()).spawn();
    let mut server = server.unwrap_or_else(|error| panic!("{error}"));
    let Some(out) = server.stdout.take() else { panic!("no output") };
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
    let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
    let address = text("url").trim_start_matches("http://").trim_end_matches('/').parse();
    (server, address.unwrap_or_else(|error| panic!("{error}: {line}")), text("login"))
}

impl Drop for Host {
    fn drop(&mut self) {
        // Runs that a test left behind go with it.
        let alive = self.callboard(&["ps", "session", "--json"]);
        let alive: Value = serde_json::from_str(&alive).unwrap_or_default();
        let ids = alive["items"].as_array().into_iter().flatten().filter_map(|view| view["id"].as_str());
        let words: Vec<&str> = ["stop", "--now"].into_iter().chain(ids).collect();
        if words.len() > 2 {
            self.callboard(&words);
        }
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
