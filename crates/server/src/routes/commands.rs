//! Commands on one entity: move it, stop it, put it off, write something down, say that it lives.
//!
//! Invariant: the kernel decides, with who asks as the actor. The same key with the same body is the same command: it is
//! recorded once, and every repetition gets the record that was made. Deliberately absent: starting runs (`runs`).

pub(super) mod abort;

use std::time::Instant;

use axum::Extension;
use axum::extract::{Path, State};
use callboard_engine::{
    Observed, StopFor, StopWish, Viewpoint, set_aside, supervisor_seen, taken_back, wish_to_stop,
};
use callboard_kernel::{
    Actor, Command, EntityId, EvidenceRef, Facts, Observe, Order, RefusalCode, StateReason, SupervisorSeen,
    Testimony, Transition, fact,
};
use callboard_ledger::{AppendError, Page, Record, RecordScope, Request, Stored};
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, ReasonCode, Trigger, reason};
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::body::{Json, Key, Recorded, SAID_MAX};
use super::entities::id_of;
use crate::access::{Principal, Scope};
use crate::app::{Answer, App, Shared, ask};
use crate::problem::Problem;

const NOTE: ReasonCode = ReasonCode::of("system.operator.note");
/// The longest time something is put off for.
const SNOOZE_MAX_S: f64 = 366.0 * 24.0 * 3600.0;

/// What a command is made from, beside its order.
struct Ask {
    id: EntityId,
    actor: Actor,
    key: Option<String>,
    if_version: Option<u64>,
    testimony: Testimony,
    /// What was asked for and with which body: told in the record, and compared when a key comes again.
    cause: String,
}

impl Ask {
    fn new(app: &App, who: &Principal, act: &str, id: &str, key: Key, body: &[u8]) -> Result<Self, Problem> {
        let digest = blake3::hash(body).to_hex();
        let actor = actor(app, who);
        let cause = format!("http {act} {}", &digest[..16]);
        let testimony = Testimony::default();
        Ok(Self { id: id_of(id)?, actor, key: key.of(who), if_version: None, testimony, cause })
    }

    fn request(&self, app: &App, order: Order) -> Request {
        let mut command = Command::new(self.id, order);
        (command.key, command.if_version) = (self.key.clone(), self.if_version);
        command.testimony = self.testimony;
        Request { command, actor: self.actor.clone(), now: app.now(), cause: Some(self.cause.clone()) }
    }

    /// Records it, or finds the record that the same request made before.
    fn record(self, app: &App, order: Order) -> Result<Record, Problem> {
        let appended = app.ledger.append(self.request(app, order));
        self.settle(app, appended.map(|receipt| receipt.record))
    }

    /// The same without a thread that waits, so that as many can wait for one sync as there are connections. The queue
    /// of the writer has a place for each of them.
    async fn send(self, app: &Shared, order: Order) -> Result<Answer, Problem> {
        match app.ledger.submit(self.request(app, order)).await {
            Ok(receipt) => Answer::json(&Recorded { record: receipt.record }),
            Err(error) => recorded(app, move |app| self.settle(app, Err(error))).await,
        }
    }

    fn settle(&self, app: &App, appended: Result<Record, AppendError>) -> Result<Record, Problem> {
        match appended {
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::KeyReused => {
                self.earlier(app)?.ok_or_else(Problem::key_reused)
            }
            other => Ok(other?),
        }
    }

    /// The record that this request made before, if it did; another request with its key is refused.
    fn earlier(&self, app: &App) -> Result<Option<Record>, Problem> {
        let Some(key) = &self.key else { return Ok(None) };
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(self.id) };
        let found = app.ledger.records(page)?.into_iter().find(|record| record.key.as_ref() == Some(key));
        let same =
            |record: &Record| record.event().is_ok_and(|event| event.cause.as_deref() == Some(&self.cause));
        if found.as_ref().is_some_and(|record| !same(record)) {
            Err(Problem::key_reused())
        } else {
            Ok(found)
        }
    }
}

fn actor(app: &App, who: &Principal) -> Actor {
    match who.scope {
        Scope::Operator | Scope::Viewer => Actor::new(ActorClass::Operator, app.operator.as_str()),
        Scope::Agent(run) => Actor::new(ActorClass::Agent, run.to_string()),
    }
}

/// A move.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    /// The state to move it to.
    to: String,
    /// Why, as a code.
    reason: String,
    /// Why, in words.
    message: String,
    /// What caused it; the first cause the table allows unless given.
    #[serde(default)]
    trigger: Option<String>,
    /// Only if it has exactly this version.
    #[serde(default)]
    if_version: Option<u64>,
    /// The same as the header Idempotency-Key.
    #[serde(default)]
    key: Option<String>,
    /// What is recorded with it; a state may require some of it.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: Option<Facts>,
}

/// Move an entity to another state by hand.
#[utoipa::path(
    post, path = "/entities/{id}/transition", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Move, responses((status = 200, body = Recorded))
)]
pub(super) async fn transition(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<Move>,
) -> Result<Answer, Problem> {
    let key = Key(key.0.or_else(|| body.key.clone()));
    let mut asked = Ask::new(&app, &who, "transition", &id, key, &bytes)?;
    asked.if_version = body.if_version;
    let kind = asked.id.kind();
    let word = |unknown: callboard_lifecycle::UnknownWord| {
        Problem::bad_request(unknown.to_string(), "GET /api/v1/machines and /reasons list them")
    };
    let code = reason(&body.reason).map_err(word)?;
    let why = StateReason::new(code, body.message.as_str())
        .shown_by(EvidenceRef::human_assertion(body.message.as_str()));
    let to = Lifecycle::parse(kind, &body.to).map_err(word)?;
    if kind == Kind::Session && to.is_terminal() {
        let id = asked.id;
        asked.testimony.supervisor = ask(&app, move |app| supervisor(app, id)).await?;
    }
    let order = Transition {
        to: Some(to),
        trigger: body.trigger.map(|name| Trigger::parse(kind, &name)).transpose().map_err(word)?,
        reasons: vec![why],
        data: body.data.unwrap_or_default(),
    };
    asked.send(&app, Order::Transition(order)).await
}

/// Looks for the supervisor of a run, which is asked for before a run is ended by hand.
fn supervisor(app: &App, id: EntityId) -> Result<Option<SupervisorSeen>, Problem> {
    let sight = Viewpoint::present(app.now(), &app.host);
    Ok(app.ledger.entity(id)?.map(|stored| supervisor_seen(&stored, &sight)))
}

async fn recorded(
    app: &Shared,
    act: impl FnOnce(&App) -> Result<Record, Problem> + Send + 'static,
) -> Result<Answer, Problem> {
    ask(app, move |app| Answer::json(&Recorded { record: act(app)? })).await
}

/// A wish that a run stops.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    /// Why, in words.
    #[serde(default)]
    reason: Option<String>,
    /// Do not give it time to go by itself.
    #[serde(default)]
    now: bool,
}

/// Ask a run to stop; it has ended when its state says so.
#[utoipa::path(
    post, path = "/entities/{id}/stop", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Stop, responses((status = 200, body = Recorded))
)]
pub(super) async fn stop(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<Stop>,
) -> Result<Answer, Problem> {
    let asked = Ask::new(&app, &who, "stop", &id, key, &bytes)?;
    recorded(&app, move |app| {
        let stored = app.entity(asked.id)?;
        let earlier = asked.earlier(app)?;
        if earlier.is_none() {
            running(&stored)?;
        }
        let wish = |said: Option<&String>, key: Option<&String>| StopWish {
            actor: asked.actor.clone(),
            wanted: StopFor::Operator,
            said: said.cloned(),
            key: key.cloned(),
            cause: Some(asked.cause.clone()),
            now: app.now(),
        };
        let ask = |key: Option<&String>| {
            let wished = wish_to_stop(&app.ledger, &stored, wish(body.reason.as_ref(), key));
            wished.map(|(receipt, _)| receipt.record)
        };
        let record = match earlier {
            Some(record) => record,
            None => asked.settle(app, ask(asked.key.as_ref()))?,
        };
        if body.now && stored.entity.ended_at.is_none() {
            // Asking twice skips the rest of the grace; under a key of its own, so that a repetition asks no third time.
            let second =
                asked.key.as_ref().map(|key| format!("now {}", blake3::hash(key.as_bytes()).to_hex()));
            match ask(second.as_ref()) {
                Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::KeyReused => {}
                other => drop(other?),
            }
        }
        Ok(record)
    })
    .await
}

/// Only a run can be asked to stop, and only while it has not ended.
fn running(stored: &Stored) -> Result<(), Problem> {
    let id = stored.entity.state.id;
    if id.kind() != callboard_lifecycle::Kind::Session {
        return Err(Problem::conflict(format!("{id} is no run"), "move it with a transition instead"));
    }
    if stored.entity.ended_at.is_some() {
        return Err(Problem::conflict(format!("{id} has ended already"), "look at how it ended"));
    }
    Ok(())
}

/// For how long.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Snooze {
    /// Seconds; a day unless given.
    #[serde(default)]
    for_s: Option<f64>,
}

/// Put what needs somebody off for a while.
#[utoipa::path(
    post, path = "/entities/{id}/snooze", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Snooze, responses((status = 200, body = Recorded))
)]
pub(super) async fn snooze(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<Snooze>,
) -> Result<Answer, Problem> {
    let seconds = body.for_s.unwrap_or(24.0 * 3600.0);
    if !(1.0..=SNOOZE_MAX_S).contains(&seconds) {
        return Err(Problem::bad_request("for_s is out of bounds", "from 1 second to 366 days"));
    }
    let asked = Ask::new(&app, &who, "snooze", &id, key, &bytes)?;
    recorded(&app, move |app| {
        let until = app.now().plus(std::time::Duration::from_secs_f64(seconds));
        mark(app, asked, &format!("put off until {until}"), Some(Some(until)))
    })
    .await
}

/// Put what needs somebody off until its condition changes.
#[utoipa::path(
    post, path = "/entities/{id}/dismiss", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Nothing, responses((status = 200, body = Recorded))
)]
pub(super) async fn dismiss(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(Nothing {}, bytes): Json<Nothing>,
) -> Result<Answer, Problem> {
    let asked = Ask::new(&app, &who, "dismiss", &id, key, &bytes)?;
    recorded(&app, move |app| mark(app, asked, "dismissed until its condition changes", Some(None))).await
}

/// Take a snooze or a dismissal back.
#[utoipa::path(
    post, path = "/entities/{id}/undo", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Nothing, responses((status = 200, body = Recorded))
)]
pub(super) async fn undo(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(Nothing {}, bytes): Json<Nothing>,
) -> Result<Answer, Problem> {
    let asked = Ask::new(&app, &who, "undo", &id, key, &bytes)?;
    recorded(&app, move |app| mark(app, asked, "no longer put off", None)).await
}

/// A body without anything in it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Records what is to become of the condition an entity is in: put off until a moment or for good, or taken back.
fn mark(
    app: &App,
    asked: Ask,
    said: &str,
    until: Option<Option<callboard_kernel::Moment>>,
) -> Result<Record, Problem> {
    let stored = app.entity(asked.id)?;
    let table = app.fleet.process_table(&app.host);
    let seen = Observed::of(&app.ledger, stored, &Viewpoint::present(app.now(), &table))?;
    let view = seen.view();
    let data = until.map_or_else(taken_back, |until| set_aside(&view, until));
    let reason = StateReason::new(NOTE, said).shown_by(EvidenceRef::human_assertion(said));
    asked.record(app, Order::Observe(Observe { reasons: vec![reason], data }))
}

/// Something to write down.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    text: String,
}

/// Write something down about an entity.
#[utoipa::path(
    post, path = "/entities/{id}/notes", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Note, responses((status = 200, body = Recorded))
)]
pub(super) async fn note(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<Note>,
) -> Result<Answer, Problem> {
    if bytes.len() > SAID_MAX {
        return Err(Problem::too_large(SAID_MAX));
    }
    if body.text.trim().is_empty() {
        return Err(Problem::bad_request("the note is empty", "write what is to be remembered"));
    }
    app.shares.record(&who, bytes.len(), Instant::now())?;
    let asked = Ask::new(&app, &who, "note", &id, key, &bytes)?;
    // What a program says of itself is no person's word: it is kept as what was said, not as a reason.
    let order = match who.scope {
        Scope::Operator | Scope::Viewer => {
            let reason = StateReason::new(NOTE, body.text.as_str())
                .shown_by(EvidenceRef::human_assertion(body.text.as_str()));
            Observe { reasons: vec![reason], data: Facts::none() }
        }
        Scope::Agent(_) => Observe { reasons: Vec::new(), data: Facts::none().and(fact::SAID, body.text) },
    };
    asked.send(&app, Order::Observe(order)).await
}

/// A sign of life.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Heartbeat {
    /// What it is doing, in a few words.
    #[serde(default)]
    status: Option<String>,
    /// Something came of it.
    #[serde(default)]
    progress: bool,
}

/// Say from inside a run that it lives.
#[utoipa::path(
    post, path = "/entities/{id}/heartbeat", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Heartbeat, responses((status = 200, body = Recorded))
)]
pub(super) async fn heartbeat(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<Heartbeat>,
) -> Result<Answer, Problem> {
    if bytes.len() > SAID_MAX {
        return Err(Problem::too_large(SAID_MAX));
    }
    app.shares.record(&who, bytes.len(), Instant::now())?;
    let asked = Ask::new(&app, &who, "heartbeat", &id, key, &bytes)?;
    let now = app.now();
    let mut data = Facts::none().and(fact::HEARTBEAT_AT, now);
    if body.progress {
        data.record(fact::LAST_PROGRESS_AT, now);
    }
    if let Some(status) = body.status {
        data.record(fact::STATUS, status);
    }
    asked.send(&app, Order::Observe(Observe { reasons: Vec::new(), data })).await
}
