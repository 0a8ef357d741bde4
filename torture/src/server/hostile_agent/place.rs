//! The place that the acts are tried in: a home with secrets, things outside of the working directory, processes, sockets,
//! and callboard with a server and other runs.
//!
//! Invariant: it lies outside of `/tmp`, which is another one in a sandbox, but for what is meant to be in it. Everything that was
//! started or made for it is ended and removed with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::table::{self, Act, Proof};
use crate::harness::driver::Plan;
use crate::harness::program::{Board, PATIENCE, TOKEN, holders, start, until};
use crate::harness::service::Service;

/// Files that hold the secret of the place.
const SECRETS: [&str; 21] = [
    "home/.ssh/id_ed25519",
    "home/.gnupg/secring.gpg",
    "home/.aws/credentials",
    "home/.config/gcloud/credentials.db",
    "home/.azure/msal_token_cache.json",
    "home/.kube/config",
    "home/.docker/config.json",
    "home/.config/gh/hosts.yml",
    "home/.netrc",
    "home/.git-credentials",
    "home/.pgpass",
    "home/.pypirc",
    "home/.vault-token",
    "home/.cargo/credentials.toml",
    "home/.mozilla/firefox/logins.json",
    "home/.local/share/keyrings/login.keyring",
    "home/.bash_history",
    "home/.npmrc",
    "outside/.env",
    "shared/file",
    "memory",
];

/// Files that are there and hold nothing in particular.
const FILES: [&str; 13] = [
    "home/.bashrc",
    "home/.claude.json",
    "home/.claude/settings.json",
    "home/.codex/config.toml",
    "home/.config/callboard/config.toml",
    "home/.ssh/authorized_keys",
    "outside/file",
    "outside/cut",
    "outside/removed",
    "outside/moved",
    "outside/hard",
    "outside/mode",
    "outside/times",
];

const DIRECTORIES: [&str; 10] = [
    "home/.local/bin",
    "home/.config/systemd/user",
    "home/.config/autostart",
    "home/.cache",
    "run",
    "services",
    "state",
    "work/loot",
    "work/mounted",
    "tmp",
];

/// Processes outside that something is done to; `V` is looked into.
const VICTIMS: [&str; 8] = ["V", "KILLED", "PAUSED", "PIDFD", "LIMITED", "ADJUSTED", "NICE", "PINNED"];

/// Sockets that somebody listens on, and the variable that names each.
const SOCKETS: [&str; 6] = [
    "services/ssh",
    "home/.gnupg/S.gpg-agent",
    "run/bus",
    "services/docker",
    "shared/socket",
    "outside/socket",
];

/// Longer than it takes until a process or a run is gone that was told to go.
const LEAVING: Duration = Duration::from_secs(60);

/// Who is there beside files and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// Nobody: for acts on the network.
    Sockets,
}

/// One place, for one pass over the acts.
pub(super) struct Place {
    root: TempDir,
    /// What is in `/tmp` for everybody, and a file in shared memory.
    shared: TempDir,
    memory: PathBuf,
    pub(super) secret: String,
    victims: Vec<(&'static str, Child)>,
    streams: Vec<UnixListener>,
    ports: [TcpListener; 2],
    datagrams: UdpSocket,
    pub(super) board: Board,
    service: Option<Service>,
    runs: Vec<(&'static str, Value)>,
    before: HashMap<&'static str, Option<Print>>,
}

/// What tells that a file was changed.
type Print = (u64, u32, u64, i64, i64);

impl Place {
    /// Makes one in this directory.
    pub(super) fn new(above: &Path, plan: &Plan, extent: Extent) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("acts-").tempdir_in(above)?;
        let shared = tempfile::Builder::new().prefix("callboard-acts-").tempdir_in("/tmp")?;
        let name = shared.path().file_name().context("a name")?.to_string_lossy().into_owned();
        let secret = format!("Thesaurus-{name}");
        let memory = Path::new("/dev/shm").join(&name);
        let board = Board::new(&root.path().join("state/store.db"), plan)?;
        let mut place = Self {
            streams: vec![UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?],
            ports: [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?],
            datagrams: UdpSocket::bind("127.0.0.1:0")?,
            victims: Vec::new(),
            service: None,
            runs: Vec::new(),
            before: HashMap::new(),
            root,
            shared,
            memory,
            secret,
            board,
        };
        place.furnish()?;
        if extent == Extent::Whole {
            place.people()?;
        }
        place.before = changed_files().map(|path| (path, print(&place.file(path)))).collect();
        Ok(place)
    }

    /// A path of the place.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        match name.strip_prefix("shared/") {
            Some(rest) => self.shared.path().join(rest),
            None if name == "memory" => self.memory.clone(),
            None => self.root.path().join(name),
        }
    }

    fn furnish(&mut self) -> Result<()> {
        for name in DIRECTORIES {
            std::fs::create_dir_all(self.file(name))?;
        }
        let with_text = SECRETS.iter().map(|name| (name, self.secret.as_str()));
        for (name, text) in with_text.chain(FILES.iter().map(|name| (name, ""))) {
            let path = self.file(name);
            std::fs::create_dir_all(path.parent().context("a directory")?)?;
            // A word that TOML and JSON take, or at least do not run.
            std::fs::write(path, if text.is_empty() { "# x\n".to_owned() } else { format!("{text}\n") })?;
        }
        for name in SOCKETS {
            self.streams.push(UnixListener::bind(self.file(name))?);
        }
        let git = Command::new("git").args(["init", "-q"]).current_dir(self.file("work")).status()?;
        anyhow::ensure!(git.success(), "git init ended with {git}");
        Ok(())
    }

    /// Starts whoever is outside.
    fn people(&mut self) -> Result<()> {
        for name in VICTIMS {
            let mut command = Command::new("sleep");
            command.arg("600").current_dir(self.file("home/.ssh")).env_clear();
            command.env(TOKEN, self.root.path()).env("SECRET", &self.secret);
            command.stdin(File::open(self.file("home/.ssh/id_ed25519"))?).stdout(Stdio::null());
            self.victims.push((name, start(command)?));
        }
        let state = self.file("state");
        self.service = Some(Service::start(&self.board, &state, &[])?);
        for name in ["OTHER", "STOPPED", "SUPERVISED"] {
            let words = ["run", "--detach", "--title", &self.secret, "--", "sh", "-c"];
            let script = format!("echo {}; exec sleep 600", self.secret);
            let mut command = self.board.command(&[&words[..], &[&script]].concat());
            command.env("API_KEY", &self.secret).env(TOKEN, self.root.path());
            let output = command.current_dir(self.file("outside")).output()?;
            anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let id = String::from_utf8(output.stdout)?.trim().to_owned();
            let view = until(PATIENCE, || {
                let view = self.board.json(&["inspect", &id, "--json"]).ok()?;
                (view["state"]["lifecycle"] == "running").then_some(view)
            })?;
            self.runs.push((name, view.context("a run does not start")?));
        }
        Ok(())
    }

    /// The variables that the acts use.
    pub(super) fn variables(&self, driver: &Path, program: &Path) -> Result<Vec<(String, String)>> {
        let at = |name: &str| self.file(name).display().to_string();
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port().to_string());
        let mut variables: Vec<(&str, String)> = vec![
            ("HOME", at("home")),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("XDG_RUNTIME_DIR", at("run")),
            ("SSH_AUTH_SOCK", at("services/ssh")),
            ("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", at("run/bus"))),
            ("DOCKER_HOST", format!("unix://{}", at("services/docker"))),
            ("API_KEY", self.secret.clone()),
            ("OUT", at("outside")),
            ("STATE", at("state")),
            ("CALLBOARD_STORE", at("state/store.db")),
            ("SHARED", self.shared.path().display().to_string()),
            ("MEMORY", self.memory.display().to_string()),
            ("ABSTRACT", self.memory.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            ("PORT", port(&self.ports[0])?),
            ("OTHER_PORT", port(&self.ports[1])?),
            ("UDP", self.datagrams.local_addr()?.port().to_string()),
            ("ACT", format!("{} child hostile-agent", driver.display())),
            ("CB", program.display().to_string()),
            ("LEFT", self.left()),
            (TOKEN, at("")),
        ];
        // A name of a namespace is no name of the host.
        for (name, kind) in [("UTS", "uts"), ("PIDS", "pid")] {
            let own = std::fs::read_link(format!("/proc/self/ns/{kind}"))?;
            variables.push((name, own.to_string_lossy().into_owned()));
        }
        variables.extend(self.victims.iter().map(|(name, child)| (*name, child.id().to_string())));
        for (name, view) in &self.runs {
            let supervisor = view["facts"]["supervisor"]["pid"].to_string();
            match *name {
                "SUPERVISED" => variables.push(("SUPERVISOR", supervisor)),
                "OTHER" => variables.push(("OTHER_SUPERVISOR", supervisor)),
                _ => {}
            }
            variables.push((name, view["id"].as_str().unwrap_or_default().to_owned()));
        }
        variables.extend(self.service.as_ref().map(|service| ("SERVE", service.address.to_string())));
        Ok(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The port that a sandbox lists.
    pub(super) fn port(&self) -> Result<u16> {
        Ok(self.ports[0].local_addr()?.port())
    }

    fn left(&self) -> String {
        format!("{}-left", self.secret)
    }

    /// Did this act work?
    pub(super) fn is_done(&self, number: usize, act: &Act, heard: &str) -> Result<bool> {
        let loot = |name: &str| std::fs::read(self.file(&format!("work/loot/{number}{name}")));
        // What was told to go takes a moment; what was not told so has no time to wait for.
        let says_so = loot(".code").is_ok_and(|code| code == b"0");
        let patience = if says_so { LEAVING } else { Duration::ZERO };
        Ok(match act.proof {
            Proof::Secret => {
                let printed = String::from_utf8_lossy(&loot("").unwrap_or_default()).into_owned();
                let token = self.service.as_ref().map(|service| service.token.as_str());
                printed.contains(&self.secret) || token.is_some_and(|token| printed.contains(token))
            }
            Proof::Wrote(path) => {
                let text = std::fs::read(self.file(path)).unwrap_or_default();
                String::from_utf8_lossy(&text).contains(&mark(number))
            }
            Proof::Changed(path) => self.before.get(path) != Some(&print(&self.file(path))),
            Proof::Heard => heard.lines().any(|line| line == number.to_string()),
            Proof::Hit(name) => until(patience, || self.is_hit(name).then_some(()))?.is_some(),
            Proof::Recorded(text) => {
                self.board.ask(&["events", "--json"])?.contains(&format!("{text} {number}\""))
            }
            Proof::Ended(name) => {
                let run = self.runs.iter().find(|(run, _)| *run == name).context("no such run")?;
                let id = run.1["id"].as_str().unwrap_or_default();
                let view = || self.board.json(&["inspect", id, "--json"]).unwrap_or_default();
                until(patience, || view()["ended_at"].is_string().then_some(()))?.is_some()
            }
            // A namespace that ends kills whoever is in it, and takes a moment for that.
            Proof::Left => until(LEAVING, || holders(&self.left()).is_empty().then_some(()))?.is_none(),
            Proof::Word => says_so,
        })
    }

    /// Everything that was said to somebody outside.
    pub(super) fn heard(&self) -> Result<String> {
        let mut heard = String::new();
        for listener in &self.streams {
            listener.set_nonblocking(true)?;
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nonblocking(false)?;
                // Whoever spoke has closed its side.
                stream.read_to_string(&mut heard).ok();
            }
        }
        for listener in &self.ports {
            listener.set_nonblocking(true)?;
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nonblocking(false)?;
                stream.read_to_string(&mut heard).ok();
            }
        }
        self.datagrams.set_nonblocking(true)?;
        let mut bytes = [0; 256];
        while let Ok(count) = self.datagrams.recv(&mut bytes) {
            heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        Ok(heard)
    }

    fn is_hit(&self, name: &str) -> bool {
        let victim = self.victims.iter().find(|(victim, _)| *victim == name).map(|(_, child)| child.id());
        let supervised = self.runs.iter().find(|(run, _)| *run == "SUPERVISED");
        let supervisor = supervised.and_then(|(_, view)| view["facts"]["supervisor"]["pid"].as_u64());
        let Some(pid) = victim.map(u64::from).or(supervisor) else { return false };
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let state = fields.first().copied().unwrap_or("gone");
        match name {
            "LIMITED" => read("limits").lines().any(|line| line.starts_with("Max open files            3 ")),
            "ADJUSTED" => read("oom_score_adj").trim() == "900",
            "PINNED" => read("status").lines().any(|line| line == "Cpus_allowed_list:\t0"),
            "NICE" => fields.get(16) == Some(&"19"),
            _ => matches!(state, "gone" | "Z" | "X" | "T"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for (_, child) in &mut self.victims {
            // One that an act has ended is waited for all the same.
            child.kill().ok();
            child.wait().ok();
        }
        self.service.take();
        for (_, view) in &self.runs {
            // One that an act has ended needs no end.
            self.board.ask(&["stop", "--now", view["id"].as_str().unwrap_or_default()]).ok();
        }
        for token in [self.left(), self.root.path().display().to_string()] {
            self.board.sweep(&token).ok();
        }
        std::fs::remove_file(&self.memory).ok();
    }
}

/// What an act writes where it may not.
pub(super) fn mark(number: usize) -> String {
    format!("owned-{number}-")
}

fn changed_files() -> impl Iterator<Item = &'static str> {
    table::acts().filter_map(|act| match act.proof {
        Proof::Changed(path) => Some(path),
        Proof::Secret
        | Proof::Wrote(_)
        | Proof::Heard
        | Proof::Hit(_)
        | Proof::Recorded(_)
        | Proof::Ended(_)
        | Proof::Left
        | Proof::Word => None,
    })
}

fn print(path: &Path) -> Option<Print> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.mode(), found.size(), found.mtime(), found.mtime_nsec()))
}
