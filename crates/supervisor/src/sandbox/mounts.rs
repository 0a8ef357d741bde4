//! The walls that are made of namespaces: a private `/tmp`, what is hidden, what cannot be written, a network of one's own.
//!
//! Invariant: everything is a list of steps that is made before there is a child, which performs them with calls to the
//! kernel alone. Root needs no user namespace and keeps the files of others reachable; everybody else gets one in which
//! they are who they are.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::handover::{Giver, Purpose};
use super::{Network, Sandbox, Wall, Walls, rules};
use crate::StartError;

/// Where programs put temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

/// Where the proxy listens in a network namespace, in which nobody else listens yet.
pub(super) const PROXY_PORT: u16 = 3128;

/// The steps of the child.
#[derive(Debug)]
pub(super) struct Mounts {
    flags: libc::c_int,
    /// What is written to become the same user in a new user namespace; nothing without one.
    user: Option<[(CString, Vec<u8>); 3]>,
    steps: Vec<Step>,
}

/// What is mounted while another thing covers it, and put back on top of that.
#[derive(Debug)]
struct Kept {
    path: CString,
    tree: RefCell<Option<OwnedFd>>,
}

#[derive(Debug)]
enum Step {
    /// Holds on to a tree, with what is mounted in it.
    Hold(usize),
    /// Covers a directory with an empty one in memory that everybody can write.
    Open(CString),
    /// Covers a directory with an empty one in memory.
    Cover(CString),
    /// Covers a file with nothing.
    Blank(CString),
    Directory(CString),
    File(CString),
    /// Puts back what was held, or mounts what is there on itself, so that it can be neither moved nor removed.
    Put(usize),
    /// Mounts what is there on itself, so that it can be neither moved nor removed.
    Pin(CString),
    ReadOnly(CString),
    /// Makes everything that is mounted unwritable.
    Seal,
    /// Starts the loopback device.
    Loopback,
    /// Makes the socket of the proxy and hands it over.
    Proxy,
    Kept(Kept),
}

impl Mounts {
    /// The steps that the sandbox needs.
    pub(super) fn new(
        sandbox: &Sandbox,
        cwd: &Path,
        reached: Option<&Path>,
        walls: &mut Walls,
    ) -> Result<Self, StartError> {
        let mut steps = Steps::default();
        steps.begin(sandbox, cwd, reached)?;
        steps.seal(&sandbox.write)?;
        if sandbox.network.is_own() {
            steps.list.push(Step::Loopback);
        }
        match &sandbox.network {
            Network::Hosts(_) => {
                steps.list.push(Step::Proxy);
                walls.stands(Wall::Network, "network namespace, proxy");
            }
            Network::Loopback => walls.stands(Wall::Network, "network namespace"),
            Network::Open | Network::Ports(_) | Network::None => {}
        }
        if sandbox.private_tmp {
            steps.private_tmp()?;
            walls.stands(Wall::Tmp, "mount namespace");
        }
        steps.hide(&sandbox.hidden)?;
        if !sandbox.hidden.is_empty() && !walls.missing.iter().any(|(wall, _)| *wall == Wall::Hidden) {
            walls.stands(Wall::Hidden, "mount namespace");
        }
        steps.protect(&sandbox.protected)?;
        if !sandbox.protected.is_empty() {
            walls.stands(Wall::Protected, "mount namespace");
        }
        let network = if sandbox.network.is_own() { libc::CLONE_NEWNET } else { 0 };
        let user = (!rustix::process::geteuid().is_root()).then(same_user);
        let user_flag = if user.is_some() { libc::CLONE_NEWUSER } else { 0 };
        Ok(Self { flags: libc::CLONE_NEWNS | network | user_flag, user, steps: steps.list })
    }

    /// Performs the steps; in the child. What is mounted for everybody to write is let through the rules.
    pub(super) fn perform(&self, rules: Option<&OwnedFd>, giver: &Giver) -> Result<(), Errno> {
        unshare(self.flags)?;
        if let Some(user) = &self.user {
            become_same_user(user)?;
        }
        rustix::mount::mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
        self.steps.iter().try_for_each(|step| self.step(step, rules, giver))
    }

    fn step(&self, step: &Step, rules: Option<&OwnedFd>, giver: &Giver) -> Result<(), Errno> {
        let tmpfs = |path: &CString, mode| {
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            rustix::mount::mount(c"tmpfs", path.as_c_str(), c"tmpfs", flags, mode)
        };
        match step {
            Step::Kept(_) => Ok(()),
            Step::Hold(number) => {
                if let Some(Step::Kept(kept)) = self.steps.get(*number) {
                    let tree = tree(&kept.path)?;
                    *kept.tree.try_borrow_mut().map_err(|_| Errno::BUSY)? = Some(tree);
                }
                Ok(())
            }
            Step::Put(number) => match self.steps.get(*number) {
                Some(Step::Kept(kept)) => match &*kept.tree.try_borrow().map_err(|_| Errno::BUSY)? {
                    Some(tree) => put(tree, &kept.path),
                    None => Ok(()),
                },
                Some(_) | None => Ok(()),
            },
            Step::Pin(path) => put(&tree(path)?, path),
            Step::Open(path) => {
                tmpfs(path, c"mode=1777")?;
                let place = rustix::fs::open(path.as_c_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                rules.map_or(Ok(()), |rules| rules::allow(rules, &place))
            }
            Step::Cover(path) => tmpfs(path, c"mode=0755,size=64k"),
            Step::Blank(path) => rustix::mount::mount_bind(c"/dev/null", path.as_c_str()),
            Step::Directory(path) => there(rustix::fs::mkdir(path.as_c_str(), Mode::from_raw_mode(0o755))),
            Step::File(path) => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::open(path.as_c_str(), flags, Mode::from_raw_mode(0o600)).map(drop)
            }
            Step::ReadOnly(path) => read_only(path, 0),
            Step::Seal => read_only(c"/", libc::AT_RECURSIVE),
            Step::Loopback => start_loopback(),
            Step::Proxy => giver.give(Purpose::Proxy, listen()?.as_fd()),
        }
    }
}

/// Tells that the walls do not stand that need namespaces.
pub(super) fn missing(sandbox: &Sandbox, why: &str, walls: &mut Walls) {
    let needed = [
        (Wall::Tmp, sandbox.private_tmp),
        (Wall::Protected, !sandbox.protected.is_empty()),
        (Wall::Network, sandbox.network == Network::Loopback),
    ];
    if let Network::Hosts(_) = sandbox.network {
        let instead = "Landlock lets it reach the port of the proxy, and that port of every other host";
        walls.lacks(Wall::Network, format!("this host gives no namespaces: {why}; {instead}"));
    }
    for (wall, _) in needed.into_iter().filter(|(_, is_needed)| *is_needed) {
        walls.lacks(wall, format!("this host gives no namespaces: {why}"));
    }
}

/// The steps while they are collected.
#[derive(Default)]
struct Steps {
    list: Vec<Step>,
    /// Whether the temporary directories are covered.
    is_tmp_covered: bool,
    /// What lies in a temporary directory and is worked with, its place, and whether it can be written.
    beneath_tmp: Vec<(PathBuf, usize, bool)>,
    /// The place of the socket that is reached although it is hidden.
    reached: Option<(PathBuf, usize)>,
}

impl Steps {
    /// Holds on to everything that will be covered and is needed.
    fn begin(&mut self, sandbox: &Sandbox, cwd: &Path, reached: Option<&Path>) -> Result<(), StartError> {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let is_covered = |path: &&PathBuf| {
            sandbox.private_tmp
                && TEMPORARY.iter().any(|tmp| path.starts_with(tmp) && path.as_path() != Path::new(tmp))
        };
        let mut worked: Vec<&PathBuf> = sandbox.write.iter().chain([&cwd]).filter(is_covered).collect();
        worked.sort();
        worked.dedup();
        for path in worked {
            // What lies in another one that can be written comes with it.
            if !self.beneath_tmp.iter().any(|(above, _, is_writable)| *is_writable && path.starts_with(above))
            {
                let place = self.keep(path)?;
                let is_writable = sandbox.write.iter().any(|root| path.starts_with(root));
                self.beneath_tmp.push((path.clone(), place, is_writable));
            }
        }
        let reached = reached.and_then(|path| path.canonicalize().ok());
        if let Some(path) =
            reached.filter(|path| sandbox.hidden.iter().any(|hidden| path.starts_with(hidden)))
        {
            let place = self.keep(&path)?;
            self.reached = Some((path, place));
        }
        Ok(())
    }

    /// Makes everything unwritable but what may be written. The rules stop writing, and know nothing of the modes, owners,
    /// times and attributes of files.
    fn seal(&mut self, write: &[PathBuf]) -> Result<(), StartError> {
        if write.iter().any(|root| root.as_path() == Path::new("/")) {
            return Ok(());
        }
        let mut kept: Vec<(&PathBuf, usize)> = Vec::new();
        for path in write {
            let comes_with_another = kept.iter().any(|(above, _)| path.starts_with(above));
            if !comes_with_another && !self.beneath_tmp.iter().any(|(above, ..)| path.starts_with(above)) {
                kept.push((path, self.keep(path)?));
            }
        }
        self.list.push(Step::Seal);
        self.list.extend(kept.into_iter().map(|(_, place)| Step::Put(place)));
        Ok(())
    }

    fn keep(&mut self, path: &Path) -> Result<usize, StartError> {
        let place = self.list.len();
        self.list.push(Step::Kept(Kept { path: text(path)?, tree: RefCell::new(None) }));
        self.list.push(Step::Hold(place));
        Ok(place)
    }

    fn private_tmp(&mut self) -> Result<(), StartError> {
        for tmp in TEMPORARY.map(Path::new) {
            if tmp.is_dir() {
                self.list.push(Step::Open(text(tmp)?));
            }
        }
        self.is_tmp_covered = true;
        for (path, place, is_writable) in self.beneath_tmp.clone() {
            self.directories(&path, path.is_dir())?;
            self.list.push(Step::Put(place));
            // The rules let everything in the new directory be written, and what is put into it is in it.
            if !is_writable {
                self.list.push(Step::ReadOnly(text(&path)?));
            }
        }
        Ok(())
    }

    /// Makes the directories that lead to a path in a covered place, and the path.
    fn directories(&mut self, path: &Path, is_dir: bool) -> Result<(), StartError> {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for directory in above.into_iter().rev() {
            self.list.push(Step::Directory(text(directory)?));
        }
        self.list.push(if is_dir { Step::Directory(text(path)?) } else { Step::File(text(path)?) });
        Ok(())
    }

    fn hide(&mut self, hidden: &[PathBuf]) -> Result<(), StartError> {
        for path in hidden {
            let socket = self.reached.take_if(|(socket, _)| socket.starts_with(path));
            if self.is_covered(path) {
                self.expose(socket)?;
                continue;
            }
            if !path.is_dir() {
                self.list.push(Step::Blank(text(path)?));
                continue;
            }
            self.list.push(Step::Cover(text(path)?));
            self.expose(socket)?;
            self.list.push(Step::ReadOnly(text(path)?));
        }
        Ok(())
    }

    /// Is it gone already, with the temporary directory it lies in?
    fn is_covered(&self, path: &Path) -> bool {
        self.is_tmp_covered
            && TEMPORARY.iter().any(|tmp| path.starts_with(tmp))
            && !self.beneath_tmp.iter().any(|(kept, ..)| path.starts_with(kept))
    }

    fn expose(&mut self, socket: Option<(PathBuf, usize)>) -> Result<(), StartError> {
        let Some((socket, place)) = socket else { return Ok(()) };
        self.directories(&socket, false)?;
        self.list.push(Step::Put(place));
        Ok(())
    }

    /// Pins what holds a protected thing, too: moved away with its contents, it could be made anew.
    fn protect(&mut self, protected: &[PathBuf]) -> Result<(), StartError> {
        let protected: Vec<&PathBuf> = protected.iter().filter(|path| !self.is_covered(path)).collect();
        let mut above: Vec<&Path> = protected.iter().filter_map(|path| path.parent()).collect();
        above.sort();
        above.dedup();
        for path in above {
            self.list.push(Step::Pin(text(path)?));
        }
        for path in protected {
            self.list.push(Step::Pin(text(path)?));
            self.list.push(Step::ReadOnly(text(path)?));
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<CString, StartError> {
    let refused = |_| StartError::Invalid(format!("{} has a nul byte in it", path.display()));
    CString::new(path.as_os_str().as_bytes()).map_err(refused)
}

/// What makes the user the same in a new namespace.
fn same_user() -> [(CString, Vec<u8>); 3] {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    [
        (c"/proc/self/setgroups".to_owned(), b"deny".to_vec()),
        (c"/proc/self/uid_map".to_owned(), format!("{user} {user} 1").into_bytes()),
        (c"/proc/self/gid_map".to_owned(), format!("{group} {group} 1").into_bytes()),
    ]
}

/// Becomes the same user. The files for it belong to root while this process hides, as its supervisor does, so it shows
/// itself until they are open.
fn become_same_user(user: &[(CString, Vec<u8>); 3]) -> Result<(), Errno> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    let open = |number: usize| {
        let (path, _) = user.get(number).ok_or(Errno::INVAL)?;
        rustix::fs::open(path.as_c_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    };
    let opened = [open(0), open(1), open(2)];
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    for (file, (_, words)) in opened.into_iter().zip(user) {
        rustix::io::write(file?, words)?;
    }
    Ok(())
}

/// What is mounted at a path, with everything below it, as a tree of its own.
fn tree(path: &CString) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, path.as_c_str(), flags)
}

fn put(tree: &OwnedFd, path: &CString) -> Result<(), Errno> {
    rustix::mount::move_mount(tree, c"", CWD, path.as_c_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn there(made: Result<(), Errno>) -> Result<(), Errno> {
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

pub(super) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[expect(unsafe_code, reason = "the library's safe function knows only some of the flags")]
fn unshare(flags: libc::c_int) -> Result<(), Errno> {
    // SAFETY: the child has one thread, and what it stops sharing it does not use through others.
    if unsafe { libc::unshare(flags) } == -1 { Err(last()) } else { Ok(()) }
}

/// Makes a mount unwritable, with whatever else it is; or all of them.
#[expect(unsafe_code, reason = "the C library has no function for this call of the kernel")]
fn read_only(path: &CStr, flags: libc::c_int) -> Result<(), Errno> {
    let change =
        libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the text ends with a zero, and the structure is whole and lives across the call.
    let changed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const change,
            size_of_val(&change),
        )
    };
    if changed == -1 { Err(last()) } else { Ok(()) }
}

/// A socket that listens for the proxy.
fn listen() -> Result<OwnedFd, Errno> {
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

/// Starts the loopback device of a new network namespace.
#[expect(unsafe_code, reason = "there is no safe function for this request")]
fn start_loopback() -> Result<(), Errno> {
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zeros is a value of the structure; the request reads it and nothing else.
    let started = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    };
    if started == -1 { Err(last()) } else { Ok(()) }
}

/// What root keeps: what concerns files, its own processes and low ports.
const ROOT_KEEPS: [CapabilitySet; 8] = [
    CapabilitySet::CHOWN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::FOWNER,
    CapabilitySet::FSETID,
    CapabilitySet::KILL,
    CapabilitySet::SETGID,
    CapabilitySet::SETUID,
    CapabilitySet::NET_BIND_SERVICE,
];

/// Gives up every capability that an agent does not need; in the child. Without the right to give up more than that, there
/// is none.
pub(super) fn drop_capabilities() -> Result<(), Errno> {
    let kept = ROOT_KEEPS.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    for number in 0..64 {
        let Some(one) = CapabilitySet::from_bits(1 << number) else { continue };
        if kept.contains(one) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(errno) => return Err(errno),
        }
    }
    let has = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: has.effective & kept,
            permitted: has.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}
