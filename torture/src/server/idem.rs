//! `idem`: many clients send the same commands again and again, are cut off before and after the answer, and the server is
//! killed under them.
//!
//! Invariant: each key has one effect, whoever sends it how often and whatever became of the answers, and every answer of
//! a key is the same. The same key with another body is refused, also by a server that was killed since; the same key of
//! another token is its own. That a run was started once is shown by what it did. Deliberately absent: commands without a
//! key, which nobody may repeat.

mod cast;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufReader, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::cast::{Act, Cast};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http;
use crate::harness::program::{self, Board, until};
use crate::harness::scene::Scene;
use crate::harness::service::Service;

pub(crate) const TORTURE: Torture = Torture {
    name: "idem",
    about: "commands repeated at once, through cuts and kill -9 of the server: one effect for each key (CI: 200 of 10,000 keys)",
    mutants: &["keys_of_a_token", "runs_remember_their_body"],
    run,
    child: None,
};

/// Clients at once.
const CLIENTS: u64 = 8;
/// Keys that are sent with other bodies, at the most.
const OTHERS: usize = 100;
/// How long everything may take.
const PATIENCE: Duration = Duration::from_secs(600);

fn run(plan: &Plan) -> Tally {
    let marker = format!("idem-{}", std::process::id());
    program::play(plan, |board, scene, tally| play(plan, board, scene, &marker, tally))
}

/// What was answered to the commands, by their number.
#[derive(Default)]
struct Answers {
    seen: Mutex<HashMap<usize, Vec<String>>>,
    odd: Mutex<Vec<String>>,
    cut: AtomicU64,
}

fn play(plan: &Plan, board: &Board, scene: &Scene, marker: &str, tally: &mut Tally) -> Result<()> {
    let mut service = Service::start(board, scene.path(), &["--rate", "0"])?;
    let cast = Cast::new(board, scene, &service, marker, plan)?;
    let answers = Answers::default();
    let repeats = plan.choose(12, 8, 6) as usize;
    let mut all: Vec<usize> =
        (0..cast.acts.len()).flat_map(|act| std::iter::repeat_n(act, repeats)).collect();
    shuffle_near(&mut all, &mut Dice::of(plan.seed, 0), repeats * 16);
    let (next, address) = (AtomicU64::new(0), service.address);
    let kills = plan.choose(20, 3, 2);
    std::thread::scope(|scope| -> Result<()> {
        let clients: Vec<_> = (1..=CLIENTS)
            .map(|client| {
                let (all, next, cast, answers) = (&all, &next, &cast, &answers);
                scope.spawn(move || {
                    let mut dice = Dice::of(plan.seed, client);
                    loop {
                        let at = next.fetch_add(1, Ordering::AcqRel) as usize;
                        let Some(number) = all.get(at) else { return };
                        answers.send(address, *number, &cast.acts[*number], &mut dice);
                    }
                })
            })
            .collect();
        let killed = (1..=kills).try_for_each(|kill| {
            let due = all.len() as u64 * kill / (kills + 1);
            until(PATIENCE, || (next.load(Ordering::Acquire) >= due).then_some(()))?
                .context("nobody sends")?;
            service.kill()?;
            service.restart()
        });
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        killed
    })?;
    // Whatever was cut off every time is sent once more, to the end.
    for (number, act) in cast.acts.iter().enumerate() {
        answers.insist(address, number, act)?;
    }
    let sent = all.len();
    judge(&cast, board, &answers, tally)?;
    other_bodies(&cast, &mut service, tally)?;
    let cut = answers.cut.load(Ordering::Acquire);
    tally.notes.push(format!(
        "{} keys, {sent} requests by {CLIENTS} clients at once, {cut} of them cut off; {kills} kills of the server",
        cast.acts.len()
    ));
    Ok(())
}

/// Puts repetitions of one command near each other, yet not in order.
fn shuffle_near(all: &mut [usize], dice: &mut Dice, reach: usize) {
    for at in 0..all.len() {
        let other = (at + dice.roll(reach as u64) as usize).min(all.len() - 1);
        all.swap(at, other);
    }
}

impl Answers {
    /// Sends a command once, perhaps only a part of it, perhaps without reading what is answered.
    fn send(&self, address: std::net::SocketAddr, number: usize, act: &Act, dice: &mut Dice) {
        let request = act.request(address);
        let Ok(mut stream) = http::connect(address) else { return };
        let fate = dice.roll(6);
        let part = if fate == 0 { dice.roll(request.len() as u64) as usize } else { request.len() };
        // A server that was killed takes nothing; that is one more cut.
        if stream.write_all(&request.as_bytes()[..part]).is_err() || fate <= 1 {
            self.cut.fetch_add(1, Ordering::AcqRel);
            return;
        }
        match http::answer(&mut BufReader::new(stream)) {
            Ok(reply) if matches!(reply.status, 200 | 201) => self.note(number, &reply.json()),
            Ok(reply) => {
                let told = format!(
                    "{} of {} was answered with {} {}",
                    act.path,
                    act.key,
                    reply.status,
                    reply.text()
                );
                self.odd.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(told);
            }
            Err(_) => {
                self.cut.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    fn note(&self, number: usize, answer: &Value) {
        let effect = effect(answer);
        self.seen
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .entry(number)
            .or_default()
            .push(effect);
    }

    /// Sends a command until it is answered.
    fn insist(&self, address: std::net::SocketAddr, number: usize, act: &Act) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let sent = http::connect(address).and_then(|mut stream| {
                stream.write_all(act.request(address).as_bytes())?;
                http::answer(&mut BufReader::new(stream))
            });
            if let Ok(reply) = sent {
                self.note(number, &reply.ok().with_context(|| act.path.clone())?);
                return Ok(());
            }
        }
        bail!("{} is never answered", act.path)
    }
}

/// What an answer says was done: the record, or the run.
fn effect(answer: &Value) -> String {
    let record = &answer["record"];
    if record.is_object() {
        format!("record {} {}", record["seq"], record["hash"])
    } else {
        format!("run {}", answer["id"])
    }
}

fn judge(cast: &Cast, board: &Board, answers: &Answers, tally: &mut Tally) -> Result<()> {
    for odd in answers.odd.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
        tally.failures.push(odd.clone());
    }
    let mut by_cause: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for line in board.events()? {
        let record: Value = serde_json::from_str(&line)?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let effect = effect(&serde_json::json!({ "record": record }));
        by_cause.entry((word(&record["entity"]["id"]), word(&record["key"]))).or_default().push(effect);
    }
    let seen = answers.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (number, act) in cast.acts.iter().enumerate() {
        let seen = seen.get(&number).map_or(&[][..], Vec::as_slice);
        let same = seen.iter().all(|one| *one == seen[0]);
        tally.check(same && !seen.is_empty(), || {
            format!("{} of {} was answered with {seen:?}", act.path, act.key)
        });
        let Some(entity) = &act.entity else { continue };
        let ends = |(key, _): &(&(String, String), &Vec<String>)| {
            key.0 == *entity && key.1.ends_with(&format!(" {}", act.key))
        };
        let recorded: Vec<&String> = by_cause.iter().filter(ends).flat_map(|(_, effects)| effects).collect();
        // Two tokens may have sent the same key; each has its own record.
        tally.check(
            seen.first().is_some_and(|one| recorded.iter().filter(|its| **its == one).count() == 1),
            || {
                format!(
                    "{} of {}: answered with {:?}, recorded as {recorded:?}",
                    act.path,
                    act.key,
                    seen.first()
                )
            },
        );
        tally.check(recorded.len() == act.owners, || {
            format!("{} of {} is recorded as {recorded:?}", act.path, act.key)
        });
    }
    cast.judge_runs(board, tally)
}

/// The same keys with other bodies, before and after one more kill.
fn other_bodies(cast: &Cast, service: &mut Service, tally: &mut Tally) -> Result<()> {
    for is_killed in [false, true] {
        if is_killed {
            service.kill()?;
            service.restart()?;
        }
        let all: Vec<&Act> = cast.acts.iter().filter(|act| act.other.is_some()).collect();
        for act in all.iter().step_by(all.len().div_ceil(OTHERS)) {
            let other = Act { body: act.other.clone().unwrap_or_default(), ..(*act).clone() };
            let mut stream = http::connect(service.address)?;
            stream.write_all(other.request(service.address).as_bytes())?;
            let reply = http::answer(&mut BufReader::new(stream))?;
            tally.check(reply.status == 422, || {
                format!(
                    "{} with the key {} and another body: {} {}",
                    act.path,
                    act.key,
                    reply.status,
                    reply.text()
                )
            });
        }
    }
    Ok(())
}
