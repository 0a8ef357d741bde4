//! Leases of entities: granted, carried and ended with the record of a command, in its transaction.

use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Create, EntityId, Facts, LeaseChange, LeaseTerms, Observe, Order, RefusalCode, fact,
};
use callboard_ledger::{AppendError, Group, GroupError, Lease, LeaseError, Ledger, Receipt, Request};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Guard, Kind};

use crate::requests::{go, request};
use crate::shelf::Shelf;
use crate::{keyed, records, refusal};

const LONG: Duration = Duration::from_hours(1);
/// Over before anybody can ask whether it is.
const SHORT: Duration = Duration::from_millis(1);

fn task(number: u128) -> EntityId {
    EntityId::new(Kind::Task, uuid::Uuid::from_u128(number))
}

fn by(class: ActorClass, name: &str, id: EntityId, order: Order) -> Request {
    Request { actor: Actor::new(class, name), ..request(id, 0, order) }
}

fn with(mut request: Request, terms: LeaseTerms) -> Request {
    request.command.lease = Some(terms);
    request
}

fn open(id: EntityId) -> Request {
    let order = Order::Create(Create { at: TaskState::Open.into(), reasons: vec![], data: Facts::none() });
    by(ActorClass::System, "board", id, order)
}

/// A claim by a worker, which grants the lease.
fn claim(id: EntityId, worker: &str, length: Duration) -> Request {
    let order = go(TaskState::Claimed, "task.claimed.ok");
    with(by(ActorClass::Worker, worker, id, order), LeaseTerms::grant(worker, length))
}

fn start(id: EntityId, worker: &str) -> Request {
    by(ActorClass::Worker, worker, id, go(TaskState::InProgress, "task.in_progress.started"))
}

fn note(id: EntityId, worker: &str) -> Request {
    let order = Order::Observe(Observe { reasons: vec![], data: Facts::none().with("beats", 1) });
    by(ActorClass::Worker, worker, id, order)
}

fn orphan(id: EntityId) -> Request {
    by(ActorClass::System, "reaper", id, go(TaskState::Orphaned, "task.orphaned.heartbeat_lost"))
}

/// What a refusal says, and its code.
fn refused(answer: Result<Receipt, AppendError>) -> (RefusalCode, String) {
    let Err(AppendError::Refused(refusal)) = answer else { panic!("{answer:?}") };
    (refusal.code, refusal.message)
}

fn facts(ledger: &Ledger, id: EntityId) -> (Option<String>, Option<i64>) {
    let facts = ledger.entity(id).unwrap().unwrap().entity.facts;
    (facts.read(fact::LEASE_HOLDER).map(str::to_owned), facts.read(fact::LEASE_EPOCH))
}

fn held(ledger: &Ledger, id: EntityId) -> Option<Lease> {
    ledger.leases().unwrap().into_iter().map(|seen| seen.lease).find(|lease| lease.name == id.to_string())
}

pub(crate) fn a_claim_grants_a_lease_and_only_its_holder_goes_on(shelf: &Shelf) {
    let (ledger, other) = (shelf.open("board"), shelf.open("board"));
    ledger.append(open(task(1))).unwrap();
    let (code, told) = refused(ledger.append(start(task(1), "w1")));
    assert_eq!(code, RefusalCode::IllegalEdge, "{told}");
    ledger.append(claim(task(1), "w1", LONG)).unwrap();
    assert_eq!(facts(&ledger, task(1)), (Some("w1".to_owned()), Some(1)));
    let lease = held(&other, task(1)).unwrap();
    assert_eq!((lease.holder.as_str(), lease.epoch), ("w1", 1));
    let (code, told) = refused(other.append(start(task(1), "w2")));
    assert!(
        code == RefusalCode::GuardFailed && told.contains("w1 holds its lease (epoch 1) until "),
        "{told}"
    );
    // Renewing is no record.
    let head = ledger.head().unwrap();
    let renewed = ledger.renew_lease(&lease, LONG * 2).unwrap();
    assert!(renewed.until > lease.until && ledger.head().unwrap() == head);
    let started = other.append(start(task(1), "w1")).unwrap();
    assert!(started.record.event().unwrap().guards.has(Guard::HeldByActor));
    let (code, told) = refused(ledger.append(orphan(task(1))));
    assert!(code == RefusalCode::GuardFailed && told.contains("w1 holds"), "{told}");
    let report = ledger.verify().unwrap();
    assert!(report.ok, "{report:?}");
    drop((ledger, other));
    let again = shelf.open("board");
    again.rebuild().unwrap();
    assert_eq!(facts(&again, task(1)), (Some("w1".to_owned()), Some(1)));
}

pub(crate) fn a_stale_epoch_is_refused_and_names_the_holder(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    ledger.append(claim(task(1), "w1", SHORT)).unwrap();
    let begun = Instant::now();
    // The next one takes it as soon as the clock of the store says that the lease is over.
    loop {
        let order = Order::Observe(Observe { reasons: vec![], data: Facts::none() });
        let grant = with(by(ActorClass::Worker, "w2", task(1), order), LeaseTerms::grant("w2", LONG));
        match ledger.append(grant) {
            Ok(_) => break,
            answer => assert_eq!(refused(answer).0, RefusalCode::LeaseHeld),
        }
        assert!(begun.elapsed() < LONG);
    }
    assert_eq!(facts(&ledger, task(1)), (Some("w2".to_owned()), Some(2)));
    let before = records(&ledger);
    let (code, told) = refused(ledger.append(with(note(task(1), "w1"), LeaseTerms::carrying(1))));
    assert_eq!(code, RefusalCode::LeaseLost);
    assert!(told.contains("the lease with epoch 1 is over: w2 holds its lease (epoch 2) until "), "{told}");
    assert_eq!(records(&ledger), before, "a refusal leaves nothing behind");
    let stale = Lease { epoch: 1, holder: "w1".to_owned(), ..held(&ledger, task(1)).unwrap() };
    assert!(matches!(ledger.renew_lease(&stale, LONG), Err(LeaseError::Lost { held: Some(_), .. })));
    assert!(matches!(ledger.give_up_lease(&stale), Err(LeaseError::Invalid(_))), "that is a command");
    ledger.append(with(note(task(1), "w2"), LeaseTerms::carrying(2))).unwrap();
}

pub(crate) fn a_lease_ends_with_a_record(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    ledger.append(claim(task(1), "w1", LONG)).unwrap();
    let end = |epoch| LeaseTerms { epoch, change: LeaseChange::End };
    let (code, told) = refused(ledger.append(with(note(task(1), "w2"), end(None))));
    assert_eq!(code, RefusalCode::LeaseHeld, "{told}");
    let release = by(ActorClass::Worker, "w1", task(1), go(TaskState::Open, "task.open.released"));
    ledger.append(with(release, LeaseTerms::carrying(1).and_end())).unwrap();
    assert_eq!((facts(&ledger, task(1)), held(&ledger, task(1))), ((None, Some(1)), None));
    // The next one has another epoch, and a person may take it away.
    ledger.append(claim(task(1), "w2", LONG)).unwrap();
    assert_eq!(facts(&ledger, task(1)), (Some("w2".to_owned()), Some(2)));
    let taken = by(ActorClass::Operator, "ann", task(1), go(TaskState::Open, "task.open.reassigned"));
    ledger.append(with(taken, end(None))).unwrap();
    assert_eq!((facts(&ledger, task(1)), held(&ledger, task(1))), ((None, Some(2)), None));
    let report = ledger.verify().unwrap();
    assert!(report.ok, "{report:?}");
}

/// A person may move a task by hand, without a word about its lease.
pub(crate) fn a_move_to_where_nobody_holds_a_task_ends_its_lease(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    ledger.append(claim(task(1), "w1", LONG)).unwrap();
    ledger.append(start(task(1), "w1")).unwrap();
    assert!(held(&ledger, task(1)).is_some(), "a move that keeps the holder keeps the lease");
    let taken = || by(ActorClass::Operator, "ann", task(1), go(TaskState::Open, "task.open.reassigned"));
    assert!(!ledger.append(keyed(taken(), "taken")).unwrap().repeated);
    assert_eq!((facts(&ledger, task(1)), held(&ledger, task(1))), ((None, Some(1)), None));
    assert!(ledger.append(keyed(taken(), "taken")).unwrap().repeated, "the same move under the same key");
    // Whoever held it writes no more, and the next one need not wait.
    let late = with(note(task(1), "w1"), LeaseTerms::carrying(1));
    assert_eq!(refused(ledger.append(late)).0, RefusalCode::LeaseLost);
    ledger.append(claim(task(1), "w2", LONG)).unwrap();
    // A holder that reports its end without a word about the lease has ended it too.
    let order = go(TaskState::Blocked, "task.blocked.dependency");
    let Order::Transition(mut order) = order else { panic!("it is a move") };
    order.data = order.data.and(fact::BLOCKED_BY, vec!["the network"]);
    let blocked = by(ActorClass::Worker, "w2", task(1), Order::Transition(order));
    ledger.append(with(blocked, LeaseTerms::carrying(2))).unwrap();
    assert_eq!((facts(&ledger, task(1)), held(&ledger, task(1))), ((None, Some(2)), None));
    let report = ledger.verify().unwrap();
    assert!(report.ok, "{report:?}");
}

pub(crate) fn a_lease_of_a_group_stands_or_falls_with_it(shelf: &Shelf) {
    let ledger = shelf.open("board");
    for number in 1..=2 {
        ledger.append(open(task(number))).unwrap();
    }
    let torn = Group::new(claim(task(1), "w1", LONG)).and(start(task(2), "w1"));
    let Err(GroupError::Refused { at: 1, .. }) = ledger.append_group(torn) else { panic!("it was taken") };
    assert_eq!((facts(&ledger, task(1)), held(&ledger, task(1))), ((None, None), None));
    // The second command sees the lease that the first one grants.
    let whole = || Group::new(claim(task(1), "w1", LONG)).and(start(task(1), "w1")).keyed("claim");
    let taken = ledger.append_group(whole()).unwrap();
    assert_eq!(facts(&ledger, task(1)), (Some("w1".to_owned()), Some(1)));
    let again = ledger.append_group(whole()).unwrap();
    assert!(again.iter().all(|receipt| receipt.repeated), "{again:?}");
    assert!(again.iter().zip(&taken).all(|(again, taken)| again.record == taken.record));
    // So is a claim that stands alone, though the lease ended meanwhile.
    let alone = || keyed(claim(task(2), "w1", LONG), "k");
    let first = ledger.append(alone()).unwrap();
    let ended = LeaseTerms { epoch: Some(1), change: LeaseChange::End };
    ledger.append(with(note(task(2), "w1"), ended)).unwrap();
    assert_eq!(ledger.append(alone()).unwrap().record, first.record);
    assert_eq!(held(&ledger, task(2)), None);
}

pub(crate) fn nobody_says_for_the_store_who_holds_a_lease(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    for name in [fact::LEASE_HOLDER.name(), fact::LEASE_EPOCH.name(), fact::LEASE_MS.name()] {
        let order = Order::Observe(Observe { reasons: vec![], data: Facts::none().with(name, 7) });
        let forged = by(ActorClass::Worker, "w1", task(1), order);
        assert_eq!(refusal(ledger.append(forged)), RefusalCode::NotPermitted, "{name}");
    }
    for (holder, length) in [("", LONG), ("w", Duration::ZERO), ("w", Duration::from_hours(25))] {
        let grant = with(note(task(1), "w1"), LeaseTerms::grant(holder, length));
        assert_eq!(refusal(ledger.append(grant)), RefusalCode::TooLarge, "{holder:?} {length:?}");
    }
    let (code, told) = refused(ledger.append(with(note(task(1), "w1"), LeaseTerms::carrying(1))));
    assert!(code == RefusalCode::LeaseLost && told.contains("nobody holds its lease"), "{told}");
}

pub(crate) fn epochs_go_on_after_an_import(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    ledger.append(claim(task(1), "w1", LONG)).unwrap();
    let mut lines = String::new();
    ledger
        .export(callboard_ledger::Range::ALL, &mut |line| {
            lines.push_str(line);
            lines.push('\n');
            Ok(())
        })
        .unwrap();
    let copy = shelf.open("copy");
    copy.import(&mut lines.as_bytes()).unwrap();
    // A lease is not carried to another store; what was granted before is known there.
    assert_eq!((facts(&copy, task(1)).1, held(&copy, task(1))), (Some(1), None));
    assert_eq!(
        refused(copy.append(with(note(task(1), "w1"), LeaseTerms::carrying(1)))).0,
        RefusalCode::LeaseLost
    );
    copy.append(with(note(task(1), "w2"), LeaseTerms::grant("w2", LONG))).unwrap();
    assert_eq!(facts(&copy, task(1)), (Some("w2".to_owned()), Some(2)));
    assert!(copy.verify().unwrap().ok);
}

pub(crate) fn a_lease_that_no_record_granted_is_found(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(open(task(1))).unwrap();
    ledger.append(claim(task(1), "w1", LONG)).unwrap();
    for forged in ["UPDATE lease SET holder = 'eve'", "UPDATE lease SET holder = 'w1', epoch = 7"] {
        shelf.unguarded("board", forged);
        let report = ledger.verify().unwrap();
        let told =
            report.problems.iter().any(|found| found.problem.starts_with("no record granted the lease of"));
        assert!(!report.ok && told, "{forged}: {report:?}");
    }
}
