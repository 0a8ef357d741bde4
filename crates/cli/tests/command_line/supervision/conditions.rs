//! What an agent is in while it runs, as its stream tells and every list shows.

use crate::harness::runs::{detached, until, view};
use crate::harness::shelf::Shelf;

/// A stream, and what the run is called while it goes on.
const CASES: [(&str, &str, &str); 3] = [
    (
        "claude",
        r#"for n in 1 2 3 4 5 6 7 8 9; do
            echo '{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}'
        done; sleep 60"#,
        "Running · Retrying (9, 401)",
    ),
    (
        "opencode",
        r#"for n in $(seq 253); do
            echo '{"type":"step_start","part":{}}'; echo '{"type":"step_finish","part":{"reason":"unknown"}}'
        done; sleep 60"#,
        "Running · Looping (253 steps)",
    ),
    (
        "claude",
        r#"echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'; sleep 60"#,
        "Running · Limited (until 2100-01-01 00:00 UTC)",
    ),
];

#[test]
fn an_agent_that_retries_loops_or_is_limited_says_so_everywhere() {
    let shelf = Shelf::empty();
    let start = |(adapter, script, chain)| {
        (detached(&shelf, &["--adapter", adapter, "--", "sh", "-c", script]), chain)
    };
    let runs: Vec<(String, &str)> = CASES.into_iter().map(start).collect();
    for (id, chain) in &runs {
        until(chain, || (view(&shelf, id)["chain"] == *chain).then_some(()));
    }
    let attention = shelf.run(&["attention"]).stdout;
    for (id, chain) in &runs {
        assert!(attention.contains(chain), "{attention}");
        shelf.run(&["stop", id, "--now"]);
    }
}
