//! A command that hangs in `exec`, as on a file system that does not answer. A listener that has to allow every execution
//! of a file, and does not, is such a file system.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_supervisor::{Cause, How, Observer, Quiet, Running, Spec, StopCause, Timer};

use crate::common::{marker, started};

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

/// A script whose execution waits until it is allowed; none where nobody may listen.
#[expect(unsafe_code, reason = "no safe function listens for executions")]
fn held(directory: &Path) -> Option<(PathBuf, OwnedFd)> {
    let path = directory.join("hangs");
    std::fs::write(&path, "#!/bin/sh\nexit 3\n").ok()?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).ok()?;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the first call makes a descriptor that nobody else knows; the second takes it and a text that ends with a
    // zero.
    let listener = unsafe {
        let listener =
            libc::fanotify_init(libc::FAN_CLASS_CONTENT | libc::FAN_CLOEXEC, libc::O_RDONLY as u32);
        if listener < 0 {
            println!("skipped: nobody may listen for executions here");
            return None;
        }
        let listener = OwnedFd::from_raw_fd(listener);
        let (fd, mask) = (listener.as_raw_fd(), libc::FAN_OPEN_EXEC_PERM);
        if libc::fanotify_mark(fd, libc::FAN_MARK_ADD, mask, libc::AT_FDCWD, name.as_ptr()) != 0 {
            println!("skipped: executions cannot be held up here");
            return None;
        }
        listener
    };
    Some((path, listener))
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
