//! `wait` for several runs: no success hides a failure.

use callboard_kernel::{Facts, Value};
use callboard_lifecycle::session::SessionState;

use crate::harness::shelf::{Shelf, begin, go, record, session};

/// Every end with the reason it has and the code its shell is told.
const ENDS: [(SessionState, &str, i32); 6] = [
    (SessionState::Completed, "run.completed.ok", 0),
    (SessionState::Failed, "run.failed.exit_nonzero", 3),
    (SessionState::Failed, "run.failed.exit_nonzero", 1),
    (SessionState::TimedOut, "run.timed_out.deadline", 124),
    (SessionState::Aborted, "run.aborted.sigint", 130),
    (SessionState::Cancelled, "run.cancelled.sigterm", 143),
];

#[test]
fn waiting_for_two_runs_ends_with_0_only_if_both_did() {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    // Two runs for each end, so that every pair is of two runs.
    for (number, (state, code, shell)) in ENDS.into_iter().chain(ENDS).enumerate() {
        let (id, second) = (session(number as u64), number as i64 * 10);
        record(&ledger, id, second, begin(SessionState::Pending, Facts::none()));
        record(
            &ledger,
            id,
            second + 1,
            go(SessionState::Running, "run.started.ok", "started", "pid 1", Facts::none()),
        );
        let facts = Facts::none()
            .with("shell_code", Value::Int(shell.into()))
            .with("timeout_s", Value::Int(1))
            .with("elapsed_s", Value::Int(1));
        record(&ledger, id, second + 2, go(state, code, "it ended", "wait status", facts));
    }
    drop(ledger);
    for (one, (_, _, first)) in ENDS.into_iter().enumerate() {
        for (two, (_, _, second)) in ENDS.into_iter().enumerate() {
            let ids = [session(one as u64).to_string(), session((ENDS.len() + two) as u64).to_string()];
            let ran = shelf.run(&["wait", &ids[0], &ids[1]]);
            let expected = if first == 0 { second } else { first };
            assert_eq!(ran.code, Some(expected), "{first} and {second}: {}", ran.stdout);
            assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
        }
    }
}

#[test]
fn a_run_that_has_not_ended_in_time_is_named_and_the_others_are_told() {
    let shelf = Shelf::empty();
    let waits = crate::harness::runs::detached(&shelf, &["--", "sleep", "60"]);
    let fails = crate::harness::runs::detached(&shelf, &["--", "sh", "-c", "exit 3"]);
    assert_eq!(shelf.run(&["wait", &fails]).code, Some(3));
    let ran = shelf.run(&["wait", "--timeout", "200ms", &waits, &fails]);
    shelf.run(&["stop", "--now", &waits]);
    assert_eq!(ran.code, Some(124), "{}", ran.stdout);
    assert!(ran.stdout.contains("has not ended") && ran.stdout.contains("exited with 3"), "{}", ran.stdout);
}
