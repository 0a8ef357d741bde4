//! `verify`: what somebody changed who could switch the database's own guards off.

use std::time::Duration;

use callboard_kernel::{
    Actor, Create, EntityId, EvidenceRef, Facts, LeaseTerms, Order, RefusalCode, StateReason, SupervisorSeen,
    Transition,
};
use callboard_ledger::{GuardTally, Ledger, Receipt, Record, Trust};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Guard, Kind, Lifecycle, reason};

use crate::requests::{create, go, observe, request, session};
use crate::shelf::Shelf;
use crate::{records, refusal};

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

/// A task that the system tries again, and a run that an operator ends by hand.
fn guarded(ledger: &Ledger) -> (Receipt, Receipt) {
    let task = EntityId::new(Kind::Task, uuid::Uuid::from_u128(7));
    let by_system = |order: Order| {
        let mut request = request(task, 0, order);
        request.actor = Actor::new(ActorClass::System, "board");
        request
    };
    let open = Order::Create(Create { at: TaskState::Open.into(), reasons: vec![], data: Facts::none() });
    ledger.append(by_system(open)).unwrap();
    let mut claim = by_system(go(TaskState::Claimed, "task.claimed.ok"));
    claim.command.lease = Some(LeaseTerms::grant("board", Duration::from_hours(1)));
    ledger.append(claim).unwrap();
    let mut failed = by_system(go(TaskState::Failed, "task.failed.reported"));
    failed.actor = Actor::new(ActorClass::Worker, "board");
    ledger.append(failed).unwrap();
    let unnumbered = ledger.append(by_system(go(TaskState::Open, "task.open.retry")));
    assert_eq!(refusal(unnumbered), RefusalCode::GuardFailed, "it must say which retry it is");
    let Order::Transition(retry) = go(TaskState::Open, "task.open.retry") else { unreachable!() };
    let retried = ledger.append(by_system(Order::Transition(retry.with(Facts::none().with("retries", 1)))));
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let vouched = EvidenceRef::human_assertion("I looked");
    let why = StateReason::new(reason("run.cancelled.operator").unwrap(), "enough").shown_by(vouched);
    let to: Lifecycle = SessionState::Cancelled.into();
    let mut by_hand = request(session(1), 0, Order::Transition(Transition::to(to, why)));
    by_hand.actor = Actor::new(ActorClass::Operator, "ann");
    assert_eq!(refusal(ledger.append(by_hand.clone())), RefusalCode::GuardUnanswered, "nobody looked");
    by_hand.command.testimony.supervisor = Some(SupervisorSeen::Absent);
    (retried.unwrap(), ledger.append(by_hand).unwrap())
}

pub(crate) fn a_guard_of_the_log_is_asked_again_and_another_is_the_word_of_its_writer(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let (retried, by_hand) = guarded(&ledger);
    assert!(retried.record.line().unwrap().contains("\"guards\":[\"retries_left\"]"));
    assert!(by_hand.record.event().unwrap().guards.has(Guard::NoLivingSupervisor));
    let tally = |guard, proved, vouched, unnamed| GuardTally { guard, proved, vouched, unnamed };
    let report = ledger.verify().unwrap();
    let seen = tally(Guard::NoLivingSupervisor, 0, 1, 0);
    assert!(report.ok, "{report:?}");
    let claimed = tally(Guard::HasNextMove, 1, 0, 0);
    let held = tally(Guard::HeldByActor, 0, 1, 0);
    assert_eq!(report.guards, [seen, tally(Guard::RetriesLeft, 1, 0, 0), held, claimed]);

    let mut lines = String::new();
    ledger
        .export(callboard_ledger::Range::ALL, &mut |line| {
            lines.push_str(line);
            lines.push('\n');
            Ok(())
        })
        .unwrap();
    for copy in [shelf.open("copy"), shelf.other().open("copy")] {
        copy.import(&mut lines.as_bytes()).unwrap();
        assert_eq!(records(&copy), records(&ledger));
        assert_eq!(copy.verify().unwrap().guards, report.guards);
    }

    // Whoever has the database and knows how records are hashed can write what the kernel would refuse.
    let mut forged = records(&ledger);
    let before = forged[2].hash;
    forged[3].body = forged[3].body.replace("\"retries\":1", "\"retries\":4");
    forged[3].hash = forged[3].hash_after(before, &mut Vec::new());
    let told = "its guard retries_left did not hold: the command does not record that this is retry 1";
    let refused = shelf.open("forged").import(&mut file(&forged).as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), format!("line 4 cannot be taken: {told}"));
    let hash = forged[3].hash;
    shelf.unguarded(
        "board",
        &format!("UPDATE ledger SET body = '{}', hash = {} WHERE seq = 4", forged[3].body, shelf.bytes(hash)),
    );
    let report = ledger.verify().unwrap();
    assert!(report.problems.iter().any(|found| found.problem == told), "{report:?}");
}

/// A file that holds these records.
fn file(records: &[Record]) -> String {
    records.iter().map(|record| record.line().unwrap() + "\n").collect()
}

pub(crate) fn a_record_of_a_release_without_guards_is_taken_and_counted(shelf: &Shelf) {
    let ledger = shelf.open("board");
    guarded(&ledger);
    let mut older = records(&ledger);
    let before = older[4].hash;
    older[5].body = older[5].body.replace(",\"guards\":[\"no_living_supervisor\"]", "");
    older[5].hash = older[5].hash_after(before, &mut Vec::new());
    let copy = shelf.open("older");
    copy.import(&mut file(&older).as_bytes()).unwrap();
    let report = copy.verify().unwrap();
    assert!(report.ok, "{report:?}");
    let unnamed = GuardTally { guard: Guard::NoLivingSupervisor, proved: 0, vouched: 0, unnamed: 1 };
    assert_eq!(report.guards[0], unnamed);
}
