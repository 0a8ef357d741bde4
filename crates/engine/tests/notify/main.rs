//! Telling once, with a clock that the test sets and a receiver on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use callboard_engine::notify::Settings;
use callboard_engine::{Clock, Host, Notifier, Told, Viewpoint, evaluate, fingerprint};
use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Observe, Order, StateReason, Transition,
    Value,
};
use callboard_ledger::{Ledger, Options, Request};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, reason};

const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

struct Set(Mutex<Moment>);

impl Clock for Set {
    fn now(&self) -> Moment {
        self.0.lock().map_or(NOW, |now| *now)
    }
}

fn clock(seconds: u64) -> Set {
    Set(Mutex::new(NOW.plus(Duration::from_secs(seconds))))
}

fn id() -> EntityId {
    EntityId::new(Kind::Session, uuid::Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0001))
}

fn record(ledger: &Ledger, class: ActorClass, order: Order) {
    let actor = Actor::new(class, "test");
    let request = Request { command: Command::new(id(), order), actor, now: NOW, cause: None };
    if let Err(error) = ledger.append(request) {
        panic!("{error}");
    }
}

/// A store with one run that failed.
fn failed(place: &tempfile::TempDir) -> Ledger {
    let ledger = match Ledger::open(&place.path().join("s.db"), Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{error}"),
    };
    let begin = Create { at: SessionState::Pending.into(), reasons: vec![], data: Facts::none() };
    record(&ledger, ActorClass::Supervisor, Order::Create(begin));
    let code = reason("run.failed.not_found").unwrap_or_else(|unknown| panic!("{unknown}"));
    let why = StateReason::new(code, "no such program").shown_by(EvidenceRef::tool_result("ENOENT"));
    record(&ledger, ActorClass::Supervisor, Order::Transition(Transition::to(SessionState::Failed, why)));
    ledger
}

/// A receiver that answers with these statuses, the last one for ever; it tells the id of each call.
fn receiver(statuses: &'static [u16]) -> (Settings, Receiver<String>) {
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { panic!("no port") };
    let port = listener.local_addr().map_or(0, |address| address.port());
    let (tell, ids) = channel();
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let status = statuses.get(number).or(statuses.last()).copied().unwrap_or(200);
            let mut reader = BufReader::new(&mut stream);
            let (mut line, mut id, mut length) = (String::new(), String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                if let Some(value) = line.strip_prefix("webhook-id: ") {
                    id = value.trim().to_owned();
                }
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    length = value.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let answer = format!("HTTP/1.1 {status} As told\r\nContent-Length: 0\r\n\r\n");
            if reader.read_exact(&mut body).is_ok() && stream.write_all(answer.as_bytes()).is_ok() {
                drop(tell.send(id));
            }
        }
    });
    let variable = |name: &str| match name {
        "CALLBOARD_WEBHOOK_URL" => Some(format!("http://127.0.0.1:{port}/")),
        "CALLBOARD_WEBHOOK_SECRET" => Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        _ => None,
    };
    match Settings::load(None, &variable) {
        Ok(settings) => (settings, ids),
        Err(error) => panic!("{error}"),
    }
}

fn tell(ledger: &Ledger, settings: &Settings, seconds: u64) -> Told {
    let (host, clock) = (Host::this(), clock(seconds));
    match (Notifier { ledger, settings, world: &host, clock: &clock }).tell(id()) {
        Ok(told) => told,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn of_many_senders_at_once_one_sends() {
    let place = tempfile::tempdir().unwrap();
    let (settings, ids) = receiver(&[200]);
    let ledger = failed(&place);
    let told: Vec<Told> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..8).map(|_| scope.spawn(|| tell(&ledger, &settings, 1))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert_eq!(told.iter().filter(|told| **told == Told::Sent).count(), 1, "{told:?}");
    assert_eq!(told.iter().filter(|told| matches!(told, Told::NotDue | Told::Later)).count(), 7, "{told:?}");
    assert_eq!(ids.try_iter().count(), 1);
    assert_eq!(tell(&ledger, &settings, 1_000_000), Told::NotDue);
    assert!(ledger.verify().unwrap().ok);
}

#[test]
fn a_claim_of_a_dead_sender_is_taken_over_with_the_same_id() {
    let place = tempfile::tempdir().unwrap();
    let (settings, ids) = receiver(&[200]);
    let ledger = failed(&place);
    let stored = ledger.entity(id()).unwrap().unwrap();
    let view = evaluate(&stored, &Viewpoint::past(NOW));
    let since = view.cause_since().unwrap().to_string();
    let claim = Facts::none()
        .with("condition", "run.failed.not_found")
        .with("since", since.as_str())
        .with("state", "sending")
        .with("at", NOW.to_string())
        .with("by", "notifier@elsewhere/1")
        .with("tries", 1);
    let data = Facts::none().with("notified", Value::Map(claim));
    record(&ledger, ActorClass::System, Order::Observe(Observe { reasons: vec![], data }));
    assert_eq!(tell(&ledger, &settings, 59), Told::Later);
    assert_eq!(tell(&ledger, &settings, 60), Told::Sent);
    let expected =
        blake3::hash(format!("{}\0{since}", fingerprint(&view)).as_bytes()).to_hex()[..32].to_owned();
    assert_eq!(ids.try_iter().collect::<Vec<_>>(), [expected]);
}

#[test]
fn what_is_refused_is_tried_later_a_few_times_and_then_left() {
    let place = tempfile::tempdir().unwrap();
    let (settings, ids) = receiver(&[403]);
    let ledger = failed(&place);
    let mut seconds = 0;
    for pause in [30, 60, 120, 240] {
        assert!(matches!(tell(&ledger, &settings, seconds), Told::Failed(_)), "at {seconds}");
        assert_eq!(tell(&ledger, &settings, seconds + pause - 1), Told::Later, "at {seconds}");
        seconds += pause;
    }
    assert!(matches!(tell(&ledger, &settings, seconds), Told::Failed(_)));
    assert_eq!(tell(&ledger, &settings, seconds + 1_000_000), Told::NotDue);
    let all: Vec<String> = ids.try_iter().collect();
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|id| *id == all[0]));
}
