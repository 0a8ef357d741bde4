//! Who a process is, and whether it is alive: yes, no, or not to be told from here.
//!
//! Invariant: a pid alone is nobody; pid, start time, boot and host together are. A stranger with the same pid is
//! not our process, and what runs on another host cannot be judged from this one.

/// Which process it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The host it runs on.
    pub host: String,
    /// The boot of that host, so that a restart is noticed.
    pub boot: String,
    /// Its pid.
    pub pid: u32,
    /// When it was started, in the host's own ticks since boot.
    pub started_ticks: u64,
}

/// Where the look is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// The host that looks.
    pub host: String,
    /// Its current boot.
    pub boot: String,
}

/// What a look at the process table showed for a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Nobody looked.
    NotLooked,
    /// No process has the pid.
    Gone,
    /// A process has it; it was started at this tick.
    Seen {
        /// When it was started.
        started_ticks: u64,
    },
}

/// Is the process alive?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It is not.
    Dead,
    /// It cannot be told from here.
    Unknown,
}

/// Is the recorded process alive, as seen from here?
pub fn liveness(recorded: Option<&ProcessIdentity>, here: &Here, sighting: Sighting) -> Liveness {
    let Some(recorded) = recorded else { return Liveness::Unknown };
    if recorded.host != here.host {
        return Liveness::Unknown;
    }
    if recorded.boot != here.boot {
        return Liveness::Dead;
    }
    match sighting {
        Sighting::NotLooked => Liveness::Unknown,
        Sighting::Gone => Liveness::Dead,
        Sighting::Seen { started_ticks } if started_ticks == recorded.started_ticks => Liveness::Alive,
        Sighting::Seen { .. } => Liveness::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_is_believed_only_with_its_start_time_its_boot_and_its_host() {
        let us = ProcessIdentity { host: "a".into(), boot: "b1".into(), pid: 42, started_ticks: 1000 };
        let here = |host: &str, boot: &str| Here { host: host.into(), boot: boot.into() };
        let seen = |started_ticks| Sighting::Seen { started_ticks };
        let cases = [
            (here("a", "b1"), seen(1000), Liveness::Alive),
            (here("a", "b1"), seen(1001), Liveness::Dead),
            (here("a", "b1"), Sighting::Gone, Liveness::Dead),
            (here("a", "b1"), Sighting::NotLooked, Liveness::Unknown),
            (here("a", "b2"), seen(1000), Liveness::Dead),
            (here("z", "b1"), Sighting::Gone, Liveness::Unknown),
        ];
        for (here, sighting, expected) in cases {
            assert_eq!(liveness(Some(&us), &here, sighting), expected, "{here:?} {sighting:?}");
        }
        assert_eq!(liveness(None, &here("a", "b1"), Sighting::Gone), Liveness::Unknown);
    }
}
