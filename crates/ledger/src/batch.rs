//! A batch on its way: where the log stands, the entities at hand, and the decision about one job.
//!
//! Invariant: the same on every engine. Jobs of one batch see each other's effects in order, and the ledger's time
//! never runs backwards. Deliberately absent: loading and writing, which each engine does in its own way.

use std::collections::HashMap;

use callboard_kernel::{Axes, Context, Decision, Entity, EntityId, Event, EventType, Moment, Value, decide};
use callboard_lifecycle::{Delivery, Health, Kind, PolicyVersion, ReasonCode, Severity, Words};

use crate::body;
use crate::error::{AppendError, Fault, ReadError};
use crate::record::{Hash, Record};
use crate::store::{Job, Receipt, Request, Stored};

/// Entities whose state is kept at hand; beyond it the memory is let go and filled anew.
pub(crate) const HOT_MAX: usize = 65_536;

/// What became of one job, not to be told before the sync.
pub(crate) type Verdict = Result<Receipt, AppendError>;

/// The newest record that a writer has answered for. A log without it is not the one that was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Anchor(Option<(u64, Hash)>);

impl Anchor {
    pub(crate) const fn newest(&self) -> Option<(u64, Hash)> {
        self.0
    }

    /// Takes over what is about to be answered.
    pub(crate) fn follow(&mut self, verdicts: &[Verdict]) {
        let told = verdicts.iter().flatten().map(|receipt| (receipt.record.seq, receipt.record.hash));
        let newest = told.max_by_key(|(seq, _)| *seq);
        if newest.map(|(seq, _)| seq) > self.0.map(|(seq, _)| seq) {
            self.0 = newest;
        }
    }
}

/// Did the store fail for a whole batch? A record and a refusal both show that it works.
pub(crate) fn fault_of(verdicts: &[Verdict]) -> Result<(), Fault> {
    let mut first = None;
    for verdict in verdicts {
        match verdict {
            Err(AppendError::Fault(fault)) => first = first.or(Some(fault)),
            Ok(_) | Err(AppendError::Refused(_)) => return Ok(()),
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
pub(crate) struct Standing {
    pub(crate) seen: Seen,
    hot: HashMap<EntityId, Stored>,
    scratch: Vec<u8>,
}

/// What is to be done about one job.
pub(crate) enum Judged {
    /// Tell the caller; there is nothing to write.
    Answer(Verdict),
    /// Write this record, and the entity as it stands after it.
    Write { record: Record, event: Event },
}

impl Standing {
    /// Forgets the entities at hand, because somebody else may have changed them.
    pub(crate) fn forget(&mut self) {
        self.hot.clear();
    }

    pub(crate) fn has(&self, id: EntityId) -> bool {
        self.hot.contains_key(&id)
    }

    /// Has an entity at hand from here on.
    pub(crate) fn warm(&mut self, stored: Stored) {
        if self.hot.len() >= HOT_MAX {
            self.hot.clear();
        }
        self.hot.insert(stored.entity.state.id, stored);
    }

    pub(crate) fn stored(&self, id: EntityId) -> &Stored {
        let Some(stored) = self.hot.get(&id) else {
            unreachable!("BUG: {id} was not warmed before it was used")
        };
        stored
    }

    /// Decides about one job; `earlier` is what the store holds for its key.
    pub(crate) fn judge(&mut self, job: &Job, earlier: Option<Record>) -> Result<Judged, ReadError> {
        let Request { command, actor, now, cause } = &job.request;
        let earlier_event = earlier.as_ref().map(Record::event).transpose()?;
        let mut context = Context::new(actor, (*now).max(self.seen.at));
        context.cause = cause.as_deref();
        context.earlier = earlier_event.as_ref();
        match decide(&self.stored(command.entity).entity, command.clone(), &context) {
            Err(refusal) => Ok(Judged::Answer(Err(AppendError::Refused(refusal)))),
            Ok(Decision::Repeat { .. }) => match earlier {
                Some(record) => Ok(Judged::Answer(Ok(Receipt { record, repeated: true }))),
                None => unreachable!("BUG: a repeat without the record it repeats"),
            },
            Ok(Decision::Record(event)) => {
                let record = self.take(&event, body::with_guards(&job.body, event.guards))?;
                Ok(Judged::Write { record, event })
            }
        }
    }

    fn take(&mut self, event: &Event, body: String) -> Result<Record, ReadError> {
        let Some(stored) = self.hot.get_mut(&event.entity) else {
            unreachable!("BUG: decided without a state")
        };
        let mut record = Record::of(self.seen.seq + 1, event, body);
        record.hash = record.hash_after(stored.head, &mut self.scratch);
        stored.take(event, record.seq, record.hash)?;
        self.seen.seq = record.seq;
        self.seen.at = record.at;
        Ok(record)
    }
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
        && !["shell_code", "leftovers", "later_end"].iter().any(|name| entity.facts.has(name))
}

impl Stored {
    /// Folds one more record in.
    pub(crate) fn take(&mut self, event: &Event, seq: u64, hash: Hash) -> Result<(), ReadError> {
        self.entity.apply(event)?;
        self.head = hash;
        self.last_seq = seq;
        if event.kind != EventType::Observed {
            self.state_seq = seq;
        }
        Ok(())
    }

    /// How urgent it is by what is stored; other health is judged when somebody looks.
    pub(crate) fn rank(&self) -> Severity {
        let delivery = self.text("delivery").and_then(|word| Delivery::parse(word).ok());
        let stays = self.entity.reasons.iter().any(|reason| STAYS.contains(&reason.code));
        let health = (stays || self.may_outlive_its_end()).then_some(Health::Degraded);
        let axes = Axes { lifecycle: self.entity.state.lifecycle, outcome: None, health, delivery };
        axes.severity(PolicyVersion::V2, self.entity.reasons.first().map(|reason| reason.code)).0
    }

    /// Does what is stored of it call for somebody, whatever its health?
    pub fn is_urgent(&self) -> bool {
        match self.rank() {
            Severity::Critical | Severity::Warning => true,
            Severity::Info | Severity::Neutral => false,
        }
    }

    /// May the process of a run outlive the end that is recorded? A run without a uid is one of an older release, which did not
    /// ask this; its stored rank has to stay what folding the log gives.
    fn may_outlive_its_end(&self) -> bool {
        is_unwitnessed_end(&self.entity)
            && ["pid", "started_ticks", "uid"].iter().all(|name| self.entity.facts.has(name))
    }

    /// The id of what started it.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.text("parent")
    }

    /// The facts as the view keeps them; none is an empty text.
    pub(crate) fn facts_text(&self) -> String {
        if self.entity.facts.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.entity.facts)
            .unwrap_or_else(|error| unreachable!("BUG: facts are always JSON: {error}"))
    }

    fn text(&self, fact: &str) -> Option<&str> {
        match self.entity.facts.get(fact) {
            Some(Value::Text(text)) => Some(text),
            Some(_) | None => None,
        }
    }
}
