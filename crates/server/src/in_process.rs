//! The real router on a real store, asked without a socket: access by path and scope, problems, bounds, shapes.
//!
//! Invariant: every request goes through the gate. Deliberately absent: connections, which the tests of the program cover.

mod questions;
mod tasks;

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use callboard_engine::Clock;
use callboard_engine::tasks::{Asking, NewTask, NewWorker};
use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition, fact,
};
use callboard_ledger::{Ledger, Options, Request as LedgerRequest};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, reason};
use callboard_wire::{
    AttentionShape, OneViewShape, ProblemShape, RecordShape, RunRequest, TaskRequest, ViewShape,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use crate::access::{Needs, Scope, needs, rows};
use crate::router::router;
use crate::runner::{NotStarted, Runner};
use crate::server::{Config, Server};

const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        NOW
    }
}

/// Starts nothing.
struct NoRunner;

impl Runner for NoRunner {
    fn start(&self, _: EntityId, _: &str, _: &RunRequest) -> Result<(), NotStarted> {
        Err(NotStarted::Unfit("nothing is started here".to_owned()))
    }

    fn retry(&self, _: EntityId, _: &str, _: EntityId) -> Result<(), NotStarted> {
        Err(NotStarted::Unfit("nothing is started here".to_owned()))
    }

    fn tidy(&self) {}
}

/// A store with two runs and a server on it.
struct Place {
    server: Server,
    ledger: Ledger,
    host: String,
    own: EntityId,
    other: EntityId,
    /// The task that the run `own` works on.
    task: EntityId,
    operator: String,
    _dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("s.db"), Options::default()).unwrap();
        let config = Config {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            allow_remote: false,
            host_names: Vec::new(),
            ledger: ledger.clone(),
            state_dir: dir.path().to_owned(),
            clock: Arc::new(FixedClock),
            runner: Arc::new(NoRunner),
            operator: "somebody".to_owned(),
            rate: 0,
            streams: 4,
            reap: None,
            traces: None,
            notifications: callboard_engine::notify::Settings::off(),
        };
        let server = Server::bind(config).unwrap();
        let [own, other] =
            [1_u128, 2].map(|number| EntityId::new(Kind::Session, Uuid::from_u128(number << 40)));
        let operator = std::fs::read_to_string(dir.path().join("operator.token")).unwrap().trim().to_owned();
        let host = server.address().to_string();
        let nil = EntityId::new(Kind::Task, Uuid::nil());
        let mut place = Self { server, ledger, host, own, other, task: nil, operator, _dir: dir };
        [own, other].into_iter().for_each(|run| place.begin(run));
        place.task = place.task_in(own);
        place
    }

    fn send(&self, run: EntityId, order: Order) {
        let actor = Actor::new(ActorClass::Supervisor, "t");
        let request = LedgerRequest { command: Command::new(run, order), actor, now: NOW, cause: None };
        self.ledger.append(request).unwrap();
    }

    fn begin(&self, run: EntityId) {
        let at = SessionState::Pending.into();
        self.send(run, Order::Create(Create { at, reasons: vec![], data: Facts::none() }));
        self.send(run, Order::Transition(Transition::to(SessionState::Running, why("run.started.ok"))));
    }

    fn fail(&self, run: EntityId) {
        let failed = Transition::to(SessionState::Failed, why("run.failed.exit_nonzero"));
        self.send(run, Order::Transition(failed.with(Facts::none().and(fact::LEFTOVERS, 0_i64))));
    }

    /// A task that a worker claimed and that this run works on.
    fn task_in(&self, run: EntityId) -> EntityId {
        let person = Actor::new(ActorClass::Operator, "somebody");
        let asking = Asking::new(&self.ledger, person.clone(), NOW);
        let wanted = TaskRequest { title: "mend the roof".into(), ..TaskRequest::default() };
        let task = asking.add(NewTask::read(&wanted, ActorClass::Operator).unwrap()).unwrap();
        let worker = asking.join(&NewWorker { title: "crew".into(), ..NewWorker::default() }).unwrap();
        let hold = asking.claim(worker, task, std::time::Duration::from_secs(600)).unwrap();
        let working = asking.acting_as(Actor::new(ActorClass::Worker, worker.to_string()));
        working.launched(&hold, Some(run), Facts::none(), &Facts::none()).unwrap();
        working.begin(&hold, "it was heard of").unwrap();
        task
    }

    fn token(&self, scope: Scope) -> String {
        let keys = self.server.keys();
        keys.keep(keys.make(scope, NOW, None).unwrap()).unwrap()
    }

    /// Asks as the holder of a token; gives back the status and the body, unless it has no end.
    fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (StatusCode, String) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.send_request(request.body(Body::from(body.to_owned())).unwrap())
    }

    /// The same under an idempotency key.
    fn ask_keyed(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> (StatusCode, String) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header("idempotency-key", key);
        self.send_request(request.body(Body::from(body.to_owned())).unwrap())
    }

    fn send_request(&self, request: Request<Body>) -> (StatusCode, String) {
        self.server.block_on(async {
            let answer = router(self.server.app()).oneshot(request).await.unwrap();
            let (parts, body) = answer.into_parts();
            let is_stream =
                parts.headers.get(header::CONTENT_TYPE).is_some_and(|its| its == "text/event-stream");
            let bytes = if is_stream { Vec::new() } else { to_bytes(body, 1 << 22).await.unwrap().to_vec() };
            (parts.status, String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, Some(&self.operator), "");
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.stop_threads();
    }
}

fn why(code: &str) -> StateReason {
    let code = reason(code).unwrap_or_else(|unknown| panic!("{unknown}"));
    StateReason::new(code, "it did").shown_by(EvidenceRef::tool_result("seen"))
}

#[test]
fn every_row_of_the_table_opens_for_its_scopes_and_for_nobody_else() {
    let place = Place::new();
    let viewer = place.token(Scope::Viewer);
    let agent = place.token(Scope::Agent(place.own));
    let stranger = place.token(Scope::Agent(place.other));
    let (own, task) = (place.own.to_string(), place.task.to_string());
    for (method, pattern) in rows() {
        let needed = needs(&method.parse().unwrap(), pattern).unwrap();
        let id = if pattern.starts_with("/api/v1/tasks/") { &task } else { &own };
        let path = pattern.replace("{id}", id).replace("{stream}", "stdout").replace("{*path}", "a");
        // A body that no path takes, so that nothing is done where somebody may.
        let status = |token: Option<&str>| place.ask(method, &path, token, "[]").0;
        let is_let_in =
            |token: &str| !matches!(status(Some(token)), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if needed == Needs::Nobody {
            let expected = pattern == "/login";
            assert_eq!(
                status(None) == StatusCode::UNAUTHORIZED,
                expected,
                "{method} {pattern} without a token"
            );
            continue;
        }
        let (looks, is_own) = match needed {
            Needs::Nobody => (true, true),
            Needs::Look => (true, false),
            Needs::LookOwn | Needs::LookTask => (true, true),
            Needs::SpeakOwn | Needs::SpeakTask | Needs::Ask => (false, true),
            Needs::Tools => (true, true),
            Needs::Act => (false, false),
        };
        assert_eq!(status(None), StatusCode::UNAUTHORIZED, "{method} {pattern} without a token");
        assert_eq!(status(Some("cb_adm_0000")), StatusCode::UNAUTHORIZED, "{method} {pattern} made up");
        assert!(is_let_in(&place.operator), "{method} {pattern} as an operator");
        assert_eq!(is_let_in(&viewer), looks, "{method} {pattern} as a viewer");
        assert_eq!(is_let_in(&agent), is_own, "{method} {pattern} as the agent");
        let is_stranger_in = matches!(needed, Needs::Tools | Needs::Ask);
        assert_eq!(is_let_in(&stranger), is_stranger_in, "{method} {pattern} as another agent");
    }
    place.fail(place.own);
    let path = format!("/api/v1/entities/{own}");
    assert_eq!(place.ask("GET", &path, Some(&agent), "").0, StatusCode::UNAUTHORIZED, "the run has ended");
    let with_query = format!("/api/v1/counts?token={}", place.operator);
    assert_eq!(place.ask("GET", &with_query, None, "").0, StatusCode::UNAUTHORIZED, "a token in an address");
}

#[test]
fn a_problem_says_what_is_wrong_and_what_to_do() {
    let place = Place::new();
    let own = place.own;
    let transition = format!("/api/v1/entities/{own}/transition");
    let refused = r#"{"to":"pending","reason":"run.started.ok","message":"m"}"#;
    let cases = [
        ("GET", "/api/v1/entities?limit=0".to_owned(), "", 400, "limit=0 is out of bounds"),
        ("GET", "/api/v1/entities?limit=501".to_owned(), "", 400, "limit=501 is out of bounds"),
        ("GET", "/api/v1/entities?cursor=x".to_owned(), "", 400, "the cursor cannot be read"),
        ("GET", "/api/v1/entities?sort=newest&cursor=rest".to_owned(), "", 400, "belongs to another order"),
        ("GET", "/api/v1/entities?state=runing".to_owned(), "", 400, "runing"),
        ("GET", "/api/v1/entities?label=a".to_owned(), "", 400, "label=\"a\" cannot be read"),
        ("GET", "/api/v1/entities?lable=a=b".to_owned(), "", 400, "unknown parameter \"lable\""),
        ("GET", "/api/v1/trends?days=32".to_owned(), "", 400, "days=32 is out of bounds"),
        ("GET", "/api/v1/entities/ses_x".to_owned(), "", 404, "nothing is recorded under"),
        ("GET", "/api/v1/nothing".to_owned(), "", 404, ""),
        ("DELETE", "/api/v1/entities".to_owned(), "", 405, ""),
        ("POST", transition.clone(), "{", 400, ""),
        ("POST", transition, refused, 409, ""),
    ];
    for (method, path, body, expected, detail) in cases {
        let (status, text) = place.ask(method, &path, Some(&place.operator), body);
        assert_eq!(status.as_u16(), expected, "{method} {path}: {text}");
        let problem = exact::<ProblemShape>(&serde_json::from_str(&text).unwrap());
        assert_eq!(problem.status, expected, "{method} {path}");
        assert!(problem.detail.contains(detail), "{method} {path}: {}", problem.detail);
        assert!(!problem.help.is_empty() && !problem.title.is_empty(), "{method} {path}");
        assert_eq!(problem.refused.is_some(), expected == 409, "{method} {path}");
    }
    let large = format!("{{\"text\":\"{}\"}}", "a".repeat(2 << 20));
    let (status, _) =
        place.ask("POST", &format!("/api/v1/entities/{own}/notes"), Some(&place.operator), &large);
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// Reads a document into its shape, and fails if the shape leaves something out or adds something.
fn exact<T: DeserializeOwned + Serialize>(document: &Value) -> T {
    let shape: T =
        serde_json::from_value(document.clone()).unwrap_or_else(|error| panic!("{error}: {document}"));
    assert_eq!(&serde_json::to_value(&shape).unwrap(), document);
    shape
}

#[test]
fn answers_have_the_declared_shapes_to_the_letter() {
    let place = Place::new();
    place.fail(place.other);
    let one = exact::<OneViewShape>(&place.get(&format!("/api/v1/entities/{}", place.other)));
    assert_eq!((&one.view.id, one.view.state.severity.as_str()), (&place.other.to_string(), "critical"));
    let page = place.get("/api/v1/entities?ended=true");
    let views: Vec<ViewShape> = page["items"].as_array().unwrap().iter().map(exact).collect();
    assert_eq!(views.iter().filter(|view| view.kind == "session").count(), 2);
    let extras = views.iter().map(|view| &view.extras).chain([&one.view.extras]);
    assert_eq!(extras.flatten().count(), 0, "a run has the fields of every view, and no others");
    let records = place.get(&format!("/api/v1/entities/{}/records", place.other));
    let records: Vec<RecordShape> = records["items"].as_array().unwrap().iter().map(exact).collect();
    assert_eq!(records.iter().map(|record| record.version).collect::<Vec<_>>(), [1, 2, 3]);
    let attention = exact::<AttentionShape>(&place.get("/api/v1/attention"));
    assert_eq!((attention.total as usize, attention.items.len()), (1, 1));
    assert_eq!(attention.items[0].entity.id, place.other.to_string());
    assert_eq!(
        place.get("/api/v1/entities?state=failed")["items"],
        json!([]),
        "what ended is asked for by name"
    );
}
