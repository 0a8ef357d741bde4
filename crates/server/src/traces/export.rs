//! Sending the spans of requests: gathered for a moment, sent together, dropped if nobody takes them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use callboard_engine::notify::call;
use serde_json::{Value, json};

use super::settings::TraceSettings;

/// Spans that wait at the most.
const WAITING_MAX: usize = 4096;
/// Spans sent at once.
const BATCH_MAX: usize = 512;
/// How long spans are gathered.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

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
                // A collector that is away gets what comes later.
                drop(post(&settings, batch));
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

/// Sends spans; the status of the answer, or why there is none.
pub(super) fn post(settings: &TraceSettings, spans: Vec<Value>) -> Result<u16, String> {
    let service = json!({ "key": "service.name", "value": { "stringValue": settings.service } });
    let scope = json!({ "name": "callboard", "version": env!("CARGO_PKG_VERSION") });
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": [service] },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }]});
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(settings.headers.iter().map(|(name, value)| (name.as_str(), value.clone())));
    call(&settings.address, &headers, body.to_string().as_bytes(), PATIENCE)
}
