//! From where and when somebody looks: the clock, and the process table of this host.
//!
//! Invariant: the past is judged with the clock of the past and without a look at processes, because those of today say
//! nothing about it; a process that cannot be seen from here is not looked for under its pid. Deliberately absent: reading
//! either; they come in as values and behind a trait, so that a simulator can be the host.

use std::collections::BTreeSet;

use callboard_kernel::Moment;
use callboard_kernel::health::{
    Hold, Liveness, Place, Presence, ProcessIdentity, Sighting, Vantage, liveness,
};

use crate::mutant;

/// The processes of the host that looks.
pub trait ProcessTable {
    /// Which machine this is, which boot of it, and which namespaces.
    fn here(&self) -> &Place;

    /// What is to be seen under a pid.
    fn look(&self, pid: u32) -> Sighting;

    /// The same, and nothing that was seen before is used.
    fn look_anew(&self, pid: u32) -> Sighting {
        self.look(pid)
    }

    /// Is the control group of a process frozen?
    fn is_frozen(&self, pid: u32) -> bool {
        let _ = pid;
        false
    }

    /// The processes of a run that are alive, by the marker of the run; nothing where nobody can search.
    fn members(&self, marker: &str) -> Option<Vec<u32>> {
        let _ = marker;
        None
    }
}

/// A moment to judge at, and the processes to judge by if it is the present.
#[derive(Clone, Copy)]
pub struct Viewpoint<'a> {
    /// The clock.
    pub now: Moment,
    table: Option<&'a dyn ProcessTable>,
}

/// What one look at an entity was taken with: when, and what was to be seen of its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessReading {
    /// The clock.
    pub at: Moment,
    /// Was the process alive that answers for it?
    pub liveness: Liveness,
    /// What else was seen of its processes.
    pub presence: Presence,
}

/// The processes of a run, as far as they are recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    /// The process that answers for it.
    pub(crate) keeper: Option<ProcessIdentity>,
    /// Its command, in the same place: pid and start time.
    pub(crate) command: Option<(u32, u64)>,
    /// What its processes are found by: the run's own marker, and that of its checks.
    pub(crate) markers: Box<[String]>,
    /// It has ended.
    pub(crate) is_ended: bool,
    /// It was ended in the log by somebody who did not see its processes end.
    pub(crate) is_end_unwitnessed: bool,
    /// Its processes were alive after they had been killed.
    pub(crate) is_kill_unconfirmed: bool,
    /// Those that were: pid and start time.
    pub(crate) survivors: Box<[(u32, u64)]>,
}

impl Recorded {
    /// The processes whose end changes what is said of the run.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        let Some(keeper) = &self.keeper else { return Vec::new() };
        let command = self.command.map(|mark| beside(keeper, mark)).filter(|command| command != keeper);
        [Some(keeper.clone()), command].into_iter().flatten().collect()
    }

    /// The recorded processes of a run that are alive although the log says that the run has ended.
    pub(crate) fn alive_after_end(&self, table: &dyn ProcessTable) -> Vec<ProcessIdentity> {
        let Some(keeper) = self.keeper.as_ref().filter(|_| self.is_ended) else { return Vec::new() };
        let marks = self.command.iter().chain(&self.survivors);
        let recorded = marks.map(|mark| beside(keeper, *mark));
        recorded.filter(|process| is_seen_alive(process, table)).collect()
    }
}

/// A process in the place of another one.
fn beside(keeper: &ProcessIdentity, (pid, started_ticks): (u32, u64)) -> ProcessIdentity {
    ProcessIdentity { place: keeper.place.clone(), pid, started_ticks }
}

/// Can a process be seen from here, and is it alive?
pub(crate) fn is_seen_alive(process: &ProcessIdentity, table: &dyn ProcessTable) -> bool {
    process.place.seen_from(table.here()) == Vantage::Here
        && liveness(Some(process), table.here(), table.look(process.pid)) == Liveness::Alive
}

impl<'a> Viewpoint<'a> {
    /// The present, as seen from this host.
    pub const fn present(now: Moment, table: &'a dyn ProcessTable) -> Self {
        Self { now, table: Some(table) }
    }

    /// A moment of the past.
    pub const fn past(now: Moment) -> Self {
        Self { now, table: None }
    }

    /// Looks at the processes of a run.
    pub(crate) fn look(&self, run: &Recorded) -> ProcessReading {
        let (liveness, presence) = match (self.table, &run.keeper) {
            (Some(table), Some(keeper)) => present(table, keeper, run),
            (Some(_) | None, _) => Default::default(),
        };
        ProcessReading { at: self.now, liveness, presence }
    }

    /// A look at something that has no process.
    pub(crate) fn without_processes(&self) -> ProcessReading {
        ProcessReading { at: self.now, liveness: Liveness::Unknown, presence: Presence::default() }
    }
}

fn present(table: &dyn ProcessTable, keeper: &ProcessIdentity, run: &Recorded) -> (Liveness, Presence) {
    let vantage = keeper.place.seen_from(table.here());
    let mut presence = Presence { vantage, ..Presence::default() };
    let mutant_looks = mutant::removed("namespaces") && vantage != Vantage::Restarted;
    if vantage != Vantage::Here && !mutant_looks {
        let alive = liveness(Some(keeper), table.here(), Sighting::NotLooked);
        presence.command = alive;
        return (alive, presence);
    }
    let see = |pid, started_ticks| {
        // Who was seen before an end was recorded is no sign of life after it.
        let seen = match if run.is_ended { table.look_anew(pid) } else { table.look(pid) } {
            Sighting::Seen { hold, .. } if mutant::removed("supervisor_start_time") => {
                Sighting::Seen { started_ticks, hold }
            }
            seen @ (Sighting::Seen { .. } | Sighting::Gone | Sighting::NotLooked) => seen,
        };
        let identity = ProcessIdentity { place: table.here().clone(), pid, started_ticks };
        let hold = if let Sighting::Seen { hold, .. } = seen { hold } else { None };
        (liveness(Some(&identity), table.here(), seen), hold)
    };
    let members = || {
        let found = run.markers.iter().map(|marker| table.members(marker));
        found.collect::<Option<Vec<_>>>().map(|found| found.into_iter().flatten().collect::<BTreeSet<u32>>())
    };
    let count = |members: BTreeSet<u32>| members.len() as u32;
    if let Some((pid, started_ticks)) = run.command {
        (presence.command, presence.command_hold) = see(pid, started_ticks);
    }
    if run.is_ended {
        // After an end that it wrote itself its supervisor may take a moment to go, which means nothing.
        if run.is_end_unwitnessed {
            if run.command.is_none() {
                presence.command = see(keeper.pid, keeper.started_ticks).0;
            }
            presence.members = members().map(count);
        }
        if run.is_kill_unconfirmed {
            // The marker of another user's process cannot be read, but its pid and start time were recorded.
            let survivors =
                run.survivors.iter().filter(|(pid, ticks)| see(*pid, *ticks).0 == Liveness::Alive);
            let survivors: Vec<u32> = survivors.map(|(pid, _)| *pid).collect();
            presence.members =
                members().map(|members| members.into_iter().chain(survivors).collect()).map(count);
        }
        return (Liveness::Unknown, presence);
    }
    let (alive, hold) = see(keeper.pid, keeper.started_ticks);
    presence.supervisor_hold = hold;
    match (alive, presence.command) {
        (Liveness::Dead, _) => presence.members = members().map(count),
        // Most often it ends this very moment; a frozen supervisor does not notice.
        (Liveness::Alive, Liveness::Dead) if hold.is_none() && table.is_frozen(keeper.pid) => {
            presence.supervisor_hold = Some(Hold::Freezer);
        }
        (Liveness::Alive, Liveness::Alive) if presence.command_hold.is_none() => {
            let is_frozen = run.command.is_some_and(|(pid, _)| table.is_frozen(pid));
            presence.command_hold = is_frozen.then_some(Hold::Freezer);
        }
        (Liveness::Alive | Liveness::Unknown, _) => {}
    }
    (alive, presence)
}
