//! A small fleet on a made-up day, for what lists and details look like.

use callboard_kernel::{EntityId, Facts, Value};
use callboard_lifecycle::Kind;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::task::TaskState;

use crate::harness::shelf::{Shelf, at, begin, go, record, session};

/// Four runs and a task: completed, failed, at work, forgotten, and waiting to be opened.
pub(crate) fn fleet() -> Shelf {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    let titled = |title: &str| Facts::none().with("title", title);
    let start = |number, second, title: &str, data: Facts| {
        record(&ledger, session(number), second, begin(SessionState::Pending, titled(title)));
        let seen = "pid 4711 started";
        let order = go(SessionState::Running, "run.started.ok", "The command was started", seen, data);
        record(&ledger, session(number), second + 1, order);
    };
    start(1, 0, "tidy the changelog", Facts::none().with("host", "host-a"));
    let end = go(SessionState::Completed, "run.completed.ok", "It exited with 0", "exit code 0", exit(0));
    record(&ledger, session(1), 60, end);
    start(2, 120, "fix the login bug", Facts::none().with("host", "host-a"));
    let failed = go(
        SessionState::Failed,
        "run.failed.exit_nonzero",
        "The command exited with 2",
        "wait status: exit code 2, no signal",
        exit(2).with("delivery", "passed"),
    );
    record(&ledger, session(2), 300, failed);
    let lease = Facts::none().with("host", "host-b").with("lease_until", at(3_600).to_string());
    start(3, 400, "write the migration guide and check every link in it twice", lease);
    record(&ledger, session(4), 500, begin(SessionState::Pending, titled("review the parser")));
    let task = EntityId::new(Kind::Task, session(5).uuid());
    record(&ledger, task, 510, begin(TaskState::Planned, titled("plan the release")));
    shelf
}

fn exit(code: i64) -> Facts {
    Facts::none().with("exit_code", code).with("labels", Value::Map(Facts::none().with("team", "web")))
}

/// The moment the lists are looked at.
pub(crate) const LOOK: &str = "2025-03-01T12:10:00Z";
