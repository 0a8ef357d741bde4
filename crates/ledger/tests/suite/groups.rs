//! Groups: several commands that are recorded together or not at all.

use callboard_kernel::{Order, RefusalCode};
use callboard_ledger::{GROUP_MAX, Group, GroupError, ImportError, Ledger, Member, Range, Receipt, Request};
use callboard_lifecycle::session::SessionState;

use crate::requests::{create, go, observe, request, session, whole_run};
use crate::shelf::Shelf;
use crate::{EVERYTHING, keyed, records, refusal};

fn group(orders: impl IntoIterator<Item = (u128, Order)>) -> Group {
    let mut requests = orders.into_iter().map(|(number, order)| request(session(number), 0, order));
    let first = Group::new(requests.next().unwrap());
    requests.fold(first, Group::and)
}

/// Two runs that begin and end together; later commands need the earlier ones.
fn two_runs() -> Vec<(u128, Order)> {
    whole_run().into_iter().flat_map(|order| [(1, order.clone()), (2, order)]).collect()
}

/// Which command of a group was refused, and why.
fn denied(answer: Result<Vec<Receipt>, GroupError>) -> (usize, RefusalCode) {
    let Err(GroupError::Refused { at, refusal }) = answer else { panic!("{answer:?}") };
    (at, refusal.code)
}

fn check(ledger: &Ledger) {
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.unsealed == 0, "{report:?}");
    let before = ledger.entities(EVERYTHING).unwrap();
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entities(EVERYTHING).unwrap(), before);
}

pub(crate) fn a_group_is_recorded_as_one_and_its_commands_see_each_other(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(9), 0, create("alone"))).unwrap();
    let receipts = ledger.append_group(group(two_runs())).unwrap();
    let told: Vec<_> =
        receipts.iter().map(|one| (one.record.seq, one.record.version, one.repeated)).collect();
    assert_eq!(
        told,
        [(2, 1, false), (3, 1, false), (4, 2, false), (5, 2, false), (6, 3, false), (7, 3, false)]
    );
    for (receipt, at) in receipts.iter().zip(0..) {
        assert_eq!(receipt.record.member().unwrap(), Some(Member { at, of: 6 }));
    }
    assert_eq!(records(&ledger)[0].member().unwrap(), None);
    // A later group finds what the earlier one left, and an entity it touches twice is there once.
    let more =
        [(1, observe("beats", 1)), (3, create("third")), (1, observe("beats", 2)), (9, observe("beats", 3))];
    ledger.append_group(group(more)).unwrap();
    drop(ledger);
    let ledger = shelf.open("board");
    let first = ledger.entity(session(1)).unwrap().unwrap();
    assert_eq!(first.entity.state.lifecycle, Some(SessionState::Completed.into()));
    assert_eq!((first.entity.state.version, first.state_seq, first.last_seq), (5, 6, 10));
    assert_eq!(ledger.entities(EVERYTHING).unwrap().len(), 4);
    check(&ledger);
}

pub(crate) fn a_refused_command_is_named_and_nothing_of_its_group_stands(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let twice = [(1, create("a")), (2, create("b")), (1, create("again")), (3, create("c"))];
    let refused = ledger.append_group(group(twice));
    let Err(error) = &refused else { panic!("{refused:?}") };
    assert_eq!(error.to_string(), "command 3 of the group was refused");
    assert_eq!(denied(refused), (2, RefusalCode::Exists));
    assert_eq!(ledger.head().unwrap(), 0);
    assert!(ledger.entities(EVERYTHING).unwrap().is_empty());
    // What the writer has at hand is as it was, too.
    let receipt = ledger.append(request(session(1), 0, create("a"))).unwrap();
    assert_eq!((receipt.record.seq, receipt.record.version), (1, 1));
    let back = [(1, observe("beats", 1)), (1, go(SessionState::Completed, "run.completed.ok"))];
    assert_eq!(denied(ledger.append_group(group(back))), (1, RefusalCode::IllegalEdge));
    let stored = ledger.entity(session(1)).unwrap().unwrap();
    assert!(stored.entity.state.version == 1 && !stored.entity.facts.has("beats"), "{stored:?}");
    let receipt = ledger.append(request(session(1), 0, observe("beats", 2))).unwrap();
    assert_eq!((receipt.record.seq, receipt.record.version), (2, 2));
    check(&ledger);
}

pub(crate) fn a_repeated_group_is_answered_with_the_same_records(shelf: &Shelf) {
    let send = |orders: Vec<(u128, Order)>| shelf.open("board").append_group(group(orders).keyed("both"));
    let first = send(two_runs()).unwrap();
    let again = send(two_runs()).unwrap();
    assert!(first.iter().all(|one| !one.repeated) && again.iter().all(|one| one.repeated));
    let both = |receipts: &[Receipt]| receipts.iter().map(|one| one.record.clone()).collect::<Vec<_>>();
    assert_eq!(both(&first), both(&again));
    // Another request under the same key is refused: shorter, longer, in another order, or with another command.
    let other = |change: fn(&mut Vec<(u128, Order)>)| {
        let mut orders = two_runs();
        change(&mut orders);
        denied(send(orders)).1
    };
    assert_eq!(other(|orders| drop(orders.pop())), RefusalCode::KeyReused);
    assert_eq!(other(|orders| orders.push((3, create("c")))), RefusalCode::KeyReused);
    assert_eq!(other(|orders| orders.swap(0, 1)), RefusalCode::KeyReused);
    assert_eq!(other(|orders| orders[3] = (2, observe("beats", 1))), RefusalCode::KeyReused);
    assert_eq!(other(|orders| orders.insert(0, (3, create("c")))), RefusalCode::KeyReused);
    let ledger = shelf.open("board");
    let alone = keyed(request(session(1), 0, create("a run")), "both");
    assert_eq!(refusal(ledger.append(alone)), RefusalCode::KeyReused);
    assert_eq!(ledger.head().unwrap(), 6);
    // The other way round: the key of one command is not free for a group.
    ledger.append(keyed(request(session(4), 0, create("d")), "one")).unwrap();
    let taken = group([(5, create("e")), (4, create("d"))]).keyed("one");
    assert_eq!(denied(ledger.append_group(taken)), (1, RefusalCode::KeyReused));
    // A refusal does not use the key up.
    let early = group([(6, create("f")), (7, observe("beats", 1))]).keyed("later");
    assert_eq!(denied(ledger.append_group(early.clone())), (1, RefusalCode::NotFound));
    ledger.append(request(session(7), 0, create("g"))).unwrap();
    assert!(ledger.append_group(early).unwrap().iter().all(|one| !one.repeated));
    check(&ledger);
}

pub(crate) fn groups_of_one_batch_do_not_hurt_each_other(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(0), 0, create("shared"))).unwrap();
    // While the store is held the writer waits with the first, and all others share the next transaction.
    let held = shelf.hold("board");
    let first = ledger.submit(request(session(0), 0, observe("beats", 0)));
    let mut tickets = Vec::new();
    for number in (1..=30).step_by(3) {
        let good = group([(number, create("good")), (0, observe("beats", 1)), (number + 1, create("good"))]);
        let bad = group([(number + 2, create("bad")), (0, observe("beats", 2)), (number, create("twice"))]);
        tickets.push((true, ledger.submit_group(good.clone().keyed(format!("group {number}")))));
        tickets.push((false, ledger.submit_group(bad)));
        tickets.push((true, ledger.submit_group(good.keyed(format!("group {number}")))));
        tickets.push((true, ledger.submit_group(group([(0, observe("beats", 3))]))));
    }
    drop(held);
    first.wait().unwrap();
    for (is_good, ticket) in tickets {
        match ticket.wait() {
            Ok(_) if is_good => {}
            refused => assert_eq!(denied(refused), (2, RefusalCode::Exists)),
        }
    }
    assert_eq!(ledger.head().unwrap(), 2 + 10 * (3 + 1), "each good group once, nothing of the bad ones");
    assert_eq!(ledger.entities(EVERYTHING).unwrap().len(), 21);
    check(&ledger);
}

pub(crate) fn of_two_groups_that_race_one_is_recorded(shelf: &Shelf) {
    let handles = [shelf.open("board"), shelf.open("board")];
    for round in 0..10u128 {
        let shared = round << 8;
        handles[0].append(request(session(shared), 0, create("shared"))).unwrap();
        let claim = |number: u128| {
            let mut claim: Request = request(session(shared), 0, observe("claimed", 1));
            claim.command.if_version = Some(1);
            Group::new(request(session(shared + number), 0, create("mine"))).and(claim)
        };
        let answers = std::thread::scope(|scope| {
            let racers: Vec<_> = (1..=6u128)
                .map(|number| (&handles[number as usize % 2], claim(number)))
                .map(|(ledger, claim)| scope.spawn(move || ledger.append_group(claim)))
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "round {round}");
        for answer in lost {
            assert_eq!(denied(answer), (1, RefusalCode::VersionConflict));
        }
        assert_eq!(handles[1].head().unwrap(), 3 * (round as u64 + 1));
    }
    check(&handles[0]);
}

pub(crate) fn a_group_has_a_largest_size(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let many = |count: usize| group((0..count as u128).map(|number| (number, create("one of many"))));
    assert_eq!(denied(ledger.append_group(many(GROUP_MAX + 1))), (GROUP_MAX, RefusalCode::TooLarge));
    assert_eq!(ledger.head().unwrap(), 0);
    assert_eq!(ledger.append_group(many(GROUP_MAX)).unwrap().len(), GROUP_MAX);
    check(&ledger);
}

pub(crate) fn a_group_is_exported_whole_and_half_of_one_is_not_imported(shelf: &Shelf) {
    let from = shelf.open("board");
    from.append(request(session(9), 0, create("alone"))).unwrap();
    from.append_group(group(two_runs()).keyed("both")).unwrap();
    let mut lines = Vec::new();
    let exported = from.export(Range::ALL, &mut |line| {
        lines.push(format!("{line}\n"));
        Ok(())
    });
    exported.unwrap();
    lines.retain(|line| !line.starts_with("{\"checkpoint\""));
    assert!(
        lines[1].contains(r#""group":{"at":0,"of":6}"#) && !lines[1].contains("\"body\""),
        "{}",
        lines[1]
    );
    for to in [shelf.open("copy"), shelf.other().open("copy")] {
        let half = to.import(&mut lines[..4].concat().as_bytes());
        let Err(ImportError::Line { number: 4, problem }) = &half else { panic!("{half:?}") };
        assert_eq!(problem, "its group is torn: 3 of 6 records are there");
        assert_eq!(to.head().unwrap(), 0);
        to.import(&mut lines.concat().as_bytes()).unwrap();
        assert_eq!(records(&to), records(&from));
        let again = to.append_group(group(two_runs()).keyed("both")).unwrap();
        assert!(again.iter().all(|one| one.repeated));
        check(&to);
    }
}
