//! An `exec` that does not return, as on a file system that does not answer: a listener has to allow every execution of a
//! file, and does not. The tests of the program use this file too.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A script whose execution waits until it is allowed; none where nobody may listen.
#[expect(unsafe_code, reason = "no safe function listens for executions")]
pub(crate) fn held(directory: &Path) -> Option<(PathBuf, OwnedFd)> {
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
