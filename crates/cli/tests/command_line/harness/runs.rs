//! Runs that go on while a test looks at them.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::shelf::Shelf;

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program itself, for scripts that call it.
pub(crate) const CALLBOARD: &str = env!("CARGO_BIN_EXE_callboard");

/// Starts it with its output piped.
#[expect(
    clippy::disallowed_methods,
    reason = "the test does something to the program while it runs, and waits for it"
)]
pub(crate) fn begin(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Starts a run in the background and gives its id.
pub(crate) fn detached(shelf: &Shelf, arguments: &[&str]) -> String {
    shelf.well(&[&["run", "--detach"], arguments].concat()).trim_end().to_owned()
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
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads from the program until it has written this.
#[track_caller]
pub(crate) fn read_until(from: &mut impl Read, wanted: &str) -> String {
    let (mut said, mut bytes) = (Vec::new(), [0; 1024]);
    until(wanted, || {
        let count = from.read(&mut bytes).unwrap_or_default();
        said.extend_from_slice(&bytes[..count]);
        String::from_utf8_lossy(&said).contains(wanted).then_some(())
    });
    String::from_utf8_lossy(&said).into_owned()
}

/// The run as `inspect` shows it.
pub(crate) fn view(shelf: &Shelf, id: &str) -> Value {
    shelf.json(&["inspect", id, "--json"])
}

/// The run of this title, if it is recorded.
pub(crate) fn titled(shelf: &Shelf, title: &str) -> Option<Value> {
    let ran = shelf.run(&["ps", "session", "--all", "--json"]);
    let items: Value = serde_json::from_str(&ran.stdout).ok()?;
    items["items"].as_array()?.iter().find(|item| item["title"] == title).cloned()
}

/// The one run of the store.
pub(crate) fn only(shelf: &Shelf) -> Value {
    let items = shelf.json(&["ps", "session", "--all", "--json"]);
    let [item] = items["items"].as_array().map_or(&[][..], Vec::as_slice) else {
        panic!("not one run: {items}")
    };
    item.clone()
}

/// The code of its first reason.
pub(crate) fn reason(view: &Value) -> &str {
    view["state"]["reasons"][0]["code"].as_str().unwrap_or_default()
}

/// Sends a signal to a process that the test started, or that it knows by its record.
pub(crate) fn send(signal: &str, pid: u64) {
    let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} to {pid}");
}

/// The pid of its supervisor.
pub(crate) fn supervisor(view: &Value) -> u64 {
    view["facts"]["supervisor"]["pid"].as_u64().unwrap_or_else(|| panic!("{view}"))
}

/// Who carries this in the environment and has not ended.
pub(crate) fn carriers(token: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        environment.windows(token.len()).any(|window| window == token.as_bytes()) && !stat.contains(") Z ")
    };
    pids.filter(|pid| *pid != std::process::id() && carries(pid)).collect()
}
