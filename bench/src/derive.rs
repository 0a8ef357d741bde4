//! `callboard derive`: lines a second of the released binary, beside the machine's own limits.
//!
//! Invariant: every program reads the same bytes from the same sort of pipe and writes to `/dev/null`; its start is
//! part of its time. Deliberately absent: lines that are refused; people who send two million lines send good ones.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use callboard_lifecycle::{Delivery, Health, Lifecycle, MACHINES, Machine, Words};

use serde::Deserialize;

use crate::built;
use crate::measure::{self, Plan, Side, Watch};

const LINES: usize = 2_000_000;
/// A lap reads all lines, however short.
const PLAN: Plan = Plan { rounds: 5, laps: 1, lap: Duration::ZERO };
const LINES_AIM: f64 = 500_000.0;

/// Measures and prints.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let callboard = built::callboard()?;
    let states = states();
    let answers = rehearse(&callboard, &states)?;
    let text: String = states.iter().cycle().take(LINES).map(String::as_str).collect();

    let watch = Watch::start()?;
    let sides = [
        program("callboard derive --policy v2", &callboard, &["derive", "--policy", "v2"], &text),
        program("cat", "cat", &[], &text),
        program("wc -l", "wc", &["-l"], &text),
        Side {
            name: "serde_json in this process, parsing only",
            units: LINES as u64,
            work: Box::new(|_| parse(&text)),
        },
    ];
    let series = measure::take_turns(sides, PLAN)?;
    let conditions = watch.conditions()?;

    println!(
        "\nderive: {LINES} lines through a pipe into /dev/null, {} rounds, the sides in turn",
        PLAN.rounds
    );
    let bytes_in = text.len() as f64 / LINES as f64;
    let bytes_out = answers as f64 / states.len() as f64;
    println!(
        "{} different states; {bytes_in:.0} bytes a line in, {bytes_out:.0} bytes a line out\n",
        states.len()
    );
    measure::print_rates("lines a second", &series);
    println!("\n{conditions}");
    measure::print_aim("lines", LINES_AIM, &series[0]);
    let alone = measure::grouped(of_core_time(&callboard, &text)?);
    println!("one more lap, counting only the core time that derive used itself: {alone} lines a second");
    Ok(())
}

/// One line for every state of every kind with every health and delivery the kind has, or none.
fn states() -> Vec<String> {
    let mut lines = Vec::new();
    for machine in MACHINES {
        for position in 0..machine.states.len() {
            let lifecycle = Lifecycle::new(machine.kind, position as u8);
            for health in or_none(machine.health) {
                for delivery in or_none(machine.delivery) {
                    lines.push(line(machine, lifecycle, health, delivery));
                }
            }
        }
    }
    lines
}

fn or_none<T: Copy>(values: &[T]) -> impl Iterator<Item = Option<T>> {
    std::iter::once(None).chain(values.iter().copied().map(Some))
}

fn line(
    machine: &Machine,
    lifecycle: Lifecycle,
    health: Option<Health>,
    delivery: Option<Delivery>,
) -> String {
    let mut text = format!(r#"{{"kind":"{}","lifecycle":"{lifecycle}""#, machine.kind);
    let others = [
        ("outcome", lifecycle.outcome().map(Words::name)),
        ("health", health.map(Words::name)),
        ("delivery", delivery.map(Words::name)),
    ];
    for (name, value) in others {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _never = write!(text, r#","{name}":"{value}""#);
        }
    }
    text.push_str("}\n");
    text
}

/// Makes sure that each line is answered, before anything is measured; gives the bytes of the answers.
fn rehearse(callboard: &Path, states: &[String]) -> Result<usize, Box<dyn Error>> {
    let mut command = Command::new(callboard);
    command.args(["derive", "--policy", "v2"]).stdout(Stdio::piped());
    let output = through_pipe(command, &states.concat())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("`callboard derive` refused the lines: {}", complaint.trim()).into());
    }
    let answers = output.stdout.split_inclusive(|byte| *byte == b'\n');
    let answered = answers.map_while(|answer| serde_json::from_slice::<Answer>(answer).ok()).count();
    if answered != states.len() {
        return Err(format!("`callboard derive` answered {answered} of {} lines", states.len()).into());
    }
    Ok(output.stdout.len())
}

/// What an answer must have to count as one.
#[derive(Deserialize)]
#[expect(dead_code, reason = "that it is there is all that is asked")]
struct Answer {
    severity: String,
    tone: String,
    chain: String,
}

/// Lines a second of the core time that `derive` uses; waiting for a core, or for the pipe, is not in it.
fn of_core_time(callboard: &Path, text: &str) -> io::Result<f64> {
    let before = measure::children_time()?;
    (program("callboard derive", callboard, &["derive", "--policy", "v2"], text).work)(1)?;
    let used = measure::children_time()? - before;
    Ok(LINES as f64 / used.as_secs_f64())
}

fn program<'a>(
    name: &'static str,
    path: impl AsRef<OsStr> + 'a,
    arguments: &'a [&str],
    text: &'a str,
) -> Side<'a> {
    let work = move |_turns| {
        let mut command = Command::new(&path);
        command.args(arguments).stdout(Stdio::null());
        let start = Instant::now();
        let output = through_pipe(command, text)?;
        let took = start.elapsed();
        if output.status.success() { Ok(took) } else { Err(io::Error::other(format!("{name} failed"))) }
    };
    Side { name, units: LINES as u64, work: Box::new(work) }
}

/// Runs a program with the text on its standard input.
fn through_pipe(mut command: Command, text: &str) -> io::Result<Output> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::scope(|scope| {
        let feeder = scope.spawn(move || writer.write_all(text.as_bytes()));
        let output = command.stdin(reader).output();
        // The command holds the end the program read from. If it stays open, the feeder of a program that stopped
        // early waits for ever.
        drop(command);
        match feeder.join() {
            Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            Ok(_) => output,
            Err(_) => Err(io::Error::other("BUG: the feeder panicked")),
        }
    })
}

/// The words of one line, and nothing done with them.
#[derive(Deserialize)]
struct Line<'a> {
    kind: Option<&'a str>,
    lifecycle: Option<&'a str>,
    outcome: Option<&'a str>,
    health: Option<&'a str>,
    delivery: Option<&'a str>,
}

fn parse(text: &str) -> io::Result<Duration> {
    let start = Instant::now();
    for line in text.lines() {
        let line: Line<'_> = serde_json::from_str(line)?;
        black_box([line.kind, line.lifecycle, line.outcome, line.health, line.delivery]);
    }
    Ok(start.elapsed())
}
