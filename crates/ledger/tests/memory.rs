//! What only a store in memory has: a medium that fails as it is told to, a standby that lags, and a handle without a thread.

#![cfg(test)]

#[path = "common/requests.rs"]
mod requests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callboard_ledger::{AppendError, Fate, Fault, Ledger, Medium, Memory, Request};

use requests::{create, observe, request, session, whole_run};

/// Fails as it is told to.
#[derive(Default)]
struct Told {
    fates: Mutex<Vec<Fate>>,
    lag: AtomicU64,
    commits: AtomicU64,
}

impl Medium for Told {
    fn committing(&self) -> Fate {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or(Fate::Kept)
    }

    fn committed(&self) {
        self.commits.fetch_add(1, Ordering::SeqCst);
    }

    fn lag(&self) -> u64 {
        self.lag.load(Ordering::SeqCst)
    }
}

fn keyed(key: &str) -> Request {
    let mut request = request(session(1), 0, create("a"));
    request.command.key = Some(key.to_owned());
    request
}

#[test]
fn a_commit_fails_as_the_medium_says_and_its_key_tells_whether_it_is_there() {
    let told = Arc::new(Told::default());
    let memory = Memory::on("board", Arc::clone(&told) as Arc<dyn Medium>);
    let ledger = Ledger::direct(&memory);
    let send = |fate| {
        told.fates.lock().unwrap().push(fate);
        ledger.append(keyed("begin"))
    };
    for (fate, expected) in [
        (Fate::Busy, Fault::Busy),
        (Fate::Full, Fault::Full),
        (Fate::NotWritten, Fault::NotWritten("the sync failed".to_owned())),
        (Fate::UnknownLost, Fault::Unknown("the answer was lost".to_owned())),
    ] {
        let answer = send(fate);
        assert!(matches!(&answer, Err(AppendError::Fault(fault)) if *fault == expected), "{answer:?}");
        assert_eq!(ledger.head().unwrap(), 0, "{fate:?}");
    }
    assert!(matches!(send(Fate::UnknownKept), Err(AppendError::Fault(Fault::Unknown(_)))));
    assert_eq!(ledger.head().unwrap(), 1, "it is there, and nobody was told");
    assert!(send(Fate::Kept).unwrap().repeated, "whoever asks again learns it");
    assert_eq!(told.commits.load(Ordering::SeqCst), 6);
}

#[test]
fn a_standby_lags_and_never_goes_back() {
    let told = Arc::new(Told::default());
    let memory = Memory::on("board", Arc::clone(&told) as Arc<dyn Medium>);
    let (ledger, standby) = (Ledger::direct(&memory), Ledger::standby(&memory));
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    told.lag.store(2, Ordering::SeqCst);
    assert_eq!((standby.head().unwrap(), ledger.head().unwrap()), (1, 3));
    assert_eq!(standby.entity(session(1)).unwrap(), ledger.entity_at(session(1), 1).unwrap());
    told.lag.store(0, Ordering::SeqCst);
    assert_eq!(standby.entity(session(1)).unwrap(), ledger.entity(session(1)).unwrap());
    told.lag.store(3, Ordering::SeqCst);
    assert_eq!(standby.head().unwrap(), 3);
    assert!(standby.append(request(session(1), 0, observe("beats", 1))).is_err());
}

#[test]
fn a_direct_handle_answers_before_it_returns_and_never_waits() {
    let memory = Memory::new("board");
    let ledger = Ledger::direct(&memory);
    let tickets = ledger.submit_together(whole_run().map(|order| request(session(1), 0, order)).into());
    assert_eq!(ledger.head().unwrap(), 3);
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    assert_eq!(ledger.wait_beyond(3, Duration::from_secs(600)).unwrap(), 3);
    let report = Ledger::direct(&memory).verify().unwrap();
    assert!(report.ok && report.unsealed == 0 && report.records == 3, "{report:?}");
}

#[test]
fn two_stores_with_one_name_write_the_same_bytes() {
    let write = || {
        let memory = Memory::new("seed 7");
        let ledger = Ledger::direct(&memory);
        for order in whole_run() {
            ledger.append(request(session(1), 0, order)).unwrap();
        }
        ledger.root().unwrap().unwrap()
    };
    assert_eq!(write(), write());
}
