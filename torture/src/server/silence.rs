//! `silence`: whoever holds the token of one run floods the server; everybody else is answered.
//!
//! Invariant: under each flood every request of another client is answered, the run is turned away beyond what it may keep open
//! or record, and the memory of the server stays below a bound. How long the other client waits is printed and not
//! judged, because the floods need the machine, too. Deliberately absent: floods by somebody without a token.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http::{self, bearer};
use crate::harness::program::{self, Board, PATIENCE, until};
use crate::harness::scene::Scene;
use crate::harness::service::Service;

pub(crate) const TORTURE: Torture = Torture {
    name: "silence",
    about: "slow bodies, half heads, streams, ranges and notes of one run keep nobody else from being answered",
    mutants: &["requests_of_a_run", "records_of_a_run"],
    run,
    child: None,
};

const MEMORY_MAX: u64 = 100 << 20;
const OUTPUT_BYTES: u64 = 32 << 20;
/// Connections that one flood keeps open.
const CROWD: usize = 64;
/// What one run may have open, and how many of it streams.
const OPEN_MAX: usize = 8;

/// Whoever floods: the server, the run and its token.
#[derive(Clone)]
struct Flood {
    address: SocketAddr,
    run: String,
    token: String,
}

fn run(plan: &Plan) -> Tally {
    let asked = usize::try_from(plan.choose(2000, 300, 60)).unwrap_or_default();
    program::play(plan, |board, scene, tally| play(board, scene, asked, tally))
}

fn play(board: &Board, scene: &Scene, asked: usize, tally: &mut Tally) -> Result<()> {
    let service = Service::start(board, scene.path(), &["--rate", "0"])?;
    let script = format!("head -c {OUTPUT_BYTES} /dev/zero; exec sleep 600");
    let mut command = board.command(&["run", "--detach", "--", "sh", "-c", &script]);
    let output = command.current_dir(scene.path()).output()?;
    ensure!(output.status.success(), "a run did not start: {}", String::from_utf8_lossy(&output.stderr));
    let run = String::from_utf8(output.stdout)?.trim().to_owned();
    let token = board.ask(&["token", "create", "--scope", "agent", "--run", &run])?.trim().to_owned();
    let flood = Flood { address: service.address, run, token };
    let whole = until(PATIENCE, || {
        let last = format!("{}Range: bytes={}-\r\n", bearer(&service.token), OUTPUT_BYTES - 1);
        let reply = http::ask(flood.address, "GET", &flood.path("output/stdout"), &last, "");
        reply.is_ok_and(|reply| reply.status == 206).then_some(())
    })?;
    whole.context("the output did not come")?;
    counted(&flood, tally)?;
    for (name, act) in FLOODS {
        let (worst_ms, refused) = under(&flood, act, &service, asked)?;
        tally.check(refused == 0, || format!("{name}: {refused} of {asked} requests were not answered"));
        let memory = service.resident()?;
        tally.check(memory < MEMORY_MAX, || format!("{name}: the server holds {memory} bytes"));
        tally
            .notes
            .push(format!("{name}: p99 of another client {worst_ms:.1} ms, memory {} MB", memory >> 20));
    }
    Ok(())
}

/// How many of a crowd are let in, and how much is recorded.
fn counted(flood: &Flood, tally: &mut Tally) -> Result<()> {
    let body = flood.slow_body();
    let slow: Vec<TcpStream> = (0..CROWD).map(|_| flood.begin(&body)).collect::<Result<_>>()?;
    let mut statuses = Vec::new();
    for stream in slow {
        statuses.push(http::head(&mut std::io::BufReader::new(stream))?.0);
    }
    let refused = statuses.iter().filter(|status| **status == 429).count();
    tally.check(refused == CROWD - OPEN_MAX, || format!("{refused} of {CROWD} slow bodies were turned away"));
    let note = format!("{{\"text\":\"{}\"}}", "n".repeat(15_000));
    let notes = 200;
    let mut turned_away = 0;
    for _ in 0..notes {
        let headers = format!("{}Content-Type: application/json\r\n", bearer(&flood.token));
        let reply = http::ask(flood.address, "POST", &flood.path("notes"), &headers, &note)?;
        turned_away += usize::from(reply.status == 429);
    }
    tally.check(turned_away > 0, || format!("all of {notes} large notes were recorded"));
    Ok(())
}

/// Lets another client ask while a flood goes on: its p99 in milliseconds, and how often it was not answered.
fn under(flood: &Flood, act: Act, service: &Service, asked: usize) -> Result<(f64, usize)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // A flood that is turned away begins again.
                    drop(act(flood));
                }
            });
        }
        let mut waits = Vec::new();
        let mut refused = 0;
        for _ in 0..asked {
            let began = Instant::now();
            let is_answered = service.get("/api/v1/attention").is_ok_and(|reply| reply.status == 200);
            refused += usize::from(!is_answered);
            waits.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        over.store(true, Ordering::Relaxed);
        waits.sort_by(f64::total_cmp);
        let p99 = waits.get(asked * 99 / 100).copied().unwrap_or_default();
        Ok((p99, refused))
    })
}

type Act = fn(&Flood) -> Result<()>;

const FLOODS: [(&str, Act); 5] = [
    ("half heads", |flood| flood.crowd("GET /livez HTTP/1.1\r\nHost: ")),
    ("slow bodies", |flood| flood.crowd(&flood.slow_body())),
    ("streams", |flood| flood.crowd(&flood.get("events", ""))),
    ("ranges", |flood| flood.crowd(&flood.get("output/stdout", "Range: bytes=33554431-33554431\r\n"))),
    ("notes", |flood| {
        let note = format!("{{\"text\":\"{}\"}}", "n".repeat(15_000));
        let headers = format!("{}Content-Type: application/json\r\n", bearer(&flood.token));
        http::ask(flood.address, "POST", &flood.path("notes"), &headers, &note).map(drop)
    }),
];

impl Flood {
    fn path(&self, rest: &str) -> String {
        format!("/api/v1/entities/{}/{rest}", self.run)
    }

    fn get(&self, rest: &str, headers: &str) -> String {
        http::request(self.address, "GET", &self.path(rest), &(bearer(&self.token) + headers), "")
    }

    /// A request whose body never comes.
    fn slow_body(&self) -> String {
        let headers = format!("{}Content-Type: application/json\r\n", bearer(&self.token));
        let whole = http::request(self.address, "POST", &self.path("notes"), &headers, &"x".repeat(1000));
        whole.trim_end_matches('x').to_owned()
    }

    fn begin(&self, request: &str) -> Result<TcpStream> {
        let mut stream = http::connect(self.address)?;
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }

    /// Many of them at once; those that are answered are not read.
    fn crowd(&self, request: &str) -> Result<()> {
        let open: Vec<TcpStream> = (0..CROWD).map(|_| self.begin(request)).collect::<Result<_>>()?;
        thread::yield_now();
        drop(open);
        Ok(())
    }
}
