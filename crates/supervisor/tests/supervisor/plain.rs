//! A run from its start to its end: output, clocks, stops.

use std::time::Duration;

use crate::common::{OnOutput, run, sh, started};
use callboard_supervisor::{Cause, How, StopCause, Timer};

#[test]
fn both_streams_come_through_and_the_code_is_read() {
    let (end, told) = run(sh("plain", "echo out; echo err >&2; exit 3"));
    assert_eq!(end.how, How::Exited { code: 3 });
    assert_eq!(end.cause, Cause::OfItself);
    assert_eq!((told.stdout.as_slice(), told.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!((end.left, end.escaped, end.killed, end.leak), (0, 0, false, false));
    assert_eq!((end.output.stdout_bytes, end.output.stderr_bytes), (4, 4));
}

#[test]
fn each_clock_is_named() {
    for (total, first, silence, expected) in [
        (Some(200), None, None, Timer::Total),
        (None, Some(200), None, Timer::FirstOutput),
        (None, Some(9_000), Some(200), Timer::Silence),
    ] {
        let script = if expected == Timer::FirstOutput { "exec sleep 60" } else { "echo x; exec sleep 60" };
        let mut spec = sh("clock", script);
        spec.timers.total = total.map(Duration::from_millis);
        spec.timers.first_output = first.map(Duration::from_millis);
        spec.timers.silence = silence.map(Duration::from_millis);
        let (end, _) = run(spec);
        let Cause::Timer { timer, configured, elapsed } = end.cause else { panic!("{end:?}") };
        assert_eq!((timer, configured), (expected, Duration::from_millis(200)));
        assert!(elapsed >= configured, "{elapsed:?}");
        assert_eq!(end.how, How::Signaled { signal: 15, core_dumped: false });
    }
}

#[test]
fn a_childs_own_124_is_its_own() {
    let mut spec = sh("own124", "exit 124");
    spec.timers.total = Some(Duration::from_secs(60));
    let (end, _) = run(spec);
    assert_eq!((end.how, end.cause), (How::Exited { code: 124 }, Cause::OfItself));
}

#[test]
fn term_ignored_is_followed_by_kill() {
    let mut spec = sh("b01", "trap '' TERM; echo ready; while :; do sleep 1; done");
    spec.timers.grace = Duration::from_millis(200);
    let running = started(spec);
    let stopper = running.stopper();
    let end = running.watch(&mut OnOutput(|_: &[u8]| stopper.stop(StopCause::Operator)));
    assert_eq!(end.cause, Cause::Stopped(StopCause::Operator));
    assert_eq!(end.how, How::Signaled { signal: 9, core_dumped: false });
    assert!(end.killed);
    assert_eq!(end.left, 0);
}

#[test]
fn a_second_stop_skips_the_grace() {
    let mut spec = sh("hurry", "trap '' INT TERM; echo ready; while :; do sleep 1; done");
    // Far longer than a hanging test is given.
    spec.timers.grace = Duration::from_secs(3600);
    let running = started(spec);
    let stopper = running.stopper();
    let end = running.watch(&mut OnOutput(|_: &[u8]| {
        stopper.stop(StopCause::Interrupt);
        stopper.stop(StopCause::Terminate);
    }));
    assert_eq!(end.cause, Cause::Stopped(StopCause::Interrupt));
    assert!(end.killed, "{end:?}");
}
