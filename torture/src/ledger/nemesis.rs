//! `pg-nemesis`: hosts write to a real PostgreSQL server that crashes, over ways that are cut, silent, deaf and slow.
//!
//! Invariant: whatever a caller was told holds. What was acknowledged is there exactly once, what was said not to be
//! written is not there, and of what nobody knew a repetition under its key finds out; a follower saw every record once,
//! in order; nothing is half there. After each fault writing goes on. A full run has 200 immediate restarts and 200
//! partitions, CI 12 and 12. Deliberately absent: kills of the hosts; `crashpoints` ends those.

mod callers;
mod proxy;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_ledger::{Hash, Ledger, Options, Page, Record, RecordScope};

use crate::harness::aftermath;
use crate::harness::cluster::Cluster;
use crate::harness::commands::{create, request, session};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::stage::Stage;
use crate::ledger::leases::history;
use callers::{LEASED, SHARED, Stand, Told};
use proxy::{Astray, Proxy, Way};

pub(crate) const TORTURE: Torture = Torture {
    name: "pg-nemesis",
    about: "restarts and partitions of PostgreSQL under load; unknown commits are resolved by their key",
    mutants: &["resolve_unknown_commits", "look_up_keys", "group_all_or_none", "check_the_epoch"],
    run,
    child: None,
};

/// Hosts that write, each over a way of its own.
const HOSTS: usize = 4;
/// Callers on each host.
const CALLERS: u64 = 3;
/// Half of the hosts give up early, so that their callers get to hear of faults.
const IMPATIENT: Duration = Duration::from_millis(250);
/// The longest a partition lasts.
const PARTITION_MILLIS: u64 = 700;
/// The longest a server is down before it is started again.
const DOWN_MILLIS: u64 = 400;
/// Records between two faults: each fault comes while they write.
const BETWEEN: u64 = 25;
/// Writing must go on within this time after a fault.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let cluster = Cluster::start();
    let outcome = Stage::fresh(&cluster, "nemesis").and_then(|mut stage| {
        let stand = Stand::new();
        let followed = suffer(plan, &cluster, &stage, &stand, &mut tally);
        let told = stand.told();
        note(&told, &mut tally);
        let outcome = followed.and_then(|followed| check(&stage, &told, &followed, &mut tally));
        if outcome.is_err() && plan.mutant.is_none() {
            std::fs::write(stage.scene.path().join("history"), told.history.join("\n"))?;
        }
        tally.trial(outcome, || stage.keep(plan));
        Ok(())
    });
    if let Err(error) = outcome {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

/// Lets everybody write and read while the nemesis is at work; gives back what the follower saw.
fn suffer(
    plan: &Plan,
    cluster: &Cluster,
    stage: &Stage<'_>,
    stand: &Stand,
    tally: &mut Tally,
) -> Result<Vec<Hash>> {
    let ledger = stage.open()?;
    for (shared, title) in [(SHARED, "everybody's"), (LEASED, "one's at a time")] {
        ledger.append(request(session(shared), 0, create(title)))?;
    }
    drop(ledger);
    let socket = cluster.socket();
    let ways: Vec<Proxy> = (0..=HOSTS).map(|_| Proxy::start(&socket)).collect::<Result<_>>()?;
    let mut hosts = Vec::new();
    for (number, way) in ways.iter().enumerate() {
        let busy_wait = if number % 2 == 1 { IMPATIENT } else { Options::default().busy_wait };
        // All hosts of a board sign with one key.
        let key_path = Some(stage.key());
        let options = Options { busy_wait, key_path, ..Options::default() };
        hosts.push(Ledger::connect(&way.url("nemesis"), options).context("a host does not open")?);
    }
    let faults = faults(plan);
    tally.notes.push(tell(&faults));
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| stand.follow(&hosts[HOSTS]));
        let callers: Vec<_> = (0..HOSTS as u64 * CALLERS)
            .map(|caller| (caller, &hosts[caller as usize % HOSTS]))
            .map(|(caller, ledger)| scope.spawn(move || stand.call(ledger, caller)))
            .collect();
        let mut at_work = Ok(());
        for (number, fault) in faults.iter().enumerate() {
            let is_alive = || callers.iter().all(|caller| !caller.is_finished()) && !follower.is_finished();
            at_work = go_on(stand, is_alive).and_then(|()| {
                stand.note(&format!("fault {number}: {fault:?}"));
                fault.strike(cluster, &ways)
            });
            if let Err(error) = at_work {
                at_work = Err(error.context(format!("before fault {number}, {fault:?}")));
                break;
            }
            tally.passed += 1;
        }
        if at_work.is_ok() {
            at_work = go_on(stand, || true).context("after the last fault");
        }
        stand.is_over.store(true, Ordering::SeqCst);
        // What a caller could not do says more than that the nemesis had to stop.
        let answered = callers
            .into_iter()
            .try_for_each(|caller| caller.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        stand.is_answered.store(true, Ordering::SeqCst);
        let followed = follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        answered.and(at_work).map(|()| followed)
    })
}

/// Waits until more records were acknowledged.
fn go_on(stand: &Stand, is_alive: impl Fn() -> bool) -> Result<()> {
    let (begun, before) = (Instant::now(), stand.acknowledged.load(Ordering::SeqCst));
    while stand.acknowledged.load(Ordering::SeqCst) < before + BETWEEN {
        if begun.elapsed() > RECOVERY_MAX {
            bail!("writing does not go on in {RECOVERY_MAX:?}");
        }
        if !is_alive() {
            bail!("somebody gave up");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// What the nemesis does.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The server crashes and is started again.
    Restart { down: Duration },
    /// Ways do this for a time: one, or all of them.
    Partition { host: Option<usize>, way: Way, lasts: Duration },
    /// The server crashes while a host is cut off.
    Both { host: usize, way: Way, down: Duration },
}

/// As many restarts and partitions as the plan wants, in the order of the dice.
fn faults(plan: &Plan) -> Vec<Fault> {
    let each = plan.choose(200, 12, 6);
    let mut dice = Dice::of(plan.seed, 0);
    let (mut restarts, mut partitions) = (0, 0);
    let mut faults = Vec::new();
    while restarts < each || partitions < each {
        let down = Duration::from_millis(dice.roll(DOWN_MILLIS));
        let lasts = Duration::from_millis(30 + dice.roll(PARTITION_MILLIS));
        let way = some_way(&mut dice, partitions);
        let host = dice.roll(HOSTS as u64 + 1) as usize;
        let sort = dice.roll(8);
        let is_commit = matches!(way, Way::Commit(_));
        if restarts < each && partitions < each && sort == 0 && !is_commit {
            faults.push(Fault::Both { host, way, down });
            (restarts, partitions) = (restarts + 1, partitions + 1);
        } else if partitions >= each || (restarts < each && sort < 4) {
            faults.push(Fault::Restart { down });
            restarts += 1;
        } else {
            faults.push(partition(&mut dice, host % HOSTS, way, lasts));
            partitions += 1;
        }
    }
    faults
}

fn partition(dice: &mut Dice, host: usize, way: Way, lasts: Duration) -> Fault {
    match way {
        // A host that gives up before the way heals leaves its callers not knowing, and only the key tells them.
        Way::Commit(Astray::LosesTheAnswerAndShuts) => {
            Fault::Partition { host: Some(host | 1), way, lasts: lasts + 2 * IMPATIENT }
        }
        Way::Commit(_) => Fault::Partition { host: Some(host), way, lasts },
        Way::Open | Way::Silent | Way::Deaf | Way::Stalled | Way::Shut => {
            Fault::Partition { host: (dice.roll(4) > 0).then_some(host), way, lasts }
        }
    }
}

/// How many there are of each.
fn tell(faults: &[Fault]) -> String {
    let (mut restarts, mut partitions) = (0, 0);
    for fault in faults {
        restarts += u64::from(!matches!(fault, Fault::Partition { .. }));
        partitions += u64::from(!matches!(fault, Fault::Restart { .. }));
    }
    let both = restarts + partitions - faults.len() as u64;
    format!("{restarts} immediate restarts and {partitions} partitions, {both} of them at once")
}

/// Each sort in turn, so that a short run has them all.
fn some_way(dice: &mut Dice, turn: u64) -> Way {
    match turn % 8 {
        0 => Way::Commit(Astray::LosesTheAnswer),
        1 => Way::Commit(Astray::LosesTheRequest),
        2 => Way::Commit(Astray::LosesTheAnswerAndShuts),
        3 => Way::Silent,
        4 => Way::Commit(Astray::DeliversLate(dice.roll(300))),
        5 => Way::Deaf,
        6 => Way::Stalled,
        _ => Way::Shut,
    }
}

impl Fault {
    fn strike(&self, cluster: &Cluster, ways: &[Proxy]) -> Result<()> {
        match *self {
            Self::Restart { down } => restart(cluster, down),
            Self::Partition { host, way, lasts } => {
                let hit: Vec<&Proxy> = host.map_or_else(|| ways.iter().collect(), |host| vec![&ways[host]]);
                hit.iter().for_each(|proxy| proxy.turn(way));
                if matches!(way, Way::Commit(_)) && !hit.iter().all(|proxy| proxy.went_astray(RECOVERY_MAX)) {
                    bail!("no commit came by");
                }
                // How long it lasts is the fault itself, so this wait is not for anything.
                std::thread::sleep(lasts);
                hit.iter().for_each(|proxy| proxy.heal());
            }
            Self::Both { host, way, down } => {
                ways[host].turn(way);
                restart(cluster, down);
                ways[host].heal();
            }
        }
        Ok(())
    }
}

fn restart(cluster: &Cluster, down: Duration) {
    cluster.crash();
    // How long it is down is the fault itself, so this wait is not for anything.
    std::thread::sleep(down);
    cluster.start_again();
}

fn note(told: &Told, tally: &mut Tally) {
    let Told { acks, not_written, unknown, faults, found, .. } = told;
    tally.notes.push(format!(
        "{} hosts, {} callers: {} records acknowledged, {found} of them found by their key; without a key {} were said \
         not to be there and {} left unknown; faults told: {} unknown, {} not written, {} unreachable, {} busy",
        HOSTS,
        HOSTS as u64 * CALLERS,
        acks.len(),
        not_written.len(),
        unknown.len(),
        faults.unknown,
        faults.not_written,
        faults.unreachable,
        faults.busy,
    ));
}

/// What must hold when the nemesis is gone.
fn check(stage: &Stage<'_>, told: &Told, followed: &[Hash], tally: &mut Tally) -> Result<()> {
    let ledger = stage.open()?;
    let records = ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All })?;
    tally.notes.push(format!("{} records in the log, all seen by the follower", records.len()));
    check_log(&records)?;
    history::check(&ledger)?;
    check_told(&records, told)?;
    let hashes: Vec<Hash> = records.iter().map(|record| record.hash).collect();
    if let Some(at) = (0..hashes.len().max(followed.len())).find(|at| hashes.get(*at) != followed.get(*at)) {
        bail!(
            "the follower saw {:?} as record {}, and the log has {:?}",
            followed.get(at),
            at + 1,
            hashes.get(at)
        );
    }
    stage.check_whole(&ledger)?;
    let next = aftermath::check_next(&ledger, u128::MAX)?;
    if next != records.len() as u64 + 1 {
        bail!("the log ended at {}, and the next record is {next}", records.len());
    }
    Ok(())
}

/// Numbers and versions have no gap, and no key was recorded twice.
fn check_log(records: &[Record]) -> Result<()> {
    let (mut versions, mut keys) = (HashMap::new(), HashSet::new());
    for (at, record) in records.iter().enumerate() {
        if record.seq != at as u64 + 1 {
            bail!("record {} stands where {} should", record.seq, at + 1);
        }
        let version = versions.entry(record.entity).or_insert(0);
        *version += 1;
        if record.version != *version {
            bail!("record {} makes version {} instead of {version}", record.seq, record.version);
        }
        if let Some(key) = &record.key
            && !keys.insert((record.entity, key))
        {
            bail!("record {} was recorded before, under its key {key}", record.seq);
        }
    }
    Ok(())
}

/// What the callers were told is so, and nothing is there that nobody was told of.
fn check_told(records: &[Record], told: &Told) -> Result<()> {
    let mut acknowledged = HashSet::new();
    for receipt in &told.acks {
        let wanted = &receipt.record;
        match (wanted.seq as usize).checked_sub(1).and_then(|at| records.get(at)) {
            Some(there) if there == wanted => {}
            other => bail!("{wanted:?} was acknowledged, and there is {other:?}"),
        }
        if !acknowledged.insert(wanted.seq) {
            bail!("record {} was acknowledged twice", wanted.seq);
        }
    }
    let not_written: HashSet<_> = told.not_written.iter().map(|id| id.uuid()).collect();
    let unknown: HashSet<_> = told.unknown.iter().map(|id| id.uuid()).collect();
    for record in records {
        if not_written.contains(&record.entity) {
            bail!("it was said not to be written and is there: {record:?}");
        }
        // The first ones make the shared entities.
        if record.seq > 2 && !acknowledged.contains(&record.seq) && !unknown.contains(&record.entity) {
            bail!("nobody was told of {record:?}");
        }
    }
    Ok(())
}
