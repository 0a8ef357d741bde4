//! What a stream says while it runs: waiting, retries, limits, tools, and which of it is progress.

use callboard_agents::{Cause, KnownBy, Launch, ModelBy, Program, Reader, Signal, Waiting, WaitingFor};

use crate::fixtures;

fn without_signs_of_life(program: Program, case: &str) -> Vec<Signal> {
    let (_, signals) = fixtures::read(program, &fixtures::one(program, case), &[]);
    signals.into_iter().filter(|signal| !matches!(signal, Signal::Activity | Signal::Progress)).collect()
}

fn started(id: &str, name: &str) -> Signal {
    Signal::ToolStarted { id: id.to_owned(), name: name.to_owned() }
}

fn ended(id: &str, name: &str, ok: bool) -> Signal {
    Signal::ToolEnded { id: id.to_owned(), name: Some(name.to_owned()), ok }
}

fn waiting(cause: WaitingFor, detail: Option<&str>) -> Signal {
    Signal::Waiting(Waiting::in_stream(cause, detail.map(str::to_owned)))
}

#[test]
fn waiting_for_permission_is_said_and_ends() {
    assert_eq!(
        without_signs_of_life(Program::Claude, "waited"),
        [
            started("toolu_1", "Bash"),
            waiting(WaitingFor::Permission, Some("Bash")),
            Signal::WaitingOver,
            ended("toolu_1", "Bash", true),
            waiting(WaitingFor::Question, None),
            Signal::WaitingOver,
        ]
    );
    assert_eq!(
        without_signs_of_life(Program::Goose, "waiting"),
        [started("t1", "developer__shell"), waiting(WaitingFor::Permission, Some("developer__shell"))]
    );
}

#[test]
fn a_request_that_says_more_replaces_waiting_for_something() {
    assert_eq!(
        without_signs_of_life(Program::Claude, "waiting"),
        [
            started("toolu_1", "Bash"),
            waiting(WaitingFor::Action, None),
            waiting(WaitingFor::Permission, Some("Bash")),
        ]
    );
}

#[test]
fn retries_and_limits_carry_their_numbers() {
    assert_eq!(
        without_signs_of_life(Program::Claude, "retry_and_limit"),
        [
            Signal::Retry {
                attempt: Some(1),
                max: Some(10),
                delay_ms: Some(612),
                error: "overloaded (529)".to_owned()
            },
            Signal::Retry {
                attempt: Some(2),
                max: Some(10),
                delay_ms: Some(1200),
                error: "unknown".to_owned()
            },
            Signal::RateLimited { until_unix_s: Some(1_794_800_000), detail: Some("five_hour".to_owned()) },
        ]
    );
    let retries = without_signs_of_life(Program::Codex, "turn_failed");
    assert_eq!(retries.len(), 5);
    assert!(matches!(&retries[4], Signal::Retry { attempt: Some(5), max: Some(5), .. }), "{retries:?}");
}

#[test]
fn a_tool_is_reported_once_however_often_its_events_come() {
    assert_eq!(
        without_signs_of_life(Program::Codex, "duplicate_item"),
        [
            started("item_1", "command_execution"),
            ended("item_1", "command_execution", false),
            started("item_2", "file_change"),
            ended("item_2", "file_change", true),
        ]
    );
}

#[test]
fn a_heartbeat_is_activity_and_a_result_is_progress() {
    let mut reader = Reader::new(Program::Claude);
    let heartbeat =
        br#"{"type":"tool_progress","tool_use_id":"t","heartbeat":true,"elapsed_time_seconds":30}"#;
    assert_eq!(reader.stdout(&[heartbeat.as_slice(), b"\n"].concat()), [Signal::Activity]);
    assert_eq!(reader.stdout(b"just text\n"), [Signal::Activity]);
    let piece = br#"{"type":"stream_event","event":{"type":"content_block_delta"}}"#;
    assert_eq!(reader.stdout(&[piece.as_slice(), b"\n"].concat()), [Signal::Activity]);
    let block = br#"{"type":"stream_event","event":{"type":"content_block_stop"}}"#;
    assert_eq!(reader.stdout(&[block.as_slice(), b"\n"].concat()), [Signal::Progress]);
    let unknown = br#"{"type":"brand_new"}"#;
    let signals = reader.stdout(&[unknown.as_slice(), b"\n"].concat());
    assert_eq!(signals, [Signal::Unknown { kind: "brand_new".to_owned() }]);
}

#[test]
fn half_an_event_says_nothing_until_the_rest_comes() {
    let mut reader = Reader::new(Program::Codex);
    assert_eq!(reader.stdout(br#"{"type":"thread.sta"#), []);
    assert_eq!(reader.stdout(b"rted\",\"thread_id\":\"t\"}\n"), [Signal::Activity]);
    assert_eq!(reader.summary().vendor_session.as_deref(), Some("t"));
}

#[test]
fn retries_in_a_row_are_told_until_the_model_answers() {
    let mut reader = Reader::new(Program::Claude);
    let retry = br#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":401,"error":"authentication_failed"}"#;
    for count in 1..=9 {
        reader.stdout(&[retry.as_slice(), b"\n"].concat());
        let retrying = reader.summary().retrying.clone().expect("it retries");
        assert_eq!((retrying.count, retrying.status), (count, Some(401)));
    }
    reader.stdout(
        b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n",
    );
    assert_eq!(reader.summary().retrying, None);
    assert_eq!(reader.summary().retries, 9);

    let mut reader = Reader::new(Program::Gemini);
    let line =
        b"Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{\"code\":429}}\n";
    let signals = reader.stderr(line);
    assert!(matches!(&signals[..], [Signal::Retry { attempt: Some(2), .. }]), "{signals:?}");
    assert_eq!(reader.summary().retrying.as_ref().map(|retrying| retrying.status), Some(Some(429)));
    reader.stdout(b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"hi\",\"delta\":true}\n");
    assert_eq!(reader.summary().retrying, None);

    let (summary, _) = fixtures::read(Program::Aider, &fixtures::one(Program::Aider, "rate_limited"), &[]);
    assert_eq!(summary.retries, 6);
}

#[test]
fn the_model_is_told_with_its_source() {
    let argv = |line: &str| line.split(' ').map(std::ffi::OsString::from).collect::<Vec<_>>();
    let launch = Launch::of(&argv("codex exec --json -m gpt-5 fix"));
    let mut reader = Reader::launched(launch.adapter, &launch);
    reader.settings_name("gpt-4");
    let model = |reader: &Reader| (reader.summary().model.clone(), reader.summary().model_by);
    assert_eq!(model(&reader), (Some("gpt-5".to_owned()), Some(ModelBy::CommandLine)));
    let launch = Launch::of(&argv("codex exec --json fix"));
    let mut reader = Reader::launched(launch.adapter, &launch);
    assert_eq!(model(&reader), (None, None));
    reader.settings_name("gpt-4");
    assert_eq!(model(&reader), (Some("gpt-4".to_owned()), Some(ModelBy::Settings)));
    let launch = Launch::of(&argv("claude -p fix --model opus --output-format stream-json"));
    let mut reader = Reader::launched(launch.adapter, &launch);
    reader.stdout(b"{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"claude-opus-5-5\"}\n");
    assert_eq!(model(&reader), (Some("claude-opus-5-5".to_owned()), Some(ModelBy::Stream)));
}

#[test]
fn a_screen_program_that_waits_is_known_by_what_it_tells_its_terminal() {
    let launch = Launch::of(&["codex".into()]);
    let mut reader = Reader::launched(launch.adapter, &launch);
    let blocked = b"\x1b[2J\x1b]7501;state=blocked:app=codex:kind=permission\x07";
    let expected = Waiting { cause: WaitingFor::Permission, detail: None, known_by: KnownBy::Status };
    assert_eq!(reader.stdout(blocked), [Signal::Waiting(expected)]);
    assert_eq!(reader.stdout(b"\x1b]0;codex\x07\x07"), [], "a title ends no status");
    assert_eq!(reader.stdout(b"\x1b]7501;state=working:app=codex\x1b\\"), [Signal::WaitingOver]);

    let mut reader = Reader::new(Program::Plain);
    reader.stdout(b"\x1b]777;notify;Claude Code;Claude needs your permission to use Bash\x07");
    assert_eq!(
        reader.summary().waiting.as_ref().map(|waiting| waiting.known_by),
        Some(KnownBy::Notification)
    );
    assert_eq!(reader.typed(), [Signal::WaitingOver], "a person answered");
    let mut reader = Reader::new(Program::Claude);
    assert_eq!(reader.stdout(blocked), [], "a structured stream is no screen");
}

#[test]
fn an_error_that_gemini_names_on_stderr_alone_is_known_whichever_stream_is_read_first() {
    let line = "Error when talking to Gemini API Full report available at: /tmp/r.json ModelNotFoundError: no such model\n";
    let result = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: no such model]"}}"#;
    let result = format!("{result}\n");
    for is_stderr_first in [true, false] {
        let mut reader = Reader::new(Program::Gemini);
        if is_stderr_first {
            drop(reader.stderr(line.as_bytes()));
        }
        drop(reader.stdout(result.as_bytes()));
        if !is_stderr_first {
            drop(reader.stderr(line.as_bytes()));
        }
        drop(reader.finish());
        let failure = reader.summary().end.as_ref().and_then(|end| end.failure());
        let failure = failure.unwrap_or_else(|| panic!("no failure"));
        assert_eq!(failure.cause, Cause::Provider { retryable: false }, "{failure:?}");
        assert_eq!(failure.vendor, "ModelNotFoundError");
    }
}
