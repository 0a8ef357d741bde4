//! A batch on its way: where the log stands, the entities at hand, and the decision about one job.
//!
//! Invariant: the same on every engine. Jobs of one batch see each other's effects in order, a group is decided as a whole
//! or leaves nothing behind, and the ledger's time never runs backwards. Deliberately absent: loading and writing, which each engine does in its own way.

use std::borrow::Cow;
use std::collections::HashMap;

use callboard_kernel::{
    Axes, Context, Decision, Entity, EntityId, Event, FilesInUse, LeaseState, Moment, Order, Refusal,
    RefusalCode, decide, fact, task,
};
use callboard_lifecycle::{Delivery, Health, Kind, PolicyVersion, ReasonCode, Severity, Words};

use crate::error::{AppendError, Fault, ReadError};
use crate::mutant;
use crate::record::{Hash, Record};
use crate::store::{Part, Receipt, Request, Stored};
use crate::writing::body;
use crate::writing::group::GROUP_MAX;
use crate::writing::leasing::{self, LeaseMark, Leases};
use crate::writing::several::Several;

/// Entities whose state is kept at hand; beyond it the memory is let go and filled anew.
pub(crate) const HOT_MAX: usize = 65_536;
const _: () = assert!(GROUP_MAX < HOT_MAX, "the entities of a group must fit at hand");

/// What became of one job, not to be told before the sync: every command of it, or none.
pub(crate) type JobResult = Result<Several<Receipt>, Denied>;

/// Why nothing of a job was recorded.
#[derive(Debug)]
pub(crate) struct Denied {
    /// Which of its commands was refused.
    pub(crate) at: usize,
    pub(crate) error: AppendError,
}

impl From<Fault> for Denied {
    fn from(fault: Fault) -> Self {
        Self { at: 0, error: fault.into() }
    }
}

/// The receipts of all jobs of a batch that were taken, in order.
pub(crate) fn receipts(verdicts: &[JobResult]) -> impl DoubleEndedIterator<Item = &Receipt> {
    verdicts.iter().flatten().flat_map(Several::iter)
}

/// The newest record that a writer has answered for. A log without it is not the one that was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Anchor(Option<(u64, Hash)>);

impl Anchor {
    pub(crate) const fn newest(&self) -> Option<(u64, Hash)> {
        self.0
    }

    /// Takes over what is about to be answered.
    pub(crate) fn follow(&mut self, verdicts: &[JobResult]) {
        let told = receipts(verdicts).map(|receipt| (receipt.record.seq, receipt.record.hash));
        let newest = told.max_by_key(|(seq, _)| *seq);
        if newest.map(|(seq, _)| seq) > self.0.map(|(seq, _)| seq) {
            self.0 = newest;
        }
    }
}

/// Did the store fail for a whole batch? A record and a refusal both show that it works.
pub(crate) fn fault_of(verdicts: &[JobResult]) -> Result<(), Fault> {
    let mut first = None;
    for verdict in verdicts {
        match verdict {
            Err(Denied { error: AppendError::Fault(fault), .. }) => first = first.or(Some(fault)),
            Ok(_) | Err(Denied { error: AppendError::Refused(_), .. }) => return Ok(()),
        }
    }
    first.map_or(Ok(()), |fault| Err(fault.clone()))
}

/// Where the log stands, as of the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) seq: u64,
    pub(crate) at: Moment,
}

/// The log's end and the entities at hand.
#[derive(Default)]
pub(crate) struct BatchState {
    pub(crate) seen: Seen,
    hot: HashMap<EntityId, Stored>,
    /// The leases of the entities that have one.
    pub(crate) leases: Leases,
    /// The files that tasks under way hold; nothing before somebody wants to know.
    files: Option<Vec<(EntityId, String)>>,
    scratch: Vec<u8>,
}

/// What is to be done about one job.
pub(crate) enum Judged {
    /// Tell the caller; there is nothing to write.
    Answer(JobResult),
    /// Write these records, and the entities as they stand after the last of them.
    Write(Several<Drafted>),
}

/// A record that is to be written, and the event it records.
pub(crate) type Drafted = (Record, Event);

/// What was decided about one command.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box would cost each record an allocation"
)]
enum Decided {
    Refused(Box<Refusal>),
    /// The store holds it already.
    Repeated,
    Drafted(Drafted),
}

/// Where a group began, in case it is not taken.
struct Before {
    seen: Seen,
    entities: Vec<Stored>,
    leases: LeaseMark,
    files: Option<Vec<(EntityId, String)>>,
}

impl BatchState {
    /// Begins a batch at a moment of the store's clock.
    pub(crate) fn begin(&mut self, now: Moment) {
        self.leases.begin(now);
        self.files = None;
    }

    /// Must the files in use be loaded before this command is decided?
    pub(crate) fn wants_files(&self, part: &Part) -> bool {
        let command = &part.request.command;
        self.files.is_none()
            && matches!(command.order, Order::Transition(_))
            && !task::files(&self.stored(command.entity).entity.facts).is_empty()
    }

    /// Has the files in use at hand, as the store says; what this batch did to them counts.
    pub(crate) fn load_files(&mut self, held: Vec<(EntityId, String)>) {
        let changed = |id: &EntityId| self.hot.contains_key(id);
        let mut files: Vec<_> = held.into_iter().filter(|(id, _)| !changed(id)).collect();
        let at_hand = self.hot.values().filter(|stored| stored.entity.state.id.kind() == Kind::Task);
        files.extend(at_hand.flat_map(|stored| files_of(&stored.entity)));
        self.files = Some(files);
    }

    /// Forgets the entities at hand, because somebody else may have changed them.
    pub(crate) fn forget(&mut self) {
        self.hot.clear();
    }

    pub(crate) fn has(&self, id: EntityId) -> bool {
        self.hot.contains_key(&id)
    }

    /// Has room for the entities of one job: none of them may be let go before the job is written.
    pub(crate) fn make_room(&mut self, parts: &Several<Part>) {
        if self.hot.len() + parts.len() > HOT_MAX {
            self.hot.clear();
        }
    }

    /// Has an entity at hand from here on.
    pub(crate) fn warm(&mut self, stored: Stored) {
        self.hot.insert(stored.entity.state.id, stored);
    }

    pub(crate) fn stored(&self, id: EntityId) -> &Stored {
        let Some(stored) = self.hot.get(&id) else {
            unreachable!("BUG: {id} was not warmed before it was used")
        };
        stored
    }

    /// Decides about one job; `earlier` is what the store holds for the key of each command.
    pub(crate) fn judge(
        &mut self,
        parts: &Several<Part>,
        earlier: Several<Option<Record>>,
    ) -> Result<Judged, ReadError> {
        if parts.len() > 1 {
            return self.judge_group(parts, earlier);
        }
        Ok(match self.decide(&parts.first, earlier.first.as_ref())? {
            Decided::Refused(refusal) => Judged::refused(0, refusal),
            Decided::Repeated => Judged::repeated(earlier),
            Decided::Drafted(drafted) => Judged::Write(Several::one(drafted)),
        })
    }

    /// Each command is decided where those before it leave off. If one is refused, everything is as it was.
    fn judge_group(
        &mut self,
        parts: &Several<Part>,
        earlier: Several<Option<Record>>,
    ) -> Result<Judged, ReadError> {
        if parts.len() > GROUP_MAX {
            return Ok(Judged::refused(GROUP_MAX, self.too_long(parts)));
        }
        let before = self.before(parts);
        let (mut drafted, mut repeated) = (Vec::with_capacity(parts.len()), None);
        for (at, (part, earlier)) in parts.iter().zip(earlier.iter()).enumerate() {
            match self.decide(part, earlier.as_ref())? {
                Decided::Drafted(one) => drafted.push(one),
                Decided::Repeated => repeated = repeated.or(Some(at)),
                Decided::Refused(refusal) => {
                    if mutant::removed("group_all_or_none")
                        && let Some(torn) = Several::of(drafted)
                    {
                        return Ok(Judged::Write(torn));
                    }
                    self.restore(before);
                    return Ok(Judged::refused(at, refusal));
                }
            }
        }
        match (repeated, Several::of(drafted)) {
            (None, Some(all)) => Ok(Judged::Write(all)),
            (Some(_), None) if is_one_group(&earlier) => Ok(Judged::repeated(earlier)),
            (at, _) => {
                // The key was used before, and not for this group: some of it is there, or all of it is scattered.
                self.restore(before);
                let at = at.unwrap_or_default();
                let entity = parts.iter().nth(at).unwrap_or(&parts.first).request.command.entity;
                Ok(Judged::refused(at, self.key_reused(entity)))
            }
        }
    }

    /// Decides about one command, and has its effect at hand.
    fn decide(&mut self, part: &Part, earlier: Option<&Record>) -> Result<Decided, ReadError> {
        let Request { command, actor, now, cause } = &part.request;
        let earlier_event = earlier.map(Record::event).transpose()?;
        let mut context = Context::new(actor, (*now).max(self.seen.at));
        context.cause = cause.as_deref();
        context.earlier = earlier_event.as_ref();
        let stored = self.stored(command.entity);
        let leased = match self.leases.judge(&part.request, stored, context.earlier) {
            Ok(leased) => leased,
            Err((code, problem, help)) => {
                return Ok(Decided::Refused(self.refusal(command.entity, code, &problem, help)));
            }
        };
        let held = self.leases.held(command.entity);
        context.lease = held.as_ref().map_or(LeaseState::Free, LeaseState::Held);
        context.files = self.files.as_deref().map_or(FilesInUse::NotAsked, FilesInUse::Held);
        let mut command = command.clone();
        if let Some(leased) = &leased {
            leasing::add(&mut command.order, &leased.facts);
        }
        let entity = command.entity;
        match decide(&stored.entity, command, &context) {
            Err(refusal) => Ok(Decided::Refused(refusal)),
            Ok(Decision::Repeat { .. }) => match earlier {
                Some(record) if record.member()? == part.member => Ok(Decided::Repeated),
                Some(_) => Ok(Decided::Refused(self.key_reused(entity))),
                None => unreachable!("BUG: a repeat without the record it repeats"),
            },
            Ok(Decision::Record(event)) => {
                let encoded = match leased {
                    None => Cow::Borrowed(&part.body),
                    Some(leased) => {
                        leased.row.into_iter().for_each(|row| self.leases.change(entity, row));
                        Cow::Owned(body::encode(&event.reasons, cause.as_deref(), &event.data, part.member))
                    }
                };
                let record = self.take(&event, body::with_guards(&encoded, event.guards))?;
                Ok(Decided::Drafted((record, event)))
            }
        }
    }

    fn before(&self, parts: &Several<Part>) -> Before {
        let mut entities: Vec<Stored> = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            let id = part.request.command.entity;
            if !entities.iter().any(|stored| stored.entity.state.id == id) {
                entities.push(self.stored(id).clone());
            }
        }
        let leases = self.leases.mark(entities.iter().map(|stored| stored.entity.state.id));
        Before { seen: self.seen, entities, leases, files: self.files.clone() }
    }

    fn restore(&mut self, before: Before) {
        (self.seen, self.files) = (before.seen, before.files);
        self.leases.restore(before.leases);
        for stored in before.entities {
            self.hot.insert(stored.entity.state.id, stored);
        }
    }

    fn key_reused(&self, entity: EntityId) -> Box<Refusal> {
        self.refusal(
            entity,
            RefusalCode::KeyReused,
            "its key was used for another request, with other commands",
            "send the new request with a new key",
        )
    }

    fn too_long(&self, parts: &Several<Part>) -> Box<Refusal> {
        let problem = format!("its group has {} commands, more than {GROUP_MAX}", parts.len());
        let help = "send it as several groups";
        self.refusal(parts.first.request.command.entity, RefusalCode::TooLarge, &problem, help)
    }

    /// A refusal of what only a group can get wrong; the kernel sees one command at a time.
    fn refusal(&self, entity: EntityId, code: RefusalCode, problem: &str, help: &str) -> Box<Refusal> {
        let (machine, from) = (entity.kind().machine(), self.stored(entity).entity.state.lifecycle);
        let allowed = match from {
            Some(from) => machine.targets(from.position()),
            None => machine.start.iter().collect(),
        };
        Box::new(Refusal {
            code,
            message: format!("{entity}: {problem}"),
            entity: entity.into(),
            from,
            to: None,
            allowed: allowed.into_iter().map(|state| machine.state_name(state)).collect(),
            guard: None,
            help: help.to_owned(),
        })
    }

    fn take(&mut self, event: &Event, body: String) -> Result<Record, ReadError> {
        let Some(stored) = self.hot.get_mut(&event.entity) else {
            unreachable!("BUG: decided without a state")
        };
        let mut record = Record::of(self.seen.seq + 1, event, body);
        record.hash = record.hash_after(stored.head, &mut self.scratch);
        stored.take(event, record.seq, record.hash)?;
        if let Some(files) = &mut self.files
            && event.entity.kind() == Kind::Task
        {
            files.retain(|(id, _)| *id != event.entity);
            files.extend(files_of(&stored.entity));
        }
        self.seen.seq = record.seq;
        self.seen.at = record.at;
        Ok(record)
    }
}

impl Judged {
    const fn refused(at: usize, refusal: Box<Refusal>) -> Self {
        Self::Answer(Err(Denied { at, error: AppendError::Refused(refusal) }))
    }

    fn repeated(earlier: Several<Option<Record>>) -> Self {
        let receipt = |record: Option<Record>| match record {
            Some(record) => Receipt { record, repeated: true },
            None => unreachable!("BUG: a repeat without the record it repeats"),
        };
        let then = earlier.then.into_iter().map(receipt).collect();
        Self::Answer(Ok(Several { first: receipt(earlier.first), then }))
    }
}

/// The files that a task holds.
fn files_of(entity: &Entity) -> impl Iterator<Item = (EntityId, String)> {
    let id = entity.state.id;
    task::held_files(entity)
        .into_iter()
        .map(str::to_owned)
        .map(move |path| (id, path))
        .collect::<Vec<_>>()
        .into_iter()
}

/// Do these records stand in the log as one group does?
fn is_one_group(records: &Several<Option<Record>>) -> bool {
    let seq = |record: &Option<Record>| record.as_ref().map(|record| record.seq);
    let first = seq(&records.first);
    records.iter().zip(0..).all(|(record, at)| seq(record) == first.map(|first| first + at))
}

/// Reasons that make an ended run degraded for whoever looks at it.
const STAYS: [ReasonCode; 3] = [
    ReasonCode::of("run.completed.denied"),
    ReasonCode::of("run.completed.truncated"),
    ReasonCode::of("run.health.kill_unconfirmed"),
];

/// Was a run ended in the log by somebody who did not see its processes end? Its supervisor and the reaper record what they
/// saw, and the supervisor also if somebody else was first.
pub fn is_unwitnessed_end(entity: &Entity) -> bool {
    entity.ended_at.is_some()
        && entity.state.id.kind() == Kind::Session
        && ![fact::SHELL_CODE.name(), fact::LEFTOVERS.name(), fact::LATER_END.name()]
            .iter()
            .any(|name| entity.facts.has(name))
}

impl Stored {
    /// Folds one more record in.
    pub(crate) fn take(&mut self, event: &Event, seq: u64, hash: Hash) -> Result<(), ReadError> {
        self.entity.apply(event)?;
        self.head = hash;
        self.last_seq = seq;
        if event.kind.enters_a_state() {
            self.state_seq = seq;
        }
        Ok(())
    }

    /// How urgent it is by what is stored; other health is judged when somebody looks.
    pub(crate) fn rank(&self) -> Severity {
        if task::is_told_by_task(&self.entity) {
            return Severity::Neutral;
        }
        let delivery = self.entity.facts.read(fact::DELIVERY).and_then(|word| Delivery::parse(word).ok());
        let stays = self.entity.reasons.iter().any(|reason| STAYS.contains(&reason.code));
        let health = (stays || self.may_outlive_its_end()).then_some(Health::Degraded);
        let axes = Axes { lifecycle: self.entity.state.lifecycle, outcome: None, health, delivery };
        axes.severity(PolicyVersion::V2, self.entity.reasons.first().map(|reason| reason.code)).0
    }

    /// Does what is stored of it call for somebody, whatever its health?
    pub fn is_urgent(&self) -> bool {
        self.rank().is_urgent()
    }

    /// May the process of a run outlive the end that is recorded? A run without a uid is one of an older release, which did not
    /// ask this; its stored rank has to stay what folding the log gives.
    fn may_outlive_its_end(&self) -> bool {
        is_unwitnessed_end(&self.entity)
            && [fact::PID.name(), fact::STARTED_TICKS.name(), fact::UID.name()]
                .iter()
                .all(|name| self.entity.facts.has(name))
    }

    /// The id of what started it.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.entity.facts.read(fact::PARENT)
    }

    /// The facts as the view keeps them; none is an empty text.
    pub(crate) fn facts_text(&self) -> String {
        if self.entity.facts.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.entity.facts)
            .unwrap_or_else(|error| unreachable!("BUG: facts are always JSON: {error}"))
    }
}
