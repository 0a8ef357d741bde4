//! Claims: a task is picked, decided and recorded in one transaction.

use std::collections::HashSet;
use std::time::Duration;

use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{
    Actor, Create, EntityId, Facts, LeaseTerms, Moment, Observe, Order, RefusalCode, Value, fact,
};
use callboard_ledger::{Claim, ClaimQuery, Group, Ledger, Request};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, Kind};

use crate::requests::{go, request};
use crate::shelf::Shelf;
use crate::{EVERYTHING, refusal};

const LONG: Duration = Duration::from_hours(1);

/// Ids of two kinds with the same number are not the same bits.
fn id(kind: Kind, number: u128) -> EntityId {
    EntityId::new(kind, uuid::Uuid::from_u128(((kind as u128) << 64) | (number + 1)))
}

fn by(class: ActorClass, name: &str, id: EntityId, order: Order) -> Request {
    Request { actor: Actor::new(class, name), ..request(id, 0, order) }
}

fn add(ledger: &Ledger, number: u128, data: Facts) -> EntityId {
    let task = id(Kind::Task, number);
    let order = Order::Create(Create { at: TaskState::Open.into(), reasons: vec![], data });
    ledger.append(by(ActorClass::Operator, "ann", task, order)).unwrap();
    task
}

/// A claim by a worker, who is born with it and remembers the task.
fn claim(worker: u128, query: ClaimQuery) -> Claim {
    let worker = id(Kind::Worker, worker);
    let data = Facts::none().and(fact::TASK, Claim::TASK.to_string());
    let born = Order::Create(Create { at: WorkerState::Starting.into(), reasons: vec![], data });
    let name = worker.to_string();
    let mut taken = by(ActorClass::Worker, &name, Claim::TASK, go(TaskState::Claimed, "task.claimed.ok"));
    taken.command.lease = Some(LeaseTerms::grant(name.clone(), LONG));
    Claim { query, group: Group::new(taken).and(by(ActorClass::Worker, &name, worker, born)) }
}

/// The task that a claim got.
fn next(ledger: &Ledger, worker: u128, query: ClaimQuery) -> Option<EntityId> {
    let receipts = ledger.claim_next(claim(worker, query)).unwrap()?;
    let task = receipts[0].record.id().unwrap();
    let recorded = ledger.entity(id(Kind::Worker, worker)).unwrap().unwrap();
    assert_eq!(recorded.entity.facts.read(fact::TASK), Some(task.to_string().as_str()), "it names the task");
    Some(task)
}

fn any() -> ClaimQuery {
    ClaimQuery::default()
}

pub(crate) fn the_most_urgent_and_then_the_oldest_is_claimed_and_each_once(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let urgent = |priority: i64| Facts::none().and(fact::PRIORITY, priority);
    let late = add(&ledger, 1, urgent(3));
    let plain = add(&ledger, 2, Facts::none());
    let second = add(&ledger, 3, urgent(1));
    let same = add(&ledger, 4, urgent(2));
    let got: Vec<_> = (0..5).map(|worker| next(&ledger, worker, any())).collect();
    assert_eq!(got, [Some(second), Some(plain), Some(same), Some(late), None]);
    assert!(ledger.entity(id(Kind::Worker, 4)).unwrap().is_none(), "nothing is recorded without a task");
    assert!(ledger.verify().unwrap().ok);
}

pub(crate) fn a_claim_gets_what_fits_its_role_labels_and_repository(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let role = |role: &str| Facts::none().and(fact::ROLE, role);
    let label = Facts::none().with("team", "core");
    let front = add(&ledger, 1, role("frontend").and(fact::PRIORITY, 1));
    let labelled = add(&ledger, 2, role("backend").and(fact::LABELS, label));
    let nobodys = add(&ledger, 3, Facts::none().and(fact::REPO, "/a"));
    let back = add(&ledger, 4, role("backend").and(fact::REPO, "/b"));
    let of = |role: &str| ClaimQuery { role: Some(role.to_owned()), ..any() };
    let core = ClaimQuery { labels: vec![("team".to_owned(), "core".to_owned())], ..of("backend") };
    let in_a = ClaimQuery { repos: vec!["/a".to_owned()], ..of("backend") };
    assert_eq!(next(&ledger, 1, core.clone()), Some(labelled));
    assert_eq!(next(&ledger, 2, core), None);
    assert_eq!(next(&ledger, 3, in_a.clone()), Some(nobodys), "a task without a role is for everybody");
    assert_eq!(next(&ledger, 4, in_a), None);
    assert_eq!(next(&ledger, 5, of("backend")), Some(back));
    assert_eq!(next(&ledger, 6, of("backend")), None);
    assert_eq!(next(&ledger, 7, of("frontend")), Some(front));
}

pub(crate) fn what_is_not_there_yet_is_not_claimed(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let waits = Dependency::Person { what: "the design".into() };
    let waiting = add(&ledger, 1, Facts::none().and(fact::UNMET, vec![waits.facts()]));
    let now = request(waiting, 0, go(TaskState::Open, "task.open.retry")).now;
    let at = |at: Moment| Facts::none().and(fact::NOT_BEFORE, at);
    let early = add(&ledger, 2, at(now.plus(Duration::from_secs(1))));
    let due = add(&ledger, 3, at(now));
    assert_eq!(next(&ledger, 1, any()), Some(due));
    assert_eq!(next(&ledger, 2, any()), None);
    for task in [waiting, early] {
        let mut by_hand = by(ActorClass::Worker, "w", task, go(TaskState::Claimed, "task.claimed.ok"));
        by_hand.command.lease = Some(LeaseTerms::grant("w", LONG));
        assert_eq!(refusal(ledger.append(by_hand)), RefusalCode::GuardFailed, "{task}");
    }
    let met = Order::Observe(Observe {
        reasons: vec![],
        data: Facts::none().and(fact::UNMET, Vec::<Value>::new()),
    });
    ledger.append(by(ActorClass::System, "dependencies", waiting, met)).unwrap();
    assert_eq!(next(&ledger, 3, any()), Some(waiting));
}

pub(crate) fn no_two_tasks_under_way_hold_the_same_file(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let files = |paths: &[&str]| {
        Facts::none().and(fact::FILES, paths.iter().map(|path| Value::from(*path)).collect::<Vec<_>>())
    };
    let first = add(&ledger, 1, files(&["src/a.rs"]));
    let below = add(&ledger, 2, files(&["src", "docs"]));
    let other = add(&ledger, 3, files(&["web/x.ts"]));
    assert_eq!(next(&ledger, 1, any()), Some(first));
    assert_eq!(next(&ledger, 2, any()), Some(other), "the older one is passed over");
    assert_eq!(next(&ledger, 3, any()), None);
    let mut by_hand = by(ActorClass::Worker, "w", below, go(TaskState::Claimed, "task.claimed.ok"));
    by_hand.command.lease = Some(LeaseTerms::grant("w", LONG));
    assert_eq!(refusal(ledger.append(by_hand)), RefusalCode::GuardFailed);
    // Done is not merged: the file is held until it is, or until the task is given up.
    let holder = id(Kind::Worker, 1).to_string();
    ledger
        .append(by(ActorClass::Worker, &holder, first, go(TaskState::Done, "task.done.completed")))
        .unwrap();
    assert_eq!(next(&ledger, 3, any()), None);
    ledger
        .append(by(ActorClass::System, "janitor", first, go(TaskState::Closed, "task.closed.verified")))
        .unwrap();
    assert_eq!(next(&ledger, 3, any()), Some(below));
}

pub(crate) fn many_who_claim_at_once_get_different_tasks(shelf: &Shelf) {
    const TASKS: u128 = 60;
    let ledger = shelf.open("board");
    for number in 0..TASKS {
        // Every third one shares a file with the others of its sort, so only one of these can be under way.
        let data =
            if number % 3 == 0 { Facts::none().and(fact::FILES, vec!["shared"]) } else { Facts::none() };
        add(&ledger, number, data);
    }
    let handles = [ledger.clone(), ledger.clone(), shelf.open("board"), shelf.open("board")];
    let got: Vec<EntityId> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4_u128)
            .zip(&handles)
            .map(|(thread, handle)| {
                scope.spawn(move || {
                    (0..TASKS)
                        .map_while(|at| next(handle, 1000 + thread * TASKS + at, any()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        all.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: HashSet<_> = got.iter().collect();
    assert_eq!((got.len(), distinct.len()), (41, 41), "40 without a file and one with it");
    assert!(ledger.verify().unwrap().ok);
}

/// The kernel says which tasks are offered, and each engine finds them in its own way.
pub(crate) fn what_is_offered_is_what_the_kernel_says_also_after_a_rebuild(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let person = Dependency::Person { what: "x".into() }.facts();
    add(&ledger, 1, Facts::none());
    add(&ledger, 2, Facts::none().and(fact::UNMET, vec![person]));
    add(&ledger, 3, Facts::none().and(fact::UNMET, None::<Vec<Value>>).and(fact::TITLE, "a\0b\\u0000c"));
    add(&ledger, 4, Facts::none().and(fact::UNMET, Vec::<Value>::new()).and(fact::PRIORITY, None::<i64>));
    let called_off = add(&ledger, 5, Facts::none());
    ledger
        .append(by(
            ActorClass::Operator,
            "ann",
            called_off,
            go(TaskState::Cancelled, "task.cancelled.operator"),
        ))
        .unwrap();
    let planned =
        Order::Create(Create { at: TaskState::Planned.into(), reasons: vec![], data: Facts::none() });
    ledger.append(by(ActorClass::Operator, "ann", id(Kind::Task, 6), planned)).unwrap();
    ledger.rebuild().unwrap();
    let said: HashSet<EntityId> = ledger
        .entities(EVERYTHING)
        .unwrap()
        .into_iter()
        .filter(|stored| task::offer(&stored.entity).is_some())
        .map(|stored| stored.entity.state.id)
        .collect();
    let found: HashSet<EntityId> = (0..10).map_while(|worker| next(&ledger, worker, any())).collect();
    assert_eq!((found.len(), found), (3, said));
    assert!(ledger.verify().unwrap().ok, "{:?}", ledger.verify().unwrap().problems);
}

pub(crate) fn a_claim_that_its_own_worker_forbids_claims_nothing(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let task = add(&ledger, 1, Facts::none());
    assert_eq!(next(&ledger, 1, any()), Some(task));
    let again = add(&ledger, 2, Facts::none());
    // The worker exists already, so it cannot be born with this claim.
    let refused = ledger.claim_next(claim(1, any()));
    assert!(matches!(refused, Err(callboard_ledger::GroupError::Refused { at: 1, .. })), "{refused:?}");
    let stored = ledger.entity(again).unwrap().unwrap();
    assert_eq!(task::state(&stored.entity), Some(TaskState::Open));
}

/// The store keeps the numbers while tasks end, and finds the tasks by the state they ended in.
pub(crate) fn tasks_that_ended_are_counted_and_listed_also_after_a_rebuild(shelf: &Shelf) {
    let ledger = shelf.open("board");
    assert_eq!(ledger.ended_counts().unwrap(), []);
    let all: Vec<EntityId> = (0..7).map(|number| add(&ledger, number, Facts::none())).collect();
    let call_off =
        |task| by(ActorClass::Operator, "ann", task, go(TaskState::Cancelled, "task.cancelled.operator"));
    for task in [all[5], all[1], all[3], all[0]] {
        ledger.append(call_off(task)).unwrap();
    }
    // Several records of one task in one group: one that ended before, and one that ends in it.
    let note = |task, text: &str| {
        let data = Facts::none().and(fact::TITLE, text);
        by(ActorClass::Operator, "ann", task, Order::Observe(Observe { reasons: vec![], data }))
    };
    ledger.append_group(Group::new(note(all[5], "a")).and(note(all[5], "b"))).unwrap();
    ledger.append_group(Group::new(note(all[6], "a")).and(call_off(all[6]))).unwrap();
    let counts_and_lists = || {
        let listed = |beyond, limit| -> Vec<EntityId> {
            let found = ledger.ended_tasks(TaskState::Cancelled, beyond, limit).unwrap();
            found.into_iter().map(|stored| stored.entity.state.id).collect()
        };
        assert_eq!(ledger.ended_counts().unwrap(), [("cancelled".to_owned(), 5)]);
        assert_eq!(listed(None, 100), [all[6], all[5], all[3], all[1], all[0]]);
        assert_eq!(listed(Some(all[5]), 2), [all[3], all[1]]);
        assert_eq!(ledger.ended_tasks(TaskState::Closed, None, 100).unwrap(), []);
    };
    counts_and_lists();
    ledger.rebuild().unwrap();
    counts_and_lists();
    assert!(ledger.verify().unwrap().ok, "{:?}", ledger.verify().unwrap().problems);
}
