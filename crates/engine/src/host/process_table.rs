//! This host's process table, as the judge asks it.
//!
//! Invariant: a host without a readable process table sees nothing and says so by knowing nobody; then nothing is judged
//! dead from here.

#![expect(clippy::disallowed_methods, reason = "this is the process table of the machine")]

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_kernel::EntityId;
use callboard_kernel::health::{Hold, Place, ProcessIdentity, Sighting, Vantage};
use callboard_supervisor::{Identity, process};

use crate::judging::viewpoint::{ProcessTable, Recorded, is_seen_alive};
use crate::mutant;

/// How old a census may be: it reads the whole process table, and after a mass death many ask for it at once.
const CENSUS_FRESH: Duration = Duration::from_millis(500);

/// The processes of each run, by its marker.
type Census = HashMap<String, Vec<u32>>;

/// The host this program runs on.
#[derive(Debug)]
pub struct Host {
    here: Place,
    census: Mutex<Option<(Instant, Census)>>,
}

impl Host {
    /// This host, as it calls itself.
    #[must_use]
    pub fn this() -> Self {
        let here = process::this().map(|this| place(&this)).unwrap_or_default();
        Self { here, census: Mutex::new(None) }
    }

    /// What the host is called.
    pub fn name(&self) -> &str {
        &self.here.host
    }

    /// Forgets what was counted, because somebody ended since.
    pub fn forget(&self) {
        *self.census.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The runs whose markers are carried by processes of this host.
    pub(crate) fn marked_runs(&self) -> Vec<EntityId> {
        // Whatever marker is asked for, everybody is counted.
        drop(self.members(""));
        let census = self.census.lock().unwrap_or_else(PoisonError::into_inner);
        let markers = census.iter().flat_map(|(_, found)| found.keys());
        let runs = markers.filter_map(|marker| marker.split('-').next()?.parse().ok());
        runs.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The processes of a run that are alive although the log says that the run has ended: those that are recorded, and if
    /// its kill was not confirmed also those that bear its marker, such as children of a survivor.
    pub(crate) fn alive_after_end(&self, run: &Recorded) -> Vec<ProcessIdentity> {
        let mut alive = run.alive_after_end(self);
        let is_here =
            run.keeper.as_ref().is_some_and(|keeper| keeper.place.seen_from(&self.here) == Vantage::Here);
        if run.is_ended && run.is_kill_unconfirmed && is_here {
            let marked = run.markers.iter().flat_map(|marker| process::find_marked(marker));
            let marked = marked.map(|one| ProcessIdentity {
                place: place(&one),
                pid: one.pid,
                started_ticks: one.started_ticks,
            });
            alive.extend(marked.filter(|one| is_seen_alive(one, self)));
        }
        alive.sort_by_key(|one| (one.pid, one.started_ticks));
        alive.dedup_by_key(|one| (one.pid, one.started_ticks));
        alive
    }
}

impl ProcessTable for Host {
    fn here(&self) -> &Place {
        &self.here
    }

    fn look(&self, pid: u32) -> Sighting {
        if mutant::removed("see_the_dead") {
            return Sighting::NotLooked;
        }
        match process::glance(pid) {
            Ok(Some(seen)) if seen.is_zombie => Sighting::Gone,
            Ok(Some(seen)) => Sighting::Seen {
                started_ticks: seen.started_ticks,
                hold: seen.hold.map(|hold| match hold {
                    process::Hold::Signal => Hold::Signal,
                    process::Hold::Tracer => Hold::Tracer,
                    process::Hold::Freezer => Hold::Freezer,
                }),
            },
            Ok(None) => Sighting::Gone,
            Err(_) => Sighting::NotLooked,
        }
    }

    fn is_frozen(&self, pid: u32) -> bool {
        process::is_held_by_freezer(pid)
    }

    fn members(&self, marker: &str) -> Option<Vec<u32>> {
        let mut census = self.census.lock().unwrap_or_else(PoisonError::into_inner);
        if census.as_ref().is_none_or(|(at, _)| at.elapsed() >= CENSUS_FRESH) {
            *census = Some((Instant::now(), process::census()));
        }
        census.as_ref().map(|(_, found)| found.get(marker).cloned().unwrap_or_default())
    }
}

/// Where a process is, as the judge names it.
pub(crate) fn place(of: &Identity) -> Place {
    Place {
        host: of.host.clone(),
        machine: of.machine.clone(),
        boot: of.boot.clone(),
        pid_ns: of.pid_ns,
        time_ns: of.time_ns,
    }
}

/// A descriptor that becomes readable when a recorded process ends; `None` if it has ended. One that cannot be seen from
/// here is an error of the kind `Unsupported`.
pub fn descriptor(process: &ProcessIdentity) -> io::Result<Option<OwnedFd>> {
    process::descriptor(&identity(process))
}

/// A recorded process as the supervisor names it.
pub(crate) fn identity(process: &ProcessIdentity) -> Identity {
    let Place { host, machine, boot, pid_ns, time_ns } = process.place.clone();
    let ProcessIdentity { pid, started_ticks, .. } = *process;
    Identity { host, machine, boot, pid_ns, time_ns, pid, started_ticks }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::health::{Liveness, liveness};

    use super::*;

    /// Who sends a signal and who judges must not differ about whom they can see.
    #[test]
    fn the_judge_and_the_supervisor_agree_on_what_can_be_seen_from_here() {
        let own = process::this().unwrap();
        let host = Host::this();
        let texts = |own: &str| [own.to_owned(), "another".to_owned()];
        let numbers = |own: Option<u64>| [own, Some(1), None];
        let mut seen = [0; 3];
        for name in texts(&own.host) {
            for machine in [own.machine.clone(), Some("another".to_owned()), None] {
                for boot in texts(&own.boot) {
                    for pid_ns in numbers(own.pid_ns) {
                        for time_ns in numbers(own.time_ns) {
                            let (host_name, machine, boot) = (name.clone(), machine.clone(), boot.clone());
                            let place = Place { host: host_name, machine, boot, pid_ns, time_ns };
                            let (pid, started_ticks) = (own.pid, own.started_ticks);
                            let process = ProcessIdentity { place, pid, started_ticks };
                            let judged = liveness(Some(&process), host.here(), host.look(pid));
                            let looked = match process::look(&identity(&process)).unwrap() {
                                process::Sighting::Alive | process::Sighting::Stopped => Liveness::Alive,
                                process::Sighting::Zombie
                                | process::Sighting::Gone
                                | process::Sighting::OtherBoot => Liveness::Dead,
                                process::Sighting::OtherHost
                                | process::Sighting::OtherPidNamespace
                                | process::Sighting::OtherTimeNamespace => Liveness::Unknown,
                            };
                            assert_eq!(judged, looked, "{process:?}");
                            seen[judged as usize] += 1;
                        }
                    }
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }
}
