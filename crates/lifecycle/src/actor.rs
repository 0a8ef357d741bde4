//! Who may take a row: the classes of actor, and sets of them.
//!
//! Invariant: a row of the approval desk lists people and the desk only, so no program can approve anything.
//! Deliberately absent: how an actor proves its class; the surfaces do that before a command reaches the kernel.

use crate::words;

words! {
    /// The class of whoever asks for a change.
    pub enum ActorClass is "actor" {
        /// A person at a terminal, a page or an API client that acts for a person.
        Operator = "operator",
        /// Callboard's own engine: reaper, scheduler, workflows, import.
        System = "system",
        /// The process that started the work and reads how it ended.
        Supervisor = "supervisor",
        /// A process that takes tasks off the board.
        Worker = "worker",
        /// An agent program, speaking for itself with its own token.
        Agent = "agent",
        /// The desk that holds finished work until a person has judged it.
        ApprovalDesk = "approval_desk",
    }
    old names {
        "user" => Operator, "admin" => Operator, "executor" => Supervisor, "scheduler" => System,
    }
}

/// A set of actor classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorSet(u8);

impl ActorSet {
    /// The set of the listed classes.
    pub const fn of(classes: &[ActorClass]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < classes.len() {
            bits |= 1 << classes[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// Is the class in the set?
    pub const fn has(self, class: ActorClass) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Is nobody in the set?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Is somebody in both sets?
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Is nobody but people and their desk in the set?
    pub const fn is_people_only(self) -> bool {
        self.0 & !Self::of(&[ActorClass::Operator, ActorClass::ApprovalDesk]).0 == 0
    }

    /// The classes in the set, in declaration order.
    pub fn classes(self) -> impl Iterator<Item = ActorClass> {
        <ActorClass as crate::Words>::ALL.iter().copied().filter(move |class| self.has(*class))
    }
}
