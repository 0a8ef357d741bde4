//! Whoever only reads: sees what is recorded, and leaves the store as it is.

use std::time::Duration;

use callboard_ledger::{AppendError, Fault, OpenError, ReadError};

use crate::requests::{create, observe, request, session, whole_run};
use crate::shelf::Shelf;
use crate::{EVERYTHING, records};

pub(crate) fn a_reader_sees_what_is_recorded_and_records_nothing(shelf: &Shelf) {
    let ledger = shelf.open("board");
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    let reader = shelf.read("board").unwrap();
    let same = || {
        assert_eq!(records(&reader), records(&ledger));
        assert_eq!(reader.entities(EVERYTHING).unwrap(), ledger.entities(EVERYTHING).unwrap());
    };
    same();
    // What another handle records meanwhile is seen, and waited for.
    ledger.append(request(session(2), 0, create("b"))).unwrap();
    assert_eq!(reader.wait_beyond(3, Duration::from_secs(20)).unwrap(), 4);
    same();
    assert_eq!(reader.root().unwrap(), ledger.root().unwrap());
    let refused = reader.append(request(session(1), 0, observe("beats", 1)));
    assert!(matches!(refused, Err(AppendError::Fault(Fault::ReadOnly(_)))), "{refused:?}");
    drop(ledger);
    let report = reader.verify().unwrap();
    assert!(report.ok && report.records == 4 && reader.integrity().unwrap().is_none(), "{report:?}");
    drop(reader);
    let lazy = shelf.look("board");
    assert_eq!(lazy.append(request(session(1), 0, observe("beats", 1))).unwrap().record.seq, 5);
    assert_eq!((lazy.head().unwrap(), records(&lazy).len()), (5, 5));
    drop(lazy);
    assert_eq!(shelf.open("board").append(request(session(3), 0, create("c"))).unwrap().record.seq, 6);
}

pub(crate) fn a_reader_makes_no_store(shelf: &Shelf) {
    for _ in 0..2 {
        let missing = shelf.read("board").err();
        assert!(matches!(missing, Some(OpenError::Missing { .. })), "{missing:?}");
    }
    shelf.open("board");
    assert_eq!(shelf.read("board").unwrap().head().unwrap(), 0);
}

pub(crate) fn a_reader_tells_of_a_store_that_is_not_as_it_was_sealed(shelf: &Shelf) {
    let ledger = shelf.open("board");
    for number in 0..3 {
        ledger.append(request(session(number), 0, create("a"))).unwrap();
    }
    drop(ledger);
    assert_eq!(shelf.read("board").unwrap().doubt(), None);
    shelf.unguarded(
        "board",
        "DELETE FROM entity WHERE last_seq > 1; DELETE FROM checkpoint; DELETE FROM ledger WHERE seq > 1",
    );
    let reader = shelf.read("board").unwrap();
    assert_eq!(reader.doubt().unwrap(), "the log ends at record 1, and it was sealed up to record 3");
    let rebuilt: Result<(), ReadError> = reader.rebuild();
    assert!(rebuilt.is_err(), "it writes nothing");
}
