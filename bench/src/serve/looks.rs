//! Questions over HTTP to a server on a large store: what needs somebody, and the fleet.
//!
//! Invariant: every answer is checked to be one. A question "after a change" follows a record that another process wrote
//! and that changes the board, so nothing that was kept from the question before can be given out.

use std::error::Error;
use std::time::{Duration, Instant};

use callboard_ledger::{Ledger, Options};

use super::host::Host;
use super::parts::Places;
use super::store;
use crate::measure::Took;

/// One question.
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
}

pub(super) const QUESTIONS: [Question; 4] = [
    Question { name: "attention, the first 100", path: "/api/v1/attention" },
    Question { name: "fleet, the first 100 by severity", path: "/api/v1/entities" },
    Question { name: "fleet, one project, newest first", path: "/api/v1/entities?project=web&sort=newest" },
    Question { name: "everything, ended too, the first 100", path: "/api/v1/entities?ended=true" },
];

/// Questions for one percentile.
const OFTEN: usize = 3_000;
const AFTER_CHANGE: usize = 500;
/// How often a server is started for its first question.
const FIRST: usize = 5;
/// Between two questions "now and then": longer than any answer is kept.
const PAUSE: Duration = Duration::from_millis(300);
const NOW_AND_THEN: usize = 100;

/// Measures and prints.
pub(super) fn run(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let host = first(places)?;
    let mut wire = host.wire()?;
    for question in QUESTIONS {
        let mut took = Took::default();
        for _ in 0..OFTEN {
            took.time(|| wire.get(question.path).map(drop))?;
        }
        println!("  {:<58} {took}{}", question.name, aim(&question));
    }
    for question in &QUESTIONS[..2] {
        let mut took = Took::default();
        for _ in 0..NOW_AND_THEN {
            std::thread::sleep(PAUSE);
            took.time(|| wire.get(question.path).map(drop))?;
        }
        println!("  {:<58} {took}", format!("{}, once in {} ms", question.name, PAUSE.as_millis()));
    }
    let ledger = Ledger::open(places.large, Options::default())?;
    for question in &QUESTIONS[..2] {
        let (mut took, mut floor) = (Took::default(), Took::default());
        for number in 0..AFTER_CHANGE as u64 {
            let live = store::live(number, places.entities);
            let seq = ledger.append(store::heard(live, number))?.record.seq;
            let body = took.time(|| wire.get(question.path).map(<[u8]>::to_vec))?;
            let head = format!("\"head\":{seq}");
            if !String::from_utf8_lossy(&body).contains(&head) {
                return Err(format!("{} does not know record {seq}", question.name).into());
            }
            floor.time(|| wire.get("/livez").map(drop))?;
        }
        println!("  {:<58} {took}", format!("{}, after a change each", question.name));
        println!("  {:<58} {floor}", "  beside it, an answer that says nothing (/livez)");
    }
    Ok(())
}

fn aim(question: &Question) -> &'static str {
    if question.path.ends_with("attention") { " (aim: p99 under 2000)" } else { "" }
}

/// The first question after a start, asked at once and asked a second later.
fn first(places: &Places<'_>) -> Result<Host, Box<dyn Error>> {
    let ms = |took: &Took, part| took.at(part).as_secs_f64() * 1e3;
    for (name, pause) in
        [("at once", Duration::ZERO), ("a second after it was ready", Duration::from_secs(1))]
    {
        let mut took = Took::default();
        for _ in 0..FIRST {
            let host = Host::start(places.callboard, places.large)?;
            std::thread::sleep(pause);
            let mut wire = host.wire()?;
            let began = Instant::now();
            wire.get(QUESTIONS[0].path)?;
            took.add(began.elapsed());
        }
        println!(
            "  {:<58} median {:.1} ms, worst {:.1} ms of {FIRST}",
            format!("attention, first after a start, {name}"),
            ms(&took, 0.5),
            ms(&took, 1.0)
        );
    }
    Host::start(places.callboard, places.large)
}
