//! `verify`: what somebody changed who could switch the database's own guards off.

use callboard_ledger::{Ledger, Trust};

use crate::requests::{create, observe, request, session};
use crate::shelf::Shelf;

/// A store with a few checkpoints, clean so far.
fn sealed(shelf: &Shelf) -> Ledger {
    let ledger = shelf.open("board");
    let tickets: Vec<_> = (0..600).map(|at| ledger.submit(request(session(at), 0, create("a")))).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.checkpoints >= 1, "{report:?}");
    ledger
}

pub(crate) fn what_was_changed_is_found(shelf: &Shelf) {
    let ledger = sealed(shelf);
    let is_found = |tamper: &str, mend: &str, seq: Option<u64>| {
        shelf.unguarded("board", tamper);
        let report = ledger.verify().unwrap();
        assert!(!report.ok, "{tamper}");
        assert_eq!(report.problems[0].seq, seq, "{tamper}: {report:?}");
        shelf.unguarded("board", mend);
        assert!(ledger.verify().unwrap().ok, "{mend}");
    };
    is_found(
        "UPDATE ledger SET actor_id = 'eve' WHERE seq = 9",
        "UPDATE ledger SET actor_id = 'host/1' WHERE seq = 9",
        Some(9),
    );
    is_found(
        "UPDATE entity SET state = 'running' WHERE last_seq = 9",
        "UPDATE entity SET state = 'pending' WHERE last_seq = 9",
        None,
    );
}

pub(crate) fn a_tail_that_was_cut_is_found(shelf: &Shelf) {
    let ledger = sealed(shelf);
    // The newest checkpoint stays; it signs more than is left. The views are cut to match.
    shelf.unguarded(
        "board",
        "DELETE FROM entity WHERE last_seq >= (SELECT max(seq) FROM checkpoint); \
         DELETE FROM ledger WHERE seq >= (SELECT max(seq) FROM checkpoint)",
    );
    let report = ledger.verify().unwrap();
    assert!(!report.ok, "{report:?}");
}

pub(crate) fn every_commit_is_sealed_and_an_honest_write_covers_nothing_up(shelf: &Shelf) {
    let ledger = shelf.open("board");
    // The first look at the log may end with a refusal; what follows is sealed all the same.
    assert!(ledger.append(request(session(0), 0, observe("beats", 1))).is_err());
    for number in 0..3 {
        ledger.append(request(session(number), 0, create("a"))).unwrap();
    }
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.unsealed == 0 && report.checkpoints == 1, "{report:?}");
    assert_eq!(report.sealed.iter().map(|by| by.records).collect::<Vec<_>>(), [3]);
    drop(ledger);
    shelf.unguarded("board", "DELETE FROM checkpoint");
    let ledger = shelf.open("board");
    assert!(!ledger.verify().unwrap().ok);
    ledger.append(request(session(9), 0, create("a"))).unwrap();
    let report = ledger.verify().unwrap();
    assert!(report.problems.iter().any(|found| found.problem.contains("had no seal")), "{report:?}");
    assert_eq!(report.unsealed, 3);
}

pub(crate) fn a_log_that_ends_before_its_seal_is_doubted_until_it_is_accepted(shelf: &Shelf) {
    let ledger = shelf.open("board");
    for number in 0..3 {
        ledger.append(request(session(number), 0, create("a"))).unwrap();
    }
    let kept = ledger.root().unwrap().unwrap();
    drop(ledger);
    assert_eq!(shelf.open("board").doubt(), None);
    shelf.unguarded(
        "board",
        "DELETE FROM entity WHERE last_seq > 1; DELETE FROM checkpoint; DELETE FROM ledger WHERE seq > 1",
    );
    let ledger = shelf.open("board");
    let doubt = ledger.doubt().unwrap();
    assert_eq!(doubt, "the log ends at record 1, and it was sealed up to record 3");
    ledger.append(request(session(4), 0, create("a"))).unwrap();
    ledger.append(request(session(5), 0, create("a"))).unwrap();
    drop(ledger);
    let ledger = shelf.open("board");
    assert!(ledger.doubt().unwrap().contains("are not those that were sealed"), "{:?}", ledger.doubt());
    ledger.accept().unwrap();
    drop(ledger);
    let ledger = shelf.open("board");
    assert_eq!(ledger.doubt(), None);
    let trust = Trust { root: Some(kept), ..Trust::default() };
    let report = ledger.verify_against(&trust).unwrap();
    assert!(
        report.problems.iter().any(|found| found.seq == Some(3)),
        "a root kept elsewhere knows better: {report:?}"
    );
}

pub(crate) fn a_write_that_a_trigger_swallows_is_not_acknowledged(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    shelf.swallow("board");
    let answer = ledger.append(request(session(2), 0, create("a")));
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(ledger.head().unwrap(), 1);
    let report = ledger.verify().unwrap();
    assert!(report.problems.iter().any(|found| found.problem.contains("swallow")), "{report:?}");
}
