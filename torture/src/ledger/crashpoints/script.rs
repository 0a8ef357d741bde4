//! The scripts that are ended in the middle: commands of every sort, in commits of different shapes.
//!
//! Invariant: every command is keyed or refused, so that sending a script twice is sending it once. Deliberately
//! absent: where it is ended; the environment says that.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use callboard_kernel::{LeaseTerms, RefusalCode};
use callboard_ledger::{AppendError, Group, GroupError, Ledger, Options, Receipt, Request};
use callboard_lifecycle::session::SessionState;

use crate::harness::commands::{create, go, keyed, observe, request, session};
use crate::ledger::leases::history::granted;

/// One script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) sort: Sort,
    pub(crate) steps: u64,
    /// Handles that take turns, so that each finds what the other wrote.
    pub(crate) handles: u64,
    /// Commands that share one transaction at the most.
    pub(crate) batch_max: usize,
}

/// What its steps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// One command of each sort in turn, and rebuilds of the views.
    Single,
    /// Many commands at once about a few entities, with refused and repeated ones among them.
    Burst,
    /// Groups about a few entities, with refused and repeated ones among them.
    Group,
    /// Leases that are granted, carried and handed over.
    Lease,
}

/// Sorts of steps in a script of single commands.
const SINGLES: u64 = 8;
/// Commands in a burst, in turn.
const BURSTS: [u64; 5] = [2, 3, 5, 8, 13];
/// Entities in a burst.
const ENTITIES: u64 = 3;

impl Script {
    /// As arguments of a child.
    pub(crate) fn arguments(&self) -> [String; 4] {
        let sort = match self.sort {
            Sort::Single => "single",
            Sort::Burst => "burst",
            Sort::Group => "group",
            Sort::Lease => "lease",
        };
        [sort.to_owned(), self.steps.to_string(), self.handles.to_string(), self.batch_max.to_string()]
    }

    pub(crate) fn parse(arguments: &[String]) -> Option<Self> {
        let [sort, steps, handles, batch_max] = arguments else { return None };
        let sort = match sort.as_str() {
            "single" => Sort::Single,
            "burst" => Sort::Burst,
            "group" => Sort::Group,
            "lease" => Sort::Lease,
            _ => return None,
        };
        let (steps, handles) = (steps.parse().ok()?, handles.parse().ok()?);
        Some(Self { sort, steps, handles, batch_max: batch_max.parse().ok()? })
    }

    /// Sends every step to the store.
    pub(crate) fn run(&self, store: &str, key: &Path, each: impl Fn(&Receipt)) -> Result<()> {
        let options =
            Options { batch_max: self.batch_max, key_path: Some(key.to_owned()), ..Options::default() };
        let handles: Vec<Ledger> = (0..self.handles)
            .map(|_| Ledger::connect(store, options.clone()).context("the store does not open"))
            .collect::<Result<_>>()?;
        for step in 0..self.steps {
            let ledger = &handles[(step % self.handles) as usize];
            match self.sort {
                Sort::Single => single(ledger, step, &each)?,
                Sort::Burst => burst(ledger, step, &each)?,
                Sort::Group => groups(ledger, step, &each)?,
                Sort::Lease => leases(ledger, step, &each)?,
            }
        }
        Ok(())
    }
}

fn single(ledger: &Ledger, step: u64, each: impl Fn(&Receipt)) -> Result<()> {
    let round = u128::from(step / SINGLES) + 1;
    let named = |part: u64, order| {
        keyed(request(session(round), step as i64, order), format!("step {step} part {part}"))
    };
    match step % SINGLES {
        0 => taken(ledger, named(0, create("a run")), &each)?,
        1 => taken(ledger, named(0, go(SessionState::Running, "run.started.ok")), &each)?,
        2 => taken(ledger, named(0, observe("beats", step as i64)), &each)?,
        3 => {
            let mut conditional = named(0, observe("beats", step as i64));
            conditional.command.if_version = Some(3);
            taken(ledger, conditional, &each)?;
        }
        4 => {
            let tickets: Vec<_> =
                (0..3).map(|part| ledger.submit(named(part, observe("part", part as i64)))).collect();
            for ticket in tickets {
                each(&ticket.wait().context("one of a batch")?);
            }
        }
        5 => {
            let stale = request(session(round), step as i64, create("again"));
            match ledger.append(stale) {
                Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::Exists => {}
                other => bail!("a second creation was answered with {other:?}"),
            }
        }
        6 => taken(ledger, named(0, go(SessionState::Completed, "run.completed.ok")), &each)?,
        _ => ledger.rebuild()?,
    }
    Ok(())
}

/// Everything of a burst is sent before anything is heard of it.
fn burst(ledger: &Ledger, step: u64, each: impl Fn(&Receipt)) -> Result<()> {
    let entity = |part: u64| session(1 << 40 | u128::from(step) << 8 | u128::from(part % ENTITIES));
    let size = BURSTS[(step % BURSTS.len() as u64) as usize];
    let mut sent = Vec::new();
    for part in 0..size {
        let order = if part < ENTITIES { create("a run") } else { observe("part", part as i64) };
        let named = keyed(request(entity(part), step as i64, order), format!("part {part}"));
        sent.push((true, ledger.submit(named.clone())));
        if part % 3 == 1 {
            sent.push((false, ledger.submit(request(entity(part), step as i64, create("again")))));
            sent.push((true, ledger.submit(named)));
        }
    }
    for (is_good, ticket) in sent {
        match ticket.wait() {
            Ok(receipt) if is_good => each(&receipt),
            Err(AppendError::Refused(refusal)) if !is_good && refusal.code == RefusalCode::Exists => {}
            other => bail!("one of burst {step} was answered with {other:?}"),
        }
    }
    Ok(())
}

/// Two groups that hold and one that does not, sent before anything is heard of them; one of them twice.
fn groups(ledger: &Ledger, step: u64, each: impl Fn(&Receipt)) -> Result<()> {
    let entity = |part: u64| session(1 << 41 | u128::from(step) << 8 | u128::from(part));
    let said = |part: u64, order| request(entity(part), step as i64, order);
    let born = Group::new(said(0, create("a run")))
        .and(said(1, create("another")))
        .and(said(0, go(SessionState::Running, "run.started.ok")))
        .keyed("born");
    let moved = Group::new(said(1, observe("beats", 1)))
        .and(said(0, go(SessionState::Completed, "run.completed.ok")))
        .keyed("moved");
    let bad =
        Group::new(said(2, create("never"))).and(said(1, observe("beats", 2))).and(said(0, create("again")));
    let sent: Vec<_> = [(true, &born), (false, &bad), (true, &moved), (true, &born)]
        .into_iter()
        .map(|(is_good, group)| (is_good, ledger.submit_group(group.clone())))
        .collect();
    for (is_good, ticket) in sent {
        match ticket.wait() {
            Ok(receipts) if is_good => receipts.iter().for_each(&each),
            Err(GroupError::Refused { at: 2, refusal })
                if !is_good && refusal.code == RefusalCode::Exists => {}
            other => bail!("a group of step {step} was answered with {other:?}"),
        }
    }
    Ok(())
}

/// A lease is granted with the entity, carried, and handed over in one act, so that somebody holds it at every moment. What comes from a
/// third one or with the first epoch is refused, however often the script is sent.
fn leases(ledger: &Ledger, step: u64, each: impl Fn(&Receipt)) -> Result<()> {
    const LONG: Duration = Duration::from_hours(1);
    let entity = session(1 << 42 | u128::from(step));
    let said = |order, terms| {
        let mut request = request(entity, step as i64, order);
        request.command.lease = Some(terms);
        request
    };
    let born = ledger.append(keyed(said(create("a run"), LeaseTerms::grant("first", LONG)), "born"));
    let born = born.context("a creation that grants a lease")?;
    each(&born);
    let first = granted(&born.record.event()?.data).context("no epoch was given")?;
    let handed_over = Group::new(said(observe("part", 2), LeaseTerms::carrying(first).and_end()))
        .and(said(observe("part", 3), LeaseTerms::grant("second", LONG)));
    let by_third = said(observe("part", 0), LeaseTerms::grant("third", LONG));
    // Everything is sent before anything is heard of it, so the epoch of the second one is reckoned.
    let waiting = ledger.submit(by_third);
    let carried = ledger.submit(keyed(said(observe("part", 1), LeaseTerms::carrying(first)), "carried"));
    let moved = ledger.submit_group(handed_over.keyed("handed over"));
    let stale = ledger.submit(said(observe("part", 4), LeaseTerms::carrying(first)));
    let next = ledger.submit(keyed(said(observe("part", 5), LeaseTerms::carrying(first + 1)), "next"));
    for (ticket, wanted) in [(waiting, RefusalCode::LeaseHeld), (stale, RefusalCode::LeaseLost)] {
        match ticket.wait() {
            Err(AppendError::Refused(refusal)) if refusal.code == wanted => {}
            other => bail!("{wanted} was expected in step {step}, and the answer is {other:?}"),
        }
    }
    each(&carried.wait().context("what carries the first epoch")?);
    moved.wait().context("a lease that is handed over")?.iter().for_each(&each);
    each(&next.wait().context("what carries the second epoch")?);
    Ok(())
}

fn taken(ledger: &Ledger, request: Request, each: impl Fn(&Receipt)) -> Result<()> {
    let what = format!("{:?} of {}", request.command.key, request.command.entity);
    each(&ledger.append(request).with_context(|| format!("{what} was not taken"))?);
    Ok(())
}
