//! The endings: how a program is brought to each of them.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};

use serde_json::Value;

use crate::model::{Act, CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS};
use crate::program::Program;
use crate::screen::Screen;
use crate::stage::{Stage, begin, processes, send, until};
use crate::truth::{self, Truth};

/// What is done to a run, or what its model does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// The model answers, and nothing is promised.
    Clean,
    /// The model has the program write the file that the run promised.
    FileWritten,
    /// The model says that the file was written; last week's lies there.
    ClaimedFile,
    /// The provider refuses the key.
    Unauthorized,
    /// The provider refuses for the rate.
    RateLimited,
    /// The provider fails.
    ServerError,
    /// The provider refuses for the rate, however often a program that is patient asks.
    LastingRateLimit,
    /// The provider fails, however often a program that is patient asks.
    LastingServerError,
    /// Every answer breaks off, however often a program that is patient asks.
    LastingBreak,
    /// The provider does not know the model.
    WrongModel,
    /// The answer breaks off.
    BrokenStream,
    /// The answer is cut by the model's output limit.
    OutputLimit,
    /// One event of the answer is not JSON.
    GarbledEvent,
    /// The provider refuses the key, and the program prints text for people.
    PlainText,
    /// The answer stalls, and the run has a bound.
    Deadline,
    /// The answer stalls, and the run has a bound for its silence.
    Silence,
    /// The answer stalls, and an operator stops the run.
    OperatorStop,
    /// The answer stalls, and a person presses Ctrl-C at the terminal.
    CtrlC,
    /// The answer stalls, and somebody kills the program.
    ProgramKilled,
    /// The answer stalls, and somebody kills the supervisor.
    SupervisorKilled,
    /// The program runs a tool, and somebody kills that.
    ToolKilled,
}

const FILE: &str = "review.md";
const CTRL_C: &[u8] = b"\x03";

/// A tool that runs until it is killed, and the command that waits for it. Opencode never hears of the end of a command that
/// is killed itself.
const TOOL: &str = "tail -f /dev/null";
const COMMAND: &str = "tail -f /dev/null; echo ended";

/// Brings the program to the ending, and compares what is said with what is true.
pub(crate) fn play(program: Program, ending: Ending) {
    let Some(stage) = Stage::set(program, act(program, ending)) else { return };
    let output = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary directory: {error}"));
    let line = line(&stage, ending);
    let before: &[&str] = if ending == Ending::CtrlC { &["setsid", "--ctty"] } else { &[] };
    let mut command = stage.run(before, options(program, ending), &line);
    // Where a program never gives up, its run has a bound, and it may take its time.
    if ending.is_lasting() && !never_gives_up(program, ending) {
        stage.hurry(&mut command);
    }
    if ending == Ending::ClaimedFile {
        write_old_file(&stage.work().join(FILE));
    }
    let status = if ending == Ending::CtrlC {
        let mut screen = Screen::start(&mut command).unwrap_or_else(|error| panic!("no terminal: {error}"));
        stage.wait_for_request(&mut screen.child);
        screen.type_in(CTRL_C);
        let status = wait(&mut screen.child);
        println!("{}", screen.said());
        status
    } else {
        let mut child = begin(&mut command, output.path());
        intervene(&stage, ending, &mut child);
        wait(&mut child)
    };
    if ending == Ending::SupervisorKilled {
        look_at_the_unsupervised(&stage);
    }
    compare(&stage, ending, status, output.path());
}

impl Ending {
    /// Does the provider never answer as it should?
    const fn is_lasting(self) -> bool {
        matches!(self, Self::LastingRateLimit | Self::LastingServerError | Self::LastingBreak)
    }
}

/// qwen-code asks again and again while it is refused for the rate, and says nothing about it.
pub(crate) const fn never_gives_up(program: Program, ending: Ending) -> bool {
    matches!((program, ending), (Program::Qwen, Ending::LastingRateLimit))
}

fn act(program: Program, ending: Ending) -> Act {
    // These three retry for a minute or longer; what they do in the end is an ending of its own.
    let is_patient = matches!(program, Program::Opencode | Program::Qwen | Program::Aider);
    match ending {
        Ending::Clean => Act::Answers,
        Ending::FileWritten if program == Program::Aider => Act::Says("review.md\n```\nhello\n```\n"),
        Ending::FileWritten => Act::Calls("echo hello > review.md"),
        Ending::ClaimedFile => Act::Says("I wrote review.md."),
        Ending::Unauthorized | Ending::PlainText => Act::Refuses(401),
        Ending::WrongModel => Act::Refuses(404),
        Ending::RateLimited if is_patient => Act::RefusesOnce(429),
        Ending::RateLimited => Act::Refuses(429),
        Ending::ServerError if is_patient => Act::RefusesOnce(500),
        Ending::ServerError => Act::Refuses(500),
        Ending::BrokenStream if is_patient => Act::BreaksOffOnce,
        Ending::BrokenStream | Ending::LastingBreak => Act::BreaksOff,
        Ending::LastingRateLimit => Act::Refuses(429),
        Ending::LastingServerError => Act::Refuses(500),
        Ending::OutputLimit => Act::IsTruncated,
        Ending::GarbledEvent => Act::Garbles,
        Ending::ToolKilled => Act::Calls(COMMAND),
        Ending::Deadline
        | Ending::Silence
        | Ending::OperatorStop
        | Ending::CtrlC
        | Ending::ProgramKilled
        | Ending::SupervisorKilled => Act::Stalls,
    }
}

/// A bound that is part of the ending is short, since it is reached on every machine; the other is never reached.
fn options(program: Program, ending: Ending) -> &'static [&'static str] {
    if never_gives_up(program, ending) {
        return &["--timeout", "20s"];
    }
    if ending.is_lasting() {
        return &["--timeout", "500s"];
    }
    if matches!(ending, Ending::FileWritten | Ending::ClaimedFile) {
        return &["--timeout", "100s", "--expect", FILE];
    }
    match ending == Ending::Deadline {
        true => &["--timeout", "4s"],
        false if ending == Ending::Silence => &["--timeout", "100s", "--idle-timeout", "4s"],
        false => &["--timeout", "100s"],
    }
}

fn line(stage: &Stage, ending: Ending) -> Vec<OsString> {
    const STREAM: [&str; 6] = ["--json", "--output-format", "stream-json", "--format", "json", "-o"];
    let line = stage.command_line();
    if ending != Ending::PlainText {
        return line;
    }
    line.into_iter().filter(|word| !STREAM.iter().any(|flag| word == flag)).collect()
}

fn write_old_file(path: &Path) {
    let written = std::fs::write(path, "last week's\n");
    let aged = std::fs::File::options().write(true).open(path).and_then(|file| {
        let week = std::time::Duration::from_secs(7 * 86_400);
        let modified = file.metadata()?.modified()?;
        file.set_modified(modified - week)
    });
    assert!(written.is_ok() && aged.is_ok(), "{written:?} {aged:?}");
}

/// Does to the run what the ending says, once the model was asked.
fn intervene(stage: &Stage, ending: Ending, child: &mut Child) {
    let running = |stage: &Stage, child: &mut Child| {
        stage.wait_for_request(child);
        until("a run that is running", || {
            Some(stage.view()).filter(|view| view["state"]["lifecycle"] == "running" && view["pid"].is_u64())
        })
    };
    match ending {
        Ending::OperatorStop => {
            let view = running(stage, child);
            stage.ask(&["stop", view["id"].as_str().unwrap_or_default()]);
        }
        Ending::ProgramKilled => send("KILL", running(stage, child)["pid"].as_u64().unwrap_or_default()),
        Ending::SupervisorKilled => {
            let supervisor = running(stage, child)["facts"]["supervisor"]["pid"].as_u64();
            assert_eq!(supervisor, Some(u64::from(child.id())));
            send("KILL", u64::from(child.id()));
        }
        Ending::ToolKilled => {
            let view = running(stage, child);
            let id = view["id"].as_str().unwrap_or_default().to_owned();
            let tool = until("the tool", || {
                processes(&id).into_iter().find(|(_, line)| line.trim_end() == TOOL).map(|(pid, _)| pid)
            });
            send("KILL", tool);
        }
        Ending::Clean
        | Ending::FileWritten
        | Ending::ClaimedFile
        | Ending::Unauthorized
        | Ending::RateLimited
        | Ending::ServerError
        | Ending::LastingRateLimit
        | Ending::LastingServerError
        | Ending::LastingBreak
        | Ending::WrongModel
        | Ending::BrokenStream
        | Ending::OutputLimit
        | Ending::GarbledEvent
        | Ending::PlainText
        | Ending::Deadline
        | Ending::Silence
        | Ending::CtrlC => {}
    }
}

fn wait(child: &mut Child) -> ExitStatus {
    child.wait().unwrap_or_else(|error| panic!("{error}"))
}

/// Whose supervisor is gone is never shown as running well, and is ended by the reaper.
fn look_at_the_unsupervised(stage: &Stage) {
    let view = stage.view();
    let shown = &view["state"]["health"];
    assert!(shown != "ok" && shown != "running", "{view}");
    until("an end by the reaper", || {
        stage.ask(&["reap"]);
        Some(stage.view()).filter(|view| view["state"]["lifecycle"] == "aborted")
    });
}

fn compare(stage: &Stage, ending: Ending, status: ExitStatus, output: &Path) {
    let view = stage.view();
    let id = view["id"].as_str().unwrap_or_default();
    let why = stage.ask(&["why", id]);
    let read = |name: &str| std::fs::read(output.join(name)).unwrap_or_default();
    let said = format!(
        "{why}\n{}\n{}\n{:?}",
        String::from_utf8_lossy(&read("stdout")),
        String::from_utf8_lossy(&read("stderr")),
        stage.model.requests()
    );
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (state, code) = (text(&view["state"]["lifecycle"]), text(&view["state"]["reasons"][0]["code"]));
    let exit = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
    let Truth { state: true_state, code: true_code, exit: true_exit } = truth::of(stage.program, ending);
    let (found, wanted) = ((state.as_str(), code.as_str(), exit), (true_state, true_code, true_exit));
    if truth::GAPS.contains(&(stage.program, ending)) {
        assert_eq!((state.as_str(), exit), (true_state, true_exit), "{said}");
        assert_ne!(code, true_code, "the gap is closed: take it out of the list");
        eprintln!("gap: {found:?} is said where {wanted:?} is true");
    } else {
        assert_eq!(found, wanted, "{said}");
    }
    assert_eq!(view["facts"]["leftovers"], 0, "{said}");
    until("the end of its last process", || processes(id).is_empty().then_some(()));
    for request in stage.model.requests() {
        let is_model = request.starts_with("POST ") && !request.starts_with("POST http");
        assert!(
            is_model || request.starts_with("CONNECT "),
            "{request} was asked for, and answered by nobody"
        );
    }
    details(stage, ending, &view, &said);
}

/// What else must be true of some endings.
fn details(stage: &Stage, ending: Ending, view: &Value, said: &str) {
    let agent = &view["facts"]["agent"];
    if ending == Ending::Clean && stage.program != Program::Aider {
        assert_eq!(agent["last_message"], "Hello from loopback.", "{said}");
        assert_eq!(agent["tool_calls"], 0, "{agent}");
        // Two of the programs count the cached part apart from the rest.
        let is_apart = matches!(stage.program, Program::Claude | Program::Opencode);
        let input = if is_apart { INPUT_TOKENS - CACHED_TOKENS } else { INPUT_TOKENS };
        let tokens = &agent["tokens"];
        let found = [&tokens["input"], &tokens["cache_read"], &tokens["output"]].map(Value::as_u64);
        assert_eq!(found, [input, CACHED_TOKENS, OUTPUT_TOKENS].map(Some), "{agent}");
        let model = agent["model"].as_str().unwrap_or_default();
        assert!(!model.is_empty() && stage.model.is_asked_for(model), "{agent}");
        assert!(agent["vendor_session"].is_string(), "{agent}");
    }
    if ending.is_lasting() && stage.program == Program::Aider {
        let retries = agent["retries"].as_u64().unwrap_or_default();
        assert!(retries > 1, "{agent}");
    }
    if ending == Ending::PlainText {
        assert!(view["chain"].as_str().is_some_and(|chain| chain.starts_with("Failed")), "{view}");
        assert!(said.contains("the key is not valid"), "{said}");
    }
    if ending == Ending::FileWritten {
        assert!(stage.work().join(FILE).is_file(), "{said}");
        assert_eq!(view["state"]["delivery"], "passed", "{said}");
    }
}
