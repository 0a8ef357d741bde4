//! `verify`: what somebody changed who could switch the database's own guards off.

use callboard_ledger::Ledger;

use crate::requests::{create, request, session};
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
