//! Several handles on one store, as several hosts or processes would have them, and several callers of one handle.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callboard_kernel::RefusalCode;
use callboard_ledger::{AppendError, Fault, Ledger, Options};
use callboard_lifecycle::session::SessionState;

use crate::requests::{create, go, observe, request, session, whole_run};
use crate::shelf::Shelf;
use crate::{after, keyed, refusal};

/// How many of several callers who start the same run on its first version win.
fn race(handles: &[&Ledger], racers: usize, number: u128) -> usize {
    handles[0].append(request(session(number), 0, create("a"))).unwrap();
    let one = |ledger: &Ledger| {
        let mut request = request(session(number), 1, go(SessionState::Running, "run.started.ok"));
        request.command.if_version = Some(1);
        match ledger.append(request) {
            Ok(_) => 1,
            refused => {
                assert_eq!(refusal(refused), RefusalCode::VersionConflict);
                0
            }
        }
    };
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..racers)
            .map(|at| {
                let (one, ledger) = (&one, handles[at % handles.len()]);
                scope.spawn(move || one(ledger))
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    })
}

pub(crate) fn of_many_who_race_on_one_version_exactly_one_wins(shelf: &Shelf) {
    let ledger = shelf.open("board");
    assert_eq!(race(&[&ledger], 16, 1), 1);
}

pub(crate) fn one_of_two_hosts_wins(shelf: &Shelf) {
    let handles = [shelf.open("board"), shelf.open("board")];
    for round in 0..20 {
        assert_eq!(race(&[&handles[0], &handles[1]], 8, round), 1, "round {round}");
    }
}

pub(crate) fn what_another_host_did_counts_at_once(shelf: &Shelf) {
    let handles = [shelf.open("board"), shelf.open("board")];
    for round in 0..20 {
        let send = |at: usize, order| handles[at].append(request(session(round), 0, order));
        let [born, moved, ended] = whole_run();
        send(0, born).unwrap();
        send(1, moved).unwrap();
        // Neither the taking nor the refusing may rest on what a host remembers.
        send(0, ended.clone()).unwrap();
        assert_eq!(refusal(send(1, ended)), RefusalCode::Ended, "round {round}");
    }
}

pub(crate) fn keys_hold_across_handles_and_within_a_batch(shelf: &Shelf) {
    let handles = [shelf.open("board"), shelf.open("board")];
    let first = handles[0].append(keyed(request(session(1), 0, create("a")), "start")).unwrap();
    let again = handles[1].append(keyed(request(session(1), 9, create("a")), "start")).unwrap();
    assert!(again.repeated && !first.repeated && again.record == first.record);
    let other = handles[1].append(keyed(request(session(1), 0, create("b")), "start"));
    assert_eq!(refusal(other), RefusalCode::KeyReused);
    // Everything that is queued while the store is held shares a batch.
    let held = shelf.hold("board");
    let same = || keyed(request(session(1), 0, observe("beats", 1)), "beat");
    let tickets: Vec<_> = (0..64).map(|at| handles[at % 2].submit(same())).collect();
    drop(held);
    let receipts: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(receipts.iter().filter(|receipt| !receipt.repeated).count(), 1);
    assert!(receipts.iter().all(|receipt| receipt.record == receipts[0].record));
    assert_eq!(handles[0].head().unwrap(), 2);
}

pub(crate) fn nobody_who_follows_misses_a_record(shelf: &Shelf) {
    let (writers, runs) = (8, 25);
    shelf.open("board").append(request(session(u128::MAX), 0, create("first"))).unwrap();
    let is_done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let ledger = shelf.open("board");
            let mut seen = Vec::new();
            loop {
                // Read before the page, so that an empty page afterwards means the end.
                let ended = is_done.load(Ordering::SeqCst);
                let page = ledger.records(after(seen.last().copied().unwrap_or(0))).unwrap();
                seen.extend(page.iter().map(|record| record.seq));
                if ended && page.is_empty() {
                    return seen;
                }
            }
        });
        std::thread::scope(|scope| {
            for writer in 0..writers {
                let ledger = shelf.open("board");
                scope.spawn(move || {
                    for run in 0..runs {
                        for order in whole_run() {
                            ledger.append(request(session(writer * 1000 + run), 0, order)).unwrap();
                        }
                    }
                });
            }
        });
        is_done.store(true, Ordering::SeqCst);
        follower.join().unwrap()
    });
    let all = 1 + 3 * writers as u64 * runs as u64;
    assert_eq!(seen, (1..=all).collect::<Vec<_>>(), "each once, in order, without a gap");
    let report = shelf.open("board").verify().unwrap();
    assert!(report.ok && report.records == all, "{report:?}");
}

pub(crate) fn first_starts_do_not_collide(shelf: &Shelf) {
    let seqs: HashSet<u64> = std::thread::scope(|scope| {
        let start = |number| {
            let ledger = shelf.open("board");
            ledger.append(request(session(number), 0, create("a"))).unwrap().record.seq
        };
        let starts: Vec<_> = (0..6).map(|number| scope.spawn(move || start(number))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert_eq!(seqs, (1..=6).collect());
}

pub(crate) fn a_held_store_is_waited_for_and_not_for_ever(shelf: &Shelf) {
    let ledger =
        shelf.open_with("board", Options { busy_wait: Duration::from_millis(200), ..Options::default() });
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let held = shelf.hold("board");
    let begun = Instant::now();
    let refused = ledger.append(request(session(2), 0, create("b")));
    assert!(matches!(refused, Err(AppendError::Fault(Fault::Busy))), "{refused:?}");
    let waited = begun.elapsed();
    assert!((150..5_000).contains(&waited.as_millis()), "it waited {waited:?}");
    drop(held);
    // Whoever held it may take a moment to be gone; each wait for that is bounded by itself.
    let is_taken = |_: &i32| ledger.append(request(session(2), 0, create("b"))).is_ok();
    assert!((0..20).any(|attempt| is_taken(&attempt)));
    assert_eq!(ledger.head().unwrap(), 2);
}
