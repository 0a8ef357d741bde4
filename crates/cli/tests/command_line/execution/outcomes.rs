//! Every outcome of a run, on the real binary: its exit code, its reason, its evidence, its delivery, its chain and its
//! closing line, in one table.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::harness::shelf::Shelf;

/// What is done to a run while it goes on.
#[derive(Clone, Copy)]
enum Deed {
    /// Nothing.
    Wait,
    /// This signal reaches the supervisor when the command has said that it is there.
    Signal(i32),
    /// An operator stops it.
    Stop,
}

struct Case {
    name: &'static str,
    options: &'static [&'static str],
    script: &'static str,
    deed: Deed,
    code: i32,
    state: &'static str,
    reason: &'static str,
    evidence: &'static str,
    delivery: Option<&'static str>,
    chain: &'static str,
    closing: &'static str,
}

const PLAIN: Case = Case {
    name: "",
    options: &[],
    script: "exit 0",
    deed: Deed::Wait,
    code: 0,
    state: "completed",
    reason: "run.completed.ok",
    evidence: "exit code 0",
    delivery: None,
    chain: "Completed",
    closing: "✓ Completed",
};

const CASES: &[Case] = &[
    Case { name: "clean", ..PLAIN },
    Case {
        name: "own code",
        script: "echo broken >&2; exit 7",
        code: 7,
        state: "failed",
        reason: "run.failed.exit_nonzero",
        evidence: "its last words: broken",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · exited with 7",
        ..PLAIN
    },
    Case {
        name: "an error on stdout",
        script: "echo Failed to authenticate; echo 'Reading additional input from stdin...' >&2; exit 1",
        code: 1,
        state: "failed",
        reason: "run.failed.exit_nonzero",
        evidence: "the end of its output: Failed to authenticate",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · exited with 1",
        ..PLAIN
    },
    Case {
        name: "an agent that reports success and exits with 3",
        options: &["--adapter", "claude"],
        script: r#"echo '{"type":"result","subtype":"success","result":"done"}'; exit 3"#,
        code: 3,
        state: "failed",
        reason: "run.failed.exit_nonzero",
        evidence: "claude reported that it completed, but the exit code is 3; the exit code decides",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · exited with 3",
        ..PLAIN
    },
    Case {
        name: "an agent that was denied a tool",
        options: &["--adapter", "claude"],
        script: r#"echo '{"type":"result","subtype":"success","permission_denials":[{"tool_name":"Bash"}]}'"#,
        reason: "run.completed.denied",
        evidence: "claude reported that it completed, and the exit code is 0",
        chain: "Completed · Denied (Bash)",
        ..PLAIN
    },
    Case {
        name: "aider, whose exit code is 0 after a failure",
        options: &["--adapter", "aider"],
        script: "echo 'litellm.AuthenticationError: the key is not valid'",
        code: 1,
        state: "failed",
        reason: "run.failed.provider_nonretryable",
        evidence: "but the exit code is 0; the agent's report decides",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · it is not logged in",
        ..PLAIN
    },
    Case {
        name: "a 124 of its own is no timeout",
        script: "exit 124",
        code: 124,
        state: "failed",
        reason: "run.failed.exit_nonzero",
        evidence: "exit code 124",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · exited with 124",
        ..PLAIN
    },
    Case {
        name: "signal",
        script: "kill -SEGV $$",
        code: 139,
        state: "failed",
        reason: "run.failed.signal",
        evidence: "signal 11 (SEGV)",
        chain: "Failed · Infra OK",
        closing: "✗ Failed · ended by signal 11 (SEGV), which nobody here sent",
        ..PLAIN
    },
    Case {
        name: "deadline",
        options: &["--timeout", "300ms", "--grace", "1s"],
        script: "sleep 60",
        code: 124,
        state: "timed_out",
        reason: "run.timed_out.deadline",
        evidence: "signal 15 (TERM)",
        chain: "Timed out",
        closing: "⧗ Timed out · ran for 0.3s, the bound is 0.3s",
        ..PLAIN
    },
    Case {
        name: "deadline, and it ignores TERM",
        options: &["--timeout", "300ms", "--grace", "200ms"],
        script: "trap '' TERM; echo there; while :; do sleep 0.05; done",
        code: 124,
        state: "timed_out",
        reason: "run.timed_out.deadline",
        evidence: "KILL was needed, 0 of its processes left",
        chain: "Timed out",
        closing: "⧗ Timed out",
        ..PLAIN
    },
    Case {
        name: "silence",
        options: &["--idle-timeout", "300ms", "--grace", "1s"],
        script: "echo there; exec sleep 60",
        code: 124,
        state: "timed_out",
        reason: "run.timed_out.silence",
        evidence: "signal 15 (TERM)",
        chain: "Timed out",
        closing: "⧗ Timed out · silent for 0.3s",
        ..PLAIN
    },
    Case {
        name: "no first output",
        options: &["--first-output-timeout", "300ms", "--grace", "1s"],
        script: "sleep 60",
        code: 124,
        state: "timed_out",
        reason: "run.timed_out.first_output",
        evidence: "signal 15 (TERM)",
        chain: "Timed out",
        closing: "⧗ Timed out · not heard of for 0.3s",
        ..PLAIN
    },
    Case {
        name: "int from a program is not ctrl-c",
        script: "echo there; exec sleep 60",
        deed: Deed::Signal(2),
        code: 143,
        state: "cancelled",
        reason: "run.cancelled.signal",
        evidence: "signal 2 (INT)",
        chain: "Cancelled",
        closing: "⊘ Cancelled · its supervisor received SIGINT from pid",
        ..PLAIN
    },
    Case {
        name: "quit from a program is not ctrl-\\",
        script: "ulimit -c 0; echo there; exec sleep 60",
        deed: Deed::Signal(3),
        code: 143,
        state: "cancelled",
        reason: "run.cancelled.signal",
        evidence: "signal 3 (QUIT)",
        chain: "Cancelled",
        closing: "⊘ Cancelled · its supervisor received SIGQUIT from pid",
        ..PLAIN
    },
    Case {
        name: "hup from a program is no closed terminal",
        script: "echo there; exec sleep 60",
        deed: Deed::Signal(1),
        code: 143,
        state: "cancelled",
        reason: "run.cancelled.signal",
        evidence: "signal 15 (TERM)",
        chain: "Cancelled",
        closing: "⊘ Cancelled · its supervisor received SIGHUP from pid",
        ..PLAIN
    },
    Case {
        name: "term to the supervisor",
        script: "echo there; exec sleep 60",
        deed: Deed::Signal(15),
        code: 143,
        state: "cancelled",
        reason: "run.cancelled.sigterm",
        evidence: "signal 15 (TERM)",
        chain: "Cancelled",
        closing: "⊘ Cancelled · its supervisor received SIGTERM from pid",
        ..PLAIN
    },
    Case {
        name: "operator",
        script: "echo there; exec sleep 60",
        deed: Deed::Stop,
        code: 143,
        state: "cancelled",
        reason: "run.cancelled.operator",
        evidence: "signal 15 (TERM)",
        chain: "Cancelled",
        closing: "⊘ Cancelled · stopped by an operator (ann)",
        ..PLAIN
    },
    Case {
        name: "delivered",
        options: &["--expect", "review.md"],
        script: "echo fine > review.md",
        evidence: "5 bytes, blake3",
        delivery: Some("passed"),
        chain: "Completed",
        ..PLAIN
    },
    Case {
        name: "missing artifact",
        options: &["--expect", "review.md"],
        code: 1,
        state: "failed",
        reason: "run.failed.missing_artifact",
        evidence: "does not exist",
        delivery: Some("missing"),
        chain: "Failed · review.md missing",
        closing: "✗ Failed · review.md missing",
        ..PLAIN
    },
    Case {
        name: "optional artifact missing",
        options: &["--expect", "review.md", "--expect", "notes.md:optional"],
        script: "echo fine > review.md",
        evidence: "5 bytes, blake3",
        delivery: Some("partial"),
        chain: "Completed · notes.md missing",
        ..PLAIN
    },
    Case {
        name: "missing artifact after a failure keeps its reason",
        options: &["--expect", "review.md"],
        script: "exit 9",
        code: 9,
        state: "failed",
        reason: "run.failed.exit_nonzero",
        evidence: "exit code 9",
        delivery: Some("missing"),
        chain: "Failed · review.md missing",
        closing: "✗ Failed · exited with 9",
        ..PLAIN
    },
];

#[test]
fn every_outcome_has_its_code_reason_evidence_delivery_chain_and_closing_line() {
    let mut wrong = Vec::new();
    for case in CASES {
        if let Err(difference) = check(case) {
            wrong.push(format!("{}: {difference}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(case: &Case) -> Result<(), String> {
    let shelf = Shelf::empty();
    let (code, closing) = perform(&shelf, case);
    let items = shelf.json(&["ps", "session", "--all", "--json"]);
    let view = &items["items"][0];
    let reason = &view["state"]["reasons"][0];
    let evidence = reason["evidence"].to_string();
    let mut wrong = Vec::new();
    let mut differ = |what: &str, is: String, should: String| {
        if is != should {
            wrong.push(format!("{what} is {is:?} and should be {should:?}"));
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    differ("the exit code", format!("{code:?}"), format!("{:?}", Some(case.code)));
    differ("the state", text(&view["state"]["lifecycle"]), case.state.to_owned());
    differ("the reason", text(&reason["code"]), case.reason.to_owned());
    differ("the delivery", text(&view["state"]["delivery"]), case.delivery.unwrap_or("nothing").to_owned());
    differ("the chain", text(&view["chain"]), case.chain.to_owned());
    if !evidence.contains(case.evidence) {
        wrong.push(format!("the evidence is {evidence}"));
    }
    if !closing.starts_with(case.closing) {
        wrong.push(format!("the closing line is {closing:?}"));
    }
    if view["facts"]["leftovers"] != 0 {
        wrong.push(format!("left behind: {}", view["facts"]["leftovers"]));
    }
    let verified = shelf.run(&["verify"]);
    if verified.code != Some(0) {
        wrong.push(format!("verify: {}", verified.stdout));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// Runs it to the end: its exit code, and its closing line.
#[expect(clippy::disallowed_methods, reason = "the test signals the program while it runs, and waits for it")]
fn perform(shelf: &Shelf, case: &Case) -> (Option<i32>, String) {
    let arguments = [&["run"], case.options, &["--", "sh", "-c", case.script]].concat();
    let mut command = shelf.command(&arguments);
    command.current_dir(shelf.file("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{error}"));
    match case.deed {
        Deed::Wait => {}
        Deed::Signal(signal) => {
            wait_for_output(&mut child);
            signal_to(&child, signal);
        }
        Deed::Stop => {
            wait_for_output(&mut child);
            let items = shelf.json(&["ps", "session", "--json"]);
            let id = items["items"][0]["id"].as_str().unwrap_or_default().to_owned();
            let stopped = shelf.run(&["stop", &id]);
            assert_eq!(stopped.code, Some(0), "{}{}", stopped.stdout, stopped.stderr);
        }
    }
    let output = child.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said.lines().last().unwrap_or_default().to_owned())
}

fn wait_for_output(child: &mut Child) {
    let mut line = String::new();
    let Some(stdout) = child.stdout.as_mut() else { panic!("stdout is piped") };
    BufReader::new(stdout).read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(line, "there\n");
}

fn signal_to(child: &Child, signal: i32) {
    let sent =
        std::process::Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()));
}
