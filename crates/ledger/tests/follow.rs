//! Whoever follows the log is woken by its own process, by others, and by a server that came back.

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/requests.rs"]
mod requests;

use std::time::{Duration, Instant};

use callboard_ledger::{Ledger, Options, Page, RecordScope};
use cluster::Cluster;
use requests::{observe, request, session, whole_run};

/// Longer than any wake-up takes; a test that needs all of it has failed.
const LONG: Duration = Duration::from_secs(30);
/// Shorter than the looks that are taken without a wake-up.
const PROMPT: Duration = Duration::from_secs(1);

fn open(store: &str) -> Ledger {
    match Ledger::connect(store, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{error:?}"),
    }
}

/// Follows from the beginning until so many records were seen.
fn follow(ledger: &Ledger, count: u64) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    let until = Instant::now() + LONG;
    while (seen.len() as u64) < count && Instant::now() < until {
        let after = seen.last().copied().unwrap_or(0);
        let Ok(_) = ledger.wait_beyond(after, LONG) else { continue };
        let page = ledger.records(Page { after, limit: 100, scope: RecordScope::All });
        seen.extend(page.into_iter().flatten().map(|record| record.seq));
    }
    seen
}

fn record(ledger: &Ledger, beats: i64) {
    for order in whole_run().into_iter().chain((0..beats).map(|beat| observe("beat", beat))) {
        ledger.append(request(session(1), 0, order)).unwrap_or_else(|error| panic!("{error:?}"));
    }
}

#[test]
fn a_follower_of_a_file_sees_its_own_and_others_and_does_not_wait_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db").display().to_string();
    let (own, other) = (open(&path), open(&path));
    let began = Instant::now();
    assert_eq!(own.wait_beyond(0, Duration::from_millis(60)).unwrap(), 0);
    assert!(began.elapsed() >= Duration::from_millis(60));
    std::thread::scope(|scope| {
        let followers: Vec<_> = [&own, &other].map(|ledger| scope.spawn(|| follow(ledger, 23))).into();
        record(&own, 20);
        for follower in followers {
            assert_eq!(follower.join().unwrap(), (1..=23).collect::<Vec<_>>());
        }
    });
    assert_eq!(other.wait_beyond(22, LONG).unwrap(), 23, "what is there is not waited for");
}

#[test]
fn a_follower_on_a_server_is_woken_and_survives_restarts_without_loss_or_repetition() {
    let cluster = Cluster::start();
    let url = cluster.database("follow");
    let (writer, follower) = (open(&url), open(&url));
    record(&writer, 0);
    // The first wait sets the listener up.
    assert_eq!(follower.wait_beyond(2, LONG).unwrap(), 3);
    let mut slow = 0;
    for seq in 3..13 {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let grown = follower.wait_beyond(seq, LONG).unwrap();
                (grown, Instant::now())
            });
            let sent = request(session(1), 0, observe("beat", seq as i64));
            writer.append(sent).unwrap();
            let written = Instant::now();
            let (grown, woken) = waiting.join().unwrap();
            assert_eq!(grown, seq + 1);
            slow += usize::from(woken.saturating_duration_since(written) > PROMPT);
        });
    }
    assert!(slow <= 1, "{slow} of 10 were not woken but found it by themselves");
    std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&follower, 33));
        for beat in 0..20 {
            if beat % 10 == 5 {
                cluster.crash_and_restart();
            }
            let mut sent = request(session(1), 0, observe("beat", beat));
            sent.command.key = Some(format!("beat {beat}"));
            writer.append(sent).unwrap();
        }
        assert_eq!(following.join().unwrap(), (1..=33).collect::<Vec<_>>());
    });
}
