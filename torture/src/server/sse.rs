//! `sse`: readers of the feed are cut off at random bytes, fall behind and lose their server, while others write.
//!
//! Invariant: whatever is done to a reader, the ids of the whole events it got are those of the log, as far as it chose
//! them, each once and in order. Readers that never read slow neither the writer nor the other readers, and cost the
//! server a bounded amount of memory. The records are written into the same store beside the server. Deliberately
//! absent: how fast; `bench serve` measures that.

mod reader;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::reader::{Choice, Got, Outlook, Reader};
use self::writer::Cast;
use crate::harness::aftermath;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http;
use crate::harness::program::{Board, until};
use crate::harness::scene::{self, Scene};
use crate::harness::service::Service;

pub(crate) const TORTURE: Torture = Torture {
    name: "sse",
    about: "readers cut at random bytes, slow ones and a killed server: nothing lost, doubled or out of order (CI: 20,000 of 1,000,000 events)",
    mutants: &["feed_reads_the_log", "last_event_id"],
    run,
    child: None,
};

/// How much longer a record may take to arrive because others do not read.
const DELAY_MAX: Duration = Duration::from_millis(10);
/// How much slower a record may be written because others do not read: so many times, and this.
const SLOWER_MAX: (u32, Duration) = (3, Duration::from_millis(3));
/// Memory that readers who do not read may cost.
const MEMORY_MAX: u64 = 64 << 20;
/// How long everything may take that is written or read.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// How much of everything.
struct Numbers {
    events: u64,
    readers: u64,
    cuts: u64,
    stalled: u64,
    kills: u64,
}

fn run(plan: &Plan) -> Tally {
    let numbers = Numbers {
        events: plan.choose(1_000_000, 20_000, 4_000),
        readers: plan.choose(200, 24, 12),
        cuts: plan.choose(10_000, 600, 60),
        stalled: plan.choose(100, 20, 0),
        kills: plan.choose(5, 2, 1),
    };
    scene::play(plan, |scene, tally| play(plan, scene, &numbers, tally))
}

fn play(plan: &Plan, scene: &Scene, numbers: &Numbers, tally: &mut Tally) -> Result<()> {
    let board = Board::new(&scene.store(), plan)?;
    let mut service = Service::start(&board, scene.path(), &["--rate", "0"])?;
    let cast = Cast::create(&scene.store())?;
    if numbers.stalled > 0 {
        stall(&service, &cast, numbers, tally)?;
    }
    let outlook = Outlook::new(numbers.events, cast.count());
    let choices = Choice::all(&cast);
    let readers: Vec<Reader> = (0..numbers.readers)
        .map(|number| Reader {
            address: service.address,
            token: service.token.clone(),
            choice: choices[number as usize % choices.len()].clone(),
            cuts: numbers.cuts.div_ceil(numbers.readers),
            is_slow: number % 10 == 9,
            seed: plan.seed,
            number,
        })
        .collect();
    let got = std::thread::scope(|scope| -> Result<Vec<Result<Got>>> {
        let reading: Vec<_> = readers.iter().map(|reader| scope.spawn(|| reader.read(&outlook))).collect();
        let writing = scope.spawn(|| cast.write(numbers.events, &outlook.written));
        let killed = kill_often(&mut service, numbers, &outlook.written);
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let told = written.and_then(|()| outlook.tell(&cast));
        if told.is_err() || killed.is_err() {
            outlook.give_up();
        }
        let got = reading
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let got = got.collect();
        told.and(killed)?;
        Ok(got)
    })?;
    judge(&readers, got, numbers, tally);
    let health = service.get("/api/v1/health")?.ok()?;
    let (head, feed) = (&health["writer"]["head"], &health["writer"]["feed_head"]);
    tally.check(head == feed, || format!("the log ends at {head} and the feed at {feed}"));
    aftermath::check_whole(&aftermath::open(&scene.store())?)
}

/// Kills the server at even distances, and starts it again.
fn kill_often(service: &mut Service, numbers: &Numbers, written: &AtomicU64) -> Result<()> {
    for kill in 1..=numbers.kills {
        let due = numbers.events * kill / (numbers.kills + 1);
        until(PATIENCE, || (written.load(Ordering::Acquire) >= due).then_some(()))?
            .context("nothing is written any more")?;
        service.kill()?;
        service.restart()?;
    }
    Ok(())
}

/// Readers that never read: what they cost the writer, another reader and the server.
fn stall(service: &Service, cast: &Cast, numbers: &Numbers, tally: &mut Tally) -> Result<()> {
    let memory = service.resident()?;
    let path = "/api/v1/events?since=0";
    let mut other = http::open(service.address, path, &service.token, None)?;
    let before = cast.probe(&mut other)?;
    let silent: Vec<_> = (0..numbers.stalled)
        .map(|_| http::open(service.address, path, &service.token, None))
        .collect::<Result<_>>()?;
    // Enough that no socket holds it all.
    cast.fill(&mut other)?;
    let after = cast.probe(&mut other)?;
    let cost = service.resident()?.saturating_sub(memory);
    drop(silent);
    tally.check(after.written <= before.written * SLOWER_MAX.0 + SLOWER_MAX.1, || {
        format!(
            "a record took {:?} to write before others stopped reading, {:?} after",
            before.written, after.written
        )
    });
    tally.check(after.arrived <= before.arrived + DELAY_MAX, || {
        format!(
            "a record took {:?} to arrive before others stopped reading, {:?} after",
            before.arrived, after.arrived
        )
    });
    tally.check(cost < MEMORY_MAX, || {
        format!("{cost} bytes for {} readers that do not read", numbers.stalled)
    });
    tally.notes.push(format!(
        "{} readers that never read: a record was written in {:?} (median; {:?} before), and with another reader after {:?} \
         ({:?} before); {} KiB of memory",
        numbers.stalled,
        after.written,
        before.written,
        after.arrived,
        before.arrived,
        cost >> 10,
    ));
    Ok(())
}

fn judge(readers: &[Reader], got: Vec<Result<Got>>, numbers: &Numbers, tally: &mut Tally) {
    let (mut events, mut cuts, mut behind, mut lost) = (0, 0, 0, 0);
    for (reader, got) in readers.iter().zip(got) {
        let outcome = got.map(|got| {
            events += got.events;
            cuts += got.cuts;
            behind += got.behind;
            lost += got.broken;
        });
        tally.trial(outcome, || format!("reader {} of {:?}", reader.number, reader.choice));
    }
    if tally.failures.is_empty() {
        tally.check(cuts >= numbers.cuts, || format!("only {cuts} cuts"));
        tally.check(behind > 0, || "nobody fell behind".to_owned());
    }
    tally.notes.push(format!(
        "{} events written, {events} received by {} readers; {cuts} cuts at random bytes, {lost} connections lost to {} kills \
         of the server, {behind} times behind",
        numbers.events, numbers.readers, numbers.kills
    ));
}

/// A condition that must hold of what a reader got.
pub(crate) fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    ensure!(holds, "{}", otherwise());
    Ok(())
}
