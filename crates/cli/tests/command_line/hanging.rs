//! A command that hangs in `exec`, as on a file system that does not answer. A listener that has to allow every execution
//! of a file, and does not, is such a file system.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::runs::{begin, only, reason, send, titled, until};
use crate::shelf::{Shelf, text};

/// A script whose execution is never allowed while the descriptor is held; none where nobody may listen.
#[expect(unsafe_code, reason = "no safe function listens for executions")]
fn held(shelf: &Shelf) -> Option<(PathBuf, OwnedFd)> {
    let path = shelf.file("hangs");
    std::fs::write(&path, "#!/bin/sh\nexit 3\n").ok()?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).ok()?;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the first call makes a descriptor that nobody else knows; the second takes it and a text that ends with a
    // zero.
    let listener = unsafe {
        let listener =
            libc::fanotify_init(libc::FAN_CLASS_CONTENT | libc::FAN_CLOEXEC, libc::O_RDONLY as u32);
        if listener < 0 {
            eprintln!("skipped: nobody may listen for executions here");
            return None;
        }
        let listener = OwnedFd::from_raw_fd(listener);
        let (fd, mask) = (listener.as_raw_fd(), libc::FAN_OPEN_EXEC_PERM);
        if libc::fanotify_mark(fd, libc::FAN_MARK_ADD, mask, libc::AT_FDCWD, name.as_ptr()) != 0 {
            eprintln!("skipped: executions cannot be held up here");
            return None;
        }
        listener
    };
    Some((path, listener))
}

#[test]
fn a_command_that_hangs_in_exec_is_shown_as_starting_and_can_be_stopped() {
    let shelf = Shelf::empty();
    let Some((path, listener)) = held(&shelf) else { return };
    let run = |options: &[&str]| {
        let words = [&["run", "--title", "hangs"], options, &["--", text(&path)]].concat();
        begin(&mut shelf.command(&words))
    };
    // An operator stops it.
    let mut child = run(&[]);
    let view = until("the run", || titled(&shelf, "hangs"));
    let shown = (view["chain"].as_str(), view["state"]["phase"]["name"].as_str());
    assert_eq!(shown, (Some("Pending · Starting"), Some("starting")), "{view}");
    shelf.well(&["stop", view["id"].as_str().unwrap_or_default()]);
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(143));
    assert_eq!(reason(&only(&shelf)), "run.cancelled.operator");
    std::fs::remove_file(shelf.path()).unwrap();
    // Ctrl-C ends it.
    let mut child = run(&[]);
    until("the run", || titled(&shelf, "hangs"));
    send("INT", u64::from(child.id()));
    child.wait().unwrap();
    assert_eq!(only(&shelf)["state"]["outcome"], "cancelled", "{}", only(&shelf)["state"]);
    std::fs::remove_file(shelf.path()).unwrap();
    // Its bound ends it.
    let mut child = run(&["--timeout", "300ms"]);
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(124));
    assert_eq!(reason(&only(&shelf)), "run.timed_out.deadline");
    drop(listener);
}
