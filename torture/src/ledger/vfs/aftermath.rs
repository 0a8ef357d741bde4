//! What must hold after a fault, and a way to check many faults on all cores.
//!
//! Invariant: the store is asked through the ledger's own handle, and what must have survived a power cut also through
//! SQLite alone, so that a ledger that mends on opening cannot hide what was missing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_ledger::{Hash, Ledger, Listing, Options, Page, Record, RecordScope};
use rusqlite::{Connection, OpenFlags};

use super::disk::Disk;
use super::platter::Image;
use super::register::Mount;
use crate::harness::driver::Tally;

/// A store that was opened and found sound.
pub(crate) struct Sound {
    pub(crate) ledger: Ledger,
    pub(crate) records: Vec<Record>,
}

impl Sound {
    /// Opens the store on a disk and checks everything that can be checked without knowing its history.
    pub(crate) fn open(path: &Path, mount: &Mount) -> Result<Self, String> {
        Self::check(open_store(path, mount)?)
    }

    /// Checks an open store.
    pub(crate) fn check(ledger: Ledger) -> Result<Self, String> {
        let failed = |what: &'static str| move |error| format!("{what} failed: {}", chain(&error));
        if let Some(problem) = ledger.integrity().map_err(failed("integrity_check"))? {
            return Err(format!("integrity_check: {problem}"));
        }
        let report = ledger.verify().map_err(failed("verify"))?;
        if !report.ok {
            return Err(format!("verify: {:?}", report.problems));
        }
        let everything = Listing { ended: true, ..Listing::default() };
        let stored = ledger.entities(everything).map_err(failed("reading the view"))?;
        ledger.rebuild().map_err(failed("rebuilding"))?;
        let rebuilt = ledger.entities(everything).map_err(failed("reading the rebuilt view"))?;
        if stored != rebuilt {
            return Err("the rebuilt view is not the stored one".to_owned());
        }
        let records = records(&ledger).map_err(failed("reading the log"))?;
        Ok(Self { ledger, records })
    }
}

/// Opens a store on a disk.
pub(crate) fn open_store(path: &Path, mount: &Mount) -> Result<Ledger, String> {
    // Nobody else holds these stores for long; a lock that is waited for this long was left behind.
    let options = Options { busy_wait: Duration::from_secs(5), ..Options::default() };
    Ledger::open_on(path, options, mount.name())
        .map_err(|error| format!("it does not open: {}", chain(&error)))
}

/// Every record.
pub(crate) fn records(ledger: &Ledger) -> Result<Vec<Record>, callboard_ledger::ReadError> {
    ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All })
}

/// An error with everything behind it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// What an image should hold and does not, or holds and should not; as SQLite alone sees it.
pub(crate) fn missing(path: &Path, image: Image, there: &[&Record], absent: &[String]) -> Option<String> {
    let mount = Mount::new(Disk::with(image));
    match held(path, &mount) {
        Err(error) if there.is_empty() && absent.is_empty() => {
            // A store that was never finished may be no store yet.
            (error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)).then(|| chain(&error))
        }
        Err(_) if there.is_empty() => None,
        Err(error) => Some(format!("the image cannot be read: {}", chain(&error))),
        Ok(held) => {
            let lost = there.iter().find(|record| {
                let at = held.binary_search_by_key(&record.seq, |(seq, ..)| *seq);
                at.is_err() || at.is_ok_and(|at| held[at].1 != record.hash)
            });
            let back = held.iter().filter_map(|(.., key)| key.as_ref()).find(|key| absent.contains(key));
            match (lost, back) {
                (Some(record), _) => Some(format!("record {} was acknowledged and is not there", record.seq)),
                (None, Some(key)) => Some(format!("command {key} was told to be absent and is there")),
                (None, None) => None,
            }
        }
    }
}

type Held = (u64, Hash, Option<String>);

fn held(path: &Path, mount: &Mount) -> Result<Vec<Held>, rusqlite::Error> {
    let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), mount.name())?;
    let mut statement = connection.prepare("SELECT seq, hash, key FROM ledger ORDER BY seq")?;
    let rows = statement.query_map([], |row| {
        let hash = Hash::of(&row.get::<_, Vec<u8>>(1)?).unwrap_or_default();
        Ok((row.get::<_, i64>(0)? as u64, hash, row.get(2)?))
    })?;
    rows.collect()
}

/// A unit of work that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(180);

/// Does `count` units of work on all cores; `work` gets the number of the worker and of the unit.
pub(crate) fn in_parallel(count: u64, work: impl Fn(u64, u64) -> Tally + Sync) -> Tally {
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let (next, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let busy: Vec<Mutex<Option<(u64, Instant)>>> = (0..workers).map(|_| Mutex::new(None)).collect();
    let set = |worker: u64, unit| {
        *busy[worker as usize].lock().unwrap_or_else(PoisonError::into_inner) = unit;
    };
    std::thread::scope(|scope| {
        let (next, work, set) = (&next, &work, &set);
        let run = move |worker| {
            let mut tallies = Vec::new();
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= count {
                    return tallies;
                }
                set(worker, Some((unit, Instant::now())));
                let tally = catch_unwind(AssertUnwindSafe(|| work(worker, unit))).unwrap_or_else(|_| Tally {
                    failures: vec![format!("unit {unit}: it panicked; the message is above")],
                    ..Tally::default()
                });
                tallies.push((unit, tally));
                set(worker, None);
            }
        };
        let running: Vec<_> = (0..workers).map(|worker| scope.spawn(move || run(worker))).collect();
        scope.spawn(|| watch(&busy, &done));
        let tallies = running.into_iter().flat_map(|worker| worker.join().unwrap_or_default());
        let tally = merged(tallies.collect());
        done.store(true, Ordering::Relaxed);
        tally
    })
}

fn merged(mut tallies: Vec<(u64, Tally)>) -> Tally {
    tallies.sort_by_key(|(unit, _)| *unit);
    let mut merged = Tally::default();
    for (_, tally) in tallies {
        merged.passed += tally.passed;
        merged.failures.extend(tally.failures);
        merged.notes.extend(tally.notes);
    }
    merged
}

/// Ends everything when a unit hangs: nothing that comes after could be trusted.
fn watch(busy: &[Mutex<Option<(u64, Instant)>>], done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        for slot in busy {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((unit, since)) = *slot
                && since.elapsed() > HANG
            {
                println!("  FAILED unit {unit} hangs\n0 passed, 1 failed");
                exit(1);
            }
        }
    }
}
