//! The filter of system calls: what no agent needs is refused with EPERM, so that programs can tell what happened.
//!
//! Invariant: everything else passes; the filter is no list of what is allowed. Programs for another instruction set
//! cannot be filtered, so they are killed.

use std::collections::BTreeMap;
use std::fmt::Display;

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
const REFUSED: [libc::c_long; 45] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

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
pub(super) fn of(
    sandbox: &Sandbox,
    has_rules: bool,
    walls: &mut Walls,
) -> Result<Vec<BpfProgram>, StartError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.map(|call| (call, Vec::new())).into();
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
    let filters = vec![filter(refused, libc::EPERM)?, filter(unknown, libc::ENOSYS)?];
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
    const RETURN: u16 = 0x06;
    let refuse = 0x0005_0000 | libc::EPERM as u32;
    let before = [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse },
    ];
    before.into_iter().chain(program).collect()
}

fn failed(error: impl Display) -> StartError {
    StartError::Sandbox { wall: Wall::Calls.name(), why: error.to_string() }
}
