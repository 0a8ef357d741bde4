//! The rules of Landlock: files by path, TCP by port, signals and abstract sockets.

use std::fmt::Display;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::io::Errno;

use super::{Network, Sandbox, Wall, Walls, paths};
use crate::StartError;

/// What of files is ruled: everything that a kernel since 6.2 rules. An older one lets files be cut short that cannot be
/// written, so it gives no wall.
const FILES: ABI = ABI::V3;
const PORTS: ABI = ABI::V4;
const SCOPES: ABI = ABI::V6;

/// Devices that programs write to.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/fd",
];

/// The rules of a sandbox, not in force yet; nothing where the kernel has no Landlock.
pub(super) fn of(
    sandbox: &Sandbox,
    has_mounts: bool,
    walls: &mut Walls,
) -> Result<Option<OwnedFd>, StartError> {
    let hard = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let has_files = hard().handle_access(AccessFs::from_all(FILES)).is_ok();
    let has_ports = hard().handle_access(AccessNet::from_all(PORTS)).is_ok();
    let has_scopes = hard().scope(Scope::from_all(SCOPES)).is_ok();
    told(sandbox, [has_files, has_ports, has_scopes], walls);
    if !has_files {
        return Ok(None);
    }
    let is_by_port = matches!(sandbox.network, Network::Ports(_) | Network::None);
    let mut rules = hard().handle_access(AccessFs::from_all(FILES)).map_err(failed)?;
    if is_by_port && has_ports {
        rules = rules.handle_access(AccessNet::from_all(PORTS)).map_err(failed)?;
    }
    if has_scopes {
        rules = rules.scope(Scope::from_all(SCOPES)).map_err(failed)?;
    }
    let mut created = rules.create().map_err(failed)?;
    let hidden: &[PathBuf] = if has_mounts { &[] } else { &sandbox.hidden };
    created = beneath(created, &[PathBuf::from("/")], hidden, AccessFs::from_read(FILES), walls)?;
    created = beneath(created, &sandbox.write, hidden, AccessFs::from_all(FILES), walls)?;
    if sandbox.private_tmp && !has_mounts {
        // Shared, because a command without any place for temporary files fails; it is told so.
        created = beneath(created, &SHARED_TMP.map(PathBuf::from), hidden, AccessFs::from_all(FILES), walls)?;
    }
    created = beneath(created, &DEVICES.map(PathBuf::from), &[], AccessFs::from_file(FILES), walls)?;
    if let Network::Ports(ports) = &sandbox.network
        && has_ports
    {
        for port in ports {
            created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(failed)?;
        }
    }
    if !has_mounts
        && !sandbox.hidden.is_empty()
        && !walls.missing.iter().any(|(wall, _)| *wall == Wall::Hidden)
    {
        walls.stands(Wall::Hidden, "Landlock; sockets stay reachable");
    }
    Ok(created.into())
}

const SHARED_TMP: [&str; 2] = ["/tmp", "/dev/shm"];

/// Tells which walls of Landlock stand.
fn told(sandbox: &Sandbox, [has_files, has_ports, has_scopes]: [bool; 3], walls: &mut Walls) {
    let mut tell = |wall, has: bool, needed: &str| match has {
        true => walls.stands(wall, "Landlock"),
        false => walls.lacks(wall, format!("the kernel has no Landlock for it (Linux {needed} has)")),
    };
    tell(Wall::Files, has_files, "6.2");
    tell(Wall::Signals, has_files && has_scopes, "6.12");
    tell(Wall::Sockets, has_files && has_scopes, "6.12");
    if matches!(sandbox.network, Network::Ports(_)) {
        tell(Wall::Network, has_files && has_ports, "6.7");
    }
}

fn beneath(
    mut rules: RulesetCreated,
    roots: &[PathBuf],
    hidden: &[PathBuf],
    access: BitFlags<AccessFs>,
    walls: &mut Walls,
) -> Result<RulesetCreated, StartError> {
    for root in roots {
        let Some(paths) = paths::without(root, hidden) else {
            walls.lacks(Wall::Hidden, format!("a directory in {} has too many entries", root.display()));
            continue;
        };
        for path in paths {
            rules = one(rules, &path, access)?;
        }
    }
    Ok(rules)
}

/// What is gone meanwhile, or cannot be opened, needs no rule.
fn one(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, StartError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let is_dir = rustix::fs::fstat(place.as_fd()).is_ok_and(|found| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory
    });
    let access = if is_dir { access } else { access & AccessFs::from_file(FILES) };
    rules.add_rule(PathBeneath::new(place, access)).map_err(failed)
}

fn failed(error: impl Display) -> StartError {
    StartError::Sandbox { wall: Wall::Files.name(), why: error.to_string() }
}

#[repr(C, packed)]
struct Beneath {
    access: u64,
    parent: i32,
}

/// Lets everything be done beneath a directory that was mounted after the rules were made; in the child.
#[expect(unsafe_code, reason = "the library makes rules in allocated memory, which the child must not")]
pub(super) fn allow(rules: &OwnedFd, place: &OwnedFd) -> Result<(), Errno> {
    const ADD_RULE: libc::c_long = 445;
    const PATH_BENEATH: libc::c_int = 1;
    let rule = Beneath { access: AccessFs::from_all(FILES).bits(), parent: place.as_raw_fd() };
    // SAFETY: the structure is the kernel's own and lives across the call.
    let added = unsafe { libc::syscall(ADD_RULE, rules.as_raw_fd(), PATH_BENEATH, &raw const rule, 0) };
    if added == -1 { Err(super::mounts::last()) } else { Ok(()) }
}

/// Puts the rules in force; in the child.
#[expect(unsafe_code, reason = "the library takes the rules away from whoever made them")]
pub(super) fn restrict(rules: &OwnedFd) -> Result<(), Errno> {
    const RESTRICT_SELF: libc::c_long = 446;
    // SAFETY: the call takes plain numbers.
    let restricted = unsafe { libc::syscall(RESTRICT_SELF, rules.as_raw_fd(), 0) };
    if restricted == -1 { Err(super::mounts::last()) } else { Ok(()) }
}
