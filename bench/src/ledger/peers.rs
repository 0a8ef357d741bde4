//! Peers: what others call a durable step, in turns with a durable transition of ours.
//!
//! Invariant: a peer is installed into a directory of its own, runs as it is shipped if it syncs before it answers,
//! and is left out with a word if it does not install. A step of theirs is not a transition of ours: the ratio says
//! what a caller waits for, not that the two do the same work. Deliberately absent: Restate, whose step needs a
//! second program behind HTTP on the same two cores, and whose figure would be that program's.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use callboard_ledger::{Ledger, Options};

use super::fleet::Fleet;
use crate::measure::{Took, grouped};
use crate::python::install;

/// One peer in Python: its packages, its program, what it does, and how it syncs.
struct Peer {
    package: &'static str,
    program: &'static str,
    what: &'static str,
}

const PEERS: [Peer; 2] = [
    Peer {
        package: "dbos",
        program: include_str!("../../peers/dbos_steps.py"),
        what: "DBOS step (SQLite, rollback journal, synchronous FULL)",
    },
    Peer {
        package: "langgraph-checkpoint-sqlite",
        program: include_str!("../../peers/langgraph_puts.py"),
        what: "LangGraph SqliteSaver put (WAL, synchronous FULL)",
    },
];

const ROUNDS: usize = 5;
const SECONDS: f64 = 1.0;

/// Installs, measures and prints.
pub(super) fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!("\npeers, 1 caller, durable steps a second, in turns with ours (SQLite FULL)");
    println!("  Restate: not run; its step needs a service of its own behind HTTP on the same cores");
    for peer in &PEERS {
        match install(&directory.join(peer.package), &[peer.package]) {
            Ok(python) => race(directory, peer, &python)?,
            Err(problem) => println!("  {}: does not install here: {problem}", peer.package),
        }
    }
    Ok(())
}

fn race(directory: &Path, peer: &Peer, python: &Path) -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open(&directory.join(format!("beside-{}.db", peer.package)), Options::default())?;
    let mut fleet = Fleet::new(ledger, 1)?;
    let (mut ours, mut theirs, mut ratios) = (Took::default(), Took::default(), Vec::new());
    for round in 0..ROUNDS {
        let (turns, database) = (4_000, directory.join(format!("{}-{round}.db", peer.package)));
        let own = fleet.work(turns)?.div_f64(turns as f64);
        let output = Command::new(python)
            .args(["-c", peer.program])
            .arg(&database)
            .arg(SECONDS.to_string())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some(rate) = text.lines().last().and_then(|line| line.trim().parse::<f64>().ok()) else {
            let problem = String::from_utf8_lossy(&output.stderr);
            println!("  {}: does not run: {}", peer.package, problem.lines().last().unwrap_or_default());
            return Ok(());
        };
        let other = Duration::from_secs_f64(1.0 / rate);
        ratios.push(other.as_secs_f64() / own.as_secs_f64());
        ours.add(own);
        theirs.add(other);
    }
    ratios.sort_by(f64::total_cmp);
    let rate = |took: &Took| grouped(1.0 / took.at(0.5).as_secs_f64());
    println!(
        "  {:<56} {:>8}; ours {:>8}; ours / theirs {:.1} times ({:.1} - {:.1})",
        peer.what,
        rate(&theirs),
        rate(&ours),
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1],
    );
    Ok(())
}
