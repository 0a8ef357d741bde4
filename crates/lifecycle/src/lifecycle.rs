//! A state or a trigger of some machine, for code that serves every kind alike.
//!
//! Invariant: the position is valid for the kind; both are made from the typed enums or by reading a name.
//! Deliberately absent: moving from one state to another; that is the kernel's.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::machine::StateDef;
use crate::machines::Kind;
use crate::outcome::Outcome;
use crate::word::{UnknownWord, Words};

/// One state of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lifecycle {
    kind: Kind,
    state: u8,
}

impl Lifecycle {
    /// The state at a position; the typed enums are the readable way to say this.
    pub fn new(kind: Kind, state: u8) -> Self {
        assert!((state as usize) < kind.machine().states.len(), "BUG: {kind} has no state {state}");
        Self { kind, state }
    }

    /// Reads the name, or an old name, of a state of `kind`.
    pub fn parse(kind: Kind, name: &str) -> Result<Self, UnknownWord> {
        let machine = kind.machine();
        match machine.state(name) {
            Some(state) => Ok(Self { kind, state }),
            None => Err(UnknownWord::new("state", name, machine.state_names())),
        }
    }

    /// The kind.
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The position among the states of the kind.
    pub const fn position(self) -> u8 {
        self.state
    }

    /// What is declared of the state.
    pub const fn def(self) -> &'static StateDef {
        &self.kind.machine().states[self.state as usize]
    }

    /// The name of the state.
    pub const fn name(self) -> &'static str {
        self.def().word.name
    }

    /// Does nothing happen any more unless somebody starts it anew?
    pub const fn is_terminal(self) -> bool {
        self.kind.machine().is_terminal(self.state)
    }

    /// Does no row that a program may take lead out of it?
    pub const fn is_end(self) -> bool {
        self.kind.machine().ends.has(self.state)
    }

    /// How it ended, if it is settled and nobody is asked to decide.
    pub fn outcome(self) -> Option<Outcome> {
        let settled = self.kind.machine().settled.has(self.state) && self.def().need.is_none();
        // The proofs make sure that every such state is an outcome.
        if settled { Outcome::parse(self.name()).ok() } else { None }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.name())
    }
}

impl Serialize for Lifecycle {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// One trigger of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trigger {
    kind: Kind,
    trigger: u8,
}

impl Trigger {
    /// The trigger at a position; the typed enums are the readable way to say this.
    pub fn new(kind: Kind, trigger: u8) -> Self {
        assert!((trigger as usize) < kind.machine().triggers.len(), "BUG: {kind} has no trigger {trigger}");
        Self { kind, trigger }
    }

    /// Reads the name of a trigger of `kind`.
    pub fn parse(kind: Kind, name: &str) -> Result<Self, UnknownWord> {
        let machine = kind.machine();
        match machine.trigger(name) {
            Some(trigger) => Ok(Self { kind, trigger }),
            None => Err(UnknownWord::new("trigger", name, machine.triggers.iter().map(|word| word.name))),
        }
    }

    /// The kind.
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The position among the triggers of the kind.
    pub const fn position(self) -> u8 {
        self.trigger
    }

    /// The name of the trigger.
    pub const fn name(self) -> &'static str {
        self.kind.machine().triggers[self.trigger as usize].name
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.name())
    }
}

impl Serialize for Trigger {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MACHINES, Need, session::SessionState, task::TaskState};

    #[test]
    fn every_settled_state_without_an_open_question_has_an_outcome() {
        for machine in MACHINES {
            for state in 0..machine.states.len() as u8 {
                let place = Lifecycle::new(machine.kind, state);
                let expected = machine.settled.has(state) && machine.states[state as usize].need.is_none();
                assert_eq!(place.outcome().is_some(), expected, "{place:?}");
            }
        }
    }

    #[test]
    fn what_waits_for_a_person_has_no_outcome_yet() {
        let held = Lifecycle::from(TaskState::PendingApproval);
        assert_eq!((held.outcome(), held.def().need), (None, Some(Need::Decision)));
        assert_eq!(Lifecycle::from(SessionState::TimedOut).outcome(), Some(Outcome::TimedOut));
    }
}
