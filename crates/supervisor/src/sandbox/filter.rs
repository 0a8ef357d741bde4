//! The filter of system calls: what no agent needs is refused with EPERM, so that programs can tell what happened. The kernel
//! asks the guard of the sandbox about a refused call, which counts it and refuses it.
//!
//! Invariant: everything else passes; the filter is no list of what is allowed. Programs for another instruction set
//! cannot be filtered, so they are killed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::{Network, Sandbox, Wall, Walls};
use crate::{StartError, mutant};

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const ARCH: TargetArch = TargetArch::riscv64;

/// Refused whatever the arguments: mounts and namespaces, other processes' memory, the kernel itself, keys, clocks, and
/// calls that get around a filter or around the path of a file.
const REFUSED: [(&str, libc::c_long); 45] = [
    ("mount", libc::SYS_mount),
    ("umount2", libc::SYS_umount2),
    ("pivot_root", libc::SYS_pivot_root),
    ("move_mount", libc::SYS_move_mount),
    ("open_tree", libc::SYS_open_tree),
    ("fsopen", libc::SYS_fsopen),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fspick", libc::SYS_fspick),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("setns", libc::SYS_setns),
    ("chroot", libc::SYS_chroot),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("process_madvise", libc::SYS_process_madvise),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("kcmp", libc::SYS_kcmp),
    ("kexec_load", libc::SYS_kexec_load),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("init_module", libc::SYS_init_module),
    ("finit_module", libc::SYS_finit_module),
    ("delete_module", libc::SYS_delete_module),
    ("bpf", libc::SYS_bpf),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("keyctl", libc::SYS_keyctl),
    ("add_key", libc::SYS_add_key),
    ("request_key", libc::SYS_request_key),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("swapon", libc::SYS_swapon),
    ("swapoff", libc::SYS_swapoff),
    ("reboot", libc::SYS_reboot),
    ("acct", libc::SYS_acct),
    ("quotactl", libc::SYS_quotactl),
    ("quotactl_fd", libc::SYS_quotactl_fd),
    ("settimeofday", libc::SYS_settimeofday),
    ("clock_settime", libc::SYS_clock_settime),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("sethostname", libc::SYS_sethostname),
    ("setdomainname", libc::SYS_setdomainname),
    ("syslog", libc::SYS_syslog),
    ("vhangup", libc::SYS_vhangup),
];

/// Refused for some arguments, or in some sandboxes.
const SOMETIMES: [(&str, libc::c_long); 10] = [
    ("unshare", libc::SYS_unshare),
    ("clone", libc::SYS_clone),
    ("ptrace", libc::SYS_ptrace),
    ("prlimit64", libc::SYS_prlimit64),
    ("setpriority", libc::SYS_setpriority),
    ("ioprio_set", libc::SYS_ioprio_set),
    ("socket", libc::SYS_socket),
    ("sendto", libc::SYS_sendto),
    ("sendmsg", libc::SYS_sendmsg),
    ("sendmmsg", libc::SYS_sendmmsg),
];

/// The name of a refused call; of a socket, with its kind.
pub(super) fn name(number: libc::c_int, first_argument: u64) -> &'static str {
    let is_socket = libc::c_long::from(number) == libc::SYS_socket;
    match libc::c_int::try_from(first_argument) {
        Ok(libc::AF_INET) if is_socket => return "socket(AF_INET)",
        Ok(libc::AF_INET6) if is_socket => return "socket(AF_INET6)",
        Ok(libc::AF_NETLINK) if is_socket => return "socket(AF_NETLINK)",
        Ok(libc::AF_PACKET) if is_socket => return "socket(AF_PACKET)",
        Ok(libc::AF_VSOCK) if is_socket => return "socket(AF_VSOCK)",
        Ok(libc::AF_ALG) if is_socket => return "socket(AF_ALG)",
        Ok(_) | Err(_) => {}
    }
    let known = REFUSED.iter().chain(&SOMETIMES).find(|(_, known)| *known == libc::c_long::from(number));
    // Those of x32 have numbers of their own.
    known.map_or("another instruction set", |(name, _)| *name)
}

/// Kinds of namespaces that are not made; the flags of `unshare` and `clone`.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME, which `clone` takes for a part of the exit signal; no signal has such a number.
];

/// The filters of a sandbox.
#[derive(Debug)]
pub(super) struct Filters {
    /// What refuses.
    refused: BpfProgram,
    /// The same, which asks the guard about every call that it refuses.
    asking: BpfProgram,
    /// What is said not to be there.
    unknown: BpfProgram,
}

/// The filters of a sandbox.
pub(super) fn of(sandbox: &Sandbox, has_rules: bool, walls: &mut Walls) -> Result<Filters, StartError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.map(|(_, call)| (call, Vec::new())).into();
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        let rules = NAMESPACES.map(|kind| rule([bits(0, kind as u64, kind as u64)?]));
        refused.insert(call, rules.into_iter().collect::<Result<_, _>>()?);
    }
    // Limits and priorities of others reach a process as surely as a signal does; programs change their own with zero.
    for (call, index) in [(libc::SYS_prlimit64, 0), (libc::SYS_setpriority, 1), (libc::SYS_ioprio_set, 1)] {
        refused.insert(call, vec![rule([argument(index, SeccompCmpOp::Ne, 0)?])?]);
    }
    if !has_rules {
        // Landlock keeps processes outside from being traced, and lets a debugger work inside.
        refused.insert(libc::SYS_ptrace, Vec::new());
    }
    network(&sandbox.network, &mut refused)?;
    // Its flags are in memory, which no filter reads. Whoever is told that there is no such call uses `clone`.
    let unknown = [(libc::SYS_clone3, Vec::new())].into();
    if mutant::removed("refused_calls") {
        refused.clear();
    }
    let refused = filter(refused, libc::EPERM)?;
    let filters = Filters { asking: asking(&refused), refused, unknown: filter(unknown, libc::ENOSYS)? };
    walls.stands(Wall::Calls, "seccomp");
    if sandbox.network == Network::None {
        walls.stands(Wall::Network, "seccomp");
    }
    Ok(filters)
}

/// Refuses the sockets that the network does not have, and what the rules about ports do not see: other protocols than
/// TCP, and connections that are made by sending.
fn network(network: &Network, refused: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), StartError> {
    let family = |family: libc::c_int| argument(0, SeccompCmpOp::Eq, family as u64);
    let inet = [libc::AF_INET, libc::AF_INET6];
    let mut sockets = Vec::new();
    match network {
        Network::Open => return Ok(()),
        // Its own loopback device is all there is; what reaches the host past it is refused.
        Network::Loopback | Network::Hosts(_) => sockets.push(rule([family(libc::AF_VSOCK)?])?),
        Network::None => {
            let beyond = argument(0, SeccompCmpOp::Gt, libc::AF_UNIX as u64)?;
            sockets.push(rule([beyond])?);
        }
        Network::Ports(ports) => {
            let others = [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_BLUETOOTH, libc::AF_ALG];
            for one in others {
                sockets.push(rule([family(one)?])?);
            }
            for one in inet {
                let is_udp_open = ports.contains(&53);
                let kinds = [libc::SOCK_RAW, libc::SOCK_SEQPACKET, libc::SOCK_RDM, libc::SOCK_DCCP];
                let kinds = kinds.into_iter().chain((!is_udp_open).then_some(libc::SOCK_DGRAM));
                for kind in kinds {
                    sockets.push(rule([family(one)?, bits(1, 0xf, kind as u64)?])?);
                }
                let stream = bits(1, 0xf, libc::SOCK_STREAM as u64)?;
                let other = argument(2, SeccompCmpOp::Gt, libc::IPPROTO_TCP as u64)?;
                sockets.push(rule([family(one)?, stream, other])?);
            }
            let fast = |index| rule([bits(index, libc::MSG_FASTOPEN as u64, libc::MSG_FASTOPEN as u64)?]);
            refused.insert(libc::SYS_sendto, vec![fast(3)?]);
            refused.insert(libc::SYS_sendmsg, vec![fast(2)?]);
            refused.insert(libc::SYS_sendmmsg, vec![fast(3)?]);
        }
    }
    refused.insert(libc::SYS_socket, sockets);
    Ok(())
}

fn argument(index: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompCondition, StartError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, compare, value).map_err(failed)
}

fn bits(index: u8, mask: u64, value: u64) -> Result<SeccompCondition, StartError> {
    argument(index, SeccompCmpOp::MaskedEq(mask), value)
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, StartError> {
    SeccompRule::new(conditions.to_vec()).map_err(failed)
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: libc::c_int) -> Result<BpfProgram, StartError> {
    let answer = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, ARCH).map_err(failed)?;
    let program: BpfProgram = filter.try_into().map_err(failed)?;
    Ok(guarded(program))
}

/// Refuses the calls of x32 first, which have other numbers under the same name of the instruction set.
fn guarded(program: BpfProgram) -> BpfProgram {
    if cfg!(not(target_arch = "x86_64")) {
        return program;
    }
    const LOAD_NUMBER: u16 = 0x20;
    const IF_AT_LEAST: u16 = 0x35;
    let before = [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: REFUSE },
    ];
    before.into_iter().chain(program).collect()
}

const RETURN: u16 = 0x06;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM as u32;
const ASK: u32 = 0x7fc0_0000;

/// The same filter, which has the kernel ask whoever holds its descriptor instead of refusing.
fn asking(program: &BpfProgram) -> BpfProgram {
    let ask = |step: &sock_filter| {
        let is_refusal = step.code == RETURN && step.k == REFUSE;
        sock_filter { code: step.code, jt: step.jt, jf: step.jf, k: if is_refusal { ASK } else { step.k } }
    };
    program.iter().map(ask).collect()
}

impl Filters {
    /// Puts the filters in force; in the child. Gives the descriptor of who is asked, if there can be one: a process has one
    /// at the most, which somebody around us may have.
    pub(super) fn enforce(&self) -> Result<Option<OwnedFd>, Errno> {
        let apply = |program| seccompiler::apply_filter(program).map_err(|_| Errno::INVAL);
        let asked = ask(&self.asking);
        if asked.is_err() {
            apply(&self.refused)?;
        }
        apply(&self.unknown)?;
        Ok(asked.ok())
    }
}

#[expect(unsafe_code, reason = "neither library knows a filter that asks")]
fn ask(program: &BpfProgram) -> Result<OwnedFd, Errno> {
    let length = libc::c_ushort::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    let (set, listen) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: the structure and what it points to live across the call, which reads them; both libraries lay out the steps of
    // a filter as the kernel does.
    let made = unsafe { libc::syscall(libc::SYS_seccomp, set, listen, &raw const program) };
    match i32::try_from(made) {
        // SAFETY: the kernel has opened it for us and nobody else knows its number.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        Ok(_) | Err(_) => Err(super::mounts::last()),
    }
}

fn failed(error: impl Display) -> StartError {
    StartError::Sandbox { wall: Wall::Calls.name(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_that_asks_refuses_nothing_by_itself_and_differs_in_nothing_else() {
        let refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.map(|(_, call)| (call, Vec::new())).into();
        let refusing = filter(refused, libc::EPERM).unwrap();
        let asking = asking(&refusing);
        let returns = |program: &BpfProgram, value| {
            program.iter().filter(|step| step.code == RETURN && step.k == value).count()
        };
        assert_eq!((returns(&asking, REFUSE), returns(&refusing, ASK)), (0, 0));
        assert_eq!(returns(&asking, ASK), returns(&refusing, REFUSE));
        let same = asking.iter().zip(&refusing).filter(|(a, b)| a.k == b.k).count();
        assert_eq!(same, refusing.len() - returns(&refusing, REFUSE));
    }

    #[test]
    fn every_refused_call_has_its_name() {
        assert_eq!(name(libc::SYS_keyctl as libc::c_int, 0), "keyctl");
        assert_eq!(name(libc::SYS_socket as libc::c_int, libc::AF_INET as u64), "socket(AF_INET)");
        assert_eq!(name(libc::SYS_socket as libc::c_int, 63), "socket");
        assert_eq!(name(libc::SYS_sendto as libc::c_int, libc::AF_INET as u64), "sendto");
        assert_eq!(name(0x4000_0001, 0), "another instruction set");
    }
}
