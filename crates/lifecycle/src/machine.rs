//! The shape of a machine: states, triggers, rows, and the questions that can be asked of them.
//!
//! Invariant: a machine is data; everything a program may know about a lifecycle is answered from its rows.
//! Deliberately absent: the current state of anything, and any way to change one.

use crate::actor::{ActorClass, ActorSet};
use crate::axes::{Delivery, Health};
use crate::evidence::EvidenceSet;
use crate::guard::Guard;
use crate::machines::Kind;
use crate::reason::ReasonDef;
use crate::vocabulary::{Pill, Shown};
use crate::word::Word;

/// One declared state machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The kind of entity it governs.
    pub kind: Kind,
    /// One sentence: what such an entity is.
    pub meaning: &'static str,
    /// The prefix of its ids: `ses` in `ses_01k7…`.
    pub prefix: &'static str,
    /// What people call it.
    pub noun: &'static str,
    /// The first segment of its reason codes.
    pub entity: &'static str,
    /// How it moves and whether it ends.
    pub nature: Nature,
    /// The states, in declaration order; a row refers to them by position.
    pub states: &'static [StateDef],
    /// Old names of states, accepted on input.
    pub old_states: &'static [(&'static str, u8)],
    /// The triggers, in declaration order.
    pub triggers: &'static [Word],
    /// Where an entity begins.
    pub start: StateSet,
    /// Who may let one come to be; anybody if nobody is listed.
    pub makers: &'static [ActorClass],
    /// Where it ends: no program takes it out again.
    pub ends: StateSet,
    /// Where nothing is at work though it may go on later; shown with an outcome.
    pub settled: StateSet,
    /// The legal moves.
    pub rows: &'static [Row],
    /// What a state demands to be recorded with the transition into it.
    pub requires: &'static [Requirement],
    /// The health values of this kind; empty where health does not apply.
    pub health: &'static [Health],
    /// Further health values of this kind, which older readers of `health` do not know.
    pub health_also: &'static [Health],
    /// The delivery values of this kind; empty where delivery does not apply.
    pub delivery: &'static [Delivery],
    /// The reasons of this kind.
    pub reasons: &'static [ReasonDef],
    /// Further closed vocabularies that belong to the kind, by name.
    pub vocabularies: &'static [(&'static str, &'static [Word])],
}

/// How a machine moves and whether it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Commands name the target; every state can reach an end.
    Ending,
    /// Events name the trigger and the table gives the target; every state can reach an end.
    ByTrigger,
    /// Commands name the target; it can always go on.
    Perpetual,
}

/// One state.
#[derive(Clone, Copy, Debug)]
pub struct StateDef {
    /// Its name and meaning.
    pub word: Word,
    /// How it looks.
    pub pill: Pill,
    /// Why a person may be needed while it lasts.
    pub need: Option<Need>,
}

/// Why a person may be needed while a state lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot go on by itself.
    Blocked,
    /// Somebody must decide.
    Decision,
}

/// One legal move.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The state that the move leads out of.
    pub from: u8,
    /// The state that it leads to.
    pub to: u8,
    /// The triggers that may cause it, as a set of bits.
    pub triggers: u32,
    /// The classes of actors that may take it.
    pub actors: ActorSet,
    /// The reasons that are accepted: `run.failed.*` allows a family; an empty list allows the family of the target.
    pub because: &'static [&'static str],
    /// The kinds of evidence that are accepted; an empty set demands none.
    pub evidence: EvidenceSet,
    /// The guards, all of which must hold.
    pub guards: &'static [Guard],
    /// A row of the approval desk: out of the programs' reach, and not an exit for the proofs.
    pub desk: bool,
}

/// Facts that must be recorded with a transition into a state.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The state.
    pub state: u8,
    /// The names of the facts, all of them registered.
    pub facts: &'static [&'static str],
}

/// A set of states of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSet(pub(crate) u32);

impl StateSet {
    /// Is the state in the set?
    pub const fn has(self, state: u8) -> bool {
        self.0 & (1 << state) != 0
    }

    /// The states in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let state = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(state)
        })
    }
}

/// The set of the listed positions.
pub const fn set(members: &[u8]) -> StateSet {
    let (mut bits, mut i) = (0, 0);
    while i < members.len() {
        bits |= 1 << members[i];
        i += 1;
    }
    StateSet(bits)
}

/// Ends are settled by nature; `more` adds states that may go on later.
pub const fn settle(ends: StateSet, more: StateSet) -> StateSet {
    StateSet(ends.0 | more.0)
}

/// The definitions of a vocabulary's states, with what each may need of a person.
pub const fn states<S: Shown, const N: usize>(blocked: StateSet, undecided: StateSet) -> [StateDef; N] {
    crate::proof::fits_a_set(N);
    let mut all = [StateDef { word: S::WORDS[0], pill: S::PILLS[0], need: None }; N];
    let mut i = 0;
    while i < N {
        let need = match (blocked.has(i as u8), undecided.has(i as u8)) {
            (true, _) => Some(Need::Blocked),
            (false, true) => Some(Need::Decision),
            (false, false) => None,
        };
        all[i] = StateDef { word: S::WORDS[i], pill: S::PILLS[i], need };
        i += 1;
    }
    all
}

impl Row {
    /// May this trigger cause the move?
    pub const fn fires_on(&self, trigger: u8) -> bool {
        self.triggers & (1 << trigger) != 0
    }

    /// The triggers that may cause the move, ascending.
    pub fn trigger_list(&self) -> impl Iterator<Item = u8> + use<> {
        StateSet(self.triggers).iter()
    }
}

impl Machine {
    /// Is this a health value of the kind?
    pub fn has_health(&self, health: Health) -> bool {
        self.health.contains(&health) || self.health_also.contains(&health)
    }

    /// Is there a row from `from` to `to`, the desk's rows included?
    pub const fn can_transition(&self, from: u8, to: u8) -> bool {
        let mut i = 0;
        while i < self.rows.len() {
            if self.rows[i].from == from && self.rows[i].to == to {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Where the trigger leads from here, if it leads to one place.
    pub const fn after(&self, from: u8, trigger: u8) -> Option<u8> {
        let (mut found, mut i) = (None, 0);
        while i < self.rows.len() {
            let row = &self.rows[i];
            if row.from == from && row.fires_on(trigger) {
                match found {
                    None => found = Some(row.to),
                    Some(to) if to == row.to => {}
                    Some(_) => return None,
                }
            }
            i += 1;
        }
        found
    }

    /// Does nothing happen any more unless somebody starts it anew? In a perpetual machine the settled states are
    /// as final as it gets.
    pub const fn is_terminal(&self, state: u8) -> bool {
        match self.nature {
            Nature::Perpetual => self.settled.has(state),
            Nature::Ending | Nature::ByTrigger => self.ends.has(state),
        }
    }

    /// The rows that leave a state.
    pub fn rows_from(&self, from: u8) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().filter(move |row| row.from == from)
    }

    /// The legal targets from a state, ascending, each once.
    pub fn targets(&self, from: u8) -> Vec<u8> {
        let bits = self.rows_from(from).fold(0, |bits, row| bits | 1 << row.to);
        StateSet(bits).iter().collect()
    }

    /// The name of a state.
    pub const fn state_name(&self, state: u8) -> &'static str {
        self.states[state as usize].word.name
    }

    /// The names of all states.
    pub fn state_names(&self) -> impl Iterator<Item = &'static str> {
        self.states.iter().map(|state| state.word.name)
    }

    /// Reads the name, or an old name, of a state.
    pub fn state(&self, name: &str) -> Option<u8> {
        let known = self.states.iter().position(|state| state.word.name == name).map(|at| at as u8);
        known.or_else(|| self.old_states.iter().find(|(old, _)| *old == name).map(|(_, state)| *state))
    }

    /// Reads the name of a trigger.
    pub fn trigger(&self, name: &str) -> Option<u8> {
        self.triggers.iter().position(|trigger| trigger.name == name).map(|at| at as u8)
    }

    /// The facts that must be recorded with a transition into `state`.
    pub const fn required_facts(&self, state: u8) -> &'static [&'static str] {
        let mut i = 0;
        while i < self.requires.len() {
            if self.requires[i].state == state {
                return self.requires[i].facts;
            }
            i += 1;
        }
        &[]
    }

    /// The states an operator may move an entity to.
    pub fn admin_targets(&self) -> Vec<u8> {
        let by_person = |row: &&Row| row.actors.has(crate::ActorClass::Operator);
        StateSet(self.rows.iter().filter(by_person).fold(0, |bits, row| bits | 1 << row.to)).iter().collect()
    }
}

/// A move that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid state transition: {from} -> {to} (from {from}: {})", list(.allowed))]
pub struct IllegalTransition {
    /// The state it would leave.
    pub from: &'static str,
    /// The state it would enter.
    pub to: &'static str,
    /// Where it may go instead.
    pub allowed: Vec<&'static str>,
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nowhere, it has ended".to_owned() } else { names.join(", ") }
}
