//! How a child is made, and what it does between `clone` and `exec`. The only unsafe code beside `reaping` and `sandbox`.
//!
//! Invariant: the child calls the kernel and nothing else: no allocation, no lock, no panic. It has a copy of our memory, no
//! signal reaches it before its handlers are gone, and what it could not do it writes into a pipe that `exec` closes. So
//! nobody waits for an `exec` that hangs, as on a dead file system: the pipe is one more thing to poll. It joins its own
//! session before anybody can signal its group, and it is in its control group before it can have children.
//!
//! The kernel puts the child into its control group as it makes it, where it can. A child that writes itself into
//! `cgroup.procs` waits for every processor to pass a quiet moment, which takes ten milliseconds and more.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_char, c_int};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open};

use crate::Privileges;
use crate::child::image::Image;
use crate::child::not_executable;
use crate::child::wait_status::bury;
use crate::sandbox::Plan;

/// What the child does before it becomes the program.
#[derive(Debug)]
pub(crate) struct Orders {
    /// Its stdin, stdout and stderr; without one it has ours.
    pub(crate) standard: [Option<OwnedFd>; 3],
    /// The control group it is made in.
    pub(crate) group: Option<OwnedFd>,
    /// The `cgroup.procs` files it writes itself into.
    pub(crate) doors: Vec<OwnedFd>,
    pub(crate) rlimits: Vec<(Resource, u64)>,
    /// Its stdin, stdout or stderr that is a pseudoterminal and becomes its controlling terminal.
    pub(crate) terminal: Option<i32>,
    /// Descriptors beyond the first three that it keeps under their numbers.
    pub(crate) kept: Vec<RawFd>,
    /// The walls around it.
    pub(crate) sandbox: Option<Plan>,
    /// Whether it can gain privileges by becoming a setuid program.
    pub(crate) privileges: Privileges,
}

/// A step that can fail before `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Standard,
    Directory,
    Session,
    Group,
    Limit,
    Terminal,
    Orphaned,
    Descriptors,
    Privileges,
    Namespaces,
    Sandbox,
}

/// Why there is no child.
#[derive(Debug)]
pub(crate) enum Stillborn {
    /// The kernel made none.
    Unmade(io::Error),
    /// It could not do a step.
    Before(Step, io::Error),
    /// It did not become the program.
    Exec(io::Error),
}

/// A child that was made and may not be the program yet.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    /// What the child says if it fails; closed by `exec`.
    pub(crate) report: Report,
}

/// The pipe through which a child says why it did not become the program.
#[derive(Debug)]
pub(crate) struct Report(OwnedFd);

impl AsFd for Report {
    /// Becomes readable when there is something to say, or nothing any more.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Report {
    /// Reads it without waiting: whether the child has become the program, or why it has not; none if it is on its way.
    pub(crate) fn read(&self) -> Option<Result<(), Stillborn>> {
        let mut bytes = [0; REPORT_BYTES];
        loop {
            return match rustix::io::read(&self.0, &mut bytes) {
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => None,
                Ok(REPORT_BYTES) => Some(Err(told(bytes))),
                Ok(_) | Err(_) => Some(Ok(())),
            };
        }
    }
}

const REPORT_BYTES: usize = 8;
const STEPS: [Step; 11] = [
    Step::Standard,
    Step::Directory,
    Step::Session,
    Step::Group,
    Step::Limit,
    Step::Terminal,
    Step::Orphaned,
    Step::Descriptors,
    Step::Privileges,
    Step::Namespaces,
    Step::Sandbox,
];

/// A failure as eight bytes: the place of its step, or one that no step has for `exec`; and the number of the error.
fn telling(step: Option<Step>, errno: Errno) -> [u8; REPORT_BYTES] {
    let place = STEPS.iter().position(|known| Some(*known) == step).unwrap_or(STEPS.len()) as u32;
    let ([a, b, c, d], [e, f, g, h]) = (place.to_ne_bytes(), errno.raw_os_error().to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

fn told([a, b, c, d, e, f, g, h]: [u8; REPORT_BYTES]) -> Stillborn {
    let (place, errno) = (u32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]));
    let error = io::Error::from_raw_os_error(errno);
    match STEPS.get(place as usize) {
        Some(step) => Stillborn::Before(*step, error),
        None => Stillborn::Exec(error),
    }
}

/// Makes a child that follows the orders and becomes the image.
pub(crate) fn make(image: &Image, orders: &Orders) -> Result<Made, Stillborn> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
        .map_err(|errno| Stillborn::Unmade(errno.into()))?;
    // None of the standard descriptors is laid over it.
    let theirs =
        rustix::io::fcntl_dupfd_cloexec(&theirs, 3).map_err(|errno| Stillborn::Unmade(errno.into()))?;
    let unborn = Unborn::new(image, orders, theirs);
    let masked = Masked::all();
    let made = clone(unborn, orders.group.as_ref().map(AsFd::as_fd));
    drop(masked);
    let (pid, pidfd) = made.map_err(Stillborn::Unmade)?;
    Ok(Made { pid, pidfd, report: Report(ours) })
}

/// The child's own view of what it is to do, made before there is a child.
struct Unborn<'a> {
    orders: &'a Orders,
    /// Where it says what it could not do.
    report: OwnedFd,
    /// Who makes it.
    parent: Pid,
    cwd: *const c_char,
    files: Vec<*const c_char>,
    arguments: Vec<*const c_char>,
    /// The arguments of the shell that runs a file without a first line; the child puts the file in.
    shell: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl<'a> Unborn<'a> {
    fn new(image: &'a Image, orders: &'a Orders, report: OwnedFd) -> Self {
        let ended = |texts: &[std::ffi::CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
        };
        let arguments = ended(&image.arguments);
        let shell =
            [SHELL.as_ptr(), ptr::null()].into_iter().chain(arguments.iter().skip(1).copied()).collect();
        Self {
            orders,
            report,
            parent: rustix::process::getpid(),
            cwd: image.cwd.as_ptr(),
            files: image.files.iter().map(|file| file.as_ptr()).collect(),
            arguments,
            shell,
            environment: ended(&image.environment),
        }
    }
}

const SHELL: &std::ffi::CStr = c"/bin/sh";

/// Every signal is blocked until this is dropped.
struct Masked(libc::sigset_t);

impl Masked {
    #[expect(unsafe_code, reason = "the mask of signals can only be set through an unsafe function")]
    fn all() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call fills the set that the second reads and the third place is filled by it; neither can
        // fail with these arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for Masked {
    #[expect(unsafe_code, reason = "the mask of signals can only be set through an unsafe function")]
    fn drop(&mut self) {
        // SAFETY: the set is one that the same function gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// Makes the child.
#[expect(unsafe_code, reason = "there is no safe function that makes a process")]
fn clone(mut unborn: Unborn<'_>, group: Option<BorrowedFd<'_>>) -> io::Result<(Pid, OwnedFd)> {
    let mut pidfd: c_int = -1;
    let made = match call(group, &mut pidfd) {
        // SAFETY: the child has the only thread of a copy of our memory, ends inside of this call, and does nothing there
        // that needs a lock which another thread may have held.
        Ok(0) => live(&mut unborn),
        Ok(made) => made,
        Err(error) => return Err(error),
    };
    let pid = Pid::from_raw(made).ok_or(io::ErrorKind::NotFound)?;
    if pidfd < 0 {
        // A kernel that gives none with the child may give one to who asks.
        return match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok((pid, pidfd)),
            Err(errno) => {
                // It is ours and not reaped, so the signal can reach nobody else.
                rustix::process::kill_process(pid, Signal::KILL).ok();
                bury(pid);
                Err(errno.into())
            }
        };
    }
    // SAFETY: the kernel has opened it for us and nobody else knows its number.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Asks the kernel for a child: its pid, or 0 in the child itself. In a group it is there from its first moment on.
#[expect(unsafe_code, reason = "the C library has no function for this call of the kernel")]
fn call(group: Option<BorrowedFd<'_>>, pidfd: &mut c_int) -> io::Result<c_int> {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let arguments = libc::clone_args {
        flags: libc::CLONE_PIDFD as u64 | if group.is_some() { INTO_CGROUP } else { 0 },
        pidfd: ptr::from_mut(pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group.map_or(0, |group| group.as_raw_fd() as u64),
    };
    // SAFETY: the structure is whole and lives across the call, and the place for the pidfd is of the right type. Without
    // a stack of its own the child goes on from here in a copy of our memory.
    let mut made = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of_val(&arguments)) };
    if made == -1 && group.is_none() && last() == Errno::NOSYS {
        let flags = libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the same, as older kernels and sandboxes know it; all that is not named is zero.
        made = unsafe { libc::syscall(libc::SYS_clone, flags, 0, ptr::from_mut(pidfd), 0, 0) };
    }
    if made == -1 { Err(io::Error::last_os_error()) } else { Ok(made as c_int) }
}

/// The life of the child in the copy of our memory.
#[expect(unsafe_code, reason = "it ends without going back")]
fn live(unborn: &mut Unborn<'_>) -> ! {
    let (step, errno) = match follow(unborn.orders, unborn.cwd, unborn.parent) {
        Ok(()) => (None, exec(unborn)),
        Err((step, errno)) => (Some(step), errno),
    };
    // If nobody reads any more, nobody wants to know.
    rustix::io::write(&unborn.report, &telling(step, errno)).ok();
    // SAFETY: it ends the child and nothing else.
    unsafe { libc::_exit(127) }
}

fn follow(orders: &Orders, cwd: *const c_char, parent: Pid) -> Result<(), (Step, Errno)> {
    let at = |step| move |errno| (step, errno);
    settle(orders).map_err(at(Step::Standard))?;
    if let Some(sandbox) = &orders.sandbox {
        sandbox.divide().map_err(at(Step::Namespaces))?;
    }
    enter(cwd).map_err(at(Step::Directory))?;
    rustix::process::setsid().map_err(at(Step::Session))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Session))?;
    // Who made us may have died before the line above; then that signal never comes.
    if rustix::process::getppid() != Some(parent) {
        return Err((Step::Orphaned, Errno::SRCH));
    }
    for door in &orders.doors {
        rustix::io::write(door, b"0").map_err(at(Step::Group))?;
    }
    for (resource, limit) in &orders.rlimits {
        let limit = Rlimit { current: Some(*limit), maximum: Some(*limit) };
        rustix::process::setrlimit(*resource, limit).map_err(at(Step::Limit))?;
    }
    if let Some(number) = orders.terminal {
        control(number).map_err(at(Step::Terminal))?;
    }
    close_rest(&orders.kept).map_err(at(Step::Descriptors))?;
    if orders.privileges == Privileges::NoNew {
        rustix::thread::set_no_new_privs(true).map_err(at(Step::Privileges))?;
    }
    default_signals();
    if let Some(sandbox) = &orders.sandbox {
        sandbox.enclose().map_err(at(Step::Sandbox))?;
    }
    Ok(())
}

/// Takes its descriptors.
#[expect(unsafe_code, reason = "no safe function replaces a descriptor that everybody may use")]
fn settle(orders: &Orders) -> Result<(), Errno> {
    for (number, standard) in (0..).zip(&orders.standard) {
        if let Some(standard) = standard {
            // SAFETY: the numbers are plain ones, and the child's descriptors are a copy that is its own.
            checked(|| unsafe { libc::dup2(standard.as_raw_fd(), number) })?;
        }
    }
    Ok(())
}

/// Goes to its directory.
#[expect(unsafe_code, reason = "no safe function takes a bare pointer")]
fn enter(cwd: *const c_char) -> Result<(), Errno> {
    // SAFETY: the pointer is to a text that ends with a zero and is kept until the child is gone.
    checked(|| unsafe { libc::chdir(cwd) })
}

/// Calls again what a signal interrupted.
fn checked(call: impl Fn() -> c_int) -> Result<(), Errno> {
    loop {
        if call() != -1 {
            return Ok(());
        }
        match last() {
            Errno::INTR => {}
            errno => return Err(errno),
        }
    }
}

fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Becomes the first of the files that the kernel takes, and says why it became none of them, as `execvp` does.
#[expect(unsafe_code, reason = "no safe function takes the pointers that were prepared")]
fn exec(unborn: &mut Unborn<'_>) -> Errno {
    let mut refused = Errno::NOENT;
    for file in &unborn.files {
        let (arguments, environment) = (unborn.arguments.as_ptr(), unborn.environment.as_ptr());
        // SAFETY: the texts and both lists end with a zero and are kept until the child has become the program.
        unsafe { libc::execve(*file, arguments, environment) };
        let mut errno = last();
        // Scripts without a first line run, as they do under `env` and `timeout`; what is no text does not.
        if errno == Errno::NOEXEC && may_be_script(*file) {
            if let Some(place) = unborn.shell.get_mut(1) {
                *place = *file;
            }
            // SAFETY: as above.
            unsafe { libc::execve(SHELL.as_ptr(), unborn.shell.as_ptr(), environment) };
            errno = last();
        }
        match errno {
            Errno::ACCESS => refused = errno,
            // Not here; perhaps elsewhere.
            Errno::NOENT | Errno::STALE | Errno::NOTDIR | Errno::NODEV | Errno::TIMEDOUT => {
                if refused != Errno::ACCESS {
                    refused = errno;
                }
            }
            errno => return errno,
        }
    }
    refused
}

/// Whether a file that the kernel does not know can be handed to a shell.
#[expect(unsafe_code, reason = "no safe function takes the pointer that was prepared")]
fn may_be_script(file: *const c_char) -> bool {
    let mut begin = [0; not_executable::BEGIN_BYTES];
    // SAFETY: the text ends with a zero; the buffer is ours and as long as is said. The descriptor ends with the child.
    let count = unsafe {
        let file = libc::open(file, libc::O_RDONLY | libc::O_CLOEXEC);
        libc::read(file, begin.as_mut_ptr().cast(), begin.len())
    };
    // A file that cannot be read cannot be read by a shell either, which will say so.
    usize::try_from(count).is_ok_and(|count| not_executable::may_be_script(&begin[..count])) || count < 0
}

fn control(number: i32) -> Result<(), rustix::io::Errno> {
    match number {
        0 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
        1 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdout()),
        _ => rustix::process::ioctl_tiocsctty(rustix::stdio::stderr()),
    }
}

/// Marks every descriptor beyond the first three to be closed by `exec`, except those that are kept.
#[expect(unsafe_code, reason = "there is no safe function that marks a range of descriptors")]
fn close_rest(kept: &[RawFd]) -> Result<(), Errno> {
    // SAFETY: all calls take plain numbers; marking a descriptor takes nothing away from who owns it here.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) != 0 {
            let most =
                rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).min(DESCRIPTORS_MAX);
            for number in 3..most as i32 {
                libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        for number in kept {
            checked(|| libc::fcntl(*number, libc::F_SETFD, 0))?;
        }
    }
    Ok(())
}

/// Whether a descriptor was handed to this process to be handed on: it is open, and `exec` does not close it. What this
/// process opened itself is closed by `exec`.
#[expect(
    unsafe_code,
    reason = "there is no safe function for a descriptor that is known by its number alone"
)]
#[must_use]
pub fn is_inherited(number: RawFd) -> bool {
    // SAFETY: the call takes plain numbers and changes nothing.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    flags != -1 && flags & libc::FD_CLOEXEC == 0
}

/// As many as a kernel without `close_range` is asked to close.
const DESCRIPTORS_MAX: u64 = 65_536;

/// What we or who started us catch, ignore or block, the child does not.
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
                ptr::null_mut::<u64>(),
                size_of::<u64>(),
            )
        };
    }
    let mut none = MaybeUninit::uninit();
    // SAFETY: the first call fills the set that the second reads. No handler is left that could run in our memory.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use crate::containment::hold;
    use crate::{Limits, Spec};

    fn orders(output: OwnedFd) -> Orders {
        Orders {
            standard: [None, Some(output), None],
            group: None,
            doors: Vec::new(),
            rlimits: Vec::new(),
            terminal: None,
            kept: Vec::new(),
            sandbox: None,
            privileges: Privileges::NoNew,
        }
    }

    /// What a child says that is made by these orders.
    fn said(spec: &Spec, change: impl FnOnce(&mut Orders)) -> Result<String, Stillborn> {
        let (from, to) = io::pipe().unwrap_or_else(|error| panic!("no pipe: {error}"));
        let image = Image::new(spec, []).unwrap_or_else(|error| panic!("no image: {error}"));
        let mut orders = orders(to.into());
        change(&mut orders);
        let made = make(&image, &orders);
        drop(orders);
        let Made { pid, report, .. } = made?;
        let mut waiting = [rustix::event::PollFd::new(&report, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut waiting, None).unwrap_or_else(|error| panic!("{error}"));
        if let Some(Err(stillborn)) = report.read() {
            bury(pid);
            return Err(stillborn);
        }
        let mut text = String::new();
        File::from(OwnedFd::from(from)).read_to_string(&mut text).unwrap_or_else(|error| panic!("{error}"));
        bury(pid);
        Ok(text)
    }

    #[test]
    fn a_child_is_made_in_its_group_or_goes_there_by_itself() {
        let marker = format!("made-{}", std::process::id());
        let held = hold(&marker, &Limits::default(), None);
        let spec = Spec::new("cat", "m").args(["/proc/self/cgroup"]);
        let name = format!("callboard-{marker}");
        let has = |text: &str| text.lines().any(|line| line.contains(&name));
        if held.group.is_some() {
            let by_itself = said(&spec, |orders| orders.doors.extend(held.main_door().unwrap())).unwrap();
            assert!(has(&by_itself), "{by_itself}");
            let inside = said(&spec, |orders| orders.group = held.room().unwrap()).unwrap();
            assert!(has(&inside), "{inside}");
        }
        assert!(!has(&said(&spec, |_| ()).unwrap()));
        held.discard();
    }

    #[test]
    fn a_group_that_is_none_makes_no_child() {
        let none = || Some(File::open("/").unwrap().into());
        let made = said(&Spec::new("true", "m"), |orders| orders.group = none());
        assert!(matches!(made, Err(Stillborn::Unmade(_))), "{made:?}");
    }

    #[test]
    fn who_fails_says_where() {
        let made = said(&Spec::new("/nowhere/at/all", "m"), |_| ());
        assert!(matches!(&made, Err(Stillborn::Exec(error)) if error.raw_os_error() == Some(libc::ENOENT)));
        let made = said(&Spec::new("true", "m"), |orders| orders.terminal = Some(1));
        assert!(matches!(made, Err(Stillborn::Before(Step::Terminal, _))), "{made:?}");
    }
}
