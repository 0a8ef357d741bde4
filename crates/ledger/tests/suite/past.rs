//! Questions about the log and its views: how things were, how they are, and what needs somebody.

use callboard_kernel::Moment;
use callboard_ledger::{Ledger, Listing, Sequence, Slice, StateCount};
use callboard_lifecycle::Kind;
use callboard_lifecycle::session::SessionState;

use crate::EVERYTHING;
use crate::requests::{create, go, observe, request, session, whole_run};
use crate::shelf::Shelf;

pub(crate) fn the_past_can_be_asked_for(shelf: &Shelf) {
    let ledger = shelf.open("board");
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

/// Thirty sessions at every stage of a run.
fn fill(ledger: &Ledger) {
    for number in 0..30 {
        for order in whole_run().into_iter().take(1 + number as usize % 3) {
            ledger.append(request(session(number), number as i64, order)).unwrap();
        }
        ledger.append(request(session(number), 60, observe("beats", number as i64))).unwrap();
    }
}

pub(crate) fn a_long_listing_is_read_in_pieces_and_shows_each_once(shelf: &Shelf) {
    let ledger = shelf.open("board");
    fill(&ledger);
    let whole = ledger.entities(EVERYTHING).unwrap();
    let ids = |slice: Slice| {
        let (mut all, mut slice) = (Vec::new(), Slice { limit: 7, ..slice });
        loop {
            let piece = ledger.slice(slice.clone()).unwrap();
            let Some(last) = piece.last() else { return all };
            slice.beyond = Some(last.entity.state.id);
            all.extend(piece.iter().map(|stored| stored.entity.state.id));
        }
    };
    let newest: Vec<_> = whole.iter().map(|stored| stored.entity.state.id).collect();
    assert_eq!(ids(Slice::default()), newest);
    let oldest: Vec<_> = newest.iter().rev().copied().collect();
    assert_eq!(ids(Slice { order: Sequence::Oldest, kind: Some(Kind::Session), ..Slice::default() }), oldest);
    let live = ids(Slice { live: true, ..Slice::default() });
    assert_eq!(live.len(), ledger.entities(Listing::default()).unwrap().len());
    assert!(ids(Slice { kind: Some(Kind::Task), ..Slice::default() }).is_empty());
    assert!(ids(Slice { parent: Some(session(1)), ..Slice::default() }).is_empty());
    let (head, standings) = ledger.standings().unwrap();
    assert_eq!(head, ledger.head().unwrap());
    let of = |state: &str| StateCount { kind: "session".to_owned(), state: state.to_owned(), count: 10 };
    assert_eq!(standings, ["completed", "pending", "running"].map(of));
}

pub(crate) fn the_views_can_be_dropped_and_rebuilt(shelf: &Shelf) {
    let ledger = shelf.open("board");
    fill(&ledger);
    let before = ledger.entities(EVERYTHING).unwrap();
    assert_eq!(before.len(), 30);
    assert_eq!(ledger.entities_at(EVERYTHING, u64::MAX).unwrap(), before);
    shelf.unguarded(
        "board",
        "DELETE FROM entity WHERE state = 'running'; UPDATE entity SET facts = '', parent = 'x'",
    );
    assert!(!ledger.verify().unwrap().ok, "the damage is there");
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entities(EVERYTHING).unwrap(), before);
    assert!(ledger.verify().unwrap().ok);
}

pub(crate) fn the_views_can_be_rebuilt_while_others_write(shelf: &Shelf) {
    let ledger = shelf.open("board");
    fill(&ledger);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let other = shelf.open("board");
            for number in 100..200 {
                other.append(request(session(number), 99, create("a"))).unwrap();
            }
        });
        while !writing.is_finished() {
            ledger.rebuild().unwrap();
        }
    });
    assert_eq!(ledger.entities(EVERYTHING).unwrap().len(), 130);
    let report = ledger.verify().unwrap();
    assert!(report.ok, "{report:?}");
}

pub(crate) fn what_needs_somebody_comes_first_and_the_oldest_of_it_before_the_rest(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let end = |number, second, to: SessionState, code: &str| {
        ledger.append(request(session(number), second, create("a"))).unwrap();
        ledger.append(request(session(number), second, go(SessionState::Running, "run.started.ok"))).unwrap();
        ledger.append(request(session(number), second, go(to, code))).unwrap();
    };
    end(1, 10, SessionState::Completed, "run.completed.ok");
    end(3, 20, SessionState::Failed, "run.failed.oom");
    end(2, 30, SessionState::Failed, "run.failed.exit_nonzero");
    end(4, 40, SessionState::Aborted, "run.aborted.sigint");
    let needed = |limit| -> Vec<_> {
        ledger.attention(limit).unwrap().into_iter().map(|stored| stored.entity.state.id).collect()
    };
    assert_eq!(needed(10), [session(3), session(2)]);
    assert_eq!(needed(1), [session(3)]);
}
