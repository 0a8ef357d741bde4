//! Who a process is, and whether it is alive: yes, no, or not to be told from here.
//!
//! Invariant: a pid alone is nobody; pid, start time, PID namespace and boot together are. Who cannot see a process says
//! so and never calls it dead: a pid of another PID namespace is another process, a start time of another time namespace
//! is another number, and what runs on another machine is judged by its lease. A machine is known by its boot while it
//! runs and by its machine id afterwards; its host name may change and is only shown.

use callboard_lifecycle::words;

/// Where a process runs, or where a look is taken from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the host; only shown, unless nothing better is recorded.
    pub host: String,
    /// The id of the machine, which outlives a boot and a change of name.
    pub machine: Option<String>,
    /// The boot of the kernel.
    pub boot: String,
    /// The PID namespace, in which pids are counted.
    pub pid_ns: Option<u64>,
    /// The time namespace, in which start times are counted.
    pub time_ns: Option<u64>,
}

/// Which process it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Where it runs.
    pub place: Place,
    /// Its pid.
    pub pid: u32,
    /// When it was started, in the kernel's own ticks since boot.
    pub started_ticks: u64,
}

/// How a place stands to the one that a look is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vantage {
    /// The same: a look at its process table tells.
    #[default]
    Here,
    /// The same machine in an earlier boot: nothing of it is alive.
    Restarted,
    /// Another machine, or one of which too little is recorded.
    OtherMachine,
    /// The same kernel, and another PID namespace: its pids mean nothing here.
    OtherPidNamespace,
    /// The same kernel, and another time namespace: its start times mean nothing here.
    OtherTimeNamespace,
}

impl Vantage {
    /// Why a process cannot be seen from here; nothing if it can, or if it is known to be gone.
    pub const fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Here | Self::Restarted => None,
            Self::OtherMachine => Some("it is not known to be on this machine"),
            Self::OtherPidNamespace => Some("it cannot be seen from this PID namespace"),
            Self::OtherTimeNamespace => Some("its start time cannot be compared from this time namespace"),
        }
    }
}

impl Place {
    /// How this place stands to `here`.
    pub fn seen_from(&self, here: &Self) -> Vantage {
        if self.boot != here.boot {
            // A sandbox may have a boot id of its own, or hide it, so it tells nothing from another namespace.
            let is_other_namespace =
                matches!((self.pid_ns, here.pid_ns), (Some(its), Some(ours)) if its != ours);
            return if self.boot.is_empty() || here.boot.is_empty() || !self.is_same_machine(here) {
                Vantage::OtherMachine
            } else if is_other_namespace {
                Vantage::OtherPidNamespace
            } else {
                Vantage::Restarted
            };
        }
        // One boot is one kernel, whatever its machine calls itself.
        match (self.pid_ns, here.pid_ns) {
            (Some(its), Some(ours)) if its == ours => {}
            (Some(_), _) => return Vantage::OtherPidNamespace,
            // An old record does not say in which namespace it was; a container has another host name at least.
            (None, _) if self.host == here.host => {}
            (None, _) => return Vantage::OtherMachine,
        }
        match (self.time_ns, here.time_ns) {
            (Some(its), Some(ours)) if its != ours => Vantage::OtherTimeNamespace,
            (Some(_) | None, _) => Vantage::Here,
        }
    }

    fn is_same_machine(&self, other: &Self) -> bool {
        match (&self.machine, &other.machine) {
            (Some(its), Some(others)) => its == others,
            (Some(_), None) | (None, _) => self.host == other.host,
        }
    }
}

words! {
    /// What holds a process that is alive and does not run.
    pub enum Hold is "hold" {
        /// A signal stopped it.
        Signal = "signal",
        /// Its control group is frozen.
        Freezer = "freezer",
        /// It was suspended together with its supervisor, as by Ctrl-Z.
        Suspended = "suspended",
        /// A debugger stopped it.
        Tracer = "tracer",
    }
}

/// What a look at the process table showed for a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Nobody looked.
    NotLooked,
    /// No process has the pid.
    Gone,
    /// A process has it.
    Seen {
        /// When it was started.
        started_ticks: u64,
        /// What holds it, if anything does.
        hold: Option<Hold>,
    },
}

/// Is the process alive?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It is not.
    Dead,
    /// It cannot be told from here.
    #[default]
    Unknown,
}

/// What a look showed of the processes of a run, beside whether the one that answers for it is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// How its place stands to the one that was looked from.
    pub vantage: Vantage,
    /// What holds its supervisor.
    pub supervisor_hold: Option<Hold>,
    /// Is its command alive?
    pub command: Liveness,
    /// What holds its command.
    pub command_hold: Option<Hold>,
    /// How many of its processes were found alive, where somebody searched for them.
    pub members: Option<u32>,
}

/// Is the recorded process alive, as seen from here?
pub fn liveness(recorded: Option<&ProcessIdentity>, here: &Place, sighting: Sighting) -> Liveness {
    let Some(recorded) = recorded else { return Liveness::Unknown };
    match (recorded.place.seen_from(here), sighting) {
        (Vantage::Restarted, _) => Liveness::Dead,
        (Vantage::OtherMachine | Vantage::OtherPidNamespace | Vantage::OtherTimeNamespace, _)
        | (Vantage::Here, Sighting::NotLooked) => Liveness::Unknown,
        (Vantage::Here, Sighting::Seen { started_ticks, .. }) if started_ticks == recorded.started_ticks => {
            Liveness::Alive
        }
        (Vantage::Here, Sighting::Seen { .. } | Sighting::Gone) => Liveness::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place by its host name, machine id, boot, PID namespace and time namespace; 0 and "" are not recorded.
    fn place(host: &str, machine: &str, boot: &str, pid_ns: u64, time_ns: u64) -> Place {
        Place {
            host: host.into(),
            machine: (!machine.is_empty()).then(|| machine.into()),
            boot: boot.into(),
            pid_ns: (pid_ns > 0).then_some(pid_ns),
            time_ns: (time_ns > 0).then_some(time_ns),
        }
    }

    const SEEN: Sighting = Sighting::Seen { started_ticks: 1000, hold: None };
    const STRANGER: Sighting = Sighting::Seen { started_ticks: 1001, hold: None };

    #[test]
    fn every_pair_of_places_is_told_apart() {
        use Vantage::{Here, OtherMachine, OtherPidNamespace, OtherTimeNamespace, Restarted};
        let recorded = place("a", "m", "b1", 1, 1);
        let cases = [
            ("the same", place("a", "m", "b1", 1, 1), Here),
            ("a host that was renamed", place("z", "m", "b1", 1, 1), Here),
            ("renamed and restarted", place("z", "m", "b2", 1, 1), Restarted),
            ("restarted", place("a", "m", "b2", 1, 1), Restarted),
            ("a sandbox with a boot id of its own", place("a", "m", "b2", 2, 1), OtherPidNamespace),
            ("a boot id that is hidden", place("a", "m", "", 1, 1), OtherMachine),
            ("a clone of the image with the name of the host", place("a", "n", "b2", 1, 1), OtherMachine),
            ("a container", place("c", "n", "b1", 2, 1), OtherPidNamespace),
            ("a container with our machine id and name", place("a", "m", "b1", 2, 1), OtherPidNamespace),
            ("a container that shares our pids", place("c", "n", "b1", 1, 1), Here),
            ("a time namespace", place("a", "m", "b1", 1, 2), OtherTimeNamespace),
            ("a container with a time namespace", place("c", "", "b1", 2, 2), OtherPidNamespace),
            ("a kernel without time namespaces", place("a", "m", "b1", 1, 0), Here),
            ("a look that knows no namespace", place("a", "m", "b1", 0, 0), OtherPidNamespace),
            ("a look that knows nothing", Place::default(), OtherMachine),
        ];
        for (what, here, expected) in cases {
            assert_eq!(recorded.seen_from(&here), expected, "{what}");
        }
    }

    #[test]
    fn a_record_without_machine_and_namespaces_is_told_by_its_host_name() {
        let recorded = place("a", "", "b1", 0, 0);
        let cases = [
            (place("a", "m", "b1", 1, 1), Vantage::Here),
            (place("z", "m", "b1", 1, 1), Vantage::OtherMachine),
            (place("a", "m", "b2", 1, 1), Vantage::Restarted),
            (place("z", "m", "b2", 1, 1), Vantage::OtherMachine),
        ];
        for (here, expected) in cases {
            assert_eq!(recorded.seen_from(&here), expected, "{here:?}");
        }
    }

    #[test]
    fn only_who_can_see_a_process_calls_it_dead() {
        let place = |boot, pid_ns, time_ns| place("a", "m", boot, pid_ns, time_ns);
        let recorded = ProcessIdentity { place: place("b1", 1, 1), pid: 42, started_ticks: 1000 };
        let alive = |here: &Place, sighting| liveness(Some(&recorded), here, sighting);
        let here = place("b1", 1, 1);
        assert_eq!(alive(&here, SEEN), Liveness::Alive);
        assert_eq!(alive(&here, STRANGER), Liveness::Dead);
        assert_eq!(alive(&here, Sighting::Gone), Liveness::Dead);
        assert_eq!(alive(&here, Sighting::NotLooked), Liveness::Unknown);
        for sighting in [SEEN, STRANGER, Sighting::Gone, Sighting::NotLooked] {
            assert_eq!(alive(&place("b2", 1, 1), sighting), Liveness::Dead, "restarted {sighting:?}");
            assert_eq!(alive(&place("b1", 2, 1), sighting), Liveness::Unknown, "PID namespace {sighting:?}");
            assert_eq!(alive(&place("b1", 1, 2), sighting), Liveness::Unknown, "time namespace {sighting:?}");
        }
        assert_eq!(liveness(None, &here, Sighting::Gone), Liveness::Unknown);
    }
}
