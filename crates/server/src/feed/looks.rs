//! What changed although nothing was recorded: views that were judged anew, for whoever listens.
//!
//! Invariant: a look has no number and moves no listener's place in the log. Whoever begins to listen is told the looks
//! that still hold; a record of an entity takes its look back. A listener that was too slow is told how many it missed.
//! Deliberately absent: keeping looks; they are judged again whenever somebody asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use callboard_engine::View;
use callboard_lifecycle::Words;
use serde::Serialize;
use tokio::sync::broadcast;
use uuid::Uuid;

/// Looks that may wait for a listener.
const WAITING_MAX: usize = 1024;
/// Looks that are told to whoever begins to listen.
const STANDING_MAX: usize = 1024;

/// A look, written once for everybody.
#[derive(Debug)]
pub(crate) struct Look {
    /// Whose it is; nobody's if it says that there were too many.
    pub(crate) of: Option<(Uuid, &'static str)>,
    /// The record up to which it was judged.
    head: u64,
    pub(crate) bytes: Bytes,
}

/// All looks.
pub(crate) struct Looks {
    send: broadcast::Sender<Arc<Look>>,
    /// The newest look at each, until something is recorded of it.
    standing: Mutex<HashMap<Uuid, Arc<Look>>>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    view: &'a View<'a>,
    head: u64,
}

impl Default for Looks {
    fn default() -> Self {
        Self { send: broadcast::channel(WAITING_MAX).0, standing: Mutex::default() }
    }
}

impl Looks {
    /// Tells a view as it was judged at the end of the log.
    pub(crate) fn publish(&self, view: &View<'_>, head: u64) {
        // Every view is written as JSON wherever it is shown.
        let Ok(text) = serde_json::to_string(&Document { view, head }) else { return };
        let bytes = format!("event: look\ndata: {text}\n\n").into();
        let look = Arc::new(Look { of: Some((view.id.uuid(), view.kind.name())), head, bytes });
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if standing.len() < STANDING_MAX || standing.contains_key(&view.id.uuid()) {
            standing.insert(view.id.uuid(), Arc::clone(&look));
        }
        // Nobody may listen.
        drop(self.send.send(look));
    }

    /// Tells that more changed than is told one by one.
    pub(crate) fn missed(&self, count: u64) {
        drop(self.send.send(Arc::new(Look { of: None, head: 0, bytes: missed(count) })));
    }

    /// These records are of these entities. A look that was judged with the record stands.
    pub(super) fn take_back(&self, records: impl Iterator<Item = (u64, Uuid)>) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if !standing.is_empty() {
            for (seq, entity) in records {
                if standing.get(&entity).is_some_and(|look| look.head < seq) {
                    standing.remove(&entity);
                }
            }
        }
    }

    /// Begins to listen: the looks that hold, and those that follow.
    pub(super) fn listen(&self) -> (Vec<Arc<Look>>, broadcast::Receiver<Arc<Look>>) {
        // Subscribed first: a look that comes meanwhile is told twice, and never not at all.
        let following = self.send.subscribe();
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        (standing.values().cloned().collect(), following)
    }
}

/// The event for a listener that has to read again what it shows.
pub(super) fn missed(count: u64) -> Bytes {
    format!("event: missed\ndata: {{\"looks\":{count}}}\n\n").into()
}
