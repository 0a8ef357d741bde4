//! Leases and the steps of services: one holder at a time, by the clock of the store, and an old epoch is worth nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use callboard_kernel::Moment;
use callboard_ledger::{Clock, Lease, LeaseError, Ledger, Options, ReadError, ServiceStep, TakenLease};

use crate::requests::{create, request, session};
use crate::shelf::Shelf;

const LONG: Duration = Duration::from_hours(1);
/// Over before anybody can ask whether it is.
const SHORT: Duration = Duration::from_millis(1);

fn take(ledger: &Ledger, holder: &str, length: Duration) -> Lease {
    match ledger.take_lease("services", holder, length).unwrap() {
        TakenLease::Granted(lease) => lease,
        TakenLease::Held(held) => panic!("{held:?}"),
    }
}

/// Takes a lease that is about to end, as soon as the clock of the store says so.
fn take_over(ledger: &Ledger, holder: &str) -> Lease {
    let begun = Instant::now();
    loop {
        match ledger.take_lease("services", holder, LONG).unwrap() {
            TakenLease::Granted(lease) => return lease,
            TakenLease::Held(held) => assert!(begun.elapsed() < LONG, "{held:?}"),
        }
    }
}

/// Who holds it instead of somebody whose lease is over.
fn instead<T: std::fmt::Debug>(answer: Result<T, LeaseError>) -> Option<(String, u64)> {
    let Err(LeaseError::Lost { held, .. }) = answer else { panic!("{answer:?}") };
    held.map(|held| (held.holder, held.epoch))
}

fn step(position: u64, error: Option<&str>) -> ServiceStep {
    let error = error.map(str::to_owned);
    ServiceStep { service: "reaper".to_owned(), position, at: Moment::from_micros(7), error }
}

pub(crate) fn a_lease_has_one_holder_and_the_next_one_has_a_higher_epoch(shelf: &Shelf) {
    let (one, other) = (shelf.open("board"), shelf.open("board"));
    let first = take(&one, "a", LONG);
    assert_eq!((first.epoch, first.holder.as_str()), (1, "a"));
    assert_eq!(other.take_lease("services", "b", LONG).unwrap(), TakenLease::Held(first.clone()));
    let renewed = one.renew_lease(&first, LONG).unwrap();
    assert!(renewed.epoch == 1 && renewed.until >= first.until);
    let seen = other.leases().unwrap();
    assert!(seen.len() == 1 && seen[0].lease == renewed && seen[0].left > LONG / 2, "{seen:?}");
    // Another lease is another matter.
    assert!(other.take_lease("janitor", "b", LONG).unwrap().granted().is_some());
    one.give_up_lease(&renewed).unwrap();
    one.give_up_lease(&renewed).unwrap();
    let second = take(&other, "b", LONG);
    assert_eq!(second.epoch, 2);
    assert_eq!(instead(one.renew_lease(&renewed, LONG)), Some(("b".to_owned(), 2)));
    assert_eq!(instead(one.give_up_lease(&renewed)), Some(("b".to_owned(), 2)));
    drop((one, other));
    let again = shelf.open("board");
    assert_eq!(again.take_lease("services", "c", LONG).unwrap(), TakenLease::Held(second));
    assert!(again.verify().unwrap().ok);
}

pub(crate) fn a_lease_that_ended_is_taken_over_and_its_holder_is_fenced(shelf: &Shelf) {
    let (one, other) = (shelf.open("board"), shelf.open("board"));
    let first = take(&one, "a", SHORT);
    let second = take_over(&other, "b");
    assert_eq!(second.epoch, 2);
    assert_eq!(instead(one.renew_lease(&first, LONG)), Some(("b".to_owned(), 2)));
    let forged = Lease { epoch: 2, ..first };
    assert_eq!(instead(one.renew_lease(&forged, LONG)), Some(("b".to_owned(), 2)), "the holder counts too");
    assert_eq!(other.leases().unwrap()[0].lease.epoch, 2);
}

pub(crate) fn of_many_who_want_a_lease_exactly_one_has_it(shelf: &Shelf) {
    let handles = [shelf.open("board"), shelf.open("board")];
    for round in 1..=5 {
        let name = format!("lease {round}");
        let granted: Vec<Lease> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|number: usize| {
                    let (ledger, name) = (&handles[number % 2], &name);
                    scope.spawn(move || ledger.take_lease(name, &format!("host/{number}"), LONG).unwrap())
                })
                .collect();
            asking.into_iter().filter_map(|one| one.join().unwrap().granted()).collect()
        });
        assert!(granted.len() == 1 && granted[0].epoch == 1, "{granted:?}");
    }
}

pub(crate) fn a_step_is_recorded_only_by_whoever_holds_the_lease(shelf: &Shelf) {
    let ledger = shelf.open("board");
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let first = take(&ledger, "a", LONG);
    ledger.record_service_step(&first, step(1, None)).unwrap();
    let renewed = take(&ledger, "a", SHORT);
    assert_eq!(renewed.epoch, 2, "taken again, it has a new epoch");
    assert!(matches!(ledger.record_service_step(&first, step(9, None)), Err(LeaseError::Lost { .. })));
    let second = take_over(&ledger, "b");
    assert_eq!(instead(ledger.record_service_step(&renewed, step(9, None))), Some(("b".to_owned(), 3)));
    ledger.record_service_step(&second, step(2, Some("no route\0to host"))).unwrap();
    drop(ledger);
    assert_eq!(shelf.open("board").service_steps().unwrap(), [step(2, Some("no route\0to host"))]);
}

pub(crate) fn whoever_only_reads_sees_leases_and_steps_and_takes_none(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let held = take(&ledger, "a", LONG);
    ledger.record_service_step(&held, step(2, None)).unwrap();
    drop(ledger);
    let reader = shelf.read("board").unwrap();
    assert_eq!(reader.service_steps().unwrap(), [step(2, None)]);
    assert_eq!(reader.leases().unwrap()[0].lease, held);
    let refused = reader.take_lease("services", "c", LONG);
    assert!(matches!(refused, Err(LeaseError::Store(ReadError::Unsupported { .. }))), "{refused:?}");
    let lazy = shelf.look("board");
    assert_eq!(lazy.take_lease("services", "c", LONG).unwrap(), TakenLease::Held(held));
}

pub(crate) fn a_lease_has_a_name_a_holder_and_a_length(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let day = Duration::from_hours(24);
    for (name, holder, length) in [
        ("", "a", LONG),
        ("services", "", LONG),
        ("serv\0ices", "a", LONG),
        ("services", "a", Duration::ZERO),
        ("services", "a", day + SHORT),
        (&session(1).to_string(), "a", LONG),
    ] {
        let refused = ledger.take_lease(name, holder, length);
        assert!(
            matches!(refused, Err(LeaseError::Invalid(_))),
            "{name:?} {holder:?} {length:?}: {refused:?}"
        );
    }
    assert!(ledger.take_lease("services", "a", day).unwrap().granted().is_some());
}

pub(crate) fn the_database_gives_no_epoch_twice(shelf: &Shelf) {
    let ledger = shelf.open("board");
    let first = take(&ledger, "a", LONG);
    for sql in [
        "UPDATE lease SET epoch = 0",
        "UPDATE lease SET holder = 'eve'",
        "UPDATE lease SET name = 'other'",
        "DELETE FROM lease",
    ] {
        let refused = shelf.sql("board", sql);
        assert!(refused.is_err(), "{sql} was taken");
    }
    assert_eq!(ledger.leases().unwrap()[0].lease, first);
    // What renewing writes, a shell may write too: the refusals above are not for another reason.
    shelf.sql("board", "UPDATE lease SET until = until + 1").unwrap();
    shelf.unguarded("board", "UPDATE lease SET epoch = 7");
    assert_eq!(instead(ledger.renew_lease(&first, LONG)), Some(("a".to_owned(), 7)));
}

#[test]
fn a_store_that_is_a_file_judges_leases_by_the_clock_that_it_was_given() {
    let shelf = Shelf::files();
    let second = Arc::new(AtomicI64::new(0));
    let read = Arc::clone(&second);
    let clock = Clock::new(move || Moment::from_micros(read.load(Ordering::Relaxed) * 1_000_000));
    let ledger = shelf.open_with("board", Options { clock, ..Options::default() });
    let first = take(&ledger, "a", Duration::from_secs(30));
    assert_eq!(first.until, Moment::from_micros(30_000_000));
    second.store(29, Ordering::Relaxed);
    assert!(ledger.take_lease("services", "b", LONG).unwrap().granted().is_none());
    second.store(30, Ordering::Relaxed);
    assert_eq!(ledger.leases().unwrap()[0].left, Duration::ZERO);
    assert_eq!(instead(ledger.renew_lease(&first, LONG)), None, "it ended, though nobody took it");
    let next = take(&ledger, "b", Duration::from_secs(30));
    // Set back, the clock says that the first one lasts; its epoch says that it does not.
    second.store(10, Ordering::Relaxed);
    assert_eq!(instead(ledger.renew_lease(&first, LONG)), Some(("b".to_owned(), next.epoch)));
}
