//! One entity on the board: the input of the judge, the verdict, the search keys, and the entity in compact form.
//!
//! Invariant: all of it is read from the same row of the ledger. Deliberately absent: the order of the board.

use std::sync::Arc;

use callboard_kernel::fact;
use callboard_kernel::health::{Liveness, ProcessIdentity};
use callboard_kernel::{EntityId, Facts, Moment};
use callboard_ledger::Stored;
use callboard_lifecycle::{Delivery, Kind, Lifecycle, Words};

use super::compact_entity::CompactEntity;
use super::filter::label_text;
use crate::{ProcessReading, TriageInput, TriageVerdict, Viewpoint};

/// One entity on the board.
pub struct BoardEntry {
    /// What it can be searched for by.
    pub keys: SearchKeys,
    /// What the judge said of it last.
    pub verdict: TriageVerdict,
    /// What the verdict was made with.
    pub look: ProcessReading,
    case: TriageInput,
    packed: Arc<CompactEntity>,
}

/// What changed when an entity was judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// Its severity changed, and with it its position on the board.
    pub(super) is_moved: bool,
    /// The verdict, or the number of its living processes, changed.
    pub(super) is_changed: bool,
}

/// The search keys of an entity. Text is lowercased when somebody searches, not here, to save memory.
pub struct SearchKeys {
    /// Its id.
    pub id: EntityId,
    /// Its state.
    pub state: Option<Lifecycle>,
    /// The verdict on what it delivered, as it was recorded.
    pub delivery: Option<Delivery>,
    /// It has not ended.
    pub is_alive: bool,
    /// It waits for a person.
    pub waits: bool,
    /// When it entered its state.
    pub entered_at: Option<Moment>,
    pub(super) texts: Box<Texts>,
}

/// A name and its value, which is nothing if it is not a single one.
pub(super) type Label = (Box<str>, Option<Box<str>>);

#[derive(Default)]
pub(super) struct Texts {
    pub(super) parent: Option<Box<str>>,
    pub(super) project: Option<Box<str>>,
    pub(super) title: Option<Box<str>>,
    pub(super) status: Option<Box<str>>,
    pub(super) cwd: Option<Box<str>>,
    pub(super) labels: Box<[Label]>,
}

/// An entity that is to be shown, as it was judged.
#[derive(Clone)]
pub struct ShownEntity {
    /// What it was judged with.
    pub look: ProcessReading,
    packed: Arc<CompactEntity>,
}

impl ShownEntity {
    /// The entity as the ledger has it.
    pub fn unpack(&self) -> Result<Stored, serde_json::Error> {
        self.packed.unpack()
    }
}

impl BoardEntry {
    pub(super) fn of(stored: &Stored, sight: &Viewpoint<'_>) -> Result<Self, serde_json::Error> {
        let mut case = TriageInput::of(stored);
        let look = case.look(sight);
        let verdict = case.verdict(look);
        Ok(Self {
            keys: SearchKeys::of(stored),
            verdict,
            look,
            case,
            packed: Arc::new(CompactEntity::of(stored)?),
        })
    }

    /// Judges it anew.
    pub(super) fn judge(&mut self, sight: &Viewpoint<'_>) -> Judged {
        let (before, members) = (self.verdict, self.look.presence.members);
        self.look = self.case.look(sight);
        self.verdict = self.case.verdict(self.look);
        // How many are alive is told where somebody counted.
        let is_recounted = self.look.presence.members != members;
        let is_changed = self.verdict != before || is_recounted;
        Judged { is_moved: self.verdict.severity != before.severity, is_changed }
    }

    /// The processes whose end changes what is said of it.
    pub fn processes(&self) -> Vec<ProcessIdentity> {
        self.case.processes()
    }

    /// Is it alive by the log, and its process gone?
    pub fn is_dead(&self) -> bool {
        self.keys.is_alive && self.look.liveness == Liveness::Dead
    }

    /// Has it ended by the log, and processes of it are alive?
    pub fn outlives_its_end(&self) -> bool {
        let presence = &self.look.presence;
        let is_alive = presence.command == Liveness::Alive || presence.members.is_some_and(|many| many > 0);
        is_alive && !self.keys.is_alive
    }

    /// The entry as it is to be shown.
    pub fn shown(&self) -> ShownEntity {
        ShownEntity { look: self.look, packed: Arc::clone(&self.packed) }
    }
}

impl SearchKeys {
    pub(super) fn of(stored: &Stored) -> Self {
        let facts = &stored.entity.facts;
        let owned = |name| facts.read(name).map(Into::into);
        let labels = facts.read(fact::LABELS).into_iter().flat_map(Facts::iter);
        let labels = labels.map(|(name, value)| (name.into(), label_text(value).map(Into::into))).collect();
        let texts = Texts {
            parent: owned(fact::PARENT),
            project: owned(fact::PROJECT),
            title: owned(fact::TITLE),
            status: owned(fact::STATUS),
            cwd: owned(fact::CWD),
            labels,
        };
        Self {
            id: stored.entity.state.id,
            state: stored.entity.state.lifecycle,
            delivery: facts.read(fact::DELIVERY).and_then(|word| Delivery::parse(word).ok()),
            is_alive: stored.entity.ended_at.is_none(),
            waits: facts.known(fact::WAITS_FOR).is_some(),
            entered_at: stored.entity.entered_at,
            texts: Box::new(texts),
        }
    }

    /// The kind of the entity.
    pub fn kind(&self) -> Kind {
        self.id.kind()
    }
}
