//! What happens by itself under a server: somebody is told once, whoever dies meanwhile.

#[path = "../../../ledger/tests/common/cluster.rs"]
mod cluster;
#[path = "../command_line/harness/receiver.rs"]
#[expect(dead_code, reason = "the encrypted receiver is for other tests")]
mod receiver;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callboard_engine::{ServiceStatus, services};
use callboard_ledger::{Ledger, Options};
use cluster::Cluster;
use receiver::{Answer, Receiver, secret};
use serde_json::Value;

/// Far more than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A store, and somebody who wants to be told.
struct Board {
    dir: tempfile::TempDir,
    store: String,
    receiver: Receiver,
}

/// A server, ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Who is told: everybody who runs here, or the servers alone.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    Yes,
    No,
}

impl Board {
    fn new(store: Option<String>, answers: &[Answer]) -> Self {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let store = store.unwrap_or_else(|| dir.path().join("store/s.db").display().to_string());
        Self { dir, store, receiver: Receiver::start(answers) }
    }

    fn command(&self, words: &[&str], tells: Tells) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callboard"));
        command.args(words).stdin(Stdio::null()).current_dir(self.dir.path());
        command.env("CALLBOARD_STORE", &self.store).env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.env("XDG_CONFIG_HOME", self.dir.path().join("config"));
        if tells == Tells::Yes {
            command.env("CALLBOARD_WEBHOOK_URL", self.receiver.url());
            command.env("CALLBOARD_WEBHOOK_SECRET", secret());
        }
        command
    }

    fn run(&self, words: &[&str], tells: Tells) -> String {
        let output = self.command(words, tells).output().unwrap_or_else(|error| panic!("{error}"));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A run that fails, and its id.
    fn fail(&self, tells: Tells) -> String {
        self.run(&["run", "-q", "--report=report.json", "--", "sh", "-c", "exit 7"], tells);
        let said = std::fs::read_to_string(self.dir.path().join("report.json"));
        let said = said.unwrap_or_else(|error| panic!("{error}"));
        let ended: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        ended["id"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
    }

    fn serve(&self) -> Server {
        let words = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut command = self.command(&words, Tells::Yes);
        #[expect(clippy::disallowed_methods, reason = "a test ends the server it starts")]
        let spawned = command.stdout(Stdio::piped()).spawn();
        let mut server = Server(spawned.unwrap_or_else(|error| panic!("{error}")));
        let out = server.0.stdout.take().unwrap_or_else(|| panic!("no output"));
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
        assert!(line.starts_with('{'), "{line}");
        server
    }

    fn notifier(&self) -> Option<ServiceStatus> {
        let ledger = Ledger::open_reader(&self.store, &Options::default()).ok()?;
        services(&ledger).ok()?.into_iter().find(|service| service.name == "notifier")
    }

    /// Waits until the notifier is run by this server, or by any, and has dealt with the whole log.
    fn until_told(&self, by: Option<&Server>) -> ServiceStatus {
        let holder = by.map(|server| format!("process {} on ", server.0.id()));
        let is_his = |status: &ServiceStatus| {
            let held = status.holder.as_deref();
            held.is_some_and(|held| holder.as_deref().is_none_or(|holder| held.starts_with(holder)))
        };
        until("everything is told", || {
            self.notifier().filter(|status| {
                is_his(status) && status.lag == Some(0) && status.error.is_none() && status.position.is_some()
            })
        })
    }

    /// What arrived since the last look: how often each subject was told.
    fn arrived(&self) -> BTreeMap<String, usize> {
        let mut told = BTreeMap::new();
        for call in self.receiver.arrived() {
            *told.entry(call.json()["subject"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        told
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn once(ids: &[String]) -> BTreeMap<String, usize> {
    ids.iter().map(|id| (id.clone(), 1)).collect()
}

const OK: [Answer; 1] = [Answer::Status(204)];

#[test]
fn what_a_run_and_a_server_both_see_is_told_once() {
    let board = Board::new(None, &OK);
    let server = board.serve();
    board.until_told(Some(&server));
    let mut failed = Vec::new();
    for tells in [Tells::Yes, Tells::No, Tells::Yes] {
        failed.push(board.fail(tells));
    }
    board.until_told(Some(&server));
    assert_eq!(board.arrived(), once(&failed));
}

#[test]
fn the_death_of_a_supervisor_is_told_by_a_server_once() {
    let board = Board::new(None, &OK);
    let server = board.serve();
    board.until_told(Some(&server));
    let id = board.run(&["run", "--detach", "--", "sleep", "600"], Tells::No);
    let view: Value = serde_json::from_str(&board.run(&["inspect", &id, "--json"], Tells::No)).unwrap();
    let pid = view["facts"]["supervisor"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let pid = rustix::process::Pid::from_raw(pid.unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("its end is recorded", || {
        let view: Value = serde_json::from_str(&board.run(&["inspect", &id, "--json"], Tells::No)).ok()?;
        view["ended_at"].is_string().then_some(())
    });
    let call = board.receiver.call();
    assert_eq!(call.json()["subject"], id.as_str());
    board.until_told(Some(&server));
    assert_eq!(board.arrived(), BTreeMap::new(), "it was told twice");
}

/// Kills the server that runs the services while things fail; the other one tells what it did not.
fn taken_over(board: &Board) {
    let first = board.serve();
    board.until_told(Some(&first));
    let second = board.serve();
    let mut failed = vec![board.fail(Tells::No)];
    board.until_told(Some(&first));
    // SIGKILL: nothing is given up.
    drop(first);
    failed.extend((0..3).map(|_| board.fail(Tells::No)));
    board.until_told(Some(&second));
    failed.push(board.fail(Tells::No));
    board.until_told(Some(&second));
    assert_eq!(board.arrived(), once(&failed));
    let output = board.run(&["verify", "--json"], Tells::No);
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap()["ok"], true, "{output}");
}

#[test]
fn another_server_takes_over_from_one_that_was_killed_and_nothing_is_skipped() {
    taken_over(&Board::new(None, &OK));
}

#[test]
fn two_servers_on_one_database_tell_once_and_take_over() {
    let cluster = Cluster::start();
    taken_over(&Board::new(Some(cluster.database("board")), &OK));
}

#[test]
fn a_receiver_that_fails_is_seen_and_doctor_says_so() {
    let board = Board::new(None, &[Answer::Status(403)]);
    let server = board.serve();
    board.until_told(Some(&server));
    let id = board.fail(Tells::No);
    let status = until("the failure is recorded", || {
        board.notifier().filter(|status| status.error.as_deref().is_some_and(|error| error.contains("403")))
    });
    let (position, lag) = (status.position.unwrap(), status.lag.unwrap());
    assert!(lag > 0, "the position stays before what was not told: {position} of {}", position + lag);
    let doctor: Value = serde_json::from_str(&board.run(&["doctor", "--json"], Tells::No)).unwrap();
    let said = doctor["checks"].as_array().unwrap().iter().find(|check| {
        check["name"] == "service"
            && check["found"].as_str().is_some_and(|found| found.starts_with("notifier"))
    });
    let said = said.unwrap_or_else(|| panic!("{doctor}"));
    let found = said["found"].as_str().unwrap();
    assert_eq!(said["verdict"], "warning");
    assert!(found.contains("behind") && found.contains(&format!("process {} on ", server.0.id())), "{found}");
    assert!(!found.contains("hunter"), "{found}");
    assert_eq!(board.receiver.call().json()["subject"], id.as_str());
}

#[test]
fn a_server_does_not_start_with_settings_that_it_does_not_understand() {
    let board = Board::new(None, &OK);
    let place = board.dir.path().join("config/callboard");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("config.toml"), "[notify]\ndesktp = true\n").unwrap();
    let output = board.command(&["serve", "--listen", "127.0.0.1:0"], Tells::Yes).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("line 2: unknown field `desktp`"), "{told}");
}
