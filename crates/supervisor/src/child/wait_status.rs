//! The end of a child: how its wait status is read together with what it used, and who has ended at all.
//!
//! Unsafe, because no safe function gives the usage together with the status, or a pid without reaping. Deliberately
//! absent: who may be reaped, which `children` knows.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::Usage;

/// Waits for the end of a child that nobody watches.
pub(crate) fn bury(pid: Pid) {
    while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED) {}
}

/// Reaps one child that has ended, and reads its wait status and what it used; `None` if it has not ended.
#[expect(unsafe_code, reason = "no safe function gives the usage together with the status")]
pub(crate) fn reap(child: Pid) -> io::Result<Option<(i32, Usage)>> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to places of the right type that live across the call.
    let reaped = unsafe {
        libc::wait4(child.as_raw_nonzero().get(), &raw mut status, libc::WNOHANG, usage.as_mut_ptr())
    };
    if reaped < 0 {
        return Err(io::Error::last_os_error());
    }
    if reaped == 0 {
        return Ok(None);
    }
    // SAFETY: a structure of integers is valid when zeroed, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
    let usage = Usage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        max_rss_bytes: Some(usage.ru_maxrss as u64 * 1024),
    };
    Ok(Some((status, usage)))
}

/// The pid of some child that has ended and is not reaped; it stays so.
#[expect(unsafe_code, reason = "no safe function tells the pid without reaping")]
pub(crate) fn peek() -> Option<Pid> {
    let mut information = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to a place of the right type that lives across the call; zeroed it is valid, and after
    // `waitid` its pid is, which is zero if nobody has ended.
    let pid = unsafe {
        if libc::waitid(libc::P_ALL, 0, information.as_mut_ptr(), options) != 0 {
            return None;
        }
        information.assume_init().si_pid()
    };
    Pid::from_raw(pid)
}
