//! Sending spans: gathered for a moment, sent together, dropped if nobody takes them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callboard_engine::notify::call;
use callboard_ledger::{Ledger, Page, RecordScope};
use callboard_lifecycle::{Kind, Words};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::settings::TraceSettings;
use super::span;

/// Spans that wait at the most.
const WAITING_MAX: usize = 4096;
/// Spans sent at once.
const BATCH_MAX: usize = 512;
/// How long spans are gathered.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Records read at once while looking for runs that ended.
const PAGE: usize = 500;

/// Takes spans; a span that finds no room is dropped.
#[derive(Clone)]
pub(crate) struct Traces(SyncSender<Value>);

impl Traces {
    /// Starts the thread that sends; it ends when the last of these is dropped. Nobody waits for it, so what a stop of the
    /// server finds gathered is lost.
    pub(crate) fn start(settings: TraceSettings) -> std::io::Result<Self> {
        let (send, receive) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("traces".to_owned());
        thread.spawn(move || {
            while let Some(batch) = gather(&receive) {
                post(&settings, batch)
            }
        })?;
        Ok(Self(send))
    }

    pub(crate) fn take(&self, span: Value) {
        // A collector that does not keep up loses spans; nobody waits for it.
        drop(self.0.try_send(span));
    }
}

/// What comes within a moment; nothing when nobody can send any more.
fn gather(receive: &Receiver<Value>) -> Option<Vec<Value>> {
    let mut batch = vec![receive.recv().ok()?];
    let until = Instant::now() + GATHER;
    while batch.len() < BATCH_MAX {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(span) => batch.push(span),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Some(batch)
}

fn post(settings: &TraceSettings, spans: Vec<Value>) {
    let service = json!({ "key": "service.name", "value": { "stringValue": settings.service } });
    let scope = json!({ "name": "callboard", "version": env!("CARGO_PKG_VERSION") });
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": [service] },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }]});
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(settings.headers.iter().map(|(name, value)| (name.as_str(), value.clone())));
    // A collector that is away gets what comes later.
    drop(call(&settings.address, &headers, body.to_string().as_bytes(), PATIENCE));
}

/// Follows the log from its end on, and makes a span of every run that ends.
pub(crate) fn follow(
    ledger: Ledger,
    traces: Traces,
    stopping: watch::Receiver<bool>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("traced-runs".to_owned()).spawn(move || {
        let mut after = ledger.head().ok();
        while !*stopping.borrow() {
            match after.map(|after| ended_since(&ledger, after, &traces)) {
                Some(Ok(place)) => after = Some(place),
                // A store that is away is asked again.
                Some(Err(_)) => std::thread::sleep(Duration::from_millis(200)),
                None => after = ledger.head().ok(),
            }
        }
    })
}

fn ended_since(ledger: &Ledger, after: u64, traces: &Traces) -> Result<u64, callboard_ledger::ReadError> {
    ledger.wait_beyond(after, Duration::from_millis(250))?;
    let records = ledger.records(Page { after, limit: PAGE, scope: RecordScope::All })?;
    for record in &records {
        if record.kind == Kind::Session.name() && record.from_state != record.to_state {
            let id = callboard_kernel::EntityId::new(Kind::Session, record.entity);
            let span = ledger.entity(id)?.as_ref().and_then(span::of_run);
            span.into_iter().for_each(|span| traces.take(span));
        }
    }
    Ok(records.last().map_or(after, |record| record.seq))
}
