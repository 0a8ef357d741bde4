//! The whole at a glance: what needs somebody, how many stand where, and how it went lately.
//!
//! Invariant: the list of what needs somebody is the engine's, over what the ledger holds. Deliberately absent: severity
//! and order of its own.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use callboard_engine::board::{Board, BoardEntry, ShownEntity, TrendBucket};
use callboard_engine::{Attention, Choice, View, evaluate_as, triage};
use callboard_kernel::Moment;
use callboard_ledger::{Page, RecordScope};
use callboard_wire::TrendReport;
use serde::Serialize;
use utoipa::ToSchema;

use super::PAGE_MAX;
use crate::app::{Answer, App, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    attention: Attention<'a>,
    clear_since: Option<Moment>,
    head: u64,
}

/// What needs somebody, the most urgent and oldest first.
#[utoipa::path(
    get, path = "/attention", tag = "overview",
    params(
        ("limit" = Option<u32>, Query, description = "How many: 1 to 500, 100 unless given."),
        ("set_aside" = Option<bool>, Query, description = "Those that were put off or dismissed too."),
    ),
    responses((status = 200, body = callboard_wire::AttentionShape))
)]
pub(super) async fn attention(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["limit", "set_aside"])?;
    let limit = query.number("limit", 1, PAGE_MAX)?.unwrap_or(100);
    let choice = Choice { limit, set_aside: query.flag("set_aside")? };
    ask(&app, move |app| document(app, choice)).await
}

fn document(app: &App, choice: Choice) -> Result<Answer, Problem> {
    let head = app.ledger.head()?;
    app.latest.answer((head, choice.limit, choice.set_aside), || {
        let (head, triage, shown) = app.board(|board| {
            let urgent: Vec<&BoardEntry> = board.urgent().collect();
            let triage = triage(urgent.iter().map(|entry| (entry.keys.id, &entry.verdict)), choice);
            let shown: Vec<ShownEntity> = triage.shown.iter().map(|place| urgent[*place].shown()).collect();
            (board.head, triage, shown)
        })?;
        let stored = App::unpack(&shown)?;
        let views: Vec<View<'_>> =
            stored.iter().zip(&shown).map(|(stored, shown)| evaluate_as(stored, shown.look)).collect();
        let attention = triage.attention(views.iter(), app.now());
        let needing = if choice.set_aside { None } else { Some(attention.total) };
        let clear_since = app.calm.since(app, needing, head)?;
        Answer::json(&Document { attention, clear_since, head })
    })
}

/// Looks whether somebody is needed, though nobody asked, so that it is known since when nobody is.
pub(crate) fn look(app: &App) {
    // A store that is away is looked at again the next time.
    drop(document(app, Choice { limit: 1, set_aside: false }));
}

/// Since when nothing has needed anybody, as far back as this server can tell.
#[derive(Default)]
pub(crate) struct Calm(Mutex<Option<Moment>>);

impl Calm {
    /// Updates the start of the calm from the number of entities that need somebody, if they were counted. An entity that
    /// needs somebody goes on needing somebody until a record ends that; so at the server's first count of zero, the calm
    /// began no later than the newest record.
    fn since(&self, app: &App, needing: Option<usize>, head: u64) -> Result<Option<Moment>, Problem> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (needing, *since) {
            (Some(0), None) => {
                let newest = Page { after: head.saturating_sub(1), limit: 1, scope: RecordScope::All };
                let newest = app.ledger.records(newest)?;
                *since = Some(newest.first().map_or_else(|| app.now(), |record| record.at));
            }
            (Some(0), Some(_)) | (None, _) => {}
            (Some(_), _) => *since = None,
        }
        Ok(*since)
    }
}

/// The newest answer about what needs somebody: many who ask the same at the same time are told the same.
///
/// It is given out again only while nothing was recorded and no verdict was found changed, and for no longer than a moment,
/// because health changes though nobody writes.
#[derive(Default)]
pub(crate) struct Latest(Mutex<Option<(Asked, Instant, Answer)>>);

/// Up to which record, how many at the most, and whether those that were put off too.
type Asked = (u64, usize, bool);

/// How long an answer is given out again.
const MOMENT: Duration = Duration::from_millis(20);

impl Latest {
    /// Forgets it, because a verdict changed although nothing was recorded.
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn answer(
        &self,
        asked: Asked,
        make: impl FnOnce() -> Result<Answer, Problem>,
    ) -> Result<Answer, Problem> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, at, answer)) = &*latest
            && *same == asked
            && at.elapsed() < MOMENT
        {
            return Ok(answer.clone());
        }
        let answer = make()?;
        *latest = Some((asked, Instant::now(), answer.clone()));
        Ok(answer)
    }
}

/// How many stand where.
#[derive(Serialize, ToSchema)]
struct CountsAnswer {
    machines: Vec<MachineCount>,
    live: u64,
    ended_24h: u64,
    legacy: u64,
}

/// How many of a kind stand where.
#[derive(Serialize, ToSchema)]
struct MachineCount {
    kind: String,
    states: Vec<StateCount>,
}

/// How many stand in a state.
#[derive(Serialize, ToSchema)]
struct StateCount {
    state: String,
    count: u64,
}

/// How many entities stand in each state of each machine.
#[utoipa::path(get, path = "/counts", tag = "overview", responses((status = 200, body = CountsAnswer)))]
pub(super) async fn counts(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    ask(&app, |app| {
        let machines = app.fleet.counts(&app.ledger)?.into_iter().map(|(kind, states)| {
            let states = states.into_iter().filter(|(_, count)| *count > 0);
            MachineCount { kind, states: states.map(|(state, count)| StateCount { state, count }).collect() }
        });
        let machines = machines.collect();
        let live = app.board(Board::alive)? as u64;
        let ended_24h = app.trends.ended_lately(&app.ledger, app.now())?;
        Answer::json(&CountsAnswer { machines, live, ended_24h, legacy: app.ledger.legacy()? })
    })
    .await
}

/// How it went, by hour or by day.
#[utoipa::path(
    get, path = "/trends", tag = "overview",
    params(
        ("days" = Option<u32>, Query, description = "How far back: 1 to 31, 7 unless given."),
        ("bucket" = Option<String>, Query, description = "hour or day; day unless given."),
    ),
    responses((status = 200, body = TrendReport))
)]
pub(super) async fn trends(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["days", "bucket"])?;
    let days = query.number("days", 1, 31)?.unwrap_or(7);
    let bucket = match query.one("bucket") {
        None | Some("day") => TrendBucket::Day,
        Some("hour") => TrendBucket::Hour,
        Some(other) => {
            return Err(Problem::bad_request(format!("unknown bucket {other:?}"), "write hour or day"));
        }
    };
    ask(&app, move |app| {
        let now = app.now();
        Answer::json(&app.trends.report(&app.ledger, now, days as i64, bucket)?)
    })
    .await
}
