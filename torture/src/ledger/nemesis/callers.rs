//! Those who write and those who read while the nemesis is at work, and what each was told.
//!
//! Invariant: a command with a key is repeated under that key until it is answered, and some are sent once more after
//! their answer; one without a key is sent once, and what was said of it is kept. A follower reads by sequence and takes no record twice. Deliberately absent: judging; `nemesis`
//! compares what was told with what is there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_kernel::{Actor, EntityId, LeaseTerms, RefusalCode};
use callboard_ledger::{
    AppendError, Fault, Group, GroupError, Hash, Ledger, Page, Receipt, RecordScope, Request,
};

use callboard_lifecycle::ActorClass;

use crate::harness::commands::{create, keyed, observe, request, session, whole_run};
use crate::ledger::leases::history::{act, granted};

/// What everybody shares.
pub(crate) struct Stand {
    begun: Instant,
    /// Nobody is to send anything further.
    pub(crate) is_over: AtomicBool,
    /// Everything that was sent has been answered.
    pub(crate) is_answered: AtomicBool,
    /// Records acknowledged so far.
    pub(crate) acknowledged: AtomicU64,
    told: Mutex<Told>,
}

/// What the callers were told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) acks: Vec<Receipt>,
    /// Sent once, without a key, and said not to be there.
    pub(crate) not_written: Vec<EntityId>,
    /// Sent once, without a key, and nobody knows.
    pub(crate) unknown: Vec<EntityId>,
    /// Answers that were no answer, by sort.
    pub(crate) faults: Faults,
    /// Commands that a repetition found recorded.
    pub(crate) found: u64,
    /// Everything that happened, in order.
    pub(crate) history: Vec<String>,
}

/// How often callers were told of which fault.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) busy: u64,
    pub(crate) unreachable: u64,
    pub(crate) not_written: u64,
    pub(crate) unknown: u64,
}

/// The entity that all of them write to.
pub(crate) const SHARED: u128 = u128::MAX - 1;
/// The entity whose lease all of them want.
pub(crate) const LEASED: u128 = u128::MAX - 2;
/// How long they get that lease: shorter than most faults, so that some wake up without it.
const LEASE: Duration = Duration::from_millis(150);
/// A command that is not answered by then is a failure. A server may take a minute to end, and longer to recover.
const ANSWER_MAX: Duration = Duration::from_secs(150);
/// Of the commands of a caller, each of this many has no key.
const KEYLESS: u64 = 5;

impl Stand {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            is_over: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    pub(crate) fn told(self) -> Told {
        self.told.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the history.
    pub(crate) fn note(&self, line: &str) {
        let at = self.begun.elapsed().as_secs_f64();
        self.tell(|told| told.history.push(format!("{at:.4} {line}")));
    }

    fn tell(&self, tell: impl FnOnce(&mut Told)) {
        tell(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends a command once and writes down what came of it.
    fn send(&self, who: &str, ledger: &Ledger, request: Request) -> Result<Receipt, AppendError> {
        let what = format!("{who} {:?} of {}", request.command.key, request.command.entity);
        let answer = ledger.append(request);
        match &answer {
            Ok(receipt) => self.hear(&what, receipt),
            Err(error) => {
                self.note(&format!("{what}: {error:?}"));
                if let AppendError::Fault(fault) = error {
                    self.tell(|told| told.faults.count(fault));
                }
            }
        }
        answer
    }

    fn hear(&self, what: &str, receipt: &Receipt) {
        let Receipt { record, repeated } = receipt;
        self.note(&format!("{what}: record {} ({}), repeated {repeated}", record.seq, record.hash));
        self.tell(|told| {
            told.acks.push(receipt.clone());
            told.found += u64::from(*repeated);
        });
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
    }

    /// Sends a group under its key until it is answered; `refused` is the one command that must be refused, if any.
    fn insist_on_group(
        &self,
        who: &str,
        ledger: &Ledger,
        group: &Group,
        refused: Option<usize>,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            match (ledger.append_group(group.clone()), refused) {
                (Ok(receipts), None) => {
                    receipts.iter().for_each(|receipt| self.hear(&format!("{who} group"), receipt));
                    return Ok(());
                }
                (Err(GroupError::Refused { at, .. }), Some(wanted)) if at == wanted => return Ok(()),
                (Err(GroupError::Fault(fault)), _) => {
                    self.note(&format!("{who} group: {fault:?}"));
                    self.tell(|told| told.faults.count(&fault));
                    if begun.elapsed() > ANSWER_MAX || matches!(fault, Fault::Corrupt(_)) {
                        bail!("{who}: a group is not answered: {fault:?}")
                    }
                }
                (answer, _) => bail!("{who}: a group was answered with {answer:?}"),
            }
        }
    }

    /// A group that holds, and one whose last command is refused: nothing of it may ever be there.
    fn call_groups(&self, who: &str, ledger: &Ledger, run: u128) -> Result<()> {
        let said = |part: u128, order| request(session(1 << 121 | run << 2 | part), 0, order);
        let [born, begun, ..] = whole_run();
        let good = Group::new(said(0, born.clone())).and(said(1, born.clone())).and(said(0, begun));
        self.insist_on_group(who, ledger, &good.keyed("good"), None)?;
        let bad = Group::new(said(2, born.clone())).and(said(3, born)).and(said(0, create("again")));
        self.tell(|told| told.not_written.extend([2, 3].map(|part| session(1 << 121 | run << 2 | part))));
        self.insist_on_group(who, ledger, &bad, Some(2))
    }

    /// Sends a command under its key until it is answered.
    fn insist(&self, who: &str, ledger: &Ledger, request: &Request) -> Result<Option<Receipt>> {
        let begun = Instant::now();
        loop {
            match self.send(who, ledger, request.clone()) {
                Ok(receipt) => return Ok(Some(receipt)),
                Err(AppendError::Refused(refusal))
                    if refusal.code == RefusalCode::VersionConflict
                        && request.command.if_version.is_some() =>
                {
                    return Ok(None);
                }
                Err(AppendError::Refused(refusal)) => {
                    bail!("{who}: {:?} was refused: {refusal:?}", request.command)
                }
                Err(AppendError::Fault(fault)) if begun.elapsed() > ANSWER_MAX => {
                    bail!("{who}: {:?} is not answered in {ANSWER_MAX:?}: {fault:?}", request.command.key)
                }
                Err(AppendError::Fault(Fault::Corrupt(text))) => bail!("{who}: the store is corrupt: {text}"),
                Err(AppendError::Fault(_)) => {}
            }
        }
    }

    /// Sends a command that rests on a lease under its key until it is answered; nothing if the lease is not the caller's.
    fn ask_leased(&self, who: &str, ledger: &Ledger, request: &Request) -> Result<Option<Receipt>> {
        let begun = Instant::now();
        loop {
            match self.send(who, ledger, request.clone()) {
                Ok(receipt) => return Ok(Some(receipt)),
                Err(AppendError::Refused(refusal))
                    if matches!(refusal.code, RefusalCode::LeaseHeld | RefusalCode::LeaseLost) =>
                {
                    return Ok(None);
                }
                Err(AppendError::Fault(fault))
                    if begun.elapsed() <= ANSWER_MAX && !matches!(fault, Fault::Corrupt(_)) => {}
                Err(other) => bail!("{who}: {:?} was answered with {other:?}", request.command.key),
            }
        }
    }

    /// Claims what only one may hold and acts as long as it may, through whatever happens meanwhile, and with the epoch of its
    /// claim before as well, which is over.
    fn call_leased(&self, who: &str, ledger: &Ledger, step: u64, last: &mut Option<u64>) -> Result<()> {
        let said = |part: &str| {
            let actor = Actor::new(ActorClass::Worker, who);
            let request = Request { actor, ..request(session(LEASED), 0, observe("claims", 1)) };
            keyed(request, format!("{who} step {step} {part}"))
        };
        let mut claim = said("claim");
        claim.command.lease = Some(LeaseTerms::grant(who, LEASE));
        let Some(claimed) = self.ask_leased(who, ledger, &claim)? else { return Ok(()) };
        let Some(epoch) = granted(&claimed.record.event()?.data) else {
            bail!("{who}: a claim granted nothing: {claimed:?}");
        };
        if let Some(last) = last.replace(epoch) {
            self.ask_leased(who, ledger, &act(said("late"), last, LeaseTerms::carrying(last)))?;
        }
        for part in ["one", "two", "three"] {
            self.ask_leased(who, ledger, &act(said(part), epoch, LeaseTerms::carrying(epoch)))?;
        }
        if step.is_multiple_of(2) {
            self.ask_leased(who, ledger, &act(said("end"), epoch, LeaseTerms::carrying(epoch).and_end()))?;
        }
        Ok(())
    }

    /// Sends an answered command once more, as a caller does that lost the answer: it must get the same record.
    fn repeat(&self, who: &str, ledger: &Ledger, request: &Request, answer: &Receipt) -> Result<()> {
        let begun = Instant::now();
        loop {
            match ledger.append(request.clone()) {
                Ok(Receipt { record, repeated: true }) if record == answer.record => return Ok(()),
                Ok(other) => bail!("{who}: {:?} was repeated and answered with {other:?}", answer.record),
                Err(AppendError::Refused(refusal)) => {
                    bail!("{who}: {:?} was repeated and refused: {refusal:?}", answer.record)
                }
                Err(AppendError::Fault(fault)) if begun.elapsed() > ANSWER_MAX => {
                    bail!("{who}: {:?} is not answered in {ANSWER_MAX:?}: {fault:?}", answer.record)
                }
                Err(AppendError::Fault(Fault::Corrupt(text))) => bail!("{who}: the store is corrupt: {text}"),
                Err(AppendError::Fault(_)) => {}
            }
        }
    }

    /// Sends a command without a key once.
    fn once(&self, who: &str, ledger: &Ledger, id: EntityId) -> Result<()> {
        match self.send(who, ledger, request(id, 0, create("once"))) {
            Ok(_) => {}
            Err(AppendError::Fault(Fault::Unknown(_))) => self.tell(|told| told.unknown.push(id)),
            Err(AppendError::Fault(Fault::Corrupt(text))) => bail!("{who}: the store is corrupt: {text}"),
            Err(AppendError::Fault(_)) => self.tell(|told| told.not_written.push(id)),
            Err(error) => bail!("{who}: a creation was answered with {error:?}"),
        }
        Ok(())
    }

    /// Writes until it is over: whole runs of its own, the shared entity by its version, and commands without a key.
    pub(crate) fn call(&self, ledger: &Ledger, caller: u64) -> Result<()> {
        let (who, orders) = (format!("caller {caller}"), whole_run());
        let (mut step, mut epoch) = (0, None);
        while !self.is_over.load(Ordering::SeqCst) {
            let run = u128::from(caller) << 64 | u128::from(step / orders.len() as u64);
            let order = orders[step as usize % orders.len()].clone();
            let own = keyed(request(session(run), 0, order), format!("step {step}"));
            let answer = self.insist(&who, ledger, &own)?;
            if step % KEYLESS == 2
                && let Some(answer) = answer
            {
                self.repeat(&who, ledger, &own, &answer)?;
            }
            if step % KEYLESS == 0 {
                let id = session(1 << 120 | u128::from(caller) << 64 | u128::from(step));
                self.once(&who, ledger, id)?;
            }
            if step % KEYLESS == 1
                && let Ok(Some(shared)) = ledger.entity(session(SHARED))
            {
                let order = observe("caller", caller as i64);
                let mut update = keyed(request(session(SHARED), 0, order), format!("{who} step {step}"));
                update.command.if_version = Some(shared.entity.state.version);
                self.insist(&who, ledger, &update)?;
            }
            if step % KEYLESS == 2 {
                self.call_groups(&who, ledger, u128::from(caller) << 64 | u128::from(step))?;
            }
            if step % KEYLESS == 3 {
                self.call_leased(&who, ledger, step, &mut epoch)?;
            }
            step += 1;
        }
        Ok(())
    }

    /// Reads by sequence until everything is answered and nothing more comes; gives the hashes in order.
    pub(crate) fn follow(&self, ledger: &Ledger) -> Result<Vec<Hash>> {
        let mut seen: Vec<Hash> = Vec::new();
        let mut answered = Instant::now();
        loop {
            // Read before the page, so that an empty page afterwards means the end.
            let is_answered = self.is_answered.load(Ordering::SeqCst);
            let page =
                match ledger.records(Page { after: seen.len() as u64, limit: 1000, scope: RecordScope::All })
                {
                    Ok(page) => page,
                    Err(error) if answered.elapsed() < ANSWER_MAX => {
                        self.note(&format!("follower after {}: {error:?}", seen.len()));
                        continue;
                    }
                    Err(error) => return Err(error).context("the follower gets no answer"),
                };
            answered = Instant::now();
            for record in &page {
                if record.seq != seen.len() as u64 + 1 {
                    bail!("the follower saw record {} after {}", record.seq, seen.len());
                }
                seen.push(record.hash);
            }
            if is_answered && page.is_empty() {
                return Ok(seen);
            }
            if page.is_empty() {
                // Nothing to do is not a reason to keep the server from its work.
                std::thread::yield_now();
            }
        }
    }
}

impl Faults {
    fn count(&mut self, fault: &Fault) {
        match fault {
            Fault::Busy => self.busy += 1,
            Fault::Unknown(_) => self.unknown += 1,
            Fault::NotWritten(_) => self.not_written += 1,
            Fault::Full | Fault::ReadOnly(_) | Fault::Replaced(_) | Fault::Corrupt(_) | Fault::Closed => {
                self.unreachable += 1;
            }
        }
    }
}
