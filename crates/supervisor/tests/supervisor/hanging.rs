//! A command that hangs in `exec`, as on a file system that does not answer.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use callboard_supervisor::{Cause, How, Observer, Quiet, Running, Spec, StopCause, Timer};

use crate::common::{marker, started};
use crate::held_exec::held;

/// Lets the executions go on that wait.
fn allow(listener: &OwnedFd) {
    const EVENT_BYTES: usize = 24;
    const ALLOW: u32 = 1;
    let mut events = [0; 64 * EVENT_BYTES];
    let count = rustix::io::read(listener, &mut events).unwrap_or_else(|error| panic!("{error}"));
    for event in events[..count].chunks_exact(EVENT_BYTES) {
        // The descriptor of the file stands behind the length, the version and the mask.
        let answer = [&event[16..20], &ALLOW.to_ne_bytes()[..]].concat();
        // Who waited may be gone.
        rustix::io::write(listener, &answer).ok();
    }
}

fn hanging(path: &Path, change: impl FnOnce(&mut Spec)) -> Running {
    let mut spec = Spec::new(path, marker("hangs"));
    spec.timers.grace = Duration::from_millis(50);
    change(&mut spec);
    let running = started(spec);
    assert!(running.is_starting());
    running
}

#[derive(Default)]
struct Beginning(bool);

impl Observer for Beginning {
    fn started(&mut self) {
        self.0 = true;
    }
}

#[test]
fn clocks_and_stops_work_while_a_command_hangs_in_exec() {
    let directory = tempfile::tempdir().unwrap();
    let Some((path, listener)) = held(directory.path()) else { return };
    let running = hanging(&path, |spec| spec.timers.total = Some(Duration::from_millis(300)));
    let end = running.watch(&mut Quiet);
    assert!(matches!(end.cause, Cause::Timer { timer: Timer::Total, .. }) && end.left == 0, "{end:?}");

    let running = hanging(&path, |_| ());
    running.stopper().stop(StopCause::Operator);
    let end = running.watch(&mut Quiet);
    assert_eq!((end.cause, end.left), (Cause::Stopped(StopCause::Operator), 0), "{end:?}");

    let running = hanging(&path, |_| ());
    allow(&listener);
    let mut beginning = Beginning::default();
    let end = running.watch(&mut beginning);
    assert_eq!((end.how, beginning.0), (How::Exited { code: 3 }, true), "a start that comes late is a start");
}
