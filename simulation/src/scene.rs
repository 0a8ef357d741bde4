//! What a run of the simulation consists of: hosts with their processes and files, and what may go wrong.
//!
//! Invariant: this is the truth that every word of the engine is compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use callboard_kernel::EntityId;
use callboard_ledger::Ledger;

use crate::board::Truth;
use crate::choices::Choices;
use crate::invariants::Checker;

/// A process of a host.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) started_ticks: u64,
    /// The run that it belongs to; a supervisor belongs to none.
    pub(crate) marker: Option<String>,
    /// When it ends by itself.
    pub(crate) until_us: u64,
    pub(crate) is_killed: bool,
    /// KILL does not reach it before it ends by itself, as if it waited for a dead disk.
    pub(crate) is_stuck: bool,
    /// A signal holds it until then.
    pub(crate) held_until_us: u64,
}

/// One host.
#[derive(Default)]
pub(crate) struct SimHost {
    pub(crate) name: String,
    pub(crate) processes: BTreeMap<u32, Process>,
    next_pid: u32,
    /// What its clock is ahead of the true time, in microseconds.
    pub(crate) ahead_us: i64,
    /// It does not reach the store until then.
    pub(crate) parted_until_us: u64,
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
}

/// What may go wrong in a run; each seed has some of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) kills: bool,
    pub(crate) stalls: bool,
    pub(crate) reused_pids: bool,
    pub(crate) clocks: bool,
    pub(crate) partitions: bool,
    pub(crate) store: bool,
    pub(crate) network: bool,
    pub(crate) stuck: bool,
}

/// Everything of one run.
pub(crate) struct Scene {
    pub(crate) hosts: Vec<SimHost>,
    pub(crate) faults: Faults,
    /// From here on nothing goes wrong, so that everything can come to rest.
    pub(crate) is_calm: bool,
    /// The store, for whoever compares what it holds with the truth.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) checker: Checker,
    /// Supervisors that are at work: host and pid.
    pub(crate) supervisors: BTreeSet<(usize, u32)>,
    /// What was delivered, by the id of the message.
    pub(crate) delivered: BTreeMap<String, u32>,
    /// How many supervisors have not ended.
    pub(crate) at_work: usize,
    /// The end that the supervisor of a run came to.
    pub(crate) ends: BTreeMap<EntityId, String>,
    /// The truth about the tasks, if this is a run with a task board.
    pub(crate) board: Option<Truth>,
}

impl Scene {
    pub(crate) fn new(choices: &mut Choices) -> Self {
        let count = 1 + choices.pick(2) as usize;
        let mut some = || choices.pick(2) == 1;
        let faults = Faults {
            kills: some(),
            stalls: some(),
            reused_pids: some(),
            // A lease is judged by the clocks of two hosts, so they jump only where there is one.
            clocks: some() && count == 1,
            partitions: some(),
            store: some(),
            network: some(),
            stuck: some(),
        };
        let host = |at: usize| SimHost { name: format!("host{at}"), next_pid: 100, ..SimHost::default() };
        Self {
            hosts: (0..count).map(host).collect(),
            faults,
            is_calm: false,
            ledger: None,
            checker: Checker::default(),
            supervisors: BTreeSet::new(),
            delivered: BTreeMap::new(),
            at_work: 0,
            ends: BTreeMap::new(),
            board: None,
        }
    }

    /// Is this very process alive?
    pub(crate) fn is_alive(&self, host: usize, pid: u32, ticks: u64, now_us: u64) -> bool {
        let found = self.hosts.get(host).and_then(|host| host.processes.get(&pid));
        found.is_some_and(|process| process.started_ticks == ticks && process.is_alive(now_us))
    }

    /// The host with a name.
    pub(crate) fn host_named(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }
}

impl SimHost {
    /// Starts a process; its pid.
    pub(crate) fn start(&mut self, marker: Option<String>, until_us: u64, now_us: u64) -> u32 {
        self.next_pid += 1;
        self.start_as(self.next_pid, marker, until_us, now_us);
        self.next_pid
    }

    /// Starts a process with this pid.
    pub(crate) fn start_as(&mut self, pid: u32, marker: Option<String>, until_us: u64, now_us: u64) {
        let started_ticks = 1 + now_us / 10;
        let process =
            Process { started_ticks, marker, until_us, is_killed: false, is_stuck: false, held_until_us: 0 };
        self.processes.insert(pid, process);
    }

    /// The processes of a run that are alive.
    pub(crate) fn of_run(&self, marker: &str, now_us: u64) -> Vec<(u32, u64)> {
        let is_its =
            |process: &Process| process.marker.as_deref() == Some(marker) && process.is_alive(now_us);
        let found = self.processes.iter().filter(|(_, process)| is_its(process));
        found.map(|(pid, process)| (*pid, process.started_ticks)).collect()
    }

    /// Kills a process, if that can be done.
    pub(crate) fn kill(&mut self, pid: u32) {
        if let Some(process) = self.processes.get_mut(&pid).filter(|process| !process.is_stuck) {
            process.is_killed = true;
        }
    }
}

impl Process {
    pub(crate) const fn is_alive(&self, now_us: u64) -> bool {
        !self.is_killed && now_us < self.until_us
    }
}
