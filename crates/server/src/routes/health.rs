//! How the server and its fleet are: for people, for orchestrators, and for Prometheus.
//!
//! Invariant: `/livez` and `/readyz` tell no more than yes, or no and which sort of trouble; the figures are read from the store when they are asked
//! for. Deliberately absent: figures of the past, which a time-series database keeps.

use std::fmt::Write;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use callboard_ledger::Info;
use callboard_lifecycle::{Health, Kind, Severity, Words};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Refused;
use crate::app::{Answer, App, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

/// How it is.
#[derive(Serialize, ToSchema)]
struct HealthAnswer {
    /// ok or degraded.
    status: &'static str,
    #[schema(value_type = serde_json::Value)]
    store: Info,
    runs: Runs,
    writer: WriterAnswer,
    streams: Streams,
    processes: Processes,
}

/// How the runs are.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
struct Runs {
    live: u64,
    dead: u64,
    stalled: u64,
    waiting: u64,
}

/// Where the log ends, and how far the feed is.
#[derive(Serialize, ToSchema)]
struct WriterAnswer {
    head: u64,
    feed_head: u64,
}

/// How many streams are open.
#[derive(Serialize, ToSchema)]
struct Streams {
    free: usize,
}

/// The processes of the live runs of this host.
#[derive(Serialize, ToSchema)]
struct Processes {
    /// The kernel tells their end at once.
    watched: u64,
    /// There was no descriptor for them, so they are looked at now and then.
    unwatched: u64,
}

/// How the store, the runs and the feed are.
#[utoipa::path(get, path = "/health", tag = "admin", responses((status = 200, body = HealthAnswer)))]
pub(super) async fn health(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    ask(&app, |app| {
        let runs = runs(app)?.0;
        let status = if runs.dead + runs.stalled == 0 { "ok" } else { "degraded" };
        let writer = WriterAnswer { head: app.ledger.head()?, feed_head: app.feed.ring.head() };
        let streams = Streams { free: app.streams.available_permits() };
        let (watched, unwatched) = app.deaths.counts();
        let processes = Processes { watched, unwatched };
        Answer::json(&HealthAnswer { status, store: app.ledger.info()?, runs, writer, streams, processes })
    })
    .await
}

/// How the runs are, and how many things need somebody, by severity.
fn runs(app: &App) -> Result<(Runs, [(Severity, u64); 2]), Problem> {
    app.board(|board| {
        let mut runs = Runs::default();
        let mut needed = [(Severity::Critical, 0), (Severity::Warning, 0)];
        for entry in board.all() {
            if entry.verdict.needs_somebody() {
                let its = |(severity, _): &&mut (Severity, u64)| *severity == entry.verdict.severity;
                needed.iter_mut().filter(its).for_each(|(_, n)| *n += 1);
            }
            if entry.keys.kind() == Kind::Session && entry.keys.is_alive {
                runs.count(entry.verdict.health, entry.keys.waits);
            }
        }
        (runs, needed)
    })
}

impl Runs {
    const fn count(&mut self, health: Option<Health>, waits: bool) {
        self.live += 1;
        match health {
            Some(Health::ProcessDead | Health::Orphaned | Health::Disconnected) => self.dead += 1,
            Some(Health::Stalled) => self.stalled += 1,
            Some(
                Health::Ok
                | Health::Running
                | Health::Idle
                | Health::Degraded
                | Health::Blocked
                | Health::Misfired
                | Health::Due
                | Health::Paused
                | Health::Unknown,
            )
            | None => {}
        }
        self.waiting += waits as u64;
    }
}

/// Is the process there? It is, if it answers.
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// Can it answer questions and record? Its store must be the one it opened, and take writes.
pub(crate) async fn readyz(State(app): State<Shared>) -> Response {
    let is_stopping = *app.stopping.borrow();
    let no = |why: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response();
    match ask(&app, |app| Ok(app.ledger.ready())).await {
        Ok(Ok(())) if !is_stopping => "ok\n".into_response(),
        Ok(Ok(())) => no("stopping"),
        Ok(Err(trouble)) => no(trouble.summary()),
        Err(_) => no("the store does not answer"),
    }
}

/// The figures in the text form of Prometheus.
pub(crate) async fn metrics(State(app): State<Shared>) -> Result<Response, Problem> {
    let text = ask(&app, figures).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn figures(app: &App) -> Result<String, Problem> {
    let (runs, needed) = runs(app)?;
    let counts = app.fleet.counts(&app.ledger)?;
    let mut page = Figures::default();
    let states =
        counts.iter().flat_map(|(kind, states)| states.iter().map(move |(state, n)| (kind, state, n)));
    page.head("callboard_entities", "gauge", "Entities in each state.");
    for (kind, state, count) in states {
        page.line("callboard_entities", &format!("kind=\"{kind}\",state=\"{state}\""), *count);
    }
    page.head("callboard_attention", "gauge", "What needs somebody, by severity.");
    for (severity, count) in needed {
        page.line("callboard_attention", &format!("severity=\"{}\"", severity.name()), count);
    }
    page.head("callboard_runs", "gauge", "Runs that have not ended, by how they are.");
    for (name, count) in
        [("live", runs.live), ("dead", runs.dead), ("stalled", runs.stalled), ("waiting", runs.waiting)]
    {
        page.line("callboard_runs", &format!("is=\"{name}\""), count);
    }
    page.head("callboard_refused_total", "counter", "Requests that were turned away, by why.");
    for why in Refused::ALL {
        page.line("callboard_refused_total", &format!("why=\"{}\"", why.name()), app.refusals.count(why));
    }
    let (watched, unwatched) = app.deaths.counts();
    page.head(
        "callboard_processes",
        "gauge",
        "Supervisors of live runs on this host, by whether their end is told.",
    );
    for (name, count) in [("yes", watched), ("no", unwatched)] {
        page.line("callboard_processes", &format!("watched=\"{name}\""), count);
    }
    let info = app.ledger.info()?;
    let single = [
        ("callboard_records_total", "counter", "Records in the log.", info.records),
        ("callboard_store_bytes", "gauge", "Bytes of the store on disk.", info.bytes),
        ("callboard_checkpoints_total", "counter", "Signed checkpoints.", info.checkpoints),
        ("callboard_legacy_rows", "gauge", "Rows from before there were states.", app.ledger.legacy()?),
        ("callboard_log_head", "gauge", "The newest record.", app.ledger.head()?),
        ("callboard_feed_head", "gauge", "The newest record in the feed.", app.feed.ring.head()),
        (
            "callboard_streams_free",
            "gauge",
            "Streams that can still be opened.",
            app.streams.available_permits() as u64,
        ),
    ];
    for (name, sort, help, value) in single {
        page.head(name, sort, help);
        page.line(name, "", value);
    }
    Ok(page.0)
}

#[derive(Default)]
struct Figures(String);

impl Figures {
    fn head(&mut self, name: &str, sort: &str, help: &str) {
        // Writing to a text does not fail.
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {sort}").ok();
    }

    fn line(&mut self, name: &str, labels: &str, value: u64) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        writeln!(self.0, "{name}{labels} {value}").ok();
    }
}
