//! Reading what is recorded of an entity: one function for each sort of value, `None` where it says nothing.

use callboard_kernel::health::{Place, ProcessIdentity};
use callboard_kernel::{Facts, Moment, Value};

pub(crate) fn known<'a>(facts: &'a Facts, name: &str) -> Option<&'a Value> {
    facts.get(name).filter(|value| **value != Value::Null)
}

pub(crate) fn text<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    if let Some(Value::Text(text)) = facts.get(name) { Some(text) } else { None }
}

pub(crate) fn map<'a>(facts: &'a Facts, name: &str) -> Option<&'a Facts> {
    if let Some(Value::Map(map)) = facts.get(name) { Some(map) } else { None }
}

pub(crate) fn flag(facts: &Facts, name: &str) -> Option<bool> {
    if let Some(Value::Bool(yes)) = facts.get(name) { Some(*yes) } else { None }
}

pub(crate) fn whole(facts: &Facts, name: &str) -> Option<i64> {
    if let Some(Value::Int(number)) = facts.get(name) { Some(*number) } else { None }
}

pub(crate) fn count(facts: &Facts, name: &str) -> Option<u32> {
    whole(facts, name).and_then(|number| u32::try_from(number).ok())
}

pub(crate) fn moment(facts: &Facts, name: &str) -> Option<Moment> {
    text(facts, name).and_then(|text| text.parse().ok())
}

/// Seconds, which are recorded as such or in thousandths.
pub(crate) fn seconds(facts: &Facts, whole: &str, thousandths: &str) -> Option<Value> {
    let of_thousandths = || match facts.get(thousandths) {
        Some(Value::Int(number)) => Some(Value::Float(*number as f64 / 1000.0)),
        Some(
            Value::Null | Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::List(_) | Value::Map(_),
        )
        | None => None,
    };
    known(facts, whole).cloned().or_else(of_thousandths)
}

/// The process that answers for a run: its supervisor, which alone can write its end, or else the process itself where
/// only that was recorded.
pub(crate) fn keeper(facts: &Facts) -> Option<ProcessIdentity> {
    let (pid, started_ticks) = map(facts, "supervisor").and_then(mark).or_else(|| mark(facts))?;
    Some(ProcessIdentity { place: place(facts)?, pid, started_ticks })
}

/// The command of a run: its pid and its start time.
pub(crate) fn command(facts: &Facts) -> Option<(u32, u64)> {
    mark(facts)
}

/// Those that were alive after the run had been killed: their pids and start times.
pub(crate) fn survivors(facts: &Facts) -> Box<[(u32, u64)]> {
    let Some(Value::List(survivors)) = facts.get("survivors") else { return Box::default() };
    let marked = |one: &Value| if let Value::Map(one) = one { mark(one) } else { None };
    survivors.iter().filter_map(marked).collect()
}

fn mark(process: &Facts) -> Option<(u32, u64)> {
    let started_ticks = u64::try_from(whole(process, "started_ticks")?).ok()?;
    Some((count(process, "pid")?, started_ticks))
}

fn place(facts: &Facts) -> Option<Place> {
    let namespace = |name| whole(facts, name).and_then(|number| u64::try_from(number).ok());
    Some(Place {
        host: text(facts, "host")?.to_owned(),
        machine: text(facts, "machine").map(str::to_owned),
        boot: text(facts, "boot")?.to_owned(),
        pid_ns: namespace("pid_ns"),
        time_ns: namespace("time_ns"),
    })
}
