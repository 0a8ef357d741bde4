//! Export and import, from either engine to either.

use callboard_kernel::Moment;
use callboard_ledger::{ImportError, Ledger, Page, Range, Record, RecordScope};

use crate::requests::{observe, request, session, whole_run};
use crate::shelf::Shelf;
use crate::{EVERYTHING, records};

fn fill(ledger: &Ledger) {
    let tickets: Vec<_> = (0..300)
        .flat_map(|at| whole_run().map(|order| (at, order)))
        .map(|(at, order)| ledger.submit(request(session(at), 0, order)))
        .collect();
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
}

/// Every record as its line. Checkpoints are left out: each store signs its own.
fn export(ledger: &Ledger) -> String {
    let mut lines = String::new();
    let exported = ledger.export(Range::ALL, &mut |line| {
        if !line.starts_with("{\"checkpoint\"") {
            lines.push_str(line);
            lines.push('\n');
        }
        Ok(())
    });
    exported.unwrap();
    lines
}

pub(crate) fn what_was_exported_is_the_same_on_either_engine(shelf: &Shelf) {
    let from = shelf.open("board");
    fill(&from);
    let legacy = "{\"legacy\":{\"kind\":\"session\",\"title\":\"old\",\"data\":{\"a\":1}}}\n";
    let lines = export(&from) + legacy;
    for to in [shelf.open("copy"), shelf.other().open("copy")] {
        let taken = to.import(&mut lines.as_bytes()).unwrap();
        assert_eq!((taken.records, taken.legacy, taken.head), (900, 1, 900));
        assert_eq!(records(&to), records(&from));
        assert_eq!(to.entities(EVERYTHING).unwrap(), from.entities(EVERYTHING).unwrap());
        assert!(to.verify().unwrap().ok && to.legacy().unwrap() == 1);
        assert_eq!(export(&to), lines, "byte for byte");
        let next = to.append(request(session(0), 0, observe("beats", 1))).unwrap();
        assert_eq!((next.record.seq, next.record.version), (901, 4), "and it goes on from there");
    }
}

pub(crate) fn a_changed_line_is_named_and_nothing_is_taken(shelf: &Shelf) {
    let from = shelf.open("board");
    fill(&from);
    let lines = export(&from);
    let other = shelf.open("copy");
    let changed = lines.replacen("host/1", "host/2", 1);
    let refused = other.import(&mut changed.as_bytes());
    assert!(matches!(refused, Err(ImportError::Line { number: 1, .. })), "{refused:?}");
    let twice = other.import(&mut (lines.clone() + &lines).as_bytes());
    assert!(matches!(twice, Err(ImportError::Line { number: 901, .. })), "{twice:?}");
    assert_eq!(other.head().unwrap(), 0);
    assert!(other.entities(EVERYTHING).unwrap().is_empty());
}

/// A record of a type that this program does not know, which continues the first session.
fn newer(ledger: &Ledger) -> Record {
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(session(0)) };
    let Some(last) = ledger.records(page).unwrap().pop() else { panic!("it has records") };
    let mut record = Record {
        seq: ledger.head().unwrap() + 1,
        version: last.version + 1,
        at: Moment::from_micros(last.at.as_micros() + 1),
        event_type: "weighed".to_owned(),
        via: "observed".to_owned(),
        from_state: last.to_state.clone(),
        body: r#"{"novel": {"x": [1,  2]}, "data": {"n": 1}}"#.to_owned(),
        ..last.clone()
    };
    record.hash = record.hash_after(last.hash, &mut Vec::new());
    record
}

pub(crate) fn a_record_of_a_newer_program_survives_unread_and_is_built_upon(shelf: &Shelf) {
    let from = shelf.open("board");
    fill(&from);
    let newer = newer(&from);
    let lines = export(&from) + &newer.line().unwrap() + "\n";
    for to in [shelf.open("copy"), shelf.other().open("copy")] {
        to.import(&mut lines.as_bytes()).unwrap();
        assert_eq!(records(&to).pop(), Some(newer.clone()));
        assert_eq!(export(&to), lines);
        assert_eq!(to.entity(session(0)).unwrap().map(|stored| stored.entity.state.version), Some(4));
        let next = to.append(request(session(0), 60, observe("beats", 1))).unwrap();
        assert_eq!(next.record.version, 5);
        to.rebuild().unwrap();
        let report = to.verify().unwrap();
        assert!(report.ok, "{report:?}");
    }
}
