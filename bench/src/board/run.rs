//! Tasks through their whole life a second, and how long a claim takes, with few and with many finished tasks behind.
//!
//! Invariant: all sides of an engine take turns in one run, round by round. Deliberately absent: the time of agents.

use std::error::Error;
use std::time::Duration;

use super::cycles::Workers;
use super::histories::{Engine, History};
use super::queues::{self, Queue};
use crate::cluster::Cluster;
use crate::measure::{Took, Watch, grouped};

const ROUNDS: usize = 7;
const LAP: Duration = Duration::from_millis(800);
/// Finished tasks behind, unless `--behind` says otherwise.
const BEHIND: [u64; 2] = [0, 100_000];
const WORKERS: [u64; 2] = [1, 16];

/// Works for a lap.
type Work<'a> = Box<dyn FnMut() -> Result<Lap, Box<dyn Error>> + 'a>;

/// One side and what was measured of it.
struct Measured {
    name: String,
    workers: u64,
    behind: u64,
    is_peer: bool,
    rates: Vec<f64>,
    p50: Vec<Duration>,
    p99: Vec<Duration>,
}

/// Measures and prints.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (behind, with_peers) = parse(arguments)?;
    let directory = tempfile::tempdir()?;
    let queues = if with_peers { queues::all(directory.path()) } else { Vec::new() };
    let watch = Watch::start()?;
    on(&Engine::Sqlite(directory.path()), &behind, &queues)?;
    println!("{}", watch.conditions()?);
    let cluster = Cluster::start();
    let watch = Watch::start()?;
    on(&Engine::Postgres(&cluster), &behind, &queues)?;
    println!("{}", watch.conditions()?);
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(Vec<u64>, bool), Box<dyn Error>> {
    let (mut behind, mut with_peers) = (Vec::new(), false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--peers" => with_peers = true,
            "--behind" => {
                let number = rest.next().and_then(|number| number.replace(['_', ','], "").parse().ok());
                behind.push(number.ok_or("--behind needs a number of finished tasks")?);
            }
            other => return Err(format!("{other:?} is not known; there are --behind N and --peers").into()),
        }
    }
    Ok((if behind.is_empty() { BEHIND.to_vec() } else { behind }, with_peers))
}

/// Measures all sides of one engine, in turns.
fn on(engine: &Engine<'_>, behind: &[u64], queues: &[Queue]) -> Result<(), Box<dyn Error>> {
    println!("\ntasks through their whole life a second, on {}", engine.name());
    let mut sides: Vec<(Measured, Work<'_>)> = Vec::new();
    let mut histories = Vec::new();
    for number in behind {
        histories.push(History::fill(engine, *number)?);
    }
    for history in &histories {
        for count in WORKERS {
            let mut workers = history.workers(engine, count)?;
            let cycles = enough(&mut workers)?;
            let work = move || ours(&mut workers, count, cycles);
            sides.push((Measured::new("callboard", count, history.behind(), false), Box::new(work)));
            for queue in queues.iter().filter(|queue| queue.is_for(engine)) {
                let behind = history.behind();
                let place = engine.make(&format!("{}_{behind}_{count}", queue.name));
                let work = move || queue.lap(&place, count, behind);
                sides.push((Measured::new(queue.name, count, behind, true), Box::new(work)));
            }
        }
    }
    for (_, work) in &mut sides {
        // The first lap warms it up.
        work().map(drop)?;
    }
    for _ in 0..ROUNDS {
        for (measured, work) in &mut sides {
            let lap = work()?;
            measured.rates.push(lap.rate);
            measured.p50.push(lap.p50);
            measured.p99.push(lap.p99);
        }
    }
    let measured: Vec<Measured> = sides.into_iter().map(|(measured, _)| measured).collect();
    print(&measured);
    Ok(())
}

/// What one lap showed.
pub(super) struct Lap {
    pub(super) rate: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// So many tasks for each worker that a lap is long enough for the clock.
fn enough(workers: &mut Workers) -> Result<u64, Box<dyn Error>> {
    let mut cycles = 1;
    while workers.work(cycles)? < LAP {
        cycles *= 2;
    }
    workers.take_claims();
    Ok(cycles)
}

fn ours(workers: &mut Workers, count: u64, cycles: u64) -> Result<Lap, Box<dyn Error>> {
    let took = workers.work(cycles)?;
    let mut claims = Took::new();
    for claim in workers.take_claims() {
        claims.add(claim);
    }
    let rate = (count * cycles) as f64 / took.as_secs_f64();
    Ok(Lap { rate, p50: claims.at(0.5), p99: claims.at(0.99) })
}

impl Measured {
    fn new(name: &str, workers: u64, behind: u64, is_peer: bool) -> Self {
        let (rates, p50, p99) = Default::default();
        Self { name: name.to_owned(), workers, behind, is_peer, rates, p50, p99 }
    }

    /// The median, the least and the most of what it did beside another side, round by round.
    fn times(&self, other: &Self) -> (f64, f64, f64) {
        let mut times: Vec<f64> =
            self.rates.iter().zip(&other.rates).map(|(own, other)| own / other).collect();
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[0], times[times.len() - 1])
    }
}

fn print(measured: &[Measured]) {
    println!(
        "  {:<16} {:>7} {:>10}   {:>24} {:>10} {:>10}",
        "", "workers", "behind", "a second", "claim p50", "p99"
    );
    for side in measured {
        let mut rates = side.rates.clone();
        rates.sort_by(f64::total_cmp);
        let middle = |times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort_unstable();
            format!("{:.2} ms", times[times.len() / 2].as_secs_f64() * 1e3)
        };
        let range = format!("({} - {})", grouped(rates[0]), grouped(rates[rates.len() - 1]));
        println!(
            "  {:<16} {:>7} {:>10}   {:>8} {range:>15} {:>10} {:>10}",
            side.name,
            side.workers,
            grouped(side.behind as f64),
            grouped(rates[rates.len() / 2]),
            middle(&side.p50),
            middle(&side.p99),
        );
    }
    println!("round by round:");
    for side in measured.iter().filter(|side| !side.is_peer) {
        let like = |other: &&Measured| other.workers == side.workers && !std::ptr::eq(*other, side);
        for other in measured.iter().filter(like) {
            let is_same_board = other.is_peer && other.behind == side.behind;
            let is_shorter = !other.is_peer && other.behind == 0;
            if is_same_board || is_shorter {
                let (median, least, most) = side.times(other);
                println!(
                    "  with {} at once, {} behind / {}, {} behind: {median:.2} times ({least:.2} - {most:.2})",
                    side.workers,
                    grouped(side.behind as f64),
                    other.name,
                    grouped(other.behind as f64),
                );
            }
        }
    }
}
