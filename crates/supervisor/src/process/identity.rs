//! Who a process is, so that it can be asked later whether it is still there.

use std::sync::OnceLock;
use std::{fs, io};

use super::Stat;
use crate::mutant;

/// One process and no other, on any host, after any number of boots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The name of the host.
    pub host: String,
    /// The boot of the host.
    pub boot: String,
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
    /// It lives on another host, which cannot be seen from here.
    OtherHost,
}

/// This very process.
pub fn this() -> io::Result<Identity> {
    of(std::process::id())?.ok_or_else(|| io::Error::other("/proc does not show this process"))
}

/// The process with this pid, if there is one.
pub fn of(pid: u32) -> io::Result<Option<Identity>> {
    let (host, boot) = here()?;
    Ok(Stat::read(pid).map(|stat| Identity {
        host: host.to_owned(),
        boot: boot.to_owned(),
        pid,
        started_ticks: stat.started_ticks,
    }))
}

/// What became of a process.
pub fn look(identity: &Identity) -> io::Result<Sighting> {
    let (host, boot) = here()?;
    if identity.host != host {
        return Ok(Sighting::OtherHost);
    }
    if identity.boot != boot {
        return Ok(Sighting::OtherBoot);
    }
    let is_other =
        |stat: &Stat| stat.started_ticks != identity.started_ticks && !mutant::removed("start_time");
    Ok(match Stat::read(identity.pid) {
        Some(stat) if is_other(&stat) => Sighting::Gone,
        Some(stat) if stat.is_zombie() => Sighting::Zombie,
        Some(Stat { state: 'T' | 't', .. }) => Sighting::Stopped,
        Some(_) => Sighting::Alive,
        None => Sighting::Gone,
    })
}

/// The name of this host and the id of its boot; neither changes while we live.
fn here() -> io::Result<(&'static str, &'static str)> {
    static HERE: OnceLock<(String, String)> = OnceLock::new();
    if let Some((host, boot)) = HERE.get() {
        return Ok((host, boot));
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let (host, boot) = HERE.get_or_init(|| (host, boot));
    Ok((host, boot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_namesakes_are_not() {
        let own = this().unwrap();
        assert_eq!(look(&own).unwrap(), Sighting::Alive);
        let later = Identity { started_ticks: own.started_ticks + 1, ..own.clone() };
        assert_eq!(look(&later).unwrap(), Sighting::Gone);
        let earlier = Identity { boot: "another".to_owned(), ..own.clone() };
        assert_eq!(look(&earlier).unwrap(), Sighting::OtherBoot);
        let elsewhere = Identity { host: "another".to_owned(), ..own };
        assert_eq!(look(&elsewhere).unwrap(), Sighting::OtherHost);
    }
}
