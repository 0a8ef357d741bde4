//! How a figure is taken: sides take turns, every lap counts, and the machine's own noise is read beside it.
//!
//! Invariant: two figures are compared only within a round, where they met the same second of the same machine.
//! Deliberately absent: dropping rounds. Their range is printed, and a reader sees what the median stands for.

use std::fmt;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// One of the things that are compared.
pub(crate) struct Side<'a> {
    /// What it is.
    pub(crate) name: &'static str,
    /// Units that one turn of the work makes: decisions, lines.
    pub(crate) units: u64,
    /// Works this many turns and says how long the part took that counts.
    pub(crate) work: Box<dyn FnMut(u64) -> io::Result<Duration> + 'a>,
}

impl<'a> Side<'a> {
    /// A side whose every turn counts whole.
    pub(crate) fn whole(name: &'static str, units: u64, mut turn: impl FnMut() + 'a) -> Self {
        let work = move |turns| {
            let start = Instant::now();
            for _ in 0..turns {
                turn();
            }
            Ok(start.elapsed())
        };
        Self { name, units, work: Box::new(work) }
    }
}

/// What came out for one side: units a second, one figure for each round.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The side.
    pub(crate) name: &'static str,
    rates: Vec<f64>,
}

/// The middle of some figures and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Series {
    /// Units a second.
    pub(crate) fn spread(&self) -> Spread {
        Spread::of(&self.rates)
    }

    /// How many times as fast as `other`, round by round.
    pub(crate) fn times(&self, other: &Self) -> Spread {
        let ratios: Vec<f64> = self.rates.iter().zip(&other.rates).map(|(own, peer)| own / peer).collect();
        Spread::of(&ratios)
    }
}

impl Spread {
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self { median: (at(last / 2) + at(last.div_ceil(2))) / 2.0, min: at(0), max: at(last) }
    }
}

/// How long the sides take turns.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Figures that are taken of each side.
    pub(crate) rounds: usize,
    /// Laps behind one figure, which is their median: a lap in which another process had the core does not decide.
    pub(crate) laps: usize,
    /// How long a lap lasts at least.
    pub(crate) lap: Duration,
}

/// Lets the sides take turns, lap by lap.
pub(crate) fn take_turns<const N: usize>(mut sides: [Side<'_>; N], plan: Plan) -> io::Result<[Series; N]> {
    let mut turns = [0; N];
    for (side, turns) in sides.iter_mut().zip(&mut turns) {
        *turns = turns_for(side, plan.lap)?;
    }
    let mut series = sides.each_ref().map(|side| Series { name: side.name, rates: Vec::new() });
    for _ in 0..plan.rounds {
        let mut laps = [const { Vec::new() }; N];
        for _ in 0..plan.laps {
            for ((side, turns), laps) in sides.iter_mut().zip(turns).zip(&mut laps) {
                let took = (side.work)(turns)?;
                laps.push((turns * side.units) as f64 / took.as_secs_f64());
            }
        }
        for (series, laps) in series.iter_mut().zip(&laps) {
            series.rates.push(Spread::of(laps).median);
        }
    }
    Ok(series)
}

/// Doubles the work until a lap is long enough for the clock; this also warms the side up.
fn turns_for(side: &mut Side<'_>, lap: Duration) -> io::Result<u64> {
    let mut turns = 1;
    while (side.work)(turns)? < lap {
        turns *= 2;
    }
    Ok(turns)
}

/// How long single things took.
#[derive(Default)]
pub(crate) struct Took(Vec<Duration>);

impl Took {
    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds what one thing took.
    pub(crate) fn add(&mut self, one: Duration) {
        self.0.push(one);
    }

    /// Times one thing.
    pub(crate) fn time<T, E>(&mut self, thing: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let start = Instant::now();
        let done = thing()?;
        self.add(start.elapsed());
        Ok(done)
    }

    /// What this part of them took at the most; 0.5 is the median.
    pub(crate) fn at(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let last = sorted.len().saturating_sub(1) as f64;
        sorted.get((last * part).round() as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, worst] = [0.5, 0.99, 1.0].map(|part| self.at(part).as_secs_f64() * 1e6);
        write!(f, "p50 {p50:.0} us, p99 {p99:.0} us, worst {worst:.0} us")
    }
}

/// The machine's own counters at one moment.
pub(crate) struct Watch {
    since: Instant,
    load: f64,
    ticks: Ticks,
}

/// Processor time in ticks of all cores, since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    /// Everything, idle time too.
    all: u64,
    /// What some process used.
    busy: u64,
    /// What the hypervisor gave to other machines.
    stolen: u64,
    /// What this process and the programs it has waited for used.
    own: u64,
}

/// What the machine did beside the work.
pub(crate) struct Conditions {
    cores: usize,
    took: Duration,
    load: (f64, f64),
    stolen: f64,
    others: f64,
}

impl Watch {
    /// Starts watching.
    pub(crate) fn start() -> io::Result<Self> {
        Ok(Self { since: Instant::now(), load: load()?, ticks: ticks()? })
    }

    /// What happened since.
    pub(crate) fn conditions(&self) -> io::Result<Conditions> {
        let (before, after) = (self.ticks, ticks()?);
        let part = |ticks: u64| ticks as f64 / (after.all - before.all).max(1) as f64;
        Ok(Conditions {
            cores: std::thread::available_parallelism()?.get(),
            took: self.since.elapsed(),
            load: (self.load, load()?),
            stolen: part(after.stolen - before.stolen),
            others: part((after.busy - before.busy).saturating_sub(after.own - before.own)),
        })
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, took, load, stolen, others } = self;
        write!(
            f,
            "conditions: cores to run on {cores}, {:.0} s; load average {:.2} before, {:.2} after; \
             of all processor time {:.1} % stolen, {:.1} % used by other processes",
            took.as_secs_f64(),
            load.0,
            load.1,
            stolen * 100.0,
            others * 100.0,
        )
    }
}

fn load() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| unreadable("/proc/loadavg"))
}

fn ticks() -> io::Result<Ticks> {
    let machine = fs::read_to_string("/proc/stat")?;
    let ticks = machine.lines().next().and_then(machine_ticks).ok_or_else(|| unreadable("/proc/stat"))?;
    Ok(Ticks { own: own_ticks()?.iter().sum(), ..ticks })
}

/// Reads `cpu user nice system idle iowait irq softirq steal …`; what follows is part of `user` already.
fn machine_ticks(line: &str) -> Option<Ticks> {
    let fields: Vec<u64> = line.strip_prefix("cpu ")?.split_whitespace().flat_map(str::parse).collect();
    let [user, nice, system, idle, iowait, irq, softirq, stolen, ..] = fields.as_slice() else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(Ticks { all: busy + idle + iowait + stolen, busy, stolen: *stolen, own: 0 })
}

/// Reads user and system time of the process, then of the children it has waited for: the 14th to the 17th field,
/// counted behind the name, which may itself have spaces in it.
fn process_ticks(text: &str) -> Option<[u64; 4]> {
    let (_, fields) = text.rsplit_once(") ")?;
    let times: Vec<u64> = fields.split_whitespace().skip(11).take(4).flat_map(str::parse).collect();
    times.try_into().ok()
}

fn own_ticks() -> io::Result<[u64; 4]> {
    let text = fs::read_to_string("/proc/self/stat")?;
    process_ticks(&text).ok_or_else(|| unreadable("/proc/self/stat"))
}

/// Processor time of this process, all its threads together.
pub(crate) fn own_time() -> io::Result<Duration> {
    let [user, system, ..] = own_ticks()?;
    Ok(Duration::from_millis((user + system) * 10))
}

/// Processor time of the children this process has waited for.
pub(crate) fn children_time() -> io::Result<Duration> {
    let [_, _, user, system] = own_ticks()?;
    // Linux tells its ticks to programs as hundredths of a second, whatever it counts in itself.
    Ok(Duration::from_millis((user + system) * 10))
}

fn unreadable(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} does not read as it does on Linux"))
}

/// Prints rates as a table.
pub(crate) fn print_rates(title: &str, series: &[Series]) {
    println!("{title:<58} {:>13} {:>27} {:>9}", "median", "min - max", "ns each");
    for one in series {
        let Spread { median, min, max } = one.spread();
        let range = format!("{} - {}", grouped(min), grouped(max));
        println!("  {:<56} {:>13} {range:>27} {:>9.1}", one.name, grouped(median), 1e9 / median);
    }
}

/// A whole number with a comma between each three digits.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Says whether a figure reaches what was aimed at.
pub(crate) fn print_aim(what: &str, aim: f64, series: &Series) {
    let median = series.spread().median;
    let verdict = if median >= aim { "reached" } else { "missed" };
    println!(
        "aim: at least {} {what} a second: {verdict}, {} ({})",
        grouped(aim),
        grouped(median),
        series.name
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle_and_the_range_is_whole() {
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 9.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 9.0]).median, 3.0);
    }

    #[test]
    fn percentiles_count_from_the_shortest() {
        let mut took = Took::default();
        (1..=101).rev().for_each(|micros| took.add(Duration::from_micros(micros)));
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| took.at(part).as_micros()), [1, 51, 100, 101]);
        assert_eq!(took.to_string(), "p50 51 us, p99 100 us, worst 101 us");
    }

    #[test]
    fn sides_are_compared_round_by_round() {
        let side = |rates: &[f64]| Series { name: "", rates: rates.to_vec() };
        let times = side(&[10.0, 40.0]).times(&side(&[5.0, 10.0]));
        assert_eq!(times, Spread { median: 3.0, min: 2.0, max: 4.0 });
    }

    #[test]
    fn sides_take_turns_for_as_long_as_asked() {
        let plan = Plan { rounds: 1, laps: 2, lap: Duration::from_millis(2) };
        let order = &std::cell::RefCell::new(Vec::new());
        let side = |name: &'static str| Side {
            name,
            units: 2,
            work: Box::new(move |turns| {
                order.borrow_mut().push(name);
                Ok(Duration::from_millis(turns))
            }),
        };
        let series = take_turns([side("a"), side("b")], plan).unwrap();
        assert_eq!(*order.borrow(), ["a", "a", "b", "b", "a", "b", "a", "b"]);
        assert_eq!(series[0].spread().median, 2000.0);
    }

    #[test]
    fn guests_are_not_counted_twice_and_idle_time_is_not_busy() {
        let ticks = machine_ticks("cpu  1 2 3 4 5 6 7 8 900 900");
        assert_eq!(ticks, Some(Ticks { all: 36, busy: 19, stolen: 8, own: 0 }));
        assert_eq!((machine_ticks("cpu0 1 2 3 4 5 6 7 8"), machine_ticks("cpu  1 2")), (None, None));
    }

    #[test]
    fn a_name_with_a_parenthesis_does_not_shift_the_fields() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 10 20 30 40 20 0 1";
        assert_eq!(process_ticks(text), Some([10, 20, 30, 40]));
        assert_eq!(process_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!(
            (grouped(1234567.4), grouped(999.0), grouped(1000.0)),
            ("1,234,567".into(), "999".into(), "1,000".into())
        );
    }
}
