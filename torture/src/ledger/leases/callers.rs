//! Those who want leases, what each did and what it was told.
//!
//! Invariant: a caller knows two moments of its lease: until when it surely lasts, counted from before it was asked for, and from when
//! on it is surely over, counted from after it was granted. Between the two every answer is right.

use std::collections::HashSet;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use callboard_kernel::{Actor, EntityId, LeaseTerms, Moment, RefusalCode};
use callboard_ledger::{AppendError, Lease, LeaseError, Ledger, Request};
use callboard_lifecycle::ActorClass;

use crate::harness::commands::{observe, request, session};
use crate::harness::dice::Dice;
use crate::ledger::leases::history::{act, granted};

/// How long leases last, in milliseconds.
const LENGTHS: [u64; 4] = [20, 40, 80, 160];
/// Two clocks of one host differ by less.
const DRIFT: Duration = Duration::from_millis(5);
/// Acts of one round at the most.
const ACTS: u64 = 5;

/// One who wants leases.
pub(crate) struct Caller<'a> {
    name: String,
    ledger: &'a Ledger,
    dice: Dice,
    told: Told,
}

/// What callers were told.
#[derive(Default)]
pub(crate) struct Told {
    tenures: Vec<HeldSpan>,
    claims_refused: u64,
    acts: u64,
    renewals: u64,
    ends: u64,
    lost: u64,
    /// Refused, as what comes too late must be.
    late: u64,
    failures: Vec<String>,
}

/// A span of time in which a caller surely held a lease.
#[derive(Clone, Debug)]
struct HeldSpan {
    entity: EntityId,
    holder: String,
    epoch: u64,
    from: Instant,
    to: Instant,
}

/// A lease as its holder knows it.
struct Holding {
    entity: EntityId,
    epoch: u64,
    length: Duration,
    lasts_until: Instant,
    over_from: Instant,
    /// It was ended, or another one was taken instead.
    is_over: bool,
}

/// What becomes of a lease with an act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Kept,
    Ended,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(number: u64, seed: u64, ledger: &'a Ledger) -> Self {
        let (name, dice) = (format!("caller {number}"), Dice::of(seed, number));
        Self { name, ledger, dice, told: Told::default() }
    }

    /// Makes its rounds; stops at the first answer that is wrong.
    pub(crate) fn call(mut self, rounds: u64, entities: u64) -> Told {
        for round in 0..rounds {
            let entity = session(u128::from(self.dice.roll(entities)));
            if let Err(wrong) = self.round(entity) {
                self.told.failures.push(format!("{} in round {round}: {wrong:#}", self.name));
                break;
            }
        }
        self.told
    }

    fn round(&mut self, entity: EntityId) -> Result<()> {
        let Some(mut held) = self.claim(entity)? else {
            std::thread::sleep(Duration::from_millis(self.dice.roll(20)));
            return Ok(());
        };
        for _ in 0..self.dice.roll(ACTS) {
            match self.dice.roll(4) {
                0 => self.renew(&mut held)?,
                1 => std::thread::sleep(held.length.mul_f64(self.dice.roll(100) as f64 / 100.0)),
                _ => self.act(&mut held, Afterwards::Kept)?,
            }
        }
        match self.dice.roll(4) {
            // It dies, and others wait until the lease is over.
            0 => return Ok(()),
            1 => {
                self.act(&mut held, Afterwards::Ended)?;
            }
            2 => {
                if let Some(next) = self.claim(entity)? {
                    held.is_over = next.epoch > held.epoch;
                }
            }
            _ => {}
        }
        if !held.is_over {
            let left = held.over_from.saturating_duration_since(Instant::now());
            std::thread::sleep(left + DRIFT);
        }
        self.act(&mut held, Afterwards::Kept)?;
        self.renew(&mut held)
    }

    fn request(&self, entity: EntityId) -> Request {
        let actor = Actor::new(ActorClass::Worker, self.name.as_str());
        Request { actor, ..request(entity, 0, observe("claims", 1)) }
    }

    fn claim(&mut self, entity: EntityId) -> Result<Option<Holding>> {
        let length = Duration::from_millis(*self.dice.pick(&LENGTHS));
        let mut claim = self.request(entity);
        claim.command.lease = Some(LeaseTerms::grant(self.name.as_str(), length));
        let sent = Instant::now();
        match self.ledger.append(claim) {
            Ok(receipt) => {
                let heard = Instant::now();
                let Some(epoch) = granted(&receipt.record.event()?.data) else {
                    bail!("a claim was recorded and granted nothing: {:?}", receipt.record);
                };
                let (lasts_until, over_from) = (sent + length, heard + length);
                let (holder, from) = (self.name.clone(), heard);
                self.told.tenures.push(HeldSpan { entity, holder, epoch, from, to: lasts_until });
                Ok(Some(Holding { entity, epoch, length, lasts_until, over_from, is_over: false }))
            }
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::LeaseHeld => {
                self.told.claims_refused += 1;
                Ok(None)
            }
            Err(other) => bail!("a claim was answered with {other:?}"),
        }
    }

    fn act(&mut self, held: &mut Holding, afterwards: Afterwards) -> Result<()> {
        let carrying = LeaseTerms::carrying(held.epoch);
        let terms = match afterwards {
            Afterwards::Kept => carrying,
            Afterwards::Ended => carrying.and_end(),
        };
        let sent = Instant::now();
        match self.ledger.append(act(self.request(held.entity), held.epoch, terms)) {
            Ok(receipt) => {
                held.must_last(sent, &receipt.record)?;
                self.told.acts += 1;
                if afterwards == Afterwards::Ended {
                    self.told.ends += 1;
                    held.is_over = true;
                    self.shorten(held.epoch, held.entity, sent);
                }
                Ok(())
            }
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::LeaseLost => {
                self.lost(held, sent, &refusal.message)
            }
            Err(other) => bail!("an act was answered with {other:?}"),
        }
    }

    fn renew(&mut self, held: &mut Holding) -> Result<()> {
        let (name, until) = (held.entity.to_string(), Moment::default());
        let lease = Lease { name, holder: self.name.clone(), epoch: held.epoch, until };
        let sent = Instant::now();
        match self.ledger.renew_lease(&lease, held.length) {
            Ok(renewed) => {
                held.must_last(sent, &renewed)?;
                self.told.renewals += 1;
                let asked = sent + held.length;
                (held.lasts_until, held.over_from) = (asked, Instant::now() + held.length);
                // Between the grant and here it may have been renewed late, but it was never over.
                let span = self.told.tenures.iter_mut().rev();
                if let Some(span) = span.into_iter().find(|span| span.is_of(held.epoch, held.entity)) {
                    span.to = asked;
                }
                Ok(())
            }
            Err(LeaseError::Lost { held: by, .. }) => self.lost(held, sent, &format!("{by:?}")),
            Err(other) => bail!("a renewal was answered with {other:?}"),
        }
    }

    /// Takes it that the lease is over, which must not be said of one that lasts.
    fn lost(&mut self, held: &mut Holding, sent: Instant, told: &str) -> Result<()> {
        if !held.is_over && Instant::now() + DRIFT < held.lasts_until {
            bail!("epoch {} of {} was said to be over while it lasts: {told}", held.epoch, held.entity);
        }
        let was_late = held.is_over || sent >= held.over_from;
        (self.told.late, self.told.lost) =
            (self.told.late + u64::from(was_late), self.told.lost + u64::from(!was_late));
        held.is_over = true;
        Ok(())
    }

    /// From the moment that its end was asked for a lease is not surely held any more.
    fn shorten(&mut self, epoch: u64, entity: EntityId, to: Instant) {
        let mut spans = self.told.tenures.iter_mut();
        if let Some(span) = spans.find(|span| span.is_of(epoch, entity)) {
            span.to = span.to.min(to);
        }
    }
}

impl Holding {
    /// What was just taken must not have been sent after the lease was over.
    fn must_last(&self, sent: Instant, taken: &dyn fmt::Debug) -> Result<()> {
        if self.is_over || sent >= self.over_from + DRIFT {
            bail!("it was taken with epoch {} of {}, which was over: {taken:?}", self.epoch, self.entity);
        }
        Ok(())
    }
}

impl HeldSpan {
    fn is_of(&self, epoch: u64, entity: EntityId) -> bool {
        self.epoch == epoch && self.entity == entity
    }
}

impl Told {
    pub(crate) fn of_all(all: Vec<Self>) -> Self {
        let mut whole = Self::default();
        for mut told in all {
            whole.tenures.append(&mut told.tenures);
            whole.failures.append(&mut told.failures);
            whole.claims_refused += told.claims_refused;
            whole.acts += told.acts;
            whole.renewals += told.renewals;
            whole.ends += told.ends;
            whole.lost += told.lost;
            whole.late += told.late;
        }
        whole
    }

    /// How many answers were right.
    pub(crate) fn answers(&self) -> u64 {
        self.recorded() + self.claims_refused + self.renewals + self.lost + self.late
    }

    /// How many records they were told of.
    pub(crate) fn recorded(&self) -> u64 {
        self.tenures.len() as u64 + self.acts
    }

    /// Nobody was told anything wrong, no epoch was given twice, and nobody held what another one held.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.failures.is_empty() {
            bail!("{}", self.failures.join("; "));
        }
        let mut given = HashSet::new();
        if let Some(twice) = self.tenures.iter().find(|span| !given.insert((span.entity, span.epoch))) {
            bail!("an epoch was given twice: {twice:?}");
        }
        let mut spans: Vec<&HeldSpan> = self.tenures.iter().collect();
        spans.sort_by_key(|span| (span.entity.uuid(), span.epoch));
        for pair in spans.windows(2) {
            let (one, next) = (pair[0], pair[1]);
            let is_same = one.entity != next.entity || one.holder == next.holder;
            if !is_same && next.from + DRIFT < one.to {
                bail!("two held it at once: {one:?}, and {next:?}");
            }
        }
        let is_busy = self.late > 0 && self.claims_refused > 0 && self.renewals > 0;
        if !is_busy {
            bail!("nobody came too late, or nobody met another one: {self}");
        }
        Ok(())
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} leases granted and {} claims refused, {} acts, {} renewals, {} ended by hand; {} lost meanwhile, {} asked \
             with an epoch that was over",
            self.tenures.len(),
            self.claims_refused,
            self.acts,
            self.renewals,
            self.ends,
            self.lost,
            self.late,
        )
    }
}
