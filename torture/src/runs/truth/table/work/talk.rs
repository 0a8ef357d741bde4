//! What agents say on the way: that they wait, retry, loop, are limited or were denied something; in a stream, or in the bytes
//! that a program at a terminal prints.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::runs::truth::play::{Play, patience, until};
use crate::runs::truth::row::{
    Alive, End, How, RUNGS, Row, Rung, Said, Start, Step, Way, Whom, argv, run, there,
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/agents/tests/fixtures");
const TALKING: Alive = Alive::WORKING
    .health(&["ok", "running", "degraded"])
    .phase(&["starting", "working", "waiting", "draining", "stopping"]);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        rows.extend(conditions(rung));
        rows.extend(terminals(rung));
        rows.extend(ends(rung));
    }
    rows
}

/// A stream that says something and then waits at the gate; its end is that of a clean one.
fn conditions(rung: Rung) -> Vec<Row> {
    let clean = format!("{FIXTURES}/claude/clean.jsonl");
    let claude = |words: &str, options: &[&str]| {
        let script = format!("head -n 1 {clean}; {words}; read _ < go; tail -n +2 {clean}; exit 0");
        there(&script).with(&["--adapter", "claude"]).with(options).rung(rung).way(Way::Detached)
    };
    let retries = "for n in 1 2 3 4 5 6 7 8 9; do echo '{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":'$n',\
                   \"max_retries\":10,\"retry_delay_ms\":600,\"error_status\":401,\"error\":\"authentication_failed\"}'; done";
    let limit = "echo '{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":'\
                 $(( $(date +%s) + 3600 ))',\"rateLimitType\":\"five_hour\"}}'";
    let tool = "echo '{\"type\":\"assistant\",\"message\":{\"id\":\"msg_9\",\"type\":\"message\",\"role\":\"assistant\",\
                \"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_9\",\"name\":\"Bash\",\"input\":{}}],\
                \"stop_reason\":null,\"usage\":{\"input_tokens\":4,\"output_tokens\":1}},\"parent_tool_use_id\":null}'";
    let says = |name: &str, start: Start, words: &'static [&'static str]| {
        let row = Row::new(name, start, End::completed()).may(TALKING);
        row.then(Step::Say(Said::default().words(words)))
            .then(Step::Only(TALKING.living()))
            .then(Step::Hold(Duration::from_millis(300)))
            .then(Step::Only(TALKING))
            .then(Step::Go)
    };
    let in_tool =
        Row::new("a tool takes longer than the silence bound", claude(tool, &["--idle-timeout", "1s"]), {
            End::completed()
        });
    let opencode = format!("cat {FIXTURES}/opencode/looping.jsonl; : > talked; read _ < go; exit 4");
    let opencode = there(&opencode).with(&["--adapter", "opencode"]).rung(rung).way(Way::Detached);
    let mut looping = says("opencode takes the same step again and again", opencode, &["run.health.looping"]);
    // Each of its steps says that the stream of the provider broke off.
    looping.end = Some(End { codes: vec!["run.failed.provider_retryable"], ..End::exited(4) });
    vec![
        says("claude is refused nine times", claude(retries, &[]), &["run.health.retrying", "Retrying (9"])
            .shows(),
        says("claude waits for its limit", claude(limit, &[]), &["run.health.limited"]).shows(),
        in_tool.may(TALKING).then(Step::Hold(Duration::from_millis(2500))).then(Step::Go),
        looping,
    ]
}

/// Programs at a terminal that say in its bytes that they wait.
fn terminals(rung: Rung) -> Vec<Row> {
    const CODEX: &str = "printf '\\033[?1049h\\033]7501;state=blocked:app=codex:kind=permission\\007'; : > there; \
                         read _ < go; printf '\\033]7501;state=working:app=codex\\007\\033[?1049l'; : > on; until read _ < go; do :; done; exit 0";
    const GEMINI: &str = "printf '\\033]0;✋  Action Required (app)\\007'; : > there; read _ < go; \
                          printf '\\033]0;✦  Working… (app)\\007'; : > on; until read _ < go; do :; done; exit 0";
    const KILLED: &str = "printf '\\033[?1049h\\033[?1000h\\033[?25l'; echo $$ > command; : > there; while :; do sleep 600; done";
    let seat = |name: &str| Start { is_gated: true, ..argv(&[name]) }.rung(rung).way(Way::Terminal);
    let waits = |name: &str, program: &str| {
        Row::new(name, seat(program), End::completed())
            .may(TALKING)
            .then(Step::Say(Said::default().words(&["run.health.waiting", "Waiting"])))
            .then(Step::Go)
            .then(Step::Await("on"))
            .then(Step::Say(Said::health("running")))
            .then(Step::Go)
    };
    let killed =
        Row::new("a program is killed that had changed the terminal", seat("./tui"), End::signaled(9));
    vec![
        waits("codex says at its terminal that it waits", "./codex")
            .before(|play| program(play, "codex", CODEX)),
        waits("gemini says in its title that it waits", "./gemini")
            .before(|play| program(play, "gemini", GEMINI)),
        killed
            .before(|play| program(play, "tui", KILLED))
            .then(Step::Signal(Whom::Command, 9))
            .does(is_restored),
    ]
}

/// How streams end that say more than done or failed.
fn ends(rung: Rung) -> Vec<Row> {
    let plays = |program: &str, file: &str, code: i32| {
        let script = format!("cat {FIXTURES}/{program}/{file}; exit {code}");
        run(&script).with(&["--adapter", program]).rung(rung)
    };
    let failed = |code: &'static str| End::failed(code, 1).how(How::Code(0));
    let denied = End { codes: vec!["run.completed.denied"], ..End::completed() };
    let denied = denied.health(&["degraded"]).says(&["denied", "Bash"]);
    let cut = End::failed("run.failed.exception", 1).or("run.failed.output_limit");
    let plain = Row::new("claude prints its error as text", argv(&["./claude", "-p", "do it"]).rung(rung), {
        End::exited(1).says(&["API Error: 401 the key is not valid"])
    });
    let provider = || failed("run.failed.provider_nonretryable").or("run.failed.provider_retryable");
    let login = || provider().or("run.failed.exception");
    let row = |name: &str, start: Start, end: End| Row::new(name, start, end).may(TALKING);
    vec![
        row("claude was denied a tool", plays("claude", "denied.jsonl", 0), denied),
        row(
            "claude reaches its output limit",
            plays("claude", "output_limit.jsonl", 1),
            cut.never(&["provider_"]),
        ),
        row(
            "qwen exits with 0 after an error",
            plays("qwen", "api_error.jsonl", 0),
            provider().or("run.failed.exception"),
        ),
        row("aider exits with 0 without a login", plays("aider", "not_logged_in.txt", 0), login()),
        plain
            .may(TALKING)
            .before(|play| program(play, "claude", "echo 'API Error: 401 the key is not valid'; exit 1")),
    ]
}

/// Writes a program of this name into the directory of the run.
fn program(play: &Play<'_>, name: &str, script: &str) -> Result<()> {
    let path = play.path(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

/// What the program had set is taken back, so that the terminal can be used.
fn is_restored(play: &Play<'_>) -> Result<()> {
    let restored = || {
        let screen = play.screen();
        ["\u{1b}[?1049l", "\u{1b}[?1000l", "\u{1b}[?25h"]
            .iter()
            .all(|word| screen.contains(word))
            .then_some(())
    };
    until(patience(), restored)?.with_context(|| format!("the terminal is left as {:?}", play.screen()))
}
