//! What the kernel's judges are asked with, as the rules of each kind read it.
//!
//! Invariant: nothing is judged here; where too little is recorded the answer is nothing, never a guess.

use callboard_kernel::health::{Judgement, ProcessIdentity};
use callboard_kernel::{Entity, Phase};

use crate::judging::viewpoint::{ProcessReading, Recorded, Viewpoint};
use crate::kinds::{JudgeInput, rules};

/// What the judge of an entity is asked with, read once; nothing where that is not enough to judge by.
#[derive(Debug)]
pub(crate) struct Basis(Option<Box<dyn JudgeInput>>);

impl Clone for Basis {
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(|input| input.copy()))
    }
}

impl Basis {
    pub(crate) fn of(entity: &Entity) -> Self {
        let state = entity.state.lifecycle;
        Self(state.and_then(|state| rules(state.kind()).judge_input(entity, state)))
    }

    /// Looks at its processes, as far as they can be seen from here.
    pub(crate) fn look(&self, sight: &Viewpoint<'_>) -> ProcessReading {
        self.0.as_ref().map_or_else(|| sight.without_processes(), |input| input.look(sight))
    }

    /// What it is doing, as it was judged with the last look.
    pub(crate) fn phase(&self, look: ProcessReading) -> Option<Phase> {
        self.0.as_ref()?.phase(look)
    }

    /// The processes whose end changes what is said of it.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        self.recorded().map(Recorded::processes).unwrap_or_default()
    }

    /// Its processes, as far as they are recorded.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        self.0.as_ref()?.recorded()
    }

    /// Asks the judge.
    pub(crate) fn judge(&mut self, look: ProcessReading) -> Option<Judgement> {
        self.0.as_mut().map(|input| input.judge(look))
    }
}
