//! `cargo xtask bench NAME`: figures of Callboard beside a peer or the machine's own limit, from one run.
//!
//! Invariant: sides that are compared take turns in one run, and the conditions of that run stand beside its figures.
//! One benchmark, one line of the table below. Deliberately absent: a verdict that fails a build; on a shared machine
//! a figure is read together with its conditions.

mod board;
mod built;
#[path = "../../crates/ledger/tests/common/cluster.rs"]
mod cluster;
mod count;
mod derive;
mod kernel;
mod ledger;
mod measure;
mod peer;
mod python;
mod run;
mod serve;
mod truth;

use std::error::Error;
use std::process::ExitCode;

/// Takes the arguments behind the name.
type Run = fn(&[String]) -> Result<(), Box<dyn Error>>;

/// One benchmark: its name, what it shows, and its code.
struct Bench {
    name: &'static str,
    shows: &'static str,
    run: Run,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "board",
        shows: "tasks through their whole life a second and the time of a claim, with finished tasks behind; \
                --behind N (several times) for how many, --peers for apalis and procrastinate beside it",
        run: board::run,
    },
    Bench {
        name: "kernel",
        shows: "decisions a second beside statig, allocations a decision, refusals, lines of `derive` a second",
        run: |_| kernel::run().and_then(|()| derive::run()),
    },
    Bench {
        name: "ledger",
        shows: "durable transitions a second beside bare SQLite and PostgreSQL, questions and upkeep of large \
                stores; --records N for the length of the log, --peers for DBOS and LangGraph",
        run: ledger::run,
    },
    Bench {
        name: "run",
        shows: "what `callboard run` costs beyond a bare start, short commands beside tokio::process, many detached runs; \
                a number sets how many",
        run: run::run,
    },
    Bench {
        name: "serve",
        shows: "`callboard serve`: questions over a million entities, the feed beside raw sockets, transitions beside the \
                same in process, the page, memory and start; --part NAME for one part, --entities N, --binary PATH \
                instead of building one",
        run: serve::run,
    },
    Bench {
        name: "truth",
        shows: "the time from what happens to a run until `ps`, HTTP and the feed tell it, beside a bare process and a \
                loopback socket; --times N, --binary PATH instead of building one",
        run: truth::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, rest @ ..] = arguments.as_slice() else {
        return usage("name one benchmark");
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        return usage(&format!("there is no benchmark {name:?}"));
    };
    match (bench.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("error: {problem}\n\nUsage: cargo xtask bench NAME\n");
    for bench in BENCHES {
        eprintln!("  {:<8} {}", bench.name, bench.shows);
    }
    ExitCode::from(2)
}
