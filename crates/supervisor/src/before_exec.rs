//! How a child is made, and what it does between `clone` and `exec`. The only unsafe code beside `reaping`.
//!
//! Invariant: the child calls the kernel and nothing else: no allocation, no lock, no panic. It shares our memory until
//! `exec`, as a child of `posix_spawn` does: it has a stack of its own, no signal reaches it before its handlers are
//! gone, and the thread that made it stands still meanwhile. It joins its own session before anybody can signal its
//! group, and it is in its control group before it can have children.
//!
//! The kernel puts the child into its control group as it makes it, where it can. A child that writes itself into
//! `cgroup.procs` waits for every processor to pass a quiet moment, which takes ten milliseconds and more.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_char, c_int, c_void};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open};

use crate::image::Image;
use crate::reaping::bury;

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
    /// Whether open descriptors beyond the first three are closed.
    pub(crate) close_rest: bool,
}

/// A step that can fail before `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Session,
    Group,
    Limit,
    Terminal,
    Orphaned,
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

/// Makes a child that follows the orders and becomes the image.
pub(crate) fn make(image: &Image, orders: &Orders) -> Result<(Pid, OwnedFd), Stillborn> {
    let mut stack = Vec::with_capacity(STACK_BYTES / size_of::<StackPart>());
    let mut unborn = Unborn::new(image, orders);
    let masked = Masked::all();
    let made = clone(&mut unborn, stack.spare_capacity_mut(), orders.group.as_ref().map(AsFd::as_fd));
    drop(masked);
    let (pid, pidfd) = made.map_err(Stillborn::Unmade)?;
    let Some((step, errno)) = unborn.failed else { return Ok((pid, pidfd)) };
    // It has ended, or is about to; nobody else takes it, because it is being born.
    bury(pid);
    Err(match step {
        Some(step) => Stillborn::Before(step, errno.into()),
        None => Stillborn::Exec(errno.into()),
    })
}

/// A stack grows in pieces of this alignment.
#[repr(align(16))]
struct StackPart(#[expect(dead_code, reason = "only its size and its alignment count")] [u8; 16]);

/// What the child needs is a fraction of this, and no handler of a signal ever runs on it.
const STACK_BYTES: usize = 64 * 1024;

/// The child's own view of what it is to do. It lives in our memory; the child reads it and leaves its failure there.
struct Unborn<'a> {
    orders: &'a Orders,
    /// Who makes it.
    parent: Pid,
    cwd: *const c_char,
    files: Vec<*const c_char>,
    arguments: Vec<*const c_char>,
    /// The arguments of the shell that runs a file without a first line; the child puts the file in.
    shell: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    failed: Option<(Option<Step>, Errno)>,
}

impl<'a> Unborn<'a> {
    fn new(image: &'a Image, orders: &'a Orders) -> Self {
        let ended = |texts: &[std::ffi::CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
        };
        let arguments = ended(&image.arguments);
        let shell =
            [SHELL.as_ptr(), ptr::null()].into_iter().chain(arguments.iter().skip(1).copied()).collect();
        Self {
            orders,
            parent: rustix::process::getpid(),
            cwd: image.cwd.as_ptr(),
            files: image.files.iter().map(|file| file.as_ptr()).collect(),
            arguments,
            shell,
            environment: ended(&image.environment),
            failed: None,
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

/// Makes the child and waits until it is the program or has failed.
#[expect(unsafe_code, reason = "there is no safe function that makes a process")]
fn clone(
    unborn: &mut Unborn<'_>,
    stack: &mut [MaybeUninit<StackPart>],
    group: Option<BorrowedFd<'_>>,
) -> io::Result<(Pid, OwnedFd)> {
    let unborn = ptr::from_mut(unborn).cast::<c_void>();
    let mut pidfd: c_int = -1;
    let made = match group {
        Some(group) => clone_into(unborn, stack, group, &mut pidfd)?,
        // SAFETY: the stack is the child's alone and large enough, the argument is what `live` takes, and both live
        // until it returns: the parent goes on only when the child has left our memory. Signals are blocked, so no handler
        // runs in the child. The place for the pidfd is of the right type.
        None => unsafe {
            let top = stack.as_mut_ptr_range().end.cast::<c_void>();
            match libc::clone(live, top, FLAGS, unborn, &raw mut pidfd) {
                -1 => return Err(io::Error::last_os_error()),
                made => made,
            }
        },
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

/// The child shares our memory, we stand still until it has left it, and we get a pidfd.
const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;

/// The same, and the child is in the control group from its first moment on.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the C library has no function for this call of the kernel")]
fn clone_into(
    unborn: *mut c_void,
    stack: &mut [MaybeUninit<StackPart>],
    group: BorrowedFd<'_>,
    pidfd: &mut c_int,
) -> io::Result<c_int> {
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let arguments = libc::clone_args {
        flags: (FLAGS & !libc::SIGCHLD) as u64 | INTO_CGROUP,
        pidfd: ptr::from_mut(pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: stack.as_mut_ptr() as u64,
        stack_size: size_of_val(stack) as u64,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group.as_raw_fd() as u64,
    };
    let made: i64;
    // SAFETY: as for `clone` above. The child comes out of the call with nothing on its stack but what it puts there, and
    // never goes back into the code around: it calls `live`, which ends it.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rdi, {unborn}",
            "call {live}",
            "ud2",
            "2:",
            unborn = in(reg) unborn,
            live = in(reg) live as extern "C" fn(*mut c_void) -> c_int,
            inlateout("rax") libc::SYS_clone3 => made,
            in("rdi") &raw const arguments,
            in("rsi") size_of_val(&arguments),
            // Written by the call, so that what is read after it lies elsewhere.
            out("rcx") _,
            out("r11") _,
        );
    }
    if made < 0 { Err(io::Error::from_raw_os_error(-made as i32)) } else { Ok(made as c_int) }
}

/// Where nobody has written it down for the processor, the child enters by its door.
#[cfg(not(target_arch = "x86_64"))]
fn clone_into(
    _: *mut c_void,
    _: &mut [MaybeUninit<StackPart>],
    _: BorrowedFd<'_>,
    _: &mut c_int,
) -> io::Result<c_int> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// The life of the child in our memory.
#[expect(unsafe_code, reason = "what the child is given comes as a pointer, and it ends without going back")]
extern "C" fn live(unborn: *mut c_void) -> c_int {
    // SAFETY: it is what `clone` was given, and the thread that owns it stands still.
    let unborn = unsafe { &mut *unborn.cast::<Unborn<'_>>() };
    let failed = match follow(unborn.orders, unborn.cwd, unborn.parent) {
        Ok(()) => (None, exec(unborn)),
        Err(failed) => failed,
    };
    unborn.failed = Some(failed);
    // SAFETY: it ends the child and nothing else; no memory of ours is given back.
    unsafe { libc::_exit(127) }
}

fn follow(orders: &Orders, cwd: *const c_char, parent: Pid) -> Result<(), (Option<Step>, Errno)> {
    let at = |step| move |errno| (Some(step), errno);
    settle(orders, cwd).map_err(|errno| (None, errno))?;
    rustix::process::setsid().map_err(at(Step::Session))?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Session))?;
    // Who made us may have died before the line above; then that signal never comes.
    if rustix::process::getppid() != Some(parent) {
        return Err((Some(Step::Orphaned), Errno::SRCH));
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
    if orders.close_rest {
        close_rest();
    }
    default_signals();
    Ok(())
}

/// Takes its descriptors and goes to its directory.
#[expect(
    unsafe_code,
    reason = "no safe function replaces a descriptor that everybody may use, or takes a bare pointer"
)]
fn settle(orders: &Orders, cwd: *const c_char) -> Result<(), Errno> {
    for (number, standard) in (0..).zip(&orders.standard) {
        if let Some(standard) = standard {
            // SAFETY: the numbers are plain ones, and the child's descriptors are a copy that is its own.
            checked(|| unsafe { libc::dup2(standard.as_raw_fd(), number) })?;
        }
    }
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
        if errno == Errno::NOEXEC {
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

fn control(number: i32) -> Result<(), rustix::io::Errno> {
    match number {
        0 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
        1 => rustix::process::ioctl_tiocsctty(rustix::stdio::stdout()),
        _ => rustix::process::ioctl_tiocsctty(rustix::stdio::stderr()),
    }
}

/// Marks every descriptor beyond the first three to be closed by `exec`.
#[expect(unsafe_code, reason = "there is no safe function that marks a range of descriptors")]
fn close_rest() {
    // SAFETY: both calls take plain numbers; marking a descriptor takes nothing away from who owns it here.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return;
        }
        let most =
            rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).min(DESCRIPTORS_MAX);
        for number in 3..most as i32 {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
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
            close_rest: true,
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
        let (pid, _) = made?;
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
            if cfg!(target_arch = "x86_64") {
                let inside = said(&spec, |orders| orders.group = held.room().unwrap()).unwrap();
                assert!(has(&inside), "{inside}");
            }
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
