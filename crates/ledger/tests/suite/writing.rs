//! What comes of one command, and of many at once through one handle.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use callboard_kernel::{Actor, Order, RefusalCode, Value};
use callboard_ledger::{Options, Page, RecordScope, Ticket};
use callboard_lifecycle::ActorClass;
use callboard_lifecycle::session::SessionState;

use crate::requests::{create, go, observe, request, session, whole_run};
use crate::shelf::Shelf;
use crate::{EVERYTHING, keyed, records, refusal};

pub(crate) fn a_run_is_recorded_seen_and_survives_reopening(shelf: &Shelf) {
    let ledger = shelf.open("board");
    for (second, order) in whole_run().into_iter().enumerate() {
        let receipt = ledger.append(request(session(1), second as i64, order)).unwrap();
        assert_eq!((receipt.record.seq, receipt.record.version), (second as u64 + 1, second as u64 + 1));
    }
    drop(ledger);
    let ledger = shelf.open("board");
    let stored = ledger.entity(session(1)).unwrap().unwrap();
    assert_eq!(stored.entity.state.lifecycle, Some(SessionState::Completed.into()));
    assert_eq!(stored.entity.reasons[0].code.as_str(), "run.completed.ok");
    assert!(stored.entity.facts.has("title") && stored.entity.ended_at.is_some());
    assert_eq!(ledger.head().unwrap(), 3);
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.records == 3, "{report:?}");
}

pub(crate) fn a_refusal_writes_nothing_and_says_why(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let refused = ledger.append(request(session(1), 0, go(SessionState::Running, "run.started.ok")));
    assert_eq!(refusal(refused), RefusalCode::NotFound);
    assert_eq!(ledger.head().unwrap(), 0);
    assert_eq!(ledger.entity(session(1)).unwrap(), None);
}

pub(crate) fn a_key_survives_a_restart_and_gives_the_earlier_record(shelf: &Shelf) {
    let send = |title| shelf.open("board").append(keyed(request(session(1), 0, create(title)), "start-1"));
    let first = send("a").unwrap();
    let again = send("a").unwrap();
    assert!(again.repeated && !first.repeated && again.record == first.record);
    assert_eq!(refusal(send("b")), RefusalCode::KeyReused);
    assert_eq!(shelf.open("board").head().unwrap(), 1);
}

pub(crate) fn a_write_on_another_version_is_refused_and_names_it(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let on = |version| {
        let mut request = request(session(1), 1, observe("beats", 1));
        request.command.if_version = Some(version);
        ledger.append(request)
    };
    for other in [0, 2] {
        assert_eq!(refusal(on(other)), RefusalCode::VersionConflict);
    }
    assert_eq!(on(1).unwrap().record.version, 2);
    assert_eq!(refusal(on(1)), RefusalCode::VersionConflict);
    assert_eq!(ledger.head().unwrap(), 2);
}

pub(crate) fn one_bad_command_of_a_batch_does_not_fail_the_others(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(0), 0, create("a"))).unwrap();
    // While the store is held the writer waits with the first, and all others share the next transaction.
    let held = shelf.hold("board");
    let mut requests = vec![request(session(0), 0, observe("beats", 0))];
    for number in 1..=20 {
        requests.push(request(session(number), 0, create("good")));
        requests.push(request(session(number), 0, create("twice")));
        requests.push(request(session(number), 1, go(SessionState::Running, "run.started.ok")));
        requests.push(request(session(number), 1, go(SessionState::Pending, "run.started.ok")));
    }
    let tickets: Vec<_> = requests.into_iter().map(|request| ledger.submit(request)).collect();
    drop(held);
    let answers: Vec<_> = tickets.into_iter().map(Ticket::wait).collect();
    for four in answers[1..].chunks(4) {
        let [created, twice, moved, back] = four else { panic!("four orders an entity") };
        assert!(created.is_ok() && moved.is_ok(), "{created:?}, {moved:?}");
        assert!(twice.is_err() && back.is_err(), "{twice:?}, {back:?}");
    }
    let seqs: Vec<u64> = answers.iter().flatten().map(|receipt| receipt.record.seq).collect();
    assert_eq!(seqs, (2..=42).collect::<Vec<_>>(), "in the order in which they were sent");
    assert!(ledger.verify().unwrap().ok);
}

pub(crate) fn many_callers_get_gapless_numbers_and_a_clean_log(shelf: &Shelf) {
    let ledger = shelf.open("board");
    std::thread::scope(|scope| {
        for caller in 0..32 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                for run in 0..10 {
                    for order in whole_run() {
                        ledger.append(request(session(caller * 100 + run), 0, order)).unwrap();
                    }
                }
            });
        }
    });
    let records = records(&ledger);
    assert_eq!(records.len(), 960);
    assert!(records.iter().enumerate().all(|(at, record)| record.seq == at as u64 + 1));
    for entity in [session(0), session(3109)] {
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(entity) };
        let versions: Vec<u64> = ledger.records(page).unwrap().iter().map(|record| record.version).collect();
        assert_eq!(versions, [1, 2, 3], "{entity}");
    }
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.checkpoints >= 3, "{report:?}");
}

pub(crate) fn time_never_runs_backwards_though_a_clock_does(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let first = ledger.append(request(session(1), 3600, create("a"))).unwrap();
    let second = ledger.append(request(session(2), 0, create("b"))).unwrap();
    assert_eq!(second.record.at, first.record.at);
}

pub(crate) fn any_text_comes_back_as_it_was(shelf: &Shelf) {
    let texts =
        ["", "a \"quoted\" \\ text", "zwölf 🥊", "two\nlines\t", "a\0nul", "\0", "\u{1a}0\u{1a}\0\u{1a}1"];
    let ledger = shelf.open("board");
    for (number, text) in texts.into_iter().enumerate() {
        let send = || {
            let mut request =
                keyed(request(session(number as u128), 0, create(text)), &format!("key {text}"));
            request.actor = Actor::new(ActorClass::Supervisor, text);
            request.cause = Some(text.to_owned());
            ledger.append(request).unwrap()
        };
        let (first, again) = (send(), send());
        assert!(again.repeated && again.record == first.record, "{text:?}: the key is found again");
        let record = &records(&ledger)[2 * number];
        assert_eq!((record, record.actor_id.as_str()), (&first.record, text));
        let mut parented = request(session(number as u128), 1, observe("beats", 1));
        if let Order::Observe(order) = &mut parented.command.order {
            order.data.set("parent", Value::Text(text.to_owned()));
        }
        ledger.append(parented).unwrap();
    }
    assert!(ledger.verify().unwrap().ok);
    let before = ledger.entities(EVERYTHING).unwrap();
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entities(EVERYTHING).unwrap(), before);
    assert!(ledger.verify().unwrap().ok);
}

pub(crate) fn a_caller_waits_when_too_many_commands_wait(shelf: &Shelf) {
    let options = Options { queue_max: 4, batch_max: 2, ..Options::default() };
    let ledger = shelf.open_with("board", options);
    ledger.append(request(session(0), 0, create("a"))).unwrap();
    let sent = AtomicUsize::new(0);
    // The writer has up to two in hand, four wait, and the caller stands with the next.
    let (fewest, most) = (5, 6);
    std::thread::scope(|scope| {
        let held = shelf.hold("board");
        let caller = scope.spawn(|| {
            let mut tickets = Vec::new();
            for number in 1..=100 {
                tickets.push(ledger.submit(request(session(number), 0, create("a"))));
                sent.fetch_add(1, Ordering::SeqCst);
            }
            tickets
        });
        let begun = Instant::now();
        while sent.load(Ordering::SeqCst) < fewest {
            assert!(begun.elapsed() < Duration::from_secs(300), "it takes too few");
        }
        // Not for anything to happen, but to see that nothing does.
        std::thread::sleep(Duration::from_millis(100));
        let waiting = sent.load(Ordering::SeqCst);
        assert!(waiting <= most && !caller.is_finished(), "{waiting} commands wait");
        drop(held);
        for ticket in caller.join().unwrap() {
            ticket.wait().unwrap();
        }
    });
    assert_eq!(ledger.head().unwrap(), 101, "each was taken in the end");
}
