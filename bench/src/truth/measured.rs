//! One table: each event a line, each surface a column.

use std::error::Error;
use std::path::PathBuf;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use super::event::Event;
use super::floor::Floor;
use super::stage::{Run, Stage};
use super::surface::{self, Feed};
use crate::built;
use crate::measure::{Took, Watch};
use crate::serve::host::Host;

/// How often each thing is done, and measured at each surface.
const TIMES: usize = 200;
/// Runs that are alive at once.
const AT_ONCE: usize = 50;
/// What HTTP and the feed aim at, in milliseconds at p99.
const AIM_MS: f64 = 50.0;

/// What each surface took for one event.
#[derive(Default)]
struct Line {
    ps: Took,
    entity: Took,
    attention: Took,
    feed: Took,
    floor: Took,
}

/// The server, and whoever listens to it all the time; who asks connects anew, because a silent connection is closed.
struct Surfaces<'a> {
    host: &'a Host,
    feed: Feed,
    floor: Floor,
}

/// Measures and prints.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (times, binary) = read(arguments)?;
    let callboard = binary.map_or_else(built::callboard, Ok)?;
    let watch = Watch::start()?;
    println!("truth: milliseconds from an event until each surface tells it, {times} of each; p50 / p99");
    println!("floor: the same at a bare process, its descriptor, and a message to and fro over loopback\n");
    let columns = ["ps --json", "GET entity", "GET attention", "feed", "floor"];
    println!("{:<36}{}", "", columns.map(|name| format!("{name:>16}")).concat());
    for event in Event::ALL {
        // A store each: the list of attention is read as one page, which all that failed before would fill.
        let scratch = tempfile::tempdir()?;
        let store = scratch.path().join("store/s.db");
        std::fs::create_dir_all(scratch.path().join("store"))?;
        let host = Host::start(&callboard, &store)?;
        let stage = Stage { callboard: &callboard, store: &store, scratch: scratch.path() };
        let mut surfaces = Surfaces { host: &host, feed: Feed::open(&host)?, floor: Floor::open()? };
        let line = measure(&stage, &mut surfaces, event, times)?;
        println!("{:<36}{}", event.name(), line.cells(event).concat());
        let worst = [&line.entity, &line.attention, &line.feed].map(|took| took.at(0.99).as_secs_f64() * 1e3);
        let worst = worst.into_iter().fold(0.0, f64::max);
        if worst >= AIM_MS {
            println!("  missed: p99 of HTTP or the feed is {worst:.1} ms (aim: under {AIM_MS})");
        }
    }
    println!("\n{}", watch.conditions()?);
    Ok(())
}

fn read(arguments: &[String]) -> Result<(usize, Option<PathBuf>), Box<dyn Error>> {
    let (mut times, mut binary, mut words) = (TIMES, None, arguments.iter());
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--times" => times = value.parse()?,
            "--binary" => binary = Some(PathBuf::from(value)),
            other => {
                return Err(
                    format!("unknown argument {other:?}; there are --times N and --binary PATH").into()
                );
            }
        }
    }
    Ok((times, binary))
}

impl Line {
    fn cells(&self, event: Event) -> [String; 5] {
        let cell = |took: &Took| {
            let [p50, p99] = [0.5, 0.99].map(|part| took.at(part).as_secs_f64() * 1e3);
            format!("{:>16}", format!("{p50:.1} / {p99:.1}"))
        };
        let attention = if event.is_urgent() { cell(&self.attention) } else { format!("{:>16}", "–") };
        [cell(&self.ps), cell(&self.entity), attention, cell(&self.feed), cell(&self.floor)]
    }
}

/// Does it to one run after another: in turn the server is asked, the command line, and the bare machine.
fn measure(
    stage: &Stage<'_>,
    surfaces: &mut Surfaces<'_>,
    event: Event,
    times: usize,
) -> Result<Line, Box<dyn Error>> {
    let (mut line, mut left) = (Line::default(), times);
    while left > 0 {
        let some = left.min(AT_ONCE / 2);
        let mut runs = stage.runs(event, 2 * some)?;
        for pair in runs.chunks_exact_mut(2) {
            let [one, other] = pair else { return Err("BUG: a pair is two".into()) };
            by_server(surfaces, event, one, &mut line)?;
            let mut orders = surfaces.host.wire()?;
            let since = Instant::now();
            other.suffer(event, &mut orders)?;
            line.ps.add(surface::ps(stage, event, other)? - since);
            line.floor.add(surfaces.floor.time(event, stage.scratch)?);
        }
        runs.iter_mut().for_each(Run::end);
        left -= some;
    }
    Ok(line)
}

/// The entity, the list of attention and the feed at once: each waits for its own answer.
fn by_server(
    surfaces: &Surfaces<'_>,
    event: Event,
    run: &mut Run,
    line: &mut Line,
) -> Result<(), Box<dyn Error>> {
    let Surfaces { host, feed, .. } = surfaces;
    let (mut entity, mut attention, mut orders) = (host.wire()?, host.wire()?, host.wire()?);
    feed.forget();
    let since = Instant::now();
    run.suffer(event, &mut orders)?;
    let run = &*run;
    let (by_entity, by_attention, by_feed) = std::thread::scope(|scope| {
        let one = scope.spawn(|| surface::entity(&mut entity, event, run));
        let list =
            scope.spawn(|| event.is_urgent().then(|| surface::attention(&mut attention, run)).transpose());
        let by_feed = feed.told(event, run);
        (joined(one), joined(list), by_feed)
    });
    line.entity.add(by_entity? - since);
    if let Some(at) = by_attention? {
        line.attention.add(at - since);
    }
    line.feed.add(by_feed? - since);
    Ok(())
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
