//! Reading what several facts of an entity say together: its processes, where they are, and spans of time.

use callboard_kernel::fact::{self, Number, Whole};
use callboard_kernel::health::{Liveness, Place, ProcessIdentity, liveness};
use callboard_kernel::{Fact, Facts, Value};
use callboard_ledger::Stored;

use super::viewpoint::ProcessTable;

/// Seconds, which are recorded as such or in thousandths.
pub(crate) fn seconds(facts: &Facts, whole: Fact<Number>, thousandths: Fact<Whole>) -> Option<Value> {
    let of_thousandths = || facts.read(thousandths).map(|number| Value::Float(number as f64 / 1000.0));
    facts.known(whole).cloned().or_else(of_thousandths)
}

/// The process that answers for a run: its supervisor, which alone can write its end, or else the process itself where
/// only that was recorded.
pub(crate) fn keeper(facts: &Facts) -> Option<ProcessIdentity> {
    let (pid, started_ticks) = facts.read(fact::SUPERVISOR).and_then(mark).or_else(|| mark(facts))?;
    Some(ProcessIdentity { place: place(facts)?, pid, started_ticks })
}

/// Is the process that an entity was recorded with seen to be gone? Never for one that cannot be seen from here.
pub fn process_is_gone(stored: &Stored, table: &dyn ProcessTable) -> bool {
    keeper(&stored.entity.facts).is_some_and(|process| {
        liveness(Some(&process), table.here(), table.look_anew(process.pid)) == Liveness::Dead
    })
}

/// The command of a run: its pid and its start time.
pub(crate) fn command(facts: &Facts) -> Option<(u32, u64)> {
    mark(facts)
}

/// Those that were alive after the run had been killed: their pids and start times.
pub(crate) fn survivors(facts: &Facts) -> Box<[(u32, u64)]> {
    let Some(survivors) = facts.read(fact::SURVIVORS) else { return Box::default() };
    let marked = |one: &Value| if let Value::Map(one) = one { mark(one) } else { None };
    survivors.iter().filter_map(marked).collect()
}

fn mark(process: &Facts) -> Option<(u32, u64)> {
    let started_ticks = u64::try_from(process.read(fact::STARTED_TICKS)?).ok()?;
    Some((process.read(fact::PID)?, started_ticks))
}

fn place(facts: &Facts) -> Option<Place> {
    let namespace = |name| facts.read(name).and_then(|number| u64::try_from(number).ok());
    Some(Place {
        host: facts.read(fact::HOST)?.to_owned(),
        machine: facts.read(fact::MACHINE).map(str::to_owned),
        boot: facts.read(fact::BOOT)?.to_owned(),
        pid_ns: namespace(fact::PID_NS),
        time_ns: namespace(fact::TIME_NS),
    })
}
