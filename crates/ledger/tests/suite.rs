//! The suite every engine must pass: what callers can rely on, asked through the handle alone.

#[path = "common/requests.rs"]
mod requests;

use std::path::Path;

use callboard_kernel::{Moment, RefusalCode};
use callboard_ledger::{AppendError, Ledger, Listing, Options, Page, Scope};
use callboard_lifecycle::Kind;
use callboard_lifecycle::session::SessionState;
use requests::{create, go, observe, request, session, whole_run};

fn open(directory: &Path) -> Ledger {
    match Ledger::open(&directory.join("store.db"), Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{error:?}"),
    }
}

fn all() -> Page {
    Page { after: 0, limit: usize::MAX, scope: Scope::All }
}

#[test]
fn a_run_is_recorded_seen_and_survives_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    for (second, order) in whole_run().into_iter().enumerate() {
        let receipt = ledger.append(request(session(1), second as i64, order)).unwrap();
        assert_eq!((receipt.record.seq, receipt.record.version), (second as u64 + 1, second as u64 + 1));
    }
    drop(ledger);
    let ledger = open(directory.path());
    let stored = ledger.entity(session(1)).unwrap().unwrap();
    assert_eq!(stored.entity.state.lifecycle, Some(SessionState::Completed.into()));
    assert_eq!(stored.entity.reasons[0].code.as_str(), "run.completed.ok");
    assert!(stored.entity.facts.has("title") && stored.entity.ended_at.is_some());
    assert_eq!(ledger.head().unwrap(), 3);
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.records == 3, "{report:?}");
}

#[test]
fn a_refusal_writes_nothing_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let refused = ledger.append(request(session(1), 0, go(SessionState::Running, "run.started.ok")));
    let Err(AppendError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.code, RefusalCode::NotFound);
    assert_eq!(ledger.head().unwrap(), 0);
}

#[test]
fn a_key_survives_a_restart_and_gives_the_earlier_record() {
    let directory = tempfile::tempdir().unwrap();
    let keyed = |order| {
        let mut request = request(session(1), 0, order);
        request.command.key = Some("start-1".to_owned());
        request
    };
    let first = open(directory.path()).append(keyed(create("a"))).unwrap();
    let ledger = open(directory.path());
    let again = ledger.append(keyed(create("a"))).unwrap();
    assert!(again.repeated && !first.repeated && again.record == first.record);
    let other = ledger.append(keyed(create("b")));
    let Err(AppendError::Refused(refusal)) = other else { panic!("{other:?}") };
    assert_eq!(refusal.code, RefusalCode::KeyReused);
    assert_eq!(ledger.head().unwrap(), 1);
}

#[test]
fn of_many_who_race_on_one_version_exactly_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let wins: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..16)
            .map(|_| {
                let ledger = ledger.clone();
                scope.spawn(move || {
                    let mut request = request(session(1), 1, go(SessionState::Running, "run.started.ok"));
                    request.command.if_version = Some(1);
                    usize::from(ledger.append(request).is_ok())
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(wins, 1);
}

#[test]
fn many_callers_get_gapless_numbers_and_a_clean_log() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
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
    let records = ledger.records(all()).unwrap();
    assert_eq!(records.len(), 960);
    assert!(records.iter().enumerate().all(|(at, record)| record.seq == at as u64 + 1));
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.checkpoints >= 3, "{report:?}");
}

#[test]
fn the_past_can_be_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let mut at = Vec::new();
    for (second, order) in whole_run().into_iter().enumerate() {
        at.push(ledger.append(request(session(1), 10 * second as i64, order)).unwrap().record.at);
    }
    let later = |moment: Moment, seconds: i64| Moment::from_micros(moment.as_micros() + seconds * 1_000_000);
    assert_eq!(ledger.seq_at(later(at[0], -1)).unwrap(), 0);
    assert_eq!(ledger.seq_at(later(at[1], 5)).unwrap(), 2);
    assert_eq!(ledger.seq_at(later(at[2], 99)).unwrap(), 3);
    let then = ledger.entity_at(session(1), 2).unwrap().unwrap();
    assert_eq!(then.entity.state.lifecycle, Some(SessionState::Running.into()));
    assert_eq!(ledger.entity_at(session(1), 0).unwrap(), None);
    let live = Listing { kind: Some(Kind::Session), ..Listing::default() };
    assert_eq!(ledger.entities(live).unwrap().len(), 0);
    assert_eq!(ledger.entities_at(live, 2).unwrap().len(), 1);
    let now = ledger.entity(session(1)).unwrap().unwrap();
    assert_eq!(ledger.entity_at(session(1), 3).unwrap().unwrap(), now, "the fold and the view agree");
}

#[test]
fn the_views_can_be_dropped_and_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    for number in 0..20 {
        for order in whole_run().into_iter().take(1 + number as usize % 3) {
            ledger.append(request(session(number), number as i64, order)).unwrap();
        }
        ledger.append(request(session(number), 60, observe("beats", number as i64))).unwrap();
    }
    let everything = Listing { ended: true, ..Listing::default() };
    let before = ledger.entities(everything).unwrap();
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entities(everything).unwrap(), before);
    assert_eq!(ledger.entities_at(everything, u64::MAX).unwrap(), before);
    assert!(ledger.verify().unwrap().ok);
}

#[test]
fn time_never_runs_backwards_though_a_clock_does() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let first = ledger.append(request(session(1), 3600, create("a"))).unwrap();
    let second = ledger.append(request(session(2), 0, create("b"))).unwrap();
    assert_eq!(second.record.at, first.record.at);
}

#[test]
fn what_needs_somebody_comes_first_and_the_oldest_of_it_before_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let end = |number, second, to: SessionState, code: &str| {
        ledger.append(request(session(number), second, create("a"))).unwrap();
        ledger.append(request(session(number), second, go(SessionState::Running, "run.started.ok"))).unwrap();
        ledger.append(request(session(number), second, go(to, code))).unwrap();
    };
    end(1, 10, SessionState::Completed, "run.completed.ok");
    end(2, 20, SessionState::Failed, "run.failed.oom");
    end(3, 30, SessionState::Failed, "run.failed.exit_nonzero");
    end(4, 40, SessionState::Aborted, "run.aborted.sigint");
    let needed: Vec<_> =
        ledger.attention(10).unwrap().into_iter().map(|stored| stored.entity.state.id).collect();
    assert_eq!(needed, [session(2), session(3)]);
}
