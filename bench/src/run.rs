//! `callboard run`: what supervision costs, beside the bare thing.
//!
//! Invariant: the program that is measured is the released binary with a durable store on the disk of the temporary
//! directory; sides take turns within a round. Deliberately absent: agents; what they do would hide what is measured.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use callboard_supervisor::{Quiet, Spec, start};
use tokio::runtime::{Builder, Runtime};

use crate::built;
use crate::measure::{self, Plan, Side, Took, Watch};

/// How often a whole program is started.
const STARTS: usize = 200;
/// How many short commands go through the engine in a lap, and how many at once.
const COMMANDS: u64 = 2_000;
const AT_ONCE: usize = 8;
const PLAN: Plan = Plan { rounds: 5, laps: 1, lap: Duration::ZERO };
/// How many runs are alive at once, and for how long they are left alone.
const DETACHED: usize = 500;
const IDLE: Duration = Duration::from_secs(20);

/// Measures and prints.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let callboard = built::callboard()?;
    let place = tempfile::tempdir()?;
    // Beside what the sandboxed command works in: the directory of a store is hidden from it.
    let state = place.path().join("state");
    fs::create_dir(&state)?;
    let store = state.join("board.db");
    let watch = Watch::start()?;
    starts(&callboard, &store)?;
    engine()?;
    let detached = arguments.first().map_or(Ok(DETACHED), |number| number.parse())?;
    crowd(&callboard, &store, detached)?;
    println!("\n{}", watch.conditions()?);
    Ok(())
}

/// The time of one whole program, started again and again, beside the bare command.
fn starts(callboard: &Path, store: &Path) -> Result<(), Box<dyn Error>> {
    let [mut bare, mut run, mut walled, mut version] = [const { Took::new() }; 4];
    // Once before, so that the store is there and the files are in memory.
    supervised(callboard, store)?;
    sandboxed(callboard, store)?;
    for _ in 0..STARTS {
        bare.time(|| quiet(&mut Command::new("true")))?;
        run.time(|| supervised(callboard, store))?;
        walled.time(|| sandboxed(callboard, store))?;
        version.time(|| quiet(Command::new(callboard).arg("--version")))?;
    }
    let ms = |took: &Took, part| took.at(part).as_secs_f64() * 1e3;
    println!("run: {STARTS} starts of each, in turn; a durable record before the start and at the end\n");
    println!("{:<34} {:>9} {:>9}", "milliseconds", "median", "p99");
    let sides = [
        ("true, bare", &bare),
        ("callboard run -- true", &run),
        ("callboard run --sandbox -- true", &walled),
        ("callboard --version", &version),
    ];
    for (name, took) in sides {
        println!("{name:<34} {:>9.2} {:>9.2}", ms(took, 0.5), ms(took, 0.99));
    }
    println!("beyond the bare start: {:.2} ms (aim: under 5)", ms(&run, 0.5) - ms(&bare, 0.5));
    println!(
        "in a sandbox, beyond one without: {:.2} ms (aim: under 2), {:.2} times",
        ms(&walled, 0.5) - ms(&run, 0.5),
        ms(&walled, 0.5) / ms(&run, 0.5)
    );
    Ok(())
}

fn supervised(callboard: &Path, store: &Path) -> Result<(), Box<dyn Error>> {
    quiet(Command::new(callboard).arg("--store").arg(store).args(["run", "--quiet", "--", "true"]))
}

/// The same in a sandbox, in a directory and with a home of its own.
fn sandboxed(callboard: &Path, store: &Path) -> Result<(), Box<dyn Error>> {
    let home = store.parent().unwrap_or(store).with_file_name("home");
    fs::create_dir_all(&home)?;
    let words = ["run", "--quiet", "--sandbox=workspace", "--", "true"];
    quiet(Command::new(callboard).arg("--store").arg(store).args(words).env("HOME", &home).current_dir(&home))
}

fn quiet(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// Short commands, several at once: under the supervisor, and bare with a timeout.
fn engine() -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let sides = [
        Side { name: "callboard's supervisor", units: COMMANDS, work: Box::new(|_| supervisors()) },
        Side { name: "tokio::process with a timeout", units: COMMANDS, work: Box::new(|_| bare(&runtime)) },
    ];
    let series = measure::take_turns(sides, PLAN)?;
    println!(
        "\nengine: {COMMANDS} times `true`, {AT_ONCE} at once, {} rounds, the sides in turn\n",
        PLAN.rounds
    );
    measure::print_rates("commands a second", &series);
    let times = series[1].times(&series[0]);
    println!(
        "time of a command, as a multiple of the bare one: {:.2} ({:.2}–{:.2}; aim: at most 1.3)",
        times.median, times.min, times.max
    );
    Ok(())
}

fn supervisors() -> std::io::Result<Duration> {
    let left = AtomicUsize::new(COMMANDS as usize);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| work(&left))).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(began.elapsed())
}

fn work(left: &AtomicUsize) -> std::io::Result<()> {
    let taken = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    while let Ok(number) = taken() {
        let mut spec = Spec::new("true", format!("bench-{number}"));
        spec.timers.total = Some(Duration::from_secs(60));
        start(spec).map_err(std::io::Error::other)?.watch(&mut Quiet);
    }
    Ok(())
}

fn bare(runtime: &Runtime) -> std::io::Result<Duration> {
    let began = Instant::now();
    runtime.block_on(async {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..AT_ONCE {
            workers.spawn(async {
                for _ in 0..COMMANDS as usize / AT_ONCE {
                    let mut command = tokio::process::Command::new("true");
                    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                    let output = tokio::time::timeout(Duration::from_secs(60), command.output());
                    output.await.map_err(std::io::Error::other)??;
                }
                std::io::Result::Ok(())
            });
        }
        while let Some(done) = workers.join_next().await {
            done.map_err(std::io::Error::other)??;
        }
        std::io::Result::Ok(())
    })?;
    Ok(began.elapsed())
}

/// Many detached runs that are alive at once: starting, listing, what they cost while nothing happens, and stopping.
fn crowd(callboard: &Path, store: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let ask = |arguments: &[&str]| {
        let output = Command::new(callboard).arg("--store").arg(store).args(arguments).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(Box::<dyn Error>::from(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    };
    let began = Instant::now();
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(ask(&["run", "--detach", "--", "sleep", "1000"])?.trim().to_owned());
    }
    let started = began.elapsed();
    let shims = supervisors_of(&ask(&["ps", "session", "--json"])?)?;
    // Each closes its store a second after it began.
    std::thread::sleep(Duration::from_secs(2));
    let (before, memory) = (ticks_of(&shims), memory_of(&shims));
    std::thread::sleep(IDLE);
    let idle = ticks_of(&shims).saturating_sub(before);
    let mut list = Took::default();
    for _ in 0..10 {
        list.time(|| ask(&["ps"]))?;
    }
    let began = Instant::now();
    let mut arguments = vec!["stop"];
    arguments.extend(ids.iter().map(String::as_str));
    ask(&arguments)?;
    let stopped = began.elapsed();
    println!("\ncrowd: {count} detached runs of `sleep`, alive at once\n");
    println!("start them all, one after another   {:>9.2} s", started.as_secs_f64());
    println!("list them (median of 10)            {:>9.2} ms", list.at(0.5).as_secs_f64() * 1e3);
    println!("stop them all, and wait for the end {:>9.2} s", stopped.as_secs_f64());
    println!("memory of one shim, proportional    {:>9.2} MB (aim: under 2)", memory / 1e6);
    // A tick is a hundredth of a second.
    let share = idle as f64 / IDLE.as_secs_f64();
    println!("CPU of all of them while idle       {share:>9.2} % of a core (aim: under 1)");
    Ok(())
}

fn supervisors_of(listing: &str) -> Result<Vec<u64>, Box<dyn Error>> {
    let listing: serde_json::Value = serde_json::from_str(listing)?;
    let items = listing["items"].as_array().ok_or("no items")?;
    Ok(items.iter().filter_map(|item| item["facts"]["supervisor"]["pid"].as_u64()).collect())
}

/// CPU time of these processes so far, in ticks.
fn ticks_of(pids: &[u64]) -> u64 {
    let one = |pid: &u64| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_ascii_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    pids.iter().filter_map(one).sum()
}

/// Proportional memory of one of these processes, in bytes, on average.
fn memory_of(pids: &[u64]) -> f64 {
    let one = |pid: &u64| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_ascii_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let all: Vec<f64> = pids.iter().filter_map(one).collect();
    all.iter().sum::<f64>() * 1024.0 / all.len().max(1) as f64
}
