//! Folding the log: what the records of one entity say, whoever wrote them and wherever one begins to read.
//!
//! Invariant: every record goes through the kernel's `apply`. One whose type is unknown moves the entity as its own
//! columns say, and what it carries stays unread. Two stretches of a history that meet give the same as the whole, so
//! the log can be cut anywhere and folded on all cores. Deliberately absent: deciding; these records were decided
//! elsewhere.

use callboard_kernel::{Actor, Channel, Event, EventType, Facts, Misfit, State};
use callboard_lifecycle::{ActorClass, Kind, Words};
use uuid::Uuid;

use crate::engine::Ask;
use crate::error::ReadError;
use crate::reading::borrowed::Borrowed;
use crate::reading::entities::Entities;
use crate::reading::ranges;
use crate::reading::record_shape::{RecordShape, RecordShapes};
use crate::record::Record;
use crate::store::Stored;
use crate::writing::body::{self, Body};

impl Stored {
    /// The entity that these records tell of, if they are all of its records up to the last of them.
    #[must_use]
    pub fn told_by(records: &[Record]) -> Option<Self> {
        let mut stored = Self::unborn(records.first()?.id().ok()?);
        for (record, version) in records.iter().zip(1..) {
            if record.version != version || record.entity != stored.entity.state.id.uuid() {
                return None;
            }
            stored.follow(record).ok()?;
        }
        Some(stored)
    }

    /// Folds one more record in, whoever wrote it.
    pub fn follow(&mut self, record: &Record) -> Result<(), ReadError> {
        let line = record.borrowed();
        let event = match EventType::parse(&record.event_type) {
            Ok(_) => record.event()?,
            Err(_) => {
                let shape = RecordShape::of(&line)?;
                let reasons = match shape.event {
                    EventType::Observed | EventType::Entry => Vec::new(),
                    EventType::Created | EventType::Transitioned => Body::parse(&record.body)?.reasons()?,
                };
                Event { reasons, ..bare(&line, shape) }
            }
        };
        self.take(&event, record.seq, record.hash)
    }
}

/// What a record does to its entity, without why, by whom exactly and what it carries.
fn bare(line: &Borrowed<'_>, shape: RecordShape) -> Event {
    Event {
        entity: callboard_kernel::EntityId::new(shape.kind, line.entity),
        version: line.version,
        at: line.at,
        kind: shape.event,
        channel: Channel::Audit,
        from: shape.from,
        to: shape.to,
        trigger: None,
        // Whose sort of actor it was tells a sign of life from a note.
        actor: Actor::new(ActorClass::parse(line.actor_type).unwrap_or(ActorClass::System), ""),
        reasons: Vec::new(),
        cause: None,
        key: None,
        data: Facts::none(),
        guards: callboard_lifecycle::GuardSet::NONE,
    }
}

/// What the log says of one entity.
pub(crate) enum Fold {
    Known(Box<Stretch>),
    /// It has a record that only a newer program can read, or one that does not follow.
    Unknown(Option<Kind>, Box<ReadError>),
}

/// What some records of an entity say that follow one another.
pub(crate) struct Stretch {
    /// Where the entity must have stood before them.
    before: State,
    /// Everything they say but the reasons.
    stored: Stored,
    /// The reasons are in here, and read once it is clear that no later record has others.
    body: String,
}

impl Fold {
    /// Before the first record that is read of an entity.
    pub(crate) fn before(line: &Borrowed<'_>, shape: Option<RecordShape>) -> Self {
        let shape = match shape.map_or_else(|| RecordShape::of(line), Ok) {
            Ok(shape) => shape,
            Err(error) => return Self::Unknown(Kind::parse(line.kind).ok(), Box::new(error.into())),
        };
        let id = callboard_kernel::EntityId::new(shape.kind, line.entity);
        let before = State { id, version: line.version.wrapping_sub(1), lifecycle: shape.from };
        let mut stored = Stored::unborn(id);
        stored.entity.state = before;
        Self::Known(Box::new(Stretch { before, stored, body: String::new() }))
    }

    /// The kind of the entity, if this program knows it.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Known(stretch) => Some(stretch.before.id.kind().name()),
            Self::Unknown(kind, _) => kind.map(Kind::name),
        }
    }

    /// Folds one more record in.
    pub(crate) fn take(&mut self, line: &Borrowed<'_>, shape: Option<RecordShape>) {
        if let Self::Known(stretch) = self
            && let Err(error) = stretch.take(line, shape)
        {
            *self = Self::Unknown(Some(stretch.before.id.kind()), Box::new(error));
        }
    }

    /// Goes on with what later records of the entity say.
    pub(crate) fn join(&mut self, later: Self) {
        let Self::Known(earlier) = self else { return };
        match later {
            Self::Known(later) => {
                let kind = earlier.before.id.kind();
                if let Err(misfit) = earlier.join(*later) {
                    *self = Self::Unknown(Some(kind), Box::new(misfit.into()));
                }
            }
            unknown @ Self::Unknown(..) => *self = unknown,
        }
    }

    /// The entity as it stands after all its records.
    pub(crate) fn settle(self) -> Result<Stored, ReadError> {
        match self {
            Self::Known(stretch) => stretch.settle(),
            Self::Unknown(_, error) => Err(*error),
        }
    }
}

impl Stretch {
    fn take(&mut self, line: &Borrowed<'_>, shape: Option<RecordShape>) -> Result<(), ReadError> {
        let shape = shape.map_or_else(|| RecordShape::of(line), Ok)?;
        let mut event = bare(line, shape);
        // What an unknown type carries stays unread, and an entry is no fact about its agent.
        if shape.event != EventType::Entry
            && may_have_data(line.body)
            && EventType::parse(line.event_type).is_ok()
        {
            event.data = Body::parse(line.body)?.data()?;
        }
        self.stored.take(&event, line.seq, line.hash)?;
        if shape.event.enters_a_state() {
            line.body.clone_into(&mut self.body);
        }
        Ok(())
    }

    fn join(&mut self, later: Self) -> Result<(), Misfit> {
        let Self { before, stored: Stored { entity: after, state_seq, last_seq, head }, body } = later;
        let entity = &mut self.stored.entity;
        if before != entity.state {
            let (has, makes) = (entity.state.version, before.version.wrapping_add(1));
            return Err(Misfit::Version { id: entity.state.id, has, makes });
        }
        entity.state = after.state;
        entity.created_at = entity.created_at.or(after.created_at);
        entity.started_at = entity.started_at.or(after.started_at);
        entity.last_activity_at = after.last_activity_at.or(entity.last_activity_at);
        entity.facts.merge(&after.facts);
        (self.stored.last_seq, self.stored.head) = (last_seq, head);
        if state_seq > 0 {
            (entity.entered_at, entity.ended_at) = (after.entered_at, after.ended_at);
            (self.stored.state_seq, self.body) = (state_seq, body);
        }
        Ok(())
    }

    fn settle(self) -> Result<Stored, ReadError> {
        let Self { before, mut stored, body } = self;
        if before != State::unborn(before.id) {
            let makes = before.version.wrapping_add(1);
            return Err(Misfit::Version { id: before.id, has: 0, makes }.into());
        }
        stored.entity.reasons = body::reasons(&body)?;
        Ok(stored)
    }
}

/// A body without this word, and without anything escaped, has no data.
fn may_have_data(body: &str) -> bool {
    body.contains("\"data\"") || body.contains('\\')
}

/// What the log up to a record says of every entity, and the last record that was read.
pub(crate) fn of_log(reader: &dyn Ask, last: u64) -> Result<(Vec<(Uuid, Fold)>, u64), ReadError> {
    let last = last.min(reader.head()?);
    let parts = ranges::each(ranges::cut(last, &[]), |range| {
        let (mut folds, mut shapes) = (Entities::new(), RecordShapes::new());
        reader.each_record(range.after, range.last, &mut |line| {
            let shape = shapes.of(line).shape;
            folds.at(line.entity, || Fold::before(line, shape)).take(line, shape);
            Ok(())
        })?;
        Ok::<_, ReadError>(folds)
    });
    let mut whole: Option<Entities<Fold>> = None;
    for part in parts {
        match &mut whole {
            None => whole = Some(part?),
            Some(whole) => {
                for (id, later) in part?.into_all() {
                    let mut later = Some(later);
                    let fold =
                        whole.at(id, || later.take().unwrap_or_else(|| unreachable!("BUG: taken once")));
                    if let Some(later) = later {
                        fold.join(later);
                    }
                }
            }
        }
    }
    Ok((whole.map_or_else(Vec::new, Entities::into_all), last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Hash;
    use callboard_kernel::{EntityId, Moment};

    fn record(version: u64, event_type: &str, from: &str, to: &str, body: &str) -> Record {
        Record {
            seq: version * 3,
            entity: Uuid::from_u128(7),
            kind: "session".to_owned(),
            version,
            at: Moment::from_micros(version as i64 * 1000),
            event_type: event_type.to_owned(),
            channel: "audit".to_owned(),
            from_state: from.to_owned(),
            via: if event_type == "transitioned" { "spawned" } else { event_type }.to_owned(),
            to_state: to.to_owned(),
            actor_type: "system".to_owned(),
            actor_id: "test".to_owned(),
            key: None,
            body: body.to_owned(),
            hash: Hash([version as u8; 32]),
        }
    }

    fn history() -> Vec<Record> {
        let why = r#""reasons":[{"code":"run.started.ok","message":"it did"}]"#;
        let ended = r#""reasons":[{"code":"run.completed.ok","message":"it \"did\""}]"#;
        vec![
            record(1, "created", "", "pending", r#"{"data":{"title":"a","x":1}}"#),
            record(2, "observed", "pending", "pending", r#"{"data":{"x":2}}"#),
            record(3, "transitioned", "pending", "running", &format!("{{{why}}}")),
            record(4, "observed", "running", "running", r#"{"data":{"title":"b","y":null}}"#),
            record(5, "of tomorrow", "running", "running", r#"{"data":{"unread":1}}"#),
            record(6, "transitioned", "running", "completed", &format!(r#"{{{ended},"data":{{"x":3}}}}"#)),
            record(7, "observed", "completed", "completed", ""),
        ]
    }

    fn fold(records: &[Record]) -> Fold {
        let mut fold = Fold::before(&records[0].borrowed(), None);
        for record in records {
            fold.take(&record.borrowed(), None);
        }
        fold
    }

    #[test]
    fn stretches_that_meet_give_what_the_whole_gives() {
        let records = history();
        let mut whole = Stored::unborn(EntityId::new(Kind::Session, Uuid::from_u128(7)));
        for (upto, record) in (1..).zip(&records) {
            whole.follow(record).unwrap();
            assert_eq!(fold(&records[..upto]).settle().unwrap(), whole);
            for cut in 1..upto {
                let mut joined = fold(&records[..cut]);
                joined.join(fold(&records[cut..upto]));
                assert_eq!(joined.settle().unwrap(), whole, "cut after {cut} of {upto}");
            }
        }
        assert!(whole.entity.facts.has("x") && !whole.entity.facts.has("unread"));
    }

    #[test]
    fn stretches_that_do_not_meet_do_not_load() {
        let records = history();
        let mut joined = fold(&records[..2]);
        joined.join(fold(&records[3..]));
        assert!(matches!(joined.settle(), Err(ReadError::Misfit(Misfit::Version { has: 2, makes: 4, .. }))));
        assert!(matches!(fold(&records[1..]).settle(), Err(ReadError::Misfit(_))));
    }
}
