//! What a stream says while it runs: waiting, retries, limits, tools, and which of it is progress.

use callboard_agents::{Program, Reader, Signal, Waiting, WaitingFor};

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
    Signal::Waiting(Waiting { cause, detail: detail.map(str::to_owned) })
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
