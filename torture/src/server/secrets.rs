//! `secrets`: secrets of every kind are planted wherever one may come from, and looked for wherever something is told.
//!
//! Invariant: none of them is in the bytes of the store, an export, an answer or a problem of the server, the feed, the
//! figures, the server's log, a notification, or anything the command line prints; and the files that hold some can be
//! read by their owner alone. Looked for are the values, the second half of each, and their URL encoding. Deliberately
//! absent: output, which is kept as it was said, for the user alone.

mod planted;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use self::planted::Secret;
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http;
use crate::harness::program::{self, Board, TOKEN, until};
use crate::harness::scene::Scene;
use crate::harness::service::{self, Service};

pub(crate) const TORTURE: Torture = Torture {
    name: "secrets",
    about: "planted secrets are in no store, export, answer, feed, log, figure or notification (CI: 34 of 364)",
    mutants: &["redact_words"],
    run,
    child: None,
};

/// How long notifications are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

fn run(plan: &Plan) -> Tally {
    let marker = format!("secrets-{}", std::process::id());
    program::play(plan, |board, scene, tally| play(plan, board, scene, &marker, tally))
}

/// A place where something was told, and what.
struct Sink(String, Vec<u8>);

fn play(plan: &Plan, board: &Board, scene: &Scene, marker: &str, tally: &mut Tally) -> Result<()> {
    let receiver = Receiver::start()?;
    let mut dice = Dice::of(plan.seed, 0);
    let (hook_secret, hook_path) = (planted::value(&mut dice, 40), planted::value(&mut dice, 24));
    let variables = [
        ("CALLBOARD_WEBHOOK_URL", format!("http://ann:{hook_path}@{}/{hook_path}", receiver.address)),
        ("CALLBOARD_WEBHOOK_SECRET", format!("whsec_{hook_secret}")),
    ];
    let mut secrets: Vec<Secret> = Vec::new();
    let (mut runs, mut told) = (Vec::new(), Vec::new());
    for _ in 0..plan.choose(12, 1, 1) {
        for plant in planted::PLANTS {
            let secret = Secret::new(plant, &mut dice);
            let mut command = board.command(&["run", "--detach", "--"]);
            command
                .args(secret.argv())
                .env(TOKEN, marker)
                .env("SOME_API_KEY", &secret.value)
                .envs(variables.clone());
            let output = command.output()?;
            runs.push(String::from_utf8_lossy(&output.stdout).trim().to_owned());
            told.push(Sink(format!("run of {plant}"), both(output)));
            secrets.push(secret);
        }
    }
    let mut service = Service::start(board, scene.path(), &["--rate", "0"])?;
    until(PATIENCE, || (receiver.count() >= runs.len()).then_some(()))?
        .context("the runs were not told of")?;
    told.extend(answers(&service, &runs, &secrets)?);
    told.extend(listings(board, &runs, &variables)?);
    service.kill()?;
    told.extend(receiver.bodies());
    for file in ["ledger.db", "ledger.db-wal", "tokens.jsonl"] {
        told.push(Sink(file.to_owned(), std::fs::read(scene.path().join(file)).unwrap_or_default()));
    }
    told.push(Sink("the server's log".to_owned(), std::fs::read(service::log(scene.path()))?));
    let own = service.login.rsplit('=').next().unwrap_or_default().to_owned();
    for (what, value) in [
        ("the webhook's secret", hook_secret),
        ("the webhook's path", hook_path),
        ("the operator's token", service.token.clone()),
        ("the code of a link", own),
    ] {
        secrets.push(Secret { plant: what, value });
    }
    judge(&secrets, &told, tally);
    let private = modes(scene.path(), tally)?;
    let sinks = told.len();
    tally.notes.push(format!(
        "{} secrets looked for in {sinks} places; {private} files are their owner's alone",
        secrets.len()
    ));
    Ok(())
}

/// Everything the command line tells.
fn listings(board: &Board, runs: &[String], variables: &[(&str, String)]) -> Result<Vec<Sink>> {
    let mut told = Vec::new();
    let words: [&[&str]; 8] = [
        &["ps", "--all"],
        &["ps", "--all", "--json"],
        &["events", "--json"],
        &["export"],
        &["attention", "--json"],
        &["doctor", "--json"],
        &["store", "info"],
        &["verify"],
    ];
    for words in words {
        told.push(Sink(
            words.join(" "),
            both(board.command(words).envs(variables.iter().cloned()).output()?),
        ));
    }
    for run in runs {
        for words in [["inspect", run, "--json"].as_slice(), &["inspect", run], &["why", run]] {
            told.push(Sink(words.join(" "), both(board.command(words).output()?)));
        }
    }
    Ok(told)
}

fn both(output: Output) -> Vec<u8> {
    [output.stdout, output.stderr].concat()
}

/// Everything the server tells, asked as one should and as one should not.
fn answers(service: &Service, runs: &[String], secrets: &[Secret]) -> Result<Vec<Sink>> {
    let mut told = Vec::new();
    let mut take = |path: String, headers: &str, method: &str, body: &str| -> Result<()> {
        let reply = http::ask(service.address, method, &path, headers, body)?;
        told.push(Sink(
            format!("{method} {}", path.split('?').next().unwrap_or_default()),
            reply.text().into_bytes(),
        ));
        told.push(Sink(
            format!("head of {method} {}", path.split('?').next().unwrap_or_default()),
            reply.head.into_bytes(),
        ));
        Ok(())
    };
    let operator = http::bearer(&service.token);
    let fixed = [
        "entities?ended=true",
        "attention",
        "counts",
        "trends",
        "health",
        "admin/info",
        "admin/export",
        "openapi.json",
    ];
    for path in fixed {
        take(format!("/api/v1/{path}"), &operator, "GET", "")?;
    }
    take("/metrics".to_owned(), &operator, "GET", "")?;
    for run in runs {
        for path in ["", "/records", "/children", "/artifacts", "/events"] {
            take(format!("/api/v1/entities/{run}{path}"), &operator, "GET", "")?;
        }
    }
    for Secret { value, .. } in secrets {
        let json = "Content-Type: application/json\r\n";
        let wrong = http::bearer(&format!("cb_adm_{value}"));
        take(format!("/api/v1/counts?token={value}"), "", "GET", "")?;
        take("/api/v1/counts".to_owned(), &wrong, "GET", "")?;
        take(
            "/api/v1/counts".to_owned(),
            &format!("Cookie: callboard_{}={value}\r\n", service.address.port()),
            "GET",
            "",
        )?;
        take(format!("/login?once={value}"), "", "GET", "")?;
        take(
            "/api/v1/runs".to_owned(),
            &format!("{operator}{json}"),
            "POST",
            &format!("{{\"password\":\"{value}\"}}"),
        )?;
        take("/api/v1/counts".to_owned(), &format!("{wrong}Host: {value}.example\r\n"), "GET", "")?;
    }
    Ok(told)
}

fn judge(secrets: &[Secret], told: &[Sink], tally: &mut Tally) {
    for secret in secrets {
        let shapes = secret.shapes();
        let found = told.iter().find(|Sink(place, bytes)| {
            // Whoever asks for a host is told which one they asked for.
            let is_echo =
                place.contains("/api/v1/counts") && bytes.windows(8).any(|window| window == b".example");
            !is_echo
                && shapes
                    .iter()
                    .any(|shape| bytes.windows(shape.len()).any(|window| window == shape.as_bytes()))
        });
        tally.check(found.is_none(), || match found {
            Some(Sink(place, _)) => format!("{} {:?} is told in {place}", secret.plant, secret.value),
            None => String::new(),
        });
    }
}

/// Files that hold secrets, and who can read them.
fn modes(dir: &Path, tally: &mut Tally) -> Result<u64> {
    let mut private = 0;
    let mut waiting = vec![dir.join("runs")];
    let mut files = vec![dir.join("operator.token"), dir.join("tokens.jsonl"), dir.join("ledger.db.key")];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type()?.is_dir() {
                true => waiting.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    for file in files {
        let Ok(meta) = std::fs::metadata(&file) else { continue };
        let mode = meta.permissions().mode() & 0o777;
        tally.check(mode & 0o077 == 0, || format!("{} has the mode {mode:o}", file.display()));
        private += 1;
    }
    Ok(private)
}

/// Whoever is told by a webhook.
struct Receiver {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Vec<u8>>>>,
    is_over: Arc<AtomicBool>,
}

impl Receiver {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (got, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (all, over) = (Arc::clone(&got), Arc::clone(&is_over));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if over.load(Ordering::Acquire) {
                    break;
                }
                if let Ok(body) = take(&mut stream) {
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                }
            }
        });
        Ok(Self { address, got, is_over })
    }

    fn count(&self) -> usize {
        self.got.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn bodies(&self) -> Vec<Sink> {
        let got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        got.iter().map(|body| Sink("a notification".to_owned(), body.clone())).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes whoever accepts.
        drop(TcpStream::connect(self.address));
    }
}

/// The body of one call; its head names the path, which is the receiver's own secret.
fn take(stream: &mut TcpStream) -> Result<Vec<u8>> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&all).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        let count = stream.read(&mut piece)?;
        if count == 0 {
            break;
        }
        all.extend_from_slice(&piece[..count]);
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")?;
    let at = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(0);
    Ok(all.split_off(at))
}
