//! What every handler shares: the ledger, the fleet, the feed, the keys, and how questions are asked.
//!
//! Invariant: the store is asked on threads that may wait, never on those that serve connections. Deliberately absent:
//! any state of an entity; the fleet keeps what the ledger says and nothing of its own.

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use callboard_engine::board::{Board, Fleet, ShownEntity, Trends};
use callboard_engine::{Clock, Host, Sweep, Swept};
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::{Ledger, Stored};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use crate::access::{Doorman, Keyring, Refusals, Shares};
use crate::deaths::Deaths;
use crate::feed::Feed;
use crate::problem::Problem;
use crate::routes::{Calm, Latest};
use crate::runner::Runner;
use crate::traces::Traces;

/// What every handler shares.
pub(crate) struct App {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock + Send + Sync>,
    pub(crate) host: Host,
    pub(crate) fleet: Fleet,
    pub(crate) feed: Feed,
    pub(crate) deaths: Arc<Deaths>,
    pub(crate) trends: Trends,
    pub(crate) keys: Keyring,
    pub(crate) doorman: Doorman,
    /// What each token and each run uses.
    pub(crate) shares: Arc<Shares>,
    pub(crate) refusals: Refusals,
    /// Takes spans, if somebody asked for them.
    pub(crate) traces: Option<Traces>,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) latest: Latest,
    pub(crate) calm: Calm,
    /// The directories of runs.
    pub(crate) runs: PathBuf,
    /// What a person who comes in through this server is called in records.
    pub(crate) operator: String,
    /// One permit a stream.
    pub(crate) streams: Arc<Semaphore>,
    /// How many streams there may be.
    pub(crate) streams_max: usize,
    /// Becomes true when the server is to stop.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// The shared state as handlers take it.
pub(crate) type Shared = Arc<App>;

impl App {
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Asks the board, brought up to the end of the log and judged; the board waits meanwhile.
    pub(crate) fn board<T>(&self, question: impl FnOnce(&Board) -> T) -> Result<T, Problem> {
        Ok(self.fleet.ask(&self.ledger, &*self.clock, &self.host, question)?)
    }

    /// Looks again at runs of which a process ended.
    pub(crate) fn look_again(&self, runs: &[EntityId], pids: &[u32]) -> Result<(), Problem> {
        Ok(self.fleet.look_again(&self.ledger, &*self.clock, &self.host, runs, pids)?)
    }

    /// Removes what supervisors left that died before their first record.
    pub(crate) fn sweep(&self, dry_run: bool) -> Result<Swept, Problem> {
        let (ledger, runs, table, now) = (&self.ledger, self.runs.as_path(), &self.host, self.now());
        Ok(Sweep { ledger, runs, table, now, dry_run }.sweep()?)
    }

    /// Does anybody listen to the feed?
    pub(crate) fn is_listened_to(&self) -> bool {
        self.streams.available_permits() < self.streams_max
    }

    /// Those that were picked to be shown.
    pub(crate) fn unpack(shown: &[ShownEntity]) -> Result<Vec<Stored>, Problem> {
        let unread = |error| Problem::internal(format!("what was kept cannot be read: {error}"));
        shown.iter().map(|one| one.unpack().map_err(unread)).collect()
    }

    /// One entity as it stands.
    pub(crate) fn entity(&self, id: EntityId) -> Result<Stored, Problem> {
        self.ledger.entity(id)?.ok_or_else(|| no_entity(&id.to_string()))
    }
}

/// Nothing is recorded under an id.
pub(crate) fn no_entity(id: &str) -> Problem {
    Problem::not_found(
        format!("nothing is recorded under {id:?}"),
        "GET /api/v1/entities lists what there is",
    )
}

/// Asks on a thread that may wait.
pub(crate) async fn ask<T: Send + 'static>(
    app: &Shared,
    question: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let app = Arc::clone(app);
    match tokio::task::spawn_blocking(move || question(&app)).await {
        Ok(answer) => answer,
        Err(_) => Err(Problem::internal("a question to the store broke off")),
    }
}

/// A JSON document as an answer; copies share its bytes.
#[derive(Clone)]
pub(crate) struct Answer(StatusCode, Bytes);

impl Answer {
    pub(crate) fn json(document: &impl Serialize) -> Result<Self, Problem> {
        Self::with(StatusCode::OK, document)
    }

    pub(crate) fn with(status: StatusCode, document: &impl Serialize) -> Result<Self, Problem> {
        let bytes = serde_json::to_vec(document)
            .map_err(|error| Problem::internal(format!("an answer cannot be written: {error}")))?;
        Ok(Self(status, bytes.into()))
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let Self(status, bytes) = self;
        (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
    }
}
