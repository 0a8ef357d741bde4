//! Agents: what they say of themselves in their streams, against what their processes did.

use crate::runs::truth::row::{Alive, End, How, Row, Rung, Said, Step, Way, gated, run, there};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/agents/tests/fixtures");
const PROGRAMS: [&str; 7] = ["claude", "codex", "gemini", "opencode", "goose", "cursor", "amp"];
const TALKING: Alive = Alive::WORKING
    .health(&["ok", "running", "degraded"])
    .phase(&["starting", "working", "waiting", "draining"]);

/// Streams in which the agent says that it failed, whatever it exits with.
const FAILURES: [(&str, &str); 10] = [
    ("claude", "error_during_execution"),
    ("claude", "api_error_as_success"),
    ("claude", "max_turns"),
    ("claude", "refusal"),
    ("codex", "turn_failed"),
    ("codex", "usage_limit"),
    ("gemini", "error"),
    ("opencode", "error"),
    ("goose", "error"),
    ("amp", "max_turns"),
];

/// Streams that stop without an end.
const CUT: [(&str, &str); 6] = [
    ("claude", "cut"),
    ("claude", "no_result"),
    ("codex", "cut"),
    ("gemini", "cut"),
    ("opencode", "nothing"),
    ("goose", "no_complete"),
];

fn of_agent() -> End {
    let codes = [
        "run.failed.provider_retryable",
        "run.failed.provider_nonretryable",
        "run.failed.escalated",
        "run.failed.no_end_event",
        "run.failed.denied",
        "run.failed.output_limit",
    ];
    codes.into_iter().fold(End::failed("run.failed.exception", 1), End::or)
}

pub(crate) fn rows() -> Vec<Row> {
    let plays = |program: &str, case: &str, then: &str| {
        let script = format!("cat {FIXTURES}/{program}/{case}.jsonl; {then}");
        run(&script).with(&["--adapter", program])
    };
    let mut rows = Vec::new();
    for (number, program) in PROGRAMS.into_iter().enumerate() {
        let rung = if number % 2 == 0 { Rung::Group } else { Rung::Tree };
        let row = |name: &str, then: &str, end: End| {
            let start = plays(program, "clean", then).rung(rung);
            Row::new(format!("{program} completes and {name}"), start, end).may(TALKING)
        };
        // The process failed, so that is what is believed, and nothing may say the opposite.
        let contradicts = ["the report is believed"];
        rows.push(row("exits with 0", "exit 0", End::completed()));
        rows.push(row("exits with 3", "exit 3", End::exited(3).never(&contradicts)));
        let end = End::signaled(9).may_say("exited with").never(&contradicts);
        rows.push(row("is killed", "kill -9 $$", end));
    }
    for (program, case) in FAILURES {
        for (code, way) in [(0, Way::Foreground), (1, Way::Detached)] {
            let start = plays(program, case, &format!("exit {code}")).way(way);
            let end = of_agent().how(How::Code(code)).never(&["run.completed.ok"]);
            let row = Row::new(format!("{program}: {case}, exits with {code}"), start, end).may(TALKING);
            rows.push(if code == 0 { row.shows() } else { row });
        }
    }
    for (program, case) in CUT {
        let start = plays(program, case, "exit 0");
        let end = End::failed("run.failed.no_end_event", 1).how(How::Code(0)).never(&["run.completed.ok"]);
        rows.push(Row::new(format!("{program}: {case}, exits with 0"), start, end).may(TALKING));
    }
    rows.extend(waiting());
    rows
}

/// An agent that waits for a person says so, and nobody calls it plain running or kills it as silent.
fn waiting() -> Vec<Row> {
    let mut rows = Vec::new();
    for (program, options) in [("claude", &[][..]), ("goose", &[]), ("claude", &["--idle-timeout", "1s"])] {
        let script = format!("cat {FIXTURES}/{program}/waiting.jsonl; read _ < go; exit 5");
        let start = there(&script).with(&["--adapter", program]).with(options).way(Way::Detached);
        let name = format!("{program} waits for a person {}", options.join(" "));
        let end = of_agent().or("run.failed.exit_nonzero").exits(5);
        let row = Row::new(name, start, end).may(TALKING);
        rows.push(
            row.then(Step::Say(Said::default().words(&["run.health.waiting", "Waiting"])))
                .then(Step::Only(TALKING.living()))
                .then(Step::Hold(std::time::Duration::from_millis(if options.is_empty() {
                    200
                } else {
                    2500
                })))
                .then(Step::Only(TALKING))
                .then(Step::Go),
        );
    }
    let start = gated("exit 0").with(&["--adapter", "claude"]);
    let end = End::failed("run.failed.no_end_event", 1);
    rows.push(Row::new("claude prints nothing", start, end).may(TALKING).then(Step::Go));
    rows
}
