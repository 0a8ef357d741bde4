//! What must hold, compared with the truth after every step.
//!
//! Invariant: nothing here is read from the engine's own judgement; the records, the processes and what actors were told are compared
//! with each other.

use std::collections::{BTreeMap, BTreeSet};

use callboard_kernel::{EntityId, Facts, Moment, Value};
use callboard_ledger::{Hash, Lease, Ledger, Page, Record, RecordScope, Stored};
use callboard_lifecycle::Kind;
use uuid::Uuid;

use crate::scene::Scene;
use crate::stage::State;

/// How long a claim to tell somebody lasts, in microseconds.
const CLAIM_US: i64 = 60_000_000;
/// How often one condition is tried to be told.
const TRIES_MAX: i64 = 5;
/// How long the stewards' lease lasts, in microseconds.
const LEASE_US: i64 = 10_000_000;

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Checker {
    /// How many records were looked at.
    pub(crate) head: u64,
    folded: BTreeMap<Uuid, Stored>,
    keys: BTreeSet<(Uuid, String)>,
    marks: BTreeMap<Uuid, Mark>,
    acknowledged: Vec<(u64, Hash)>,
    checked_acks: usize,
    grants: BTreeMap<u64, Grant>,
    dealt_with: BTreeSet<u64>,
}

/// What is recorded of telling somebody.
#[derive(Clone, PartialEq)]
struct Mark {
    condition: (String, String),
    state: String,
    at: Moment,
    by: String,
    tries: i64,
}

struct Grant {
    from: Moment,
    until: Moment,
    holder: String,
    is_given_up: bool,
}

impl Checker {
    /// An actor was told that this record is durable.
    pub(crate) fn acknowledged(&mut self, record: &Record) {
        self.acknowledged.push((record.seq, record.hash));
    }

    /// The newest lease that somebody was told of.
    pub(crate) fn newest_epoch(&self) -> u64 {
        self.grants.keys().next_back().copied().unwrap_or(0)
    }
}

/// Looks at what was recorded since the last step.
pub(crate) fn check(state: &mut State) {
    let Some(ledger) = state.scene.ledger.clone() else { return };
    let now_us = state.now_us;
    let turn = state.at_turn();
    if let Some(board) = &mut state.scene.board {
        // Whoever wrote a record is the first who has a step after it.
        board.at_work = turn;
    }
    let problems = match new_records(&ledger, &mut state.scene, now_us) {
        Ok(problems) => problems,
        Err(problem) => vec![problem],
    };
    let told = state.scene.board.as_mut().map(crate::board::Truth::take_told).unwrap_or_default();
    told.iter().for_each(|told| state.tell(told));
    problems.into_iter().for_each(|problem| state.blame(problem));
}

fn new_records(ledger: &Ledger, scene: &mut Scene, now_us: u64) -> Result<Vec<String>, String> {
    let told = |error: &dyn std::error::Error| format!("the store cannot be read: {error}");
    let mut problems = Vec::new();
    if ledger.head().map_err(|error| told(&error))? != scene.checker.head {
        let page = Page { after: scene.checker.head, limit: usize::MAX, scope: RecordScope::All };
        for record in ledger.records(page).map_err(|error| told(&error))? {
            problems.extend(one_record(ledger, scene, &record, now_us)?);
        }
        if let Some(board) = &scene.board {
            problems.extend(board.turns(&scene.checker.folded));
        }
    }
    let fresh = scene.checker.acknowledged[scene.checker.checked_acks..].to_vec();
    scene.checker.checked_acks += fresh.len();
    for (seq, hash) in fresh {
        let page = Page { after: seq - 1, limit: 1, scope: RecordScope::All };
        let found = ledger.records(page).map_err(|error| told(&error))?;
        if found.first().map(|record| record.hash) != Some(hash) {
            problems.push(format!("record {seq} was acknowledged and is lost"));
        }
    }
    Ok(problems)
}

fn one_record(
    ledger: &Ledger,
    scene: &mut Scene,
    record: &Record,
    now_us: u64,
) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let id = record.id().map_err(|error| error.to_string())?;
    let checker = &mut scene.checker;
    if record.seq != checker.head + 1 {
        problems.push(format!("record {} follows record {}", record.seq, checker.head));
    }
    checker.head = record.seq;
    if let Some(key) = &record.key
        && !checker.keys.insert((record.entity, key.clone()))
    {
        problems.push(format!("the key \"{key}\" of {id} was recorded twice"));
    }
    let stored = checker.folded.entry(record.entity).or_insert_with(|| Stored::unborn(id));
    let was_ended = stored.entity.ended_at.is_some();
    stored.follow(record).map_err(|error| format!("record {} does not follow: {error}", record.seq))?;
    let stored = stored.clone();
    if was_ended && record.event_type == "transitioned" {
        problems.push(format!("{id} ended twice"));
    }
    let view = ledger.entity(id).map_err(|error| error.to_string())?;
    if view.as_ref().is_some_and(|view| view.last_seq == record.seq && *view != stored) {
        problems.push(format!("the view of {id} is not what its records say"));
    }
    if id.kind() == Kind::Session {
        if !was_ended && stored.entity.ended_at.is_some() {
            problems.extend(end_of_run(scene, id, &stored, record, now_us));
        }
        problems.extend(telling(&mut scene.checker, id, &stored));
    }
    if let Some(board) = scene.board.as_mut().filter(|_| id.kind() == Kind::Task) {
        let event = record.event().map_err(|error| error.to_string())?;
        problems.extend(board.follow(&stored.entity, &event, now_us));
    }
    Ok(problems)
}

/// A run is ended after its last process, and by somebody else than its supervisor only if that is dead.
fn end_of_run(scene: &Scene, id: EntityId, stored: &Stored, record: &Record, now_us: u64) -> Vec<String> {
    let mut problems = Vec::new();
    let facts = &stored.entity.facts;
    let Some(host) = text(facts, "host").and_then(|name| scene.host_named(name)) else { return problems };
    let code = stored.entity.reasons.first().map(|reason| reason.code.as_str());
    let is_by_reaper = record.actor_id.starts_with("reaper@");
    if is_by_reaper
        && code != Some("system.health.lease_expired")
        && let Some((pid, ticks)) = supervisor(facts)
        && scene.is_alive(host, pid, ticks, now_us)
    {
        problems.push(format!("{id} was ended by the reaper and its supervisor is alive"));
    }
    let left = scene.hosts[host].of_run(&id.to_string(), now_us).len();
    if whole(facts, "leftovers") == Some(0) && left > 0 {
        problems.push(format!("{id} ended and {left} of its processes are alive"));
    }
    problems
}

/// A condition is claimed by one sender at a time, and not told again once it was.
fn telling(checker: &mut Checker, id: EntityId, stored: &Stored) -> Option<String> {
    let mark = mark(&stored.entity.facts)?;
    let before = checker.marks.insert(id.uuid(), mark.clone())?;
    if before == mark || before.condition != mark.condition || mark.state != "sending" {
        return None;
    }
    let age_us = mark.at.as_micros() - before.at.as_micros();
    match before.state.as_str() {
        "sent" => Some(format!("{id} was told twice")),
        "sending" if age_us < CLAIM_US => Some(format!("{id} was claimed by two senders at once")),
        _ => None,
    }
}

/// Somebody was shown that the process of a run is dead.
pub(crate) fn said_dead(state: &mut State, stored: &Stored, health: &str) {
    let (facts, now_us) = (&stored.entity.facts, state.now_us);
    let host = text(facts, "host").and_then(|name| state.scene.host_named(name));
    if let (Some(host), Some((pid, ticks))) = (host, supervisor(facts))
        && state.scene.is_alive(host, pid, ticks, now_us)
    {
        state.blame(format!("{} is shown as {health} and its supervisor is alive", stored.entity.state.id));
    }
}

/// Somebody was told that the lease is theirs.
pub(crate) fn granted(state: &mut State, lease: &Lease) {
    let from = Moment::from_micros(lease.until.as_micros() - LEASE_US);
    let grant = Grant { from, until: lease.until, holder: lease.holder.clone(), is_given_up: false };
    if let Some(other) = state.scene.checker.grants.insert(lease.epoch, grant) {
        state.blame(format!("{} and {} got epoch {}", other.holder, lease.holder, lease.epoch));
    }
}

/// Somebody was told that the lease is theirs until another time, which is earlier after the clock was set back.
pub(crate) fn renewed(state: &mut State, lease: &Lease) {
    if let Some(grant) = state.scene.checker.grants.get_mut(&lease.epoch) {
        grant.until = lease.until;
    }
}

/// Somebody gives the lease up, or does not know how long it is theirs.
pub(crate) fn gives_up(state: &mut State, lease: &Lease) {
    if let Some(grant) = state.scene.checker.grants.get_mut(&lease.epoch) {
        grant.is_given_up = true;
    }
}

/// A service has dealt with these records.
pub(crate) fn dealt_with(state: &mut State, seqs: &BTreeSet<u64>) {
    state.scene.checker.dealt_with.extend(seqs);
}

/// A service has recorded how far it came; `newest` is the newest epoch that was known before.
pub(crate) fn stepped(state: &mut State, lease: &Lease, newest: u64, position: u64) {
    if newest > lease.epoch {
        state.blame(format!("a step with epoch {} was taken after epoch {newest} was given", lease.epoch));
    }
    if let Some(skipped) = (1..=position).find(|seq| !state.scene.checker.dealt_with.contains(seq)) {
        state.blame(format!("the service is at record {position} and has skipped record {skipped}"));
    }
}

/// Was somebody told of what an entity needs, or was that tried often enough?
pub(crate) fn is_told(stored: &Stored) -> bool {
    mark(&stored.entity.facts).is_some_and(|mark| mark.state == "sent" || mark.tries >= TRIES_MAX)
}

/// What must hold once everything has come to rest.
pub(crate) fn finish(state: &mut State, ledger: &Ledger) {
    let problems = match at_rest(&state.scene, ledger) {
        Ok(problems) => problems,
        Err(problem) => vec![problem],
    };
    problems.into_iter().for_each(|problem| state.blame(problem));
}

fn at_rest(scene: &Scene, ledger: &Ledger) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (id, stored) in &scene.checker.folded {
        let entity = &stored.entity;
        if entity.state.id.kind() != Kind::Session {
            continue;
        }
        let Some(ended) = entity.state.lifecycle.filter(|_| entity.ended_at.is_some()) else {
            problems.push(format!("{} was never ended", entity.state.id));
            continue;
        };
        let code = entity.reasons.first().map(|reason| reason.code.as_str());
        if let Some(word) = scene.ends.get(&entity.state.id)
            && word != ended.name()
            && code != Some("system.health.lease_expired")
        {
            problems.push(format!("{} ended as {word} and is recorded as {}", entity.state.id, ended.name()));
        }
        let view = ledger.entity(entity.state.id).map_err(|error| error.to_string())?;
        if view.as_ref() != Some(stored) {
            problems.push(format!("the view of {id} is not what its records say"));
        }
    }
    for ((early, before), (late, after)) in
        scene.checker.grants.iter().zip(scene.checker.grants.iter().skip(1))
    {
        // Whoever holds it may take it again, with a new epoch. Where the clock of the store jumps, only epochs count.
        if !scene.faults.clocks
            && !before.is_given_up
            && before.holder != after.holder
            && after.from < before.until
        {
            let (one, other) = (&before.holder, &after.holder);
            problems.push(format!("{one} (epoch {early}) and {other} (epoch {late}) held one lease at once"));
        }
    }
    if let Some(board) = &scene.board {
        problems.extend(board.at_rest(&scene.checker.folded));
    }
    let report = ledger.verify().map_err(|error| error.to_string())?;
    if !report.ok {
        problems.push(format!("the log does not hold: {:?}", report.problems));
    }
    Ok(problems)
}

fn text<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    if let Some(Value::Text(text)) = facts.get(name) { Some(text) } else { None }
}

fn whole(facts: &Facts, name: &str) -> Option<i64> {
    if let Some(Value::Int(number)) = facts.get(name) { Some(*number) } else { None }
}

fn supervisor(facts: &Facts) -> Option<(u32, u64)> {
    let Some(Value::Map(supervisor)) = facts.get("supervisor") else { return None };
    let pid = u32::try_from(whole(supervisor, "pid")?).ok()?;
    Some((pid, u64::try_from(whole(supervisor, "started_ticks")?).ok()?))
}

fn mark(facts: &Facts) -> Option<Mark> {
    let Some(Value::Map(mark)) = facts.get("notified") else { return None };
    let word = |name| text(mark, name).unwrap_or_default().to_owned();
    Some(Mark {
        condition: (word("condition"), word("since")),
        state: word("state"),
        at: text(mark, "at")?.parse().ok()?,
        by: word("by"),
        tries: whole(mark, "tries").unwrap_or(0),
    })
}
