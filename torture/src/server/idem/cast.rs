//! The commands that are repeated, what each is about, and what must have come of those that start something.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use callboard_kernel::{Create, EntityId, Facts, Order};
use callboard_lifecycle::Kind;
use callboard_lifecycle::schedule::ScheduleState;
use serde_json::{Value, json};

use crate::harness::aftermath;
use crate::harness::commands::request;
use crate::harness::driver::{Plan, Tally};
use crate::harness::http;
use crate::harness::program::{Board, PATIENCE, TOKEN, until};
use crate::harness::scene::Scene;
use crate::harness::service::Service;

/// One command with its key.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) path: String,
    pub(super) body: String,
    /// A body that is another command.
    pub(super) other: Option<String>,
    pub(super) key: String,
    pub(super) says: String,
    /// What it is about, if that is there already.
    pub(super) entity: Option<String>,
    /// How many tokens send this key about it.
    pub(super) owners: usize,
}

impl Act {
    /// The request as it goes over the wire.
    pub(super) fn request(&self, address: SocketAddr) -> String {
        let headers =
            format!("{}Content-Type: application/json\r\nIdempotency-Key: {}\r\n", self.says, self.key);
        http::request(address, "POST", &self.path, &headers, &self.body)
    }
}

/// Everything that is sent.
pub(super) struct Cast {
    pub(super) acts: Vec<Act>,
    /// Where runs write that they ran: one file for each.
    effects: Vec<PathBuf>,
    /// Runs that are asked to stop.
    stopped: Vec<String>,
    sessions: usize,
}

impl Cast {
    pub(super) fn new(
        board: &Board,
        scene: &Scene,
        service: &Service,
        marker: &str,
        plan: &Plan,
    ) -> Result<Self> {
        let ledger = aftermath::open(&scene.store())?;
        let operator = http::bearer(&service.token);
        let another = http::bearer(board.ask(&["token", "create", "--scope", "operator"])?.trim());
        let mut cast = Self { acts: Vec::new(), effects: Vec::new(), stopped: Vec::new(), sessions: 0 };
        for number in 0..plan.choose(2_400, 40, 8) {
            let id = EntityId::new(Kind::Schedule, uuid::Uuid::from_u128(u128::from(number) + 1));
            let create = Create { at: ScheduleState::Enabled.into(), reasons: vec![], data: Facts::none() };
            ledger.append(request(id, 0, Order::Create(create)))?;
            let pause =
                |said: &str| json!({"to": "paused", "reason": "schedule.paused.operator", "message": said});
            let of = |act: &str, body: &Value, other: Value, says: &str, owners| Act {
                path: format!("/api/v1/entities/{id}/{act}"),
                body: body.to_string(),
                other: Some(other.to_string()),
                key: format!("{act}-{number}"),
                says: says.to_owned(),
                entity: Some(id.to_string()),
                owners,
            };
            cast.acts.push(of("transition", &pause("once"), pause("twice"), &operator, 1));
            cast.acts.push(of("snooze", &json!({"for_s": 60}), json!({"for_s": 61}), &operator, 1));
            // The supervisors of runs use this very word.
            let note = |says: &str| {
                let note = of("notes", &json!({"text": "look"}), json!({"text": "do not look"}), says, 2);
                Act { key: "end".to_owned(), ..note }
            };
            cast.acts.extend([note(&operator), note(&another)]);
        }
        drop(ledger);
        cast.runs(board, scene, marker, &operator, &another, plan)?;
        Ok(cast)
    }

    /// What starts and ends processes, of which there is less.
    fn runs(
        &mut self,
        board: &Board,
        scene: &Scene,
        marker: &str,
        operator: &str,
        another: &str,
        plan: &Plan,
    ) -> Result<()> {
        let act = |path: String, key: String, body: String, other: Option<String>, says: &str| Act {
            path,
            body,
            other,
            key,
            says: says.to_owned(),
            entity: None,
            owners: 1,
        };
        for number in 0..plan.choose(120, 8, 3) {
            for (says, whose) in [(operator, "one"), (another, "two")] {
                let file = scene.path().join(format!("ran-{number}-{whose}"));
                let script = format!("echo {marker} >> {}", file.display());
                let body = |title: &str| {
                    json!({"argv": ["sh", "-c", script], "cwd": "/", "title": title}).to_string()
                };
                let key = format!("run-{number}");
                self.acts.push(act("/api/v1/runs".to_owned(), key, body("this"), Some(body("that")), says));
                self.effects.push(file);
                self.sessions += 1;
            }
            let file = scene.path().join(format!("again-{number}"));
            let script = format!("echo {marker} >> {}", file.display());
            let first = started(board, marker, &["run", "--detach", "--", "sh", "-c", &script])?;
            ran(&file, 1)?;
            std::fs::remove_file(&file)?;
            let retry = format!("/api/v1/entities/{first}/retry");
            self.acts.push(act(retry, format!("retry-{number}"), "{}".to_owned(), None, operator));
            self.effects.push(file);
            let run = started(board, marker, &["run", "--detach", "--", "sleep", "600"])?;
            let body = |now: bool| json!({"reason": "enough", "now": now}).to_string();
            let (now, other) = (number % 2 == 0, number % 2 == 1);
            let stop = format!("/api/v1/entities/{run}/stop");
            let stop = act(stop, format!("stop-{number}"), body(now), Some(body(other)), operator);
            self.acts.push(Act { entity: Some(run.clone()), ..stop });
            self.stopped.push(run);
            self.sessions += 3;
        }
        Ok(())
    }

    /// Every run ran once, and every one that was asked to stop has stopped once.
    pub(super) fn judge_runs(&self, board: &Board, tally: &mut Tally) -> Result<()> {
        for file in &self.effects {
            let outcome = ran(file, 1);
            tally.trial(outcome, || file.display().to_string());
        }
        for run in &self.stopped {
            let ended = until(PATIENCE, || {
                let view = board.json(&["inspect", run, "--json"]).unwrap_or_default();
                (!view["ended_at"].is_null()).then_some(view)
            })?;
            tally.check(ended.is_some_and(|view| view["state"]["lifecycle"] == "cancelled"), || {
                format!("{run} has not stopped")
            });
        }
        let events = board.events()?;
        let records =
            events.iter().map(|line| serde_json::from_str::<Value>(line)).collect::<Result<Vec<_>, _>>()?;
        let born = records
            .iter()
            .filter(|record| record["version"] == 1 && record["entity"]["kind"] == "session")
            .count();
        tally.check(born == self.sessions, || {
            format!("{born} runs came to be, and {} were asked for", self.sessions)
        });
        for run in &self.stopped {
            let wishes = records
                .iter()
                .filter(|record| {
                    record["entity"]["id"] == run.as_str() && record["data"]["stop_wish"].is_object()
                })
                .count();
            tally.check(wishes <= 2, || format!("{wishes} wishes that {run} stops"));
        }
        Ok(())
    }
}

fn started(board: &Board, marker: &str, words: &[&str]) -> Result<String> {
    let output = board.command(words).env(TOKEN, marker).output()?;
    ensure!(output.status.success(), "a run did not start: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Waits until a run has written its line; it must be one line.
fn ran(file: &PathBuf, times: usize) -> Result<()> {
    let lines = until(PATIENCE, || {
        let lines = std::fs::read_to_string(file).unwrap_or_default().lines().count();
        (lines >= times).then_some(lines)
    })?;
    let lines = lines.with_context(|| format!("nothing ran for {}", file.display()))?;
    ensure!(lines == times, "it ran {lines} times");
    Ok(())
}
