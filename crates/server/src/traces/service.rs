//! The spans of runs as a service: it follows the log and sends a span of every run that ended.
//!
//! Invariant: the position moves on when the collector has taken the spans or will never take them; a span that is sent twice has the
//! same ids. Deliberately absent: the spans of requests, which belong to one server and are dropped if nobody takes them.

use std::time::Duration;

use callboard_engine::{Duty, Service, Stepped, TRACES};
use callboard_kernel::EntityId;
use callboard_ledger::{Page, ReadError, RecordScope, error_chain};
use callboard_lifecycle::{Kind, Words};
use serde_json::Value;

use super::export::post;
use super::settings::TraceSettings;
use super::span;

/// Records read at once.
const PAGE: usize = 500;
/// How often it is tried again after a failure.
const EVERY: Duration = Duration::from_secs(5);

/// Sends the spans of runs.
pub(crate) struct TraceService(pub(crate) TraceSettings);

impl Service for TraceService {
    fn name(&self) -> &str {
        TRACES
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let (position, spans) = match ended_since(duty) {
            Ok(found) => found,
            Err(error) => return duty.failed(error_chain(&error)),
        };
        if spans.is_empty() || !duty.is_held() {
            return duty.done(if spans.is_empty() { position } else { duty.position });
        }
        match post(&self.0, spans) {
            Ok(200..300) => duty.done(position),
            // These say that it may be taken later.
            Ok(status @ (408 | 429 | 500..)) => duty.failed(format!("the collector answered {status}")),
            Ok(status) => {
                let error = Some(format!("the collector refused spans: it answered {status}"));
                Stepped { position, error }
            }
            Err(problem) => duty.failed(format!("the collector did not answer: {problem}")),
        }
    }
}

/// The spans of the runs that ended in the next records, and the last of these records.
fn ended_since(duty: &Duty<'_>) -> Result<(u64, Vec<Value>), ReadError> {
    let page = Page { after: duty.position, limit: PAGE, scope: RecordScope::All };
    let (mut position, mut spans) = (duty.position, Vec::new());
    for record in duty.ledger.records(page)? {
        position = record.seq;
        if record.kind == Kind::Session.name() && record.from_state != record.to_state {
            let id = EntityId::new(Kind::Session, record.entity);
            spans.extend(duty.ledger.entity(id)?.as_ref().and_then(span::of_run));
        }
    }
    Ok((position, spans))
}
