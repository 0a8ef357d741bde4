//! `powerloss`: the power is cut under load, at any change of the disk, and what was not synced is kept, dropped, torn
//! or reordered by chance.
//!
//! Invariant: every record acknowledged before the cut is there, the log is a beginning of what was written, the store
//! is sound, and the next append works; also if the power is cut again while the store recovers. Deliberately absent:
//! disks that lie about syncs; no store survives those.

mod workload;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use callboard_ledger::Record;

use self::workload::{Load, Workload};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::ledger::vfs::{Disk, Image, Mount, Platter, Sound, Traffic, in_parallel};

const IMAGES: u64 = 10_000;
const IMAGES_A_WORKLOAD: u64 = 100;
/// Every so many workloads the callers are threads, and one run is not like the next.
const THREADED: u64 = 4;
/// Every so many images the power is cut again.
const CUT_AGAIN: u64 = 8;

pub(crate) const TORTURE: Torture = Torture {
    name: "powerloss",
    about: "the power is cut under load; unsynced writes are dropped, torn and reordered",
    mutants: &["sync_before_answer", "sync_every_commit"],
    run: torture,
    child: None,
};

fn torture(plan: &Plan) -> Tally {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let Ok(places) = (0..workers).map(|_| tempfile::tempdir()).collect::<Result<Vec<_>, _>>() else {
        return Tally { failures: vec!["no directory for the key".to_owned()], ..Tally::default() };
    };
    let workloads = plan.count(IMAGES).div_ceil(IMAGES_A_WORKLOAD);
    let figures = Figures::default();
    let mut tally = in_parallel(workloads, |worker, number| {
        let path = places[worker as usize].path().join("store.db");
        Trial { plan, figures: &figures, number, path }.run().unwrap_or_else(|problem| Tally {
            failures: vec![format!("seed {}, workload {number}: {problem}", plan.seed)],
            ..Tally::default()
        })
    });
    let Figures { acks, changes, beyond } = figures;
    tally.notes.push(format!(
        "{workloads} workloads, {} acknowledgements, {} changes of the disk; \
         {} images held records that nobody had been told of",
        acks.into_inner(),
        changes.into_inner(),
        beyond.into_inner()
    ));
    tally
}

/// What there was to lose.
#[derive(Default)]
struct Figures {
    acks: AtomicU64,
    changes: AtomicU64,
    beyond: AtomicU64,
}

/// One workload and the images cut out of it.
struct Trial<'a> {
    plan: &'a Plan,
    figures: &'a Figures,
    number: u64,
    path: PathBuf,
}

impl Trial<'_> {
    fn run(&self) -> Result<Tally, String> {
        let mut dice = Dice::of(self.plan.seed, self.number);
        let load = if self.number % THREADED == THREADED - 1 { Load::Threads } else { Load::Steps };
        let done = Workload::run(&self.path, load, &mut dice)?;
        let mut cuts: Vec<usize> = (0..IMAGES_A_WORKLOAD).map(|_| done.cut(&mut dice)).collect();
        cuts.sort_unstable();
        let (mut platter, mut taken) = (Platter::with(&done.base), 0);
        let mut tally = Tally::default();
        for (at, cut) in cuts.into_iter().enumerate() {
            done.log[taken..cut].iter().for_each(|op| platter.take(op));
            taken = cut;
            let acked = done.acks.iter().filter(|(when, _)| *when <= cut).map(|(_, seq)| *seq).max();
            let image = platter.torn(&mut dice);
            let again = (at as u64).is_multiple_of(CUT_AGAIN).then(|| Dice::new(dice.next()));
            let result = check(&self.path, image.clone(), acked.unwrap_or(0), &done.records, again);
            let beyond = result.as_ref().is_ok_and(|held| *held > acked.unwrap_or(0));
            self.figures.beyond.fetch_add(u64::from(beyond), Ordering::Relaxed);
            tally.check(result.is_ok(), || {
                let kept = self.keep(&image);
                let problem = result.err().unwrap_or_default();
                let (seed, number) = (self.plan.seed, self.number);
                format!("seed {seed}, workload {number} ({load:?}), image {at}, cut after change {cut}: {problem}{kept}")
            });
        }
        self.figures.acks.fetch_add(done.acks.len() as u64, Ordering::Relaxed);
        self.figures.changes.fetch_add(done.log.len() as u64, Ordering::Relaxed);
        Ok(tally)
    }

    /// Puts the image where somebody can look at it, unless the run is meant to fail.
    fn keep(&self, image: &Image) -> String {
        if self.plan.mutant.is_some() {
            return String::new();
        }
        let Ok(place) = tempfile::Builder::new().prefix("callboard-torture-").disable_cleanup(true).tempdir()
        else {
            return "; image not kept".to_owned();
        };
        let written = image.iter().all(|(name, bytes)| {
            let name = Path::new(name).file_name().unwrap_or_default();
            std::fs::write(place.path().join(name), bytes).is_ok()
        });
        format!("; image {} in {}", if written { "kept" } else { "partly kept" }, place.path().display())
    }
}

/// Checks one image; gives back how many records it held.
fn check(
    path: &Path,
    image: Image,
    acked: u64,
    written: &[Record],
    again: Option<Dice>,
) -> Result<u64, String> {
    let mount = Mount::new(Disk::with(image));
    let Sound { ledger, records } = Sound::open(path, &mount)?;
    let held = records.len() as u64;
    if held < acked {
        return Err(format!("{acked} records were acknowledged, {held} are there"));
    }
    if written.get(..records.len()) != Some(&records) {
        return Err("the log is not a beginning of what was written".to_owned());
    }
    let mut next = Traffic::new(Dice::new(held), (1 << 100) + u128::from(held));
    let appended =
        next.several(1).into_iter().map(|request| ledger.append(request).map(|taken| taken.record));
    let appended: Vec<Record> =
        appended.collect::<Result<_, _>>().map_err(|error| format!("the next append: {error:?}"))?;
    let Some(mut dice) = again else { return Ok(held) };
    let mut written = records;
    written.extend(appended);
    // Cut in the middle of what opening, checking and appending did to the disk.
    let log = mount.disk.log();
    let cut = dice.roll(log.len() as u64 + 1) as usize;
    let mut platter = Platter::with(mount.disk.base());
    log[..cut].iter().for_each(|op| platter.take(op));
    let acked = if cut == log.len() { held + 1 } else { acked };
    check(path, platter.torn(&mut dice), acked, &written, None)
        .map_err(|problem| format!("cut again after change {cut} of {}: {problem}", log.len()))?;
    Ok(held)
}
