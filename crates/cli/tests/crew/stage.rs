//! A repository, a store and the real program: what a test of the task board needs.

#![expect(
    clippy::disallowed_methods,
    reason = "a test starts the program as a user does, and reads the clock as the program does"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use callboard_engine::tasks::{Asking, NewTask};
use callboard_kernel::{Actor, EntityId, Facts, fact, task};
use callboard_ledger::{Ledger, Listing, Options, Stored};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::TaskRequest;
use tempfile::TempDir;

/// Longer than anything takes on the slowest machine.
pub(crate) const LONG: Duration = Duration::from_secs(300);

pub(crate) struct Stage {
    dir: TempDir,
    store: String,
}

impl Stage {
    /// A stage whose store is a file.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("state/board.db");
        std::fs::create_dir_all(store.parent().unwrap()).unwrap();
        Self::on(dir, store.to_str().unwrap().to_owned())
    }

    /// A stage whose store is somewhere else.
    pub(crate) fn on(dir: TempDir, store: String) -> Self {
        let stage = Self { dir, store };
        let repo = stage.repo();
        std::fs::create_dir_all(&repo).unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        std::fs::write(repo.join("shared.txt"), "one\n").unwrap();
        stage.git(&["add", "."]);
        stage.git(&["commit", "-q", "-m", "begin"]);
        std::fs::create_dir_all(stage.path("tries")).unwrap();
        std::fs::create_dir_all(stage.path("state")).unwrap();
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
            .args(args)
            .current_dir(self.repo())
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn ledger(&self) -> Ledger {
        self.try_ledger().unwrap()
    }

    pub(crate) fn try_ledger(&self) -> Result<Ledger, callboard_ledger::OpenError> {
        let key_path = Some(self.path("state/board.db.key"));
        Ledger::connect(&self.store, Options { key_path, ..Options::default() })
    }

    pub(crate) fn asking<'a>(&self, ledger: &'a Ledger) -> Asking<'a> {
        Asking::new(ledger, Actor::new(ActorClass::Operator, "ann"), jiff::Timestamp::now().into())
    }

    /// Adds a task of the repository.
    pub(crate) fn add(&self, title: &str, change: impl FnOnce(&mut TaskRequest)) -> EntityId {
        let ledger = self.ledger();
        let mut request = TaskRequest {
            title: title.to_owned(),
            repo: Some(self.repo().to_str().unwrap().to_owned()),
            ..TaskRequest::default()
        };
        change(&mut request);
        self.asking(&ledger).add(NewTask::read(&request, ActorClass::Operator).unwrap()).unwrap()
    }

    pub(crate) fn callboard(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callboard"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("CALLBOARD_STORE", &self.store)
            .env("CALLBOARD_KEY", self.path("state/board.db.key"))
            .env("TRIES", self.path("tries"))
            .env("CALLBOARD", env!("CARGO_BIN_EXE_callboard"))
            .current_dir(self.dir.path());
        command
    }

    /// What the program writes, if it ends well.
    #[track_caller]
    pub(crate) fn well(&self, args: &[&str]) -> String {
        let output = self.callboard(args).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The arguments of a worker whose agent is the script of this stage.
    fn work_args<'a>(&self, concurrency: &'a str, script: &'a str) -> Vec<&'a str> {
        let mut args =
            vec!["work", "--once", "--lease", "3s", "--retry-pause", "200ms", "--concurrency", concurrency];
        args.extend(["--", "/bin/sh", "-c", script, "agent", "{title}", "{prompt}"]);
        args
    }

    /// Works until nothing is left to do.
    pub(crate) fn work(&self, concurrency: &str, script: &str) -> Output {
        let child = self.start_work(concurrency, script);
        finish(child)
    }

    /// Starts a worker that works until nothing is left to do.
    pub(crate) fn start_work(&self, concurrency: &str, script: &str) -> Child {
        let mut command = self.callboard(&self.work_args(concurrency, script));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The same on a host of this name, without anybody who reads what it says.
    pub(crate) fn start_silent_work_on(&self, host: &str, concurrency: &str, script: &str) -> Child {
        let work = self.callboard(&self.work_args(concurrency, script));
        let mut command = Command::new("unshare");
        // Who is not root gets a name of the host only with a user of its own.
        let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["--map-root-user"] };
        command.args(user).args(["--uts", "--", "/bin/sh", "-c", "hostname \"$0\" && exec \"$@\"", host]);
        command.arg(work.get_program()).args(work.get_args()).env_clear();
        command.envs(work.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Starts a worker that works until it is ended.
    pub(crate) fn start_lasting_work(&self, script: &str) -> Child {
        let mut command = self.callboard(&["work", "--lease", "3s", "--", "/bin/sh", "-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn tasks(&self) -> Vec<Stored> {
        let all = self.ledger().entities(Listing { kind: Some(Kind::Task), ended: true, limit: 0 });
        all.unwrap()
    }

    pub(crate) fn task(&self, id: EntityId) -> Stored {
        self.ledger().entity(id).unwrap().unwrap()
    }

    pub(crate) fn state(&self, id: EntityId) -> TaskState {
        task::state(&self.task(id).entity).unwrap()
    }

    pub(crate) fn facts(&self, id: EntityId) -> Facts {
        self.task(id).entity.facts
    }

    /// Why a task is where it is, for a message.
    pub(crate) fn why(&self, id: EntityId) -> String {
        let stored = self.task(id);
        let reasons: Vec<String> =
            stored.entity.reasons.iter().map(|r| format!("{}: {}", r.code, r.message)).collect();
        let title = stored.entity.facts.read(fact::TITLE).unwrap_or_default();
        format!("{id} {title:?} is {:?}: {}", task::state(&stored.entity), reasons.join("; "))
    }

    /// Waits until something holds.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !holds(self) {
            assert!(since.elapsed() < LONG, "{what} did not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Waits for a process that ends by itself.
pub(crate) fn finish(mut child: Child) -> Output {
    let since = Instant::now();
    // What it says is read while it runs, or a full pipe would hold it up.
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reading = [
        std::thread::spawn(move || out.map(read_all).unwrap_or_default()),
        std::thread::spawn(move || err.map(read_all).unwrap_or_default()),
    ];
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if since.elapsed() > LONG {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let [stdout, stderr] = reading.map(|thread| thread.join().unwrap());
    Output { status, stdout, stderr }
}

fn read_all(mut from: impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    bytes
}

/// The files of a directory, as far as they are plain.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
