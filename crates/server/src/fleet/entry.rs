//! One entity on the board: the input of the judge, the verdict, the search keys, and the entity in compact form.
//!
//! Invariant: all of it is read from the same row of the ledger. Deliberately absent: the order of the board.

use std::sync::Arc;

use callboard_engine::{ProcessReading, TriageInput, TriageVerdict, Viewpoint};
use callboard_kernel::health::{Liveness, ProcessIdentity};
use callboard_kernel::{EntityId, Value, fact};
use callboard_ledger::Stored;
use callboard_lifecycle::{Kind, Lifecycle};

use super::compact_entity::CompactEntity;

/// One entity on the board.
pub(crate) struct Entry {
    pub(crate) traits: Traits,
    pub(crate) verdict: TriageVerdict,
    /// What the verdict was made with.
    pub(crate) look: ProcessReading,
    case: TriageInput,
    packed: Arc<CompactEntity>,
}

/// What changed when an entity was judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Its severity changed, and with it its position on the board.
    pub(crate) is_moved: bool,
    /// The verdict, or the number of its living processes, changed.
    pub(crate) is_changed: bool,
}

/// The search keys of an entity. Text is lowercased when somebody searches, not here, to save memory.
pub(crate) struct Traits {
    pub(crate) id: EntityId,
    pub(crate) state: Option<Lifecycle>,
    pub(crate) is_alive: bool,
    /// It waits for a person.
    pub(crate) waits: bool,
    texts: Box<Texts>,
}

#[derive(Default)]
struct Texts {
    parent: Option<Box<str>>,
    project: Option<Box<str>>,
    title: Option<Box<str>>,
    status: Option<Box<str>>,
    cwd: Option<Box<str>>,
    labels: Box<[(Box<str>, Box<str>)]>,
}

/// An entity that is to be shown, as it was judged.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) look: ProcessReading,
    packed: Arc<CompactEntity>,
}

impl Shown {
    pub(crate) fn unpack(&self) -> Result<Stored, serde_json::Error> {
        self.packed.unpack()
    }
}

impl Entry {
    pub(crate) fn of(stored: &Stored, sight: &Viewpoint<'_>) -> Result<Self, serde_json::Error> {
        let mut case = TriageInput::of(stored);
        let look = case.look(sight);
        let verdict = case.verdict(look);
        Ok(Self {
            traits: Traits::of(stored),
            verdict,
            look,
            case,
            packed: Arc::new(CompactEntity::of(stored)?),
        })
    }

    /// Judges it anew.
    pub(crate) fn judge(&mut self, sight: &Viewpoint<'_>) -> Judged {
        let (before, members) = (self.verdict, self.look.presence.members);
        self.look = self.case.look(sight);
        self.verdict = self.case.verdict(self.look);
        // How many are alive is told where somebody counted.
        let is_recounted = self.look.presence.members != members;
        let is_changed = self.verdict != before || is_recounted;
        Judged { is_moved: self.verdict.severity != before.severity, is_changed }
    }

    /// The processes whose end changes what is said of it.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        self.case.processes()
    }

    /// Is it alive by the log, and its process gone?
    pub(crate) fn is_dead(&self) -> bool {
        self.traits.is_alive && self.look.liveness == Liveness::Dead
    }

    /// Has it ended by the log, and processes of it are alive?
    pub(crate) fn outlives_its_end(&self) -> bool {
        let presence = &self.look.presence;
        let is_alive = presence.command == Liveness::Alive || presence.members.is_some_and(|many| many > 0);
        is_alive && !self.traits.is_alive
    }

    pub(crate) fn shown(&self) -> Shown {
        Shown { look: self.look, packed: Arc::clone(&self.packed) }
    }
}

impl Traits {
    pub(crate) fn of(stored: &Stored) -> Self {
        let facts = &stored.entity.facts;
        let text = |name| text(facts.value(name));
        let labels = match facts.value(fact::LABELS) {
            Some(Value::Map(labels)) => labels
                .iter()
                .filter_map(|(name, value)| Some((name.into(), self::text(Some(value))?)))
                .collect(),
            Some(_) | None => Box::default(),
        };
        let texts = Texts {
            parent: text(fact::PARENT),
            project: text(fact::PROJECT),
            title: text(fact::TITLE),
            status: text(fact::STATUS),
            cwd: text(fact::CWD),
            labels,
        };
        Self {
            id: stored.entity.state.id,
            state: stored.entity.state.lifecycle,
            is_alive: stored.entity.ended_at.is_none(),
            waits: facts.known(fact::WAITS_FOR).is_some(),
            texts: Box::new(texts),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.id.kind()
    }

    pub(crate) fn parent(&self) -> Option<&str> {
        self.texts.parent.as_deref()
    }

    pub(crate) fn project(&self) -> Option<&str> {
        self.texts.project.as_deref()
    }

    pub(crate) fn has_label(&self, name: &str, value: &str) -> bool {
        self.texts.labels.iter().any(|(its, text)| **its == *name && **text == *value)
    }

    /// Does its id or one of its texts say this, in small letters?
    pub(crate) fn says(&self, wanted: &str) -> bool {
        let Texts { title, project, status, cwd, .. } = &*self.texts;
        let texts = [title, project, status, cwd].into_iter().flatten();
        self.id.to_string().contains(wanted)
            || texts.into_iter().any(|text| text.to_lowercase().contains(wanted))
    }
}

fn text(value: Option<&Value>) -> Option<Box<str>> {
    match value {
        Some(Value::Text(text)) => Some(text.as_str().into()),
        Some(
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_),
        )
        | None => None,
    }
}
