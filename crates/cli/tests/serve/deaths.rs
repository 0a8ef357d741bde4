//! A supervisor that dies: the feed, the API and the command line say so at once, with the reaper and without it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callboard_engine::Clock;
use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, SupervisorSeen,
    Transition, Value as Fact,
};
use callboard_ledger::{Ledger, Options, Request};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::{ActorClass, Kind, reason};
use callboard_notify::Settings;
use callboard_server::{Config, NotStarted, Runner, Server, Stopper};
use callboard_supervisor::process;
use callboard_wire::RunRequest;
use serde_json::Value;

use crate::host::callboard;
use crate::wire::{event, exchange, open};

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// A server in this process, whose reaper makes its rounds as the test likes.
struct Within {
    dir: tempfile::TempDir,
    address: SocketAddr,
    token: String,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

struct Real;

impl Clock for Real {
    #[expect(clippy::disallowed_methods, reason = "runs of the real program are judged by the real time")]
    fn now(&self) -> Moment {
        jiff::Timestamp::now().into()
    }
}

struct Nobody;

impl Runner for Nobody {
    fn start(&self, _: EntityId, _: &str, _: &RunRequest) -> Result<(), NotStarted> {
        Err(NotStarted::Failed("nothing is started here".to_owned()))
    }

    fn retry(&self, _: EntityId, _: &str, _: EntityId) -> Result<(), NotStarted> {
        Err(NotStarted::Failed("nothing is started here".to_owned()))
    }

    fn tidy(&self) {}
}

fn sure<T, E: std::fmt::Display>(done: Result<T, E>) -> T {
    done.unwrap_or_else(|error| panic!("{error}"))
}

impl Within {
    fn start(reap: Option<Duration>) -> Self {
        Self::start_in(sure(tempfile::tempdir()), reap)
    }

    fn start_in(dir: tempfile::TempDir, reap: Option<Duration>) -> Self {
        let server = sure(Server::bind(Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            allow_remote: false,
            host_names: Vec::new(),
            ledger: sure(Ledger::open(&dir.path().join("s.db"), Options::default())),
            state_dir: dir.path().to_owned(),
            clock: Arc::new(Real),
            runner: Arc::new(Nobody),
            operator: "test".to_owned(),
            rate: 0,
            streams: 16,
            reap,
            traces: None,
            notifications: Settings::off(),
        }));
        let (address, stopper) = (server.address(), server.stopper());
        let token = sure(std::fs::read_to_string(dir.path().join("operator.token"))).trim().to_owned();
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { dir, address, token, stopper, thread }
    }

    fn say(&self, words: &[&str]) -> String {
        say(self.dir.path(), words)
    }

    fn json(&self, words: &[&str]) -> Value {
        sure(serde_json::from_str(&self.say(words)))
    }

    fn get(&self, path: &str) -> Value {
        let (address, token) = (self.address, &self.token);
        let head = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close");
        let request = format!("GET /api/v1{path} HTTP/1.1\r\n{head}\r\n\r\n");
        sure(exchange(address, request.as_bytes()).ok_or("no answer")).ok()
    }

    /// Waits until as many processes are watched.
    fn watches(&self, many: u64) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let watched = self.get("/health")["processes"]["watched"].as_u64();
            if watched == Some(many) {
                return;
            }
            assert!(Instant::now() < until, "{watched:?} are watched, and not {many}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the server and the command line say of a run: its chain, and whether it needs somebody.
    fn said(&self, id: &str) -> [(String, bool); 2] {
        let lists = |attention: &Value| attention["items"].to_string().contains(id);
        let text = |view: &Value| view["chain"].as_str().unwrap_or_default().to_owned();
        let (view, attention) = (self.get(&format!("/entities/{id}")), self.get("/attention"));
        let typed = self.json(&["inspect", id, "--json"]);
        let typed_attention = self.json(&["attention", "--json"]);
        [(text(&view), lists(&attention)), (text(&typed), lists(&typed_attention))]
    }

    fn listen(&self, path: &str) -> impl Iterator<Item = (String, Value)> {
        let mut stream =
            sure(open(self.address, &format!("/api/v1{path}"), &self.token, None).ok_or("no stream"));
        std::iter::from_fn(move || {
            let (name, id, data) = event(&mut stream)?;
            assert_eq!(id.is_some(), name == "record", "only records have a place in the log: {name} {data}");
            Some((name, sure(serde_json::from_str(&data))))
        })
    }
}

/// A run that lives until somebody ends it, and its supervisor.
fn run(dir: &Path) -> (String, u32) {
    let id = say(dir, &["run", "--detach", "--", "sleep", "600"]);
    let view: Value = sure(serde_json::from_str(&say(dir, &["inspect", &id, "--json"])));
    let pid = view["facts"]["supervisor"]["pid"].as_u64().unwrap_or_else(|| panic!("{view}"));
    (id, sure(u32::try_from(pid)))
}

fn say(dir: &Path, words: &[&str]) -> String {
    let output = callboard(&dir.join("s.db"), words).current_dir(dir).output();
    String::from_utf8_lossy(&sure(output).stdout).trim().to_owned()
}

impl Drop for Within {
    fn drop(&mut self) {
        // What a test killed is ended with everything it left, and what still lives is stopped.
        self.say(&["reap"]);
        self.say(&["stop", "--now", "--newer-than", "1d", "--timeout", "10s"]);
        self.stopper.stop();
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn kill(pid: u32) {
    let identity = sure(sure(process::of(pid)).ok_or("it is gone"));
    assert_eq!(sure(process::signal(&identity, 9)), process::Sent::Delivered);
}

#[test]
fn a_killed_supervisor_is_told_by_every_surface_though_nobody_reaps() {
    let server = Within::start(None);
    let (id, supervisor) = run(server.dir.path());
    let path = format!("/entities/{id}");
    let before = server.get(&path);
    assert_eq!(server.get("/attention")["total"], 0);
    let mut events = server.listen("/events");
    kill(supervisor);
    let (name, look) = events.find(|(_, data)| data["id"] == id.as_str()).unwrap();
    assert_eq!((name.as_str(), &look["head"]), ("look", &before["head"]), "nothing was recorded");
    assert_eq!(look["version"], before["version"]);
    let health = &look["state"]["health"];
    assert_ne!(health, &before["state"]["health"], "{look}");
    // No other surface is behind the feed: each is asked once.
    assert_eq!(&server.get(&path)["state"]["health"], health);
    assert_eq!(server.get("/attention")["items"][0]["entity"]["id"], id.as_str());
    assert_eq!(&server.get("/entities")["items"][0]["state"]["health"], health);
    assert_eq!(&server.json(&["inspect", &id, "--json"])["state"]["health"], health);
    // Who comes later is told too, and who asked for something else is not.
    let later = server.listen(&format!("/events?entity={id}")).next().unwrap();
    assert_eq!((later.0.as_str(), &later.1["state"]["health"]), ("look", health));
    let mut others = server.listen("/events?kind=schedule");
    server.say(&["create", "schedule", "--title", "Another"]);
    assert_eq!(others.next().unwrap().0, "record");
}

#[test]
fn a_killed_supervisor_is_reaped_at_once_and_not_with_the_next_round() {
    let server = Within::start(Some(NEVER));
    let (id, supervisor) = run(server.dir.path());
    let mut events = server.listen("/events");
    kill(supervisor);
    let mut looks = 0;
    for (name, data) in events.by_ref() {
        if name == "record" {
            assert_eq!(data["to"], "aborted", "{data}");
            break;
        }
        looks += 1;
    }
    assert!(looks > 0, "it is told before it is ended");
    let view = server.get(&format!("/entities/{id}"));
    assert_eq!(view["state"]["lifecycle"], "aborted");
}

#[test]
fn a_supervisor_that_died_while_nobody_served_is_told_when_somebody_does() {
    let dir = tempfile::tempdir().unwrap();
    let (id, supervisor) = run(dir.path());
    kill(supervisor);
    let server = Within::start_in(dir, None);
    let (name, look) = server.listen("/events").next().unwrap();
    assert_eq!((name.as_str(), &look["id"]), ("look", &Value::from(id)));
}

#[test]
fn an_end_that_its_supervisor_could_not_record_is_told_as_an_end_though_nobody_reaps() {
    let dir = tempfile::tempdir().unwrap();
    let (store, away, gate) = (dir.path().join("s.db"), dir.path().join("away.db"), dir.path().join("gate"));
    let script = "until [ -e gate ]; do sleep 0.02; done; exit 3";
    let id = say(dir.path(), &["run", "--detach", "--", "sh", "-c", script]);
    let view: Value = sure(serde_json::from_str(&say(dir.path(), &["inspect", &id, "--json"])));
    let stat = format!("/proc/{}/stat", view["facts"]["supervisor"]["pid"]);
    sure(std::fs::rename(&store, &away));
    sure(std::fs::write(&gate, ""));
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < until, "its supervisor does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    sure(std::fs::rename(&away, &store));
    let server = Within::start_in(dir, None);
    let listed = server.get("/entities?ended=true");
    let state = &listed["items"][0]["state"];
    assert_eq!((&state["lifecycle"], &state["health"]), (&"failed".into(), &"ok".into()), "{listed}");
}

#[test]
fn an_end_is_never_told_as_a_death() {
    let server = Within::start(Some(NEVER));
    let events = server.listen("/events");
    let runs = 20;
    for _ in 0..runs {
        server.say(&["run", "--quiet", "--", "true"]);
    }
    let (mut ended, mut looks) = (0, Vec::new());
    for (name, data) in events {
        match name.as_str() {
            "record" => ended += u32::from(data["to"] == "completed"),
            _ => looks.push(data["chain"].clone()),
        }
        if ended == runs {
            break;
        }
    }
    assert_eq!((ended, looks), (runs, vec![]));
}

fn append(dir: &Path, id: EntityId, actor: ActorClass, order: Order) {
    let ledger = sure(Ledger::open(&dir.join("s.db"), Options::default()));
    let mut command = Command::new(id, order);
    command.testimony.supervisor = Some(SupervisorSeen::Absent);
    sure(ledger.append(Request { command, actor: Actor::new(actor, "ann"), now: Real.now(), cause: None }));
}

fn because(code: &str, evidence: EvidenceRef) -> StateReason {
    StateReason::new(sure(reason(code)), "it was").shown_by(evidence)
}

/// The next look at a run.
fn look(events: &mut impl Iterator<Item = (String, Value)>, id: &str) -> Value {
    let its = |(name, data): &(String, Value)| name == "look" && data["id"] == id;
    sure(events.find(its).ok_or("the stream ended")).1
}

#[test]
fn a_run_that_was_ended_by_hand_is_told_as_alive_until_its_process_is_gone() {
    let server = Within::start(None);
    let (id, supervisor) = run(server.dir.path());
    let pid = server.get(&format!("/entities/{id}"))["pid"].as_u64();
    let pid = sure(u32::try_from(pid.unwrap_or_default()));
    let mut events = server.listen("/events");
    let asserted = because("run.cancelled.operator", EvidenceRef::human_assertion("by hand"));
    let order = Transition::to(SessionState::Cancelled, asserted).caused_by(SessionTrigger::EndedByHand);
    append(server.dir.path(), sure(id.parse()), ActorClass::Operator, Order::Transition(order));
    assert_eq!(look(&mut events, &id)["chain"], "Cancelled · Still alive");
    assert_eq!(server.said(&id), [(); 2].map(|()| ("Cancelled · Still alive".to_owned(), true)));
    let later = sure(server.listen("/events").next().ok_or("the stream ended"));
    assert_eq!((later.0.as_str(), &later.1["chain"]), ("look", &"Cancelled · Still alive".into()));
    server.watches(1);
    // Its supervisor would record how the command ended; here nobody does, and yet everybody is told.
    kill(supervisor);
    kill(pid);
    // Between the two deaths one of them may be seen alone.
    let gone = |(name, data): &(String, Value)| name == "look" && data["chain"] == "Cancelled";
    assert!(events.any(|event| gone(&event)), "the stream ended");
    assert_eq!(server.said(&id), [(); 2].map(|()| ("Cancelled".to_owned(), false)));
    server.watches(0);
}

#[test]
fn survivors_of_a_kill_are_watched_until_they_are_gone() {
    let dir = sure(tempfile::tempdir());
    let id = EntityId::new(Kind::Session, uuid::Uuid::from_u128(7));
    // One bears the marker of the run and was never seen; the marker of the other cannot be read.
    let (unmarked, marked) = (Sleeper::start(""), Sleeper::start(&id.to_string()));
    let (this, seen) = (sure(process::this()), sure(sure(process::of(unmarked.0.id())).ok_or("it is gone")));
    let of = |pid: u32, ticks: u64| {
        Facts::none().with("pid", i64::from(pid)).with("started_ticks", sure(i64::try_from(ticks)))
    };
    let number =
        |number: Option<u64>| number.map_or(Fact::Null, |number| Fact::Int(sure(i64::try_from(number))));
    let data = of(this.pid, 1)
        .with("host", this.host.as_str())
        .with("machine", this.machine.clone().map_or(Fact::Null, Fact::Text))
        .with("boot", this.boot.as_str())
        .with("pid_ns", number(this.pid_ns))
        .with("time_ns", number(this.time_ns))
        .with("supervisor", Fact::Map(of(this.pid, 1)));
    let create = Create { at: SessionState::Pending.into(), reasons: vec![], data };
    append(dir.path(), id, ActorClass::Supervisor, Order::Create(create));
    let survivor = Fact::Map(of(seen.pid, seen.started_ticks));
    let stopped = because("run.cancelled.sigterm", EvidenceRef::tool_result("SIGTERM"));
    let mut order = Transition::to(SessionState::Cancelled, stopped).caused_by(SessionTrigger::StopAsked);
    order.reasons.push(because("run.health.kill_unconfirmed", EvidenceRef::tool_result("alive")));
    order.data = Facts::none().with("leftovers", 2_i64).with("survivors", Fact::List(vec![survivor]));
    append(dir.path(), id, ActorClass::Supervisor, Order::Transition(order));
    let server = Within::start_in(dir, None);
    let id = id.to_string();
    let mut events = server.listen("/events");
    let mut next = || look(&mut events, &id)["chain"].clone();
    assert_eq!(next(), "Cancelled · Kill unconfirmed (2 alive)");
    server.watches(2);
    kill(marked.0.id());
    assert_eq!(next(), "Cancelled · Kill unconfirmed (1 alive)");
    server.watches(1);
    assert_eq!(
        server.said(&id),
        [(); 2].map(|()| ("Cancelled · Kill unconfirmed (1 alive)".to_owned(), true))
    );
    kill(unmarked.0.id());
    assert_eq!(next(), "Cancelled");
    assert_eq!(server.said(&id), [(); 2].map(|()| ("Cancelled".to_owned(), false)));
    server.watches(0);
}

/// A process of the test, which ends with it.
struct Sleeper(std::process::Child);

impl Sleeper {
    #[expect(clippy::disallowed_methods, reason = "a test ends the process it starts")]
    fn start(marker: &str) -> Self {
        let mut command = std::process::Command::new("sleep");
        Self(sure(command.arg("600").env("CALLBOARD_RUN", marker).spawn()))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
