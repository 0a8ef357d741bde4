//! Many tasks on PostgreSQL, done by four worker processes, while workers, whoever runs the services, and the database are killed at random.

use std::collections::HashMap;
use std::process::Child;
use std::time::{Duration, Instant};

use callboard_kernel::{EntityId, fact, task};
use callboard_ledger::{Listing, Page, RecordScope, Stored};
use callboard_lifecycle::Kind;
use callboard_lifecycle::task::TaskState;

use crate::cluster::Cluster;
use crate::stage::{LONG, Stage};

/// Each task writes a file of its own, and takes long enough to be killed on the way.
const AGENT: &str = r#"
echo "working on $1"
sleep 0.$(($$ % 5))
echo "$1" > "${1#write }.txt"
"#;

/// How many hosts work.
const HOSTS: usize = 4;

/// A part of what is demanded; `CALLBOARD_CREW_TASKS=500` is the whole.
fn tasks() -> usize {
    std::env::var("CALLBOARD_CREW_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Small numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn every_task_ends_exactly_once_though_workers_and_the_database_are_killed() {
    let cluster = Cluster::start();
    let stage = Stage::on(tempfile::tempdir().unwrap(), cluster.database("board"));
    let before = stage.git(&["rev-parse", "main"]);
    let ids: Vec<EntityId> = (0..tasks())
        .map(|number| {
            stage.add(&format!("write n{number}"), |task| {
                task.verify = vec![format!("test -f n{number}.txt")];
                task.max_retries = Some(100);
            })
        })
        .collect();
    let (mut dice, mut kills, mut crashes) = (Dice(0x9e37_79b9), 0, 0);
    let mut hosts: [Option<Child>; HOSTS] = [const { None }; HOSTS];
    let bound = LONG * (3 + tasks() as u32 / 50);
    let since = Instant::now();
    let mut struck = Instant::now();
    while !is_over(&stage, &ids) {
        assert!(since.elapsed() < bound, "after {kills} kills: {}", left(&stage, &ids));
        for (number, crew) in hosts.iter_mut().enumerate() {
            if crew.as_mut().is_none_or(|crew| !matches!(crew.try_wait(), Ok(None))) {
                *crew = Some(stage.start_silent_work_on(&format!("host{number}"), "2", AGENT));
            }
        }
        std::thread::sleep(Duration::from_millis(200));
        // Kills stop after a while, or on a slow machine nothing would ever be done between two of them.
        if struck.elapsed() > Duration::from_millis(1500) && kills < tasks() / 3 + 4 {
            struck = Instant::now();
            kills += 1;
            if dice.roll(6) == 0 {
                crashes += 1;
                cluster.crash_and_restart();
            } else {
                end(&mut hosts[dice.roll(HOSTS as u64) as usize]);
            }
        }
    }
    hosts.iter_mut().for_each(end);
    println!("{} tasks, {kills} kills, {crashes} of them of the database", ids.len());
    each_was_merged_once(&stage, &ids, before.trim());
}

fn end(crew: &mut Option<Child>) {
    if let Some(mut crew) = crew.take() {
        crew.kill().unwrap();
        crew.wait().unwrap();
    }
}

fn is_over(stage: &Stage, ids: &[EntityId]) -> bool {
    let listing = Listing { kind: Some(Kind::Task), ended: true, limit: 0 };
    let Ok(all) = stage.try_ledger().map(|ledger| ledger.entities(listing)) else { return false };
    let is_closed = |stored: &Stored| task::state(&stored.entity) == Some(TaskState::Closed);
    all.is_ok_and(|all| all.len() == ids.len() && all.iter().all(is_closed))
}

fn left(stage: &Stage, ids: &[EntityId]) -> String {
    let open = ids.iter().filter(|id| stage.state(**id) != TaskState::Closed);
    open.map(|id| stage.why(*id)).collect::<Vec<_>>().join("\n")
}

fn each_was_merged_once(stage: &Stage, ids: &[EntityId], before: &str) {
    let ledger = stage.ledger();
    for id in ids {
        let records =
            ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(*id) }).unwrap();
        let events: Vec<_> = records.iter().map(|record| record.event().unwrap()).collect();
        let closed = events
            .iter()
            .filter(|event| task::of(event.to) == Some(TaskState::Closed) && event.from != Some(event.to));
        assert_eq!(closed.count(), 1, "{}", stage.why(*id));
        // An epoch is granted once, so no two workers ever held the task with the same one.
        let mut epochs: Vec<i64> =
            events.iter().filter_map(|event| event.data.read(fact::LEASE_EPOCH)).collect();
        let granted = epochs.len();
        epochs.dedup();
        assert_eq!(epochs.len(), granted, "{}", stage.why(*id));
    }
    let log = stage.git(&["log", "--first-parent", "--format=%B%x00", &format!("{before}..main")]);
    let mut merged: HashMap<&str, u32> = HashMap::new();
    for message in log.split('\0').filter(|message| !message.trim().is_empty()) {
        let id =
            message.lines().find_map(|line| line.strip_prefix("Task: ")).expect("a merge names its task");
        *merged.entry(id).or_default() += 1;
    }
    assert_eq!(merged.len(), ids.len());
    assert!(merged.values().all(|times| *times == 1), "{merged:?}");
    let files = stage.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(files.lines().filter(|name| name.starts_with('n')).count(), ids.len());
    assert!(ledger.verify().unwrap().ok);
}
