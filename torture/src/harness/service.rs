//! The real server on one store: started, killed without a word, started again where it was.
//!
//! Invariant: it is the program that lies beside the driver, and it is ended at the latest when this is dropped. What it
//! says on its error output is kept in a file. Deliberately absent: what it answers.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::harness::http::{self, Reply, bearer};
use crate::harness::program::{self, Board};

/// A server.
pub(crate) struct Service {
    board: Board,
    dir: PathBuf,
    words: Vec<String>,
    server: Child,
    pub(crate) address: SocketAddr,
    /// The link that lets a browser in once.
    pub(crate) login: String,
    /// The operator's token.
    pub(crate) token: String,
}

impl Service {
    /// Starts one whose store is in this directory, and waits until it is ready.
    pub(crate) fn start(board: &Board, dir: &Path, words: &[&str]) -> Result<Self> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (server, address, login) = serve(board, dir, "127.0.0.1:0", &words)?;
        let token =
            std::fs::read_to_string(dir.join("operator.token")).context("no token of the operator")?;
        let token = token.trim().to_owned();
        Ok(Self { board: board.clone(), dir: dir.to_owned(), words, server, address, login, token })
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.server.kill().context("failed to kill the server")?;
        self.server.wait().context("failed to wait for the server")?;
        Ok(())
    }

    /// Starts it again where it was.
    pub(crate) fn restart(&mut self) -> Result<()> {
        let (server, _, login) = serve(&self.board, &self.dir, &self.address.to_string(), &self.words)?;
        (self.server, self.login) = (server, login);
        Ok(())
    }

    /// Asks as the operator.
    pub(crate) fn get(&self, path: &str) -> Result<Reply> {
        http::ask(self.address, "GET", path, &bearer(&self.token), "")
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Bytes of memory it holds.
    pub(crate) fn resident(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        Ok(line.context("a process without memory")?.trim().parse::<u64>()? * 1024)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may be gone already, which is what is wanted.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// Where the server's error output is kept.
pub(crate) fn log(dir: &Path) -> PathBuf {
    dir.join("server.log")
}

fn serve(board: &Board, dir: &Path, listen: &str, words: &[String]) -> Result<(Child, SocketAddr, String)> {
    let mut command = board.command(&["serve", "--json", "--listen", listen]);
    let log = File::options().append(true).create(true).open(log(dir)).context("failed to open the log")?;
    command.args(words).stdout(Stdio::piped()).stderr(log);
    let mut server = program::start(command)?;
    let out = server.stdout.take().context("a server without an output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let ready: Value = serde_json::from_str(&line).with_context(|| format!("the server said {line:?}"))?;
    let text = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
    let address = text("url").trim_start_matches("http://").trim_end_matches('/').parse()?;
    Ok((server, address, text("login")))
}
