//! Who a process is, so that it can be asked later whether it is still there.
//!
//! Invariant: a process is called gone only by who can see it: in its own PID namespace, where start times count from the
//! same moment, through a process table that can be read.

use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::{fs, io};

use rustix::process::Pid;

use super::Stat;
use super::freezer::is_frozen;
use crate::mutant;

/// One process and no other, on any machine, in any namespace, after any number of boots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The name of the host, which may change.
    pub host: String,
    /// The id of the machine, which does not.
    pub machine: Option<String>,
    /// The boot of its kernel.
    pub boot: String,
    /// The PID namespace that the pid belongs to.
    pub pid_ns: Option<u64>,
    /// The time namespace that the start time belongs to.
    pub time_ns: Option<u64>,
    /// The pid, which the kernel gives out again.
    pub pid: u32,
    /// When it began, in clock ticks since the boot.
    pub started_ticks: u64,
}

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// It is there.
    Alive,
    /// It is there, and stopped.
    Stopped,
    /// It has ended, and its parent has not asked how.
    Zombie,
    /// It is gone; the pid is free or belongs to somebody else.
    Gone,
    /// It lived before the last boot, so it is gone.
    OtherBoot,
    /// It lives on another machine, which cannot be seen from here.
    OtherHost,
    /// It lives in another PID namespace, which cannot be seen from here.
    OtherPidNamespace,
    /// It lives in another time namespace, so its start time cannot be compared.
    OtherTimeNamespace,
}

/// What holds a process that is there and does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// A signal stopped it.
    Signal,
    /// A debugger stopped it.
    Tracer,
    /// Its control group is frozen.
    Freezer,
}

/// What the process table says of a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// When the process began, in clock ticks since the boot.
    pub started_ticks: u64,
    /// It has ended, and its parent has not asked how.
    pub is_zombie: bool,
    /// What holds it; a frozen control group is not among it, [`is_held_by_freezer`] tells that.
    pub hold: Option<Hold>,
}

/// This very process.
pub fn this() -> io::Result<Identity> {
    of(std::process::id())?.ok_or_else(|| io::Error::other("/proc does not show this process"))
}

/// The process with this pid, if there is one.
pub fn of(pid: u32) -> io::Result<Option<Identity>> {
    let here = here()?;
    Ok(Stat::find(pid)?.map(|stat| Identity { pid, started_ticks: stat.started_ticks, ..here.clone() }))
}

/// What the process table says of a pid; an error if it cannot be told.
pub fn glance(pid: u32) -> io::Result<Option<Glance>> {
    here()?;
    Ok(Stat::find(pid)?.map(|stat| Glance {
        started_ticks: stat.started_ticks,
        is_zombie: stat.is_zombie(),
        hold: match stat.state {
            'T' => Some(Hold::Signal),
            't' => Some(Hold::Tracer),
            _ => None,
        },
    }))
}

/// Does a process belong to the user we are?
#[must_use]
pub fn is_own(pid: u32) -> bool {
    uid_of(pid) == Some(rustix::process::geteuid().as_raw())
}

/// The user that a process acts as. Not the owner of its directory, which is root for a process that cannot be traced.
pub(crate) fn uid_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let effective = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1));
    effective?.parse().ok()
}

/// Keeps other processes of the same user from reading our memory and environment, and from tracing us. What is public of
/// every process stays so: its name, its words, its state.
pub fn hide_this() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?)
}

/// Is the control group of a process frozen, or one above it?
#[must_use]
pub fn is_held_by_freezer(pid: u32) -> bool {
    is_frozen(pid)
}

/// What became of a process.
pub fn look(identity: &Identity) -> io::Result<Sighting> {
    if let Some(elsewhere) = elsewhere(identity, here()?) {
        return Ok(elsewhere);
    }
    let is_other =
        |stat: &Stat| stat.started_ticks != identity.started_ticks && !mutant::removed("start_time");
    Ok(match Stat::find(identity.pid)? {
        Some(stat) if is_other(&stat) => Sighting::Gone,
        Some(stat) if stat.is_zombie() => Sighting::Zombie,
        Some(Stat { state: 'T' | 't', .. }) => Sighting::Stopped,
        Some(_) => Sighting::Alive,
        None => Sighting::Gone,
    })
}

/// Why a process is not in the process table of this place, whatever that shows.
fn elsewhere(its: &Identity, here: &Identity) -> Option<Sighting> {
    if its.boot != here.boot {
        let is_same_machine = match (&its.machine, &here.machine) {
            (Some(its), Some(ours)) => its == ours,
            (Some(_), None) | (None, _) => its.host == here.host,
        };
        // A sandbox may have a boot id of its own, or hide it, so it tells nothing from another namespace.
        let is_other_namespace = matches!((its.pid_ns, here.pid_ns), (Some(its), Some(ours)) if its != ours);
        return Some(if its.boot.is_empty() || here.boot.is_empty() || !is_same_machine {
            Sighting::OtherHost
        } else if is_other_namespace {
            Sighting::OtherPidNamespace
        } else {
            Sighting::OtherBoot
        });
    }
    match (its.pid_ns, here.pid_ns) {
        (Some(its), Some(ours)) if its == ours => {}
        (Some(_), _) => return Some(Sighting::OtherPidNamespace),
        // An old record does not say; a container has another host name at least.
        (None, _) if its.host == here.host => {}
        (None, _) => return Some(Sighting::OtherHost),
    }
    match (its.time_ns, here.time_ns) {
        (Some(its), Some(ours)) if its != ours => Some(Sighting::OtherTimeNamespace),
        (Some(_) | None, _) => None,
    }
}

/// This place, as the identity of nobody; it does not change while we live, but for the name of the host.
fn here() -> io::Result<&'static Identity> {
    static HERE: OnceLock<Identity> = OnceLock::new();
    if let Some(here) = HERE.get() {
        return Ok(here);
    }
    // The process table of another PID namespace has other processes under our pids.
    if fs::read_link("/proc/self")?.to_str() != Some(&std::process::id().to_string()) {
        return Err(io::Error::other("/proc belongs to another PID namespace"));
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let namespace = |name: &str| fs::metadata(format!("/proc/self/ns/{name}")).ok().map(|file| file.ino());
    let here = Identity {
        machine: Some(machine_id().unwrap_or_else(|| host.clone())),
        host,
        boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
        pid_ns: namespace("pid"),
        time_ns: namespace("time"),
        pid: 0,
        started_ticks: 0,
    };
    Ok(HERE.get_or_init(|| here))
}

/// The id of this machine, where it has one.
fn machine_id() -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        let id = text.trim();
        // The words that stand there before the first boot is over.
        (!id.is_empty() && id != "uninitialized").then(|| id.to_owned())
    })
}

/// Is there a process with this pid, whether or not the process table shows it?
pub(super) fn is_taken(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_namesakes_are_not() {
        let own = this().unwrap();
        let seen = |change: &dyn Fn(&mut Identity)| {
            let mut other = own.clone();
            change(&mut other);
            look(&other).unwrap()
        };
        assert_eq!(seen(&|_| {}), Sighting::Alive);
        assert_eq!(seen(&|other| other.started_ticks += 1), Sighting::Gone);
        assert_eq!(seen(&|other| other.boot = "another".to_owned()), Sighting::OtherBoot);
        assert_eq!(seen(&|other| other.host = "renamed".to_owned()), Sighting::Alive);
        assert_eq!(seen(&|other| other.pid_ns = Some(1)), Sighting::OtherPidNamespace);
        assert_eq!(seen(&|other| other.time_ns = Some(1)), Sighting::OtherTimeNamespace);
        let elsewhere = |other: &mut Identity| {
            (other.machine, other.boot) = (Some("another".to_owned()), "another".to_owned());
        };
        assert_eq!(seen(&elsewhere), Sighting::OtherHost);
        let old = |other: &mut Identity| {
            (other.machine, other.pid_ns, other.host) = (None, None, "another".to_owned());
        };
        assert_eq!(seen(&old), Sighting::OtherHost, "a record of an older release");
    }
}
