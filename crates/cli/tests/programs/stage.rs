//! The place of one run: a home, a directory, a store and a model.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::model::{Act, ModelServer};
use crate::program::{Launch, Program};

/// Longer than any program takes to start on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What is shorter is no pause between two tries, and what is longer is a bound.
const HURRIED_TIMERS: &str = "const wait = globalThis.setTimeout;\n\
    globalThis.setTimeout = (run, ms, ...rest) =>\n\
    wait(run, ms >= 500 && ms <= 45000 ? ms / 100 : ms, ...rest);\n";
const HURRIED_SLEEP: &str = "import time\n\
    _sleep = time.sleep\n\
    time.sleep = lambda seconds: _sleep(seconds / 100)\n";

pub(crate) const CALLBOARD: &str = env!("CARGO_BIN_EXE_callboard");

pub(crate) struct Stage {
    pub(crate) program: Program,
    /// Where the program is installed.
    pub(crate) place: PathBuf,
    pub(crate) model: ModelServer,
    directory: tempfile::TempDir,
}

impl Stage {
    /// Sets it; none, said aloud, if the program was not installed for the tests.
    pub(crate) fn set(program: Program, act: Act) -> Option<Self> {
        Self::set_in(program, act, &std::env::temp_dir())
    }

    /// The same, in a directory of this one.
    pub(crate) fn set_in(program: Program, act: Act, above: &Path) -> Option<Self> {
        let Some(place) = program.place() else {
            let (name, variable) = (program.name(), program.variable());
            eprintln!(
                "skipped: {variable} names no {name}; `cargo xtask test nextest` installs it and runs this"
            );
            return None;
        };
        let directory =
            tempfile::tempdir_in(above).unwrap_or_else(|error| panic!("no temporary directory: {error}"));
        // In a directory of its own, which a sandbox hides as a whole.
        let state = std::fs::create_dir(directory.path().join("state"));
        assert!(state.is_ok(), "{state:?}");
        let model = ModelServer::start(act).unwrap_or_else(|error| panic!("no loopback server: {error}"));
        Some(Self { program, place, model, directory })
    }

    /// Where the program works.
    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// The command line of the program.
    pub(crate) fn command_line(&self) -> Vec<std::ffi::OsString> {
        self.program.command_line(&self.place)
    }

    /// A run of this command line, in the surroundings of the program. `before` starts the program `callboard` itself.
    pub(crate) fn run(&self, before: &[&str], options: &[&str], line: &[std::ffi::OsString]) -> Command {
        let words = [before, &[CALLBOARD]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("--store").arg(self.store());
        command.args(["run", "--adapter", "auto", "--grace", "2s"]).args(options).arg("--").args(line);
        let mut command = self.surrounded(command);
        command.stdin(Stdio::null());
        command
    }

    /// A command in the surroundings of the program.
    pub(crate) fn surrounded(&self, mut command: Command) -> Command {
        let home = self.directory.path().join("home");
        let (work, url) = (self.work(), self.model.url());
        let launch = Launch { home: &home, work: &work, url: &url };
        self.program
            .surround(&mut command, &launch)
            .unwrap_or_else(|error| panic!("{} has no place to work: {error}", self.program.name()));
        command
    }

    /// Has the program wait a hundredth of what it would between two tries, if it is a script.
    pub(crate) fn hurry(&self, command: &mut Command) {
        let place = self.directory.path().join("hurry");
        let write = |name: &str, text: &str| std::fs::write(place.join(name), text);
        let written = std::fs::create_dir_all(&place)
            .and_then(|()| write("hurry.cjs", HURRIED_TIMERS))
            .and_then(|()| write("sitecustomize.py", HURRIED_SLEEP));
        assert!(written.is_ok(), "{written:?}");
        command.env("NODE_OPTIONS", format!("--require={}", place.join("hurry.cjs").display()));
        command.env("PYTHONPATH", place);
    }

    /// What `callboard` says to these words.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let mut command = Command::new(CALLBOARD);
        command.arg("--store").arg(self.store()).args(words).stdin(Stdio::null());
        command.env_clear().env("HOME", self.directory.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The runs of the store, the newest first.
    pub(crate) fn views(&self) -> Vec<Value> {
        let items: Value =
            serde_json::from_str(&self.ask(&["ps", "session", "--all", "--json"])).unwrap_or_default();
        items["items"].as_array().cloned().unwrap_or_default()
    }

    /// The one run of the store.
    pub(crate) fn view(&self) -> Value {
        self.views().into_iter().next().unwrap_or_default()
    }

    /// Waits until the model was asked; a program that never asks fails the test.
    pub(crate) fn wait_for_request(&self, child: &mut Child) {
        let deadline = Instant::now() + PATIENCE;
        while !self.model.is_asked_within(Duration::from_millis(100)) {
            let ended = child.try_wait().ok().flatten();
            assert!(ended.is_none(), "it ended with {ended:?} before it asked the model; {}", self.view());
            assert!(Instant::now() < deadline, "the model was never asked: {:?}", self.model.requests());
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.path().join("state/store.db")
    }
}

/// Starts it with its output in files, so that nobody has to read while it runs.
#[expect(
    clippy::disallowed_methods,
    reason = "the test does something to the program while it runs, and waits for it"
)]
pub(crate) fn begin(command: &mut Command, output: &Path) -> Child {
    let open =
        |name: &str| std::fs::File::create(output.join(name)).unwrap_or_else(|error| panic!("{error}"));
    command.stdout(open("stdout")).stderr(open("stderr"));
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Asks until there is an answer; none within the patience is a failure.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what} did not come to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process that the test knows by its record or by its environment.
pub(crate) fn send(signal: &str, pid: u64) {
    let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} to {pid}");
}

/// The processes that belong to a run by their environment and have not ended, each with its command line.
pub(crate) fn processes(run: &str) -> Vec<(u64, String)> {
    let token = format!("CALLBOARD_RUN={run}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let of = |pid: u64| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let is_it = environment.split(|byte| *byte == 0).any(|entry| entry == token.as_bytes());
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (is_it && !stat.contains(") Z ")).then(|| (pid, line.replace('\0', " ")))
    };
    pids.filter_map(of).collect()
}
