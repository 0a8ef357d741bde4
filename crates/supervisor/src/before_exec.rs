//! What a child does between `fork` and `exec`, and how its usage is read when it is reaped. The only unsafe code.
//!
//! Invariant: the child calls the kernel and nothing else: no allocation, no lock, no panic. It joins its own session
//! before anybody can signal its group, and its control group before it can have children. A step that fails leaves its
//! number in an eventfd, because `exec`'s errors come back through the same channel and look alike.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use crate::Usage;

/// What the child does before it becomes the program.
#[derive(Debug)]
pub(crate) struct Orders {
    /// The `cgroup.procs` files it writes itself into.
    pub(crate) groups: Vec<OwnedFd>,
    pub(crate) rlimits: Vec<(Resource, u64)>,
    /// Its stdin, stdout or stderr that is a pseudoterminal and becomes its controlling terminal.
    pub(crate) terminal: Option<i32>,
    /// Whether open descriptors beyond the first three are closed.
    pub(crate) close_rest: bool,
    /// Who forks.
    pub(crate) parent: Pid,
}

/// A step that can fail before `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Session = 1,
    Group,
    Limit,
    Terminal,
    Orphaned,
    Descriptors,
}

/// Where a child that fails leaves the number of its step.
#[derive(Debug)]
pub(crate) struct Report(OwnedFd);

impl Report {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The step that failed, or `None` when `exec` did.
    pub(crate) fn failed(&self) -> Option<Step> {
        let mut number = [0u8; 8];
        rustix::io::read(&self.0, &mut number).ok()?;
        [Step::Session, Step::Group, Step::Limit, Step::Terminal, Step::Orphaned, Step::Descriptors]
            .into_iter()
            .find(|step| *step as u64 == u64::from_ne_bytes(number))
    }
}

/// Gives the orders to a command.
#[expect(
    unsafe_code,
    reason = "what happens between fork and exec can only be said through an unsafe function"
)]
pub(crate) fn give(command: &mut Command, orders: Orders, report: &Report) -> io::Result<()> {
    let report = report.0.try_clone()?;
    let body = move || {
        follow(&orders).map_err(|(step, error)| {
            // A report that cannot be left makes the failure look like one of `exec`, which is still a failure.
            rustix::io::write(&report, &(step as u64).to_ne_bytes()).ok();
            error
        })
    };
    // SAFETY: the closure only calls the kernel, through wrappers that neither allocate nor lock.
    unsafe { command.pre_exec(body) };
    Ok(())
}

fn follow(orders: &Orders) -> Result<(), (Step, io::Error)> {
    let at = |step| move |error: rustix::io::Errno| (step, io::Error::from(error));
    rustix::process::setsid().map_err(at(Step::Session))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Session))?;
    // Who forked us may have died before the line above; then that signal never comes.
    if rustix::process::getppid() != Some(orders.parent) {
        return Err((Step::Orphaned, io::Error::from_raw_os_error(libc::ESRCH)));
    }
    for group in &orders.groups {
        rustix::io::write(group, b"0").map_err(at(Step::Group))?;
    }
    for (resource, limit) in &orders.rlimits {
        let limit = Rlimit { current: Some(*limit), maximum: Some(*limit) };
        rustix::process::setrlimit(*resource, limit).map_err(at(Step::Limit))?;
    }
    if let Some(number) = orders.terminal {
        control(number).map_err(at(Step::Terminal))?;
    }
    if orders.close_rest {
        close_rest().map_err(|error| (Step::Descriptors, error))?;
    }
    default_signals();
    Ok(())
}

fn control(number: i32) -> Result<(), rustix::io::Errno> {
    match number {
        0 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
        1 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdout()),
        _ => rustix::process::ioctl_tiocsctty(rustix::stdio::stderr()),
    }
}

/// Marks every descriptor beyond the first three to be closed by `exec`.
#[expect(unsafe_code, reason = "there is no safe function that marks a range of descriptors")]
fn close_rest() -> io::Result<()> {
    // SAFETY: both calls take plain numbers; marking a descriptor takes nothing away from who owns it here.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return Ok(());
        }
        let most =
            rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).min(DESCRIPTORS_MAX);
        for number in 3..most as i32 {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    Ok(())
}

/// As many as a kernel without `close_range` is asked to close.
const DESCRIPTORS_MAX: u64 = 65_536;

/// What we or who started us ignore, the child does not. The standard library empties the mask.
#[expect(unsafe_code, reason = "dispositions can only be set through an unsafe function")]
fn default_signals() {
    // The kernel's own structure, which is all zeros for the default: handler, flags, restorer and mask.
    let default = [0u64; 8];
    for signal in 1..=64 {
        // SAFETY: the default disposition runs no code, and the structure is larger than the kernel reads. The C
        // library's own function would refuse two of the numbers, which others have been seen to leave ignored.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                size_of::<u64>(),
            )
        };
    }
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
        max_rss_bytes: usage.ru_maxrss as u64 * 1024,
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
