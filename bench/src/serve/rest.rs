//! What a server costs before anybody asks it much: the time until it is ready, and its memory.

use std::error::Error;
use std::time::Duration;

use super::host::Host;
use super::looks::QUESTIONS;
use super::parts::Places;
use crate::measure::Took;

/// How often each server is started.
const STARTS: usize = 20;
/// How long a server is left alone before it is weighed: longer than everything it does by itself every few seconds.
const REST: Duration = Duration::from_secs(12);

/// The time from the start of the process until `/readyz` says yes.
pub(super) fn starts(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let empty = places.scratch.join("started/s.db");
    let stores = [("an empty store", empty.as_path()), ("the large store", places.large)];
    // Once before, so that the stores are there and the files are in memory.
    for (_, store) in stores {
        drop(Host::start(places.callboard, store)?);
    }
    let mut took = [Took::default(), Took::default()];
    for _ in 0..STARTS {
        for ((_, store), took) in stores.iter().zip(&mut took) {
            took.add(Host::start(places.callboard, store)?.ready_after);
        }
    }
    for ((name, _), took) in stores.iter().zip(&took) {
        let [p50, worst] = [0.5, 1.0].map(|part| took.at(part).as_secs_f64() * 1e3);
        println!(
            "  ready with {name:<37} median {p50:.1} ms, worst {worst:.1} ms of {STARTS} (aim: under 100)"
        );
    }
    Ok(())
}

/// Proportional memory: left alone, and after it was asked about everything that lives.
pub(super) fn memory(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let print = |what: &str, host: &Host, aim: &str| {
        println!("  {what:<48} {:>6.1} MB{aim}", host.memory()? / 1e6);
        Ok::<_, Box<dyn Error>>(())
    };
    let idle = Host::start(places.callboard, &places.scratch.join("idle/s.db"))?;
    let busy = Host::start(places.callboard, places.large)?;
    std::thread::sleep(REST);
    print("idle, an empty store", &idle, " (aim: under 20)")?;
    print("the large store, nobody asked yet", &busy, "")?;
    let mut wire = busy.wire()?;
    for question in QUESTIONS {
        for _ in 0..200 {
            wire.get(question.path)?;
        }
    }
    print("the same, right after 200 questions of each sort", &busy, "")?;
    std::thread::sleep(REST);
    print("the same, left alone for a while", &busy, " (aim: under 60)")
}
