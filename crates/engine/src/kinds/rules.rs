//! What the engine does for each kind beside what holds for all: one file a kind, found through one table.
//!
//! Invariant: nothing else in the engine asks of which kind an entity is to judge it, show it or offer a command; it asks its
//! rules. The table is generated from the files here, so a kind is added with its machine and one file. Deliberately absent:
//! what may happen to an entity, which its machine says.

use std::collections::BTreeMap;
use std::fmt;

use callboard_kernel::health::Judgement;
use callboard_kernel::{Entity, Phase, Value};
use callboard_lifecycle::{Lifecycle, Severity, Tone, Words};

use crate::judging::view::View;
use crate::judging::viewpoint::{ProcessReading, Recorded, Viewpoint};
use crate::services::Service;

/// What the engine does for one kind; what is left out holds for all.
pub(crate) trait KindRules: Sync {
    /// What the judge of its health is asked with; nothing where too little is recorded, or where it has no health.
    fn judge_input(&self, _entity: &Entity, _state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        None
    }

    /// How severe it is, where that does not follow from its state, its health and its delivery.
    fn severity(&self, _entity: &Entity, _state: Lifecycle) -> Option<(Severity, Tone)> {
        None
    }

    /// Whether its own clock ended it, where its state tells.
    fn timed_out(&self, _state: Lifecycle) -> Option<bool> {
        None
    }

    /// The exit code that tells a shell how it ended.
    fn exit_code(&self, _state: Lifecycle) -> Option<u8> {
        None
    }

    /// The commands that somebody is offered who looks at it.
    fn commands(&self, _view: &View<'_>) -> &'static [&'static str] {
        &[]
    }

    /// The fields that it adds to its view, by names that no view has otherwise. Every entity of the kind has the same fields, null
    /// where nothing is recorded. A fact that has the name of such a field is shown in the field alone.
    fn extras(&self, _entity: &Entity) -> Extras {
        Extras::new()
    }

    /// What happens by itself for it, in the process that holds the lease of the store's services.
    fn services(&self) -> Vec<KindService> {
        Vec::new()
    }
}

/// The fields that a kind adds to its view.
pub(crate) type Extras = BTreeMap<&'static str, Value>;

/// A service that a kind brings along.
pub(crate) struct KindService {
    /// What it does, for whoever asks how the services stand.
    pub(crate) does: &'static str,
    /// Makes the steps.
    pub(crate) service: Box<dyn Service>,
}

/// A kind for which nothing is done beside what holds for all.
pub(super) struct Plain;

impl KindRules for Plain {}

/// What the judge of a kind is asked with, read once.
pub(crate) trait JudgeInput: fmt::Debug + Send + Sync {
    /// Looks at its processes, as far as they can be seen from here.
    fn look(&self, sight: &Viewpoint<'_>) -> ProcessReading {
        sight.without_processes()
    }

    /// What it is doing, as it was judged with the last look.
    fn phase(&self, _look: ProcessReading) -> Option<Phase> {
        None
    }

    /// Its processes, as far as they are recorded.
    fn recorded(&self) -> Option<&Recorded> {
        None
    }

    /// Asks the judge.
    fn judge(&mut self, look: ProcessReading) -> Judgement;

    /// The same, for somebody else to judge with.
    fn copy(&self) -> Box<dyn JudgeInput>;
}

/// The state as its kind's own words.
pub(super) fn typed<S: Words>(state: Lifecycle) -> S {
    S::ALL[usize::from(state.position())]
}
