//! Guards: what must hold, beside actor, reason and evidence, before a row is taken.
//!
//! Invariant: a guard is declared here once; rows name it, diagrams and pages draw it, and a refusal names it. One that is not
//! answered refuses. Deliberately absent: the answers; the kernel reads them from the entity, or from what the command
//! says that its sender saw.

use serde::{Serialize, Serializer};

use crate::actor::{ActorClass, ActorSet};
use crate::machines::Kind;
use crate::word::{UnknownWord, Words};
use crate::words;

words! {
    /// What must hold before a row is taken.
    pub enum Guard is "guard" {
        /// No supervisor is known to be alive that will record the end itself.
        NoLivingSupervisor = "no_living_supervisor",
        /// It was tried again fewer times than its limit allows, and the command records the next try.
        RetriesLeft = "retries_left",
        /// The lease of it is in force, and whoever asks holds it.
        HeldByActor = "held_by_actor",
        /// No lease of it is in force: nobody had one, or it ended and was not renewed.
        LeaseExpired = "lease_expired",
        /// Everything it depends on is there.
        DependenciesMet = "dependencies_met",
        /// The moment before which it must not be claimed is over.
        Due = "due",
        /// No other task that is being worked on holds one of its files.
        FilesFree = "files_free",
        /// Every subtask was seen to have ended as the parent needs it.
        SubtasksSettled = "subtasks_settled",
        /// Somebody or something named will move it on: a holder, a dependency, its subtasks.
        HasNextMove = "has_next_move",
        /// The answer is one of the options that the question offers, or any text where it offers none.
        AnswerOffered = "answer_offered",
        /// Whoever answers is among those who may.
        MayAnswer = "may_answer",
        /// The expiry is over, and the default that takes effect grants nothing.
        DefaultDue = "default_due",
        /// Whoever asks for it asked the question.
        AskedByActor = "asked_by_actor",
    }
}

words! {
    /// What the answer to a guard rests on.
    pub enum GuardBasis is "basis of a guard" {
        /// The log alone: `verify` asks the guard again.
        Log = "log",
        /// What the store knew when it decided, such as its clock: the record says that it held, and nobody can ask again.
        Store = "store",
        /// What the sender of the command saw: the record says that it held, and nobody can ask again.
        Testimony = "testimony",
    }
}

impl Guard {
    /// What its answer rests on.
    pub const fn basis(self) -> GuardBasis {
        match self {
            Self::NoLivingSupervisor | Self::SubtasksSettled => GuardBasis::Testimony,
            Self::RetriesLeft
            | Self::DependenciesMet
            | Self::Due
            | Self::HasNextMove
            | Self::AnswerOffered
            | Self::MayAnswer
            | Self::DefaultDue
            | Self::AskedByActor => GuardBasis::Log,
            Self::HeldByActor | Self::LeaseExpired | Self::FilesFree => GuardBasis::Store,
        }
    }

    /// The kinds of which it can be asked. Every kind can be leased and tried again, so a kind that is added asks such a guard
    /// without being listed here.
    pub const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::NoLivingSupervisor => &[Kind::Session],
            Self::RetriesLeft | Self::HeldByActor | Self::LeaseExpired => Kind::ALL,
            Self::DependenciesMet
            | Self::Due
            | Self::FilesFree
            | Self::SubtasksSettled
            | Self::HasNextMove => &[Kind::Task],
            Self::AnswerOffered | Self::MayAnswer | Self::DefaultDue | Self::AskedByActor => {
                &[Kind::Question]
            }
        }
    }

    /// Those for whom it can never hold: a row that is theirs and has this guard contradicts itself.
    pub const fn never_holds_for(self) -> ActorSet {
        match self {
            Self::NoLivingSupervisor => ActorSet::of(&[ActorClass::Supervisor]),
            Self::RetriesLeft
            | Self::HeldByActor
            | Self::LeaseExpired
            | Self::DependenciesMet
            | Self::Due
            | Self::FilesFree
            | Self::SubtasksSettled
            | Self::HasNextMove
            | Self::AnswerOffered
            | Self::MayAnswer
            | Self::DefaultDue
            | Self::AskedByActor => ActorSet::of(&[]),
        }
    }

    pub(crate) const fn can_be_asked_of(self, kind: Kind) -> bool {
        let kinds = self.kinds();
        let mut i = 0;
        while i < kinds.len() {
            if kinds[i] as u8 == kind as u8 {
                return true;
            }
            i += 1;
        }
        false
    }
}

/// A set of guards, such as those that held when a record was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardSet(u32);

impl GuardSet {
    /// No guards.
    pub const NONE: Self = Self(0);

    /// The set of the listed guards.
    pub const fn of(guards: &[Guard]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < guards.len() {
            bits |= 1 << guards[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// Reads the names of guards.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownWord> {
        let guards: Vec<Guard> = names.into_iter().map(Guard::parse).collect::<Result<_, _>>()?;
        Ok(Self::of(&guards))
    }

    /// Is the guard in the set?
    pub const fn has(self, guard: Guard) -> bool {
        self.0 & (1 << guard as u8) != 0
    }

    /// `==`, while compiling.
    pub(crate) const fn is(self, other: Self) -> bool {
        self.0 == other.0
    }

    /// Is no guard in the set?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The guards in the set, in declaration order.
    pub fn guards(self) -> impl Iterator<Item = Guard> {
        Guard::ALL.iter().copied().filter(move |guard| self.has(*guard))
    }
}

impl Serialize for GuardSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.guards())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MACHINES;

    #[test]
    fn every_declared_guard_stands_in_a_row() {
        for guard in Guard::ALL {
            let is_used =
                MACHINES.iter().flat_map(|machine| machine.rows).any(|row| row.guards.contains(guard));
            assert!(is_used, "{guard} guards nothing");
        }
    }

    #[test]
    fn a_set_is_written_by_name_and_read_back() {
        let all = GuardSet::of(Guard::ALL);
        let names: Vec<&str> = all.guards().map(Guard::name).collect();
        assert_eq!(serde_json::to_value(all).unwrap(), serde_json::json!(names));
        assert_eq!(GuardSet::parse(names), Ok(all));
        assert!(GuardSet::parse(["sunshine"]).is_err() && GuardSet::NONE.is_empty());
    }
}
