//! The proofs: what the build checks about every declared machine.
//!
//! Invariant: a table that breaks one of these rules does not compile, and the message names the machine and the
//! rule. Deliberately absent: anything that can only be known at run time.

use crate::fact::FACTS;
use crate::guard::{Guard, GuardSet};
use crate::machine::{Machine, Nature, Row, StateSet};
use crate::message::{Message, same, starts_with};
use crate::outcome::Outcome;
use crate::reason::{is_shared, matches};
use crate::word::Words;

/// States and triggers are bits of a word.
const SET_MAX: usize = u32::BITS as usize;

/// Stops the build if the machine breaks a rule.
pub const fn prove(machine: &Machine) {
    names_are_distinct(machine);
    rows_are_whole(machine);
    rows_are_distinct(machine);
    guards_can_hold(machine);
    ends_are_final(machine);
    every_trigger_is_used(machine);
    every_state_is_reachable(machine);
    every_state_can_end(machine);
    reasons_are_registered(machine);
    requirements_are_registered(machine);
    ends_are_outcomes(machine);
}

/// Beyond the limit a set overflows before anything can be proved, so this is asked where the sets are built too.
pub(crate) const fn fits_a_set(count: usize) {
    assert!(count <= SET_MAX, "a machine with more than 32 states or triggers");
}

const fn names_are_distinct(machine: &Machine) {
    fits_a_set(machine.triggers.len());
    let mut i = 0;
    while i < machine.states.len() {
        let mut j = i + 1;
        while j < machine.states.len() {
            if same(machine.states[i].word.name, machine.states[j].word.name) {
                about(machine).with("two states are called ").with(machine.states[i].word.name).fail();
            }
            j += 1;
        }
        i += 1;
    }
    let mut i = 0;
    while i < machine.triggers.len() {
        let mut j = i + 1;
        while j < machine.triggers.len() {
            if same(machine.triggers[i].name, machine.triggers[j].name) {
                about(machine).with("two triggers are called ").with(machine.triggers[i].name).fail();
            }
            j += 1;
        }
        i += 1;
    }
}

const fn rows_are_whole(machine: &Machine) {
    let mut i = 0;
    while i < machine.rows.len() {
        let row = &machine.rows[i];
        if row.from == row.to {
            about_row(machine, row, "a row leads back to its own state").fail();
        }
        if row.actors.is_empty() {
            about_row(machine, row, "a row that nobody may take").fail();
        }
        if row.triggers == 0 {
            about_row(machine, row, "a row without a trigger").fail();
        }
        if machine.ends.has(row.to) && row.because.is_empty() {
            about_row(machine, row, "a row into an end without a reason").fail();
        }
        if row.desk && !row.actors.is_people_only() {
            about_row(machine, row, "a desk row that a program may take").fail();
        }
        i += 1;
    }
}

const fn rows_are_distinct(machine: &Machine) {
    let mut i = 0;
    while i < machine.rows.len() {
        let a = &machine.rows[i];
        let mut j = i + 1;
        while j < machine.rows.len() {
            let b = &machine.rows[j];
            let both = a.triggers & b.triggers;
            if a.from == b.from && both != 0 {
                let trigger = machine.triggers[both.trailing_zeros() as usize].name;
                // Two rows of one cause must differ in who takes them and in what is asked of them.
                if a.to == b.to
                    && (a.actors.meets(b.actors) || GuardSet::of(a.guards).is(GuardSet::of(b.guards)))
                {
                    about_row(machine, a, "duplicate row").with(" on ").with(trigger).fail();
                }
                if matches!(machine.nature, Nature::ByTrigger) {
                    about(machine)
                        .with("two targets for (")
                        .with(machine.state_name(a.from))
                        .with(", ")
                        .with(trigger)
                        .with(")")
                        .fail();
                }
            }
            j += 1;
        }
        i += 1;
    }
}

/// A guard that can never be answered, or never hold for one who may take the row, makes a row that looks open and is not.
const fn guards_can_hold(machine: &Machine) {
    let mut i = 0;
    while i < machine.rows.len() {
        let row = &machine.rows[i];
        let mut k = 0;
        while k < row.guards.len() {
            let guard = row.guards[k];
            let name = <Guard as Words>::WORDS[guard as usize].name;
            if !guard.can_be_asked_of(machine.kind) {
                about_row(machine, row, "a guard that cannot be asked of this kind")
                    .with(": ")
                    .with(name)
                    .fail();
            }
            if guard.never_holds_for().meets(row.actors) {
                about_row(machine, row, "a guard that never holds for one who may take the row")
                    .with(": ")
                    .with(name)
                    .fail();
            }
            let mut j = k + 1;
            while j < row.guards.len() {
                if row.guards[j] as u8 == guard as u8 {
                    about_row(machine, row, "a guard that is asked twice").with(": ").with(name).fail();
                }
                j += 1;
            }
            k += 1;
        }
        i += 1;
    }
}

const fn ends_are_final(machine: &Machine) {
    if matches!(machine.nature, Nature::Perpetual) && machine.ends.0 != 0 {
        about(machine).with("declares itself perpetual and has an end").fail();
    }
    let mut i = 0;
    while i < machine.rows.len() {
        let row = &machine.rows[i];
        if machine.ends.has(row.from) && !row.desk {
            about_row(machine, row, "a terminal state with an exit").fail();
        }
        i += 1;
    }
}

const fn every_trigger_is_used(machine: &Machine) {
    let mut trigger = 0;
    while trigger < machine.triggers.len() {
        let (mut used, mut i) = (false, 0);
        while i < machine.rows.len() {
            used |= machine.rows[i].fires_on(trigger as u8);
            i += 1;
        }
        if !used {
            about(machine).with("unused trigger ").with(machine.triggers[trigger].name).fail();
        }
        trigger += 1;
    }
}

const fn every_state_is_reachable(machine: &Machine) {
    let mut reached = machine.start.0;
    // One pass a state is enough: each pass that adds nothing would be the last.
    let mut pass = 0;
    while pass < machine.states.len() {
        let mut i = 0;
        while i < machine.rows.len() {
            let row = &machine.rows[i];
            if reached & (1 << row.from) != 0 {
                reached |= 1 << row.to;
            }
            i += 1;
        }
        pass += 1;
    }
    first_outside(machine, StateSet(reached), "unreachable state ");
}

const fn every_state_can_end(machine: &Machine) {
    if matches!(machine.nature, Nature::Perpetual) {
        return every_state_can_go_on(machine);
    }
    let mut ending = machine.ends.0;
    let mut pass = 0;
    while pass < machine.states.len() {
        let mut i = 0;
        while i < machine.rows.len() {
            let row = &machine.rows[i];
            if ending & (1 << row.to) != 0 {
                ending |= 1 << row.from;
            }
            i += 1;
        }
        pass += 1;
    }
    first_outside(machine, StateSet(ending), "a state that cannot reach an end: ");
}

/// A perpetual machine has no end to reach, so it must not have a dead end either.
const fn every_state_can_go_on(machine: &Machine) {
    let (mut leaving, mut i) = (0, 0);
    while i < machine.rows.len() {
        leaving |= 1 << machine.rows[i].from;
        i += 1;
    }
    first_outside(machine, StateSet(leaving), "a perpetual machine with a dead end: ");
}

const fn first_outside(machine: &Machine, set: StateSet, problem: &str) {
    let mut state = 0;
    while state < machine.states.len() {
        if !set.has(state as u8) {
            about(machine).with(problem).with(machine.states[state].word.name).fail();
        }
        state += 1;
    }
}

const fn reasons_are_registered(machine: &Machine) {
    let mut i = 0;
    while i < machine.reasons.len() {
        let code = machine.reasons[i].code;
        if !starts_with(code, machine.entity)
            || code.len() == machine.entity.len()
            || code.as_bytes()[machine.entity.len()] != b'.'
        {
            about(machine).with("reason of another kind: ").with(code).fail();
        }
        if segments(code) != 3 {
            about(machine).with("a reason is entity.dimension.cause, not ").with(code).fail();
        }
        i += 1;
    }
    let mut i = 0;
    while i < machine.rows.len() {
        let row = &machine.rows[i];
        let mut k = 0;
        while k < row.because.len() {
            if !is_known(machine, row.because[k]) {
                about_row(machine, row, "a row names an unregistered reason")
                    .with(": ")
                    .with(row.because[k])
                    .fail();
            }
            k += 1;
        }
        if row.because.is_empty() && !has_family(machine, machine.state_name(row.to)) {
            about_row(machine, row, "no reason is registered for the target").fail();
        }
        i += 1;
    }
}

const fn segments(code: &str) -> usize {
    let (mut segments, mut i) = (1, 0);
    while i < code.len() {
        segments += (code.as_bytes()[i] == b'.') as usize;
        i += 1;
    }
    segments
}

const fn is_known(machine: &Machine, pattern: &str) -> bool {
    let mut i = 0;
    while i < machine.reasons.len() {
        if matches(pattern, machine.reasons[i].code) {
            return true;
        }
        i += 1;
    }
    is_shared(pattern)
}

/// Is there a reason `entity.state.…`?
const fn has_family(machine: &Machine, state: &str) -> bool {
    let mut i = 0;
    while i < machine.reasons.len() {
        if in_family(machine.reasons[i].code, machine.entity, state) {
            return true;
        }
        i += 1;
    }
    false
}

/// Is the code `entity.dimension.…`?
pub(crate) const fn in_family(code: &str, entity: &str, dimension: &str) -> bool {
    if !starts_with(code, entity) || code.len() <= entity.len() + dimension.len() + 2 {
        return false;
    }
    let rest = code.as_bytes().split_at(entity.len()).1;
    match core::str::from_utf8(rest.split_at(1).1) {
        Ok(rest) => starts_with(rest, dimension) && rest.as_bytes()[dimension.len()] == b'.',
        Err(_) => false,
    }
}

const fn requirements_are_registered(machine: &Machine) {
    let mut i = 0;
    while i < machine.requires.len() {
        let mut j = i + 1;
        while j < machine.requires.len() {
            if machine.requires[i].state == machine.requires[j].state {
                let state = machine.state_name(machine.requires[i].state);
                about(machine).with("two lists of required facts for ").with(state).fail();
            }
            j += 1;
        }
        let facts = machine.requires[i].facts;
        let mut k = 0;
        while k < facts.len() {
            let (mut known, mut f) = (false, 0);
            while f < FACTS.len() {
                known |= same(FACTS[f].name, facts[k]);
                f += 1;
            }
            if !known {
                about(machine).with("a state requires an unregistered fact: ").with(facts[k]).fail();
            }
            k += 1;
        }
        i += 1;
    }
}

/// An end that still waits for a person is not an outcome yet.
const fn ends_are_outcomes(machine: &Machine) {
    let mut state = 0;
    while state < machine.states.len() {
        let def = &machine.states[state];
        if machine.settled.has(state as u8) && def.need.is_none() {
            let (mut known, mut i) = (false, 0);
            while i < <Outcome as Words>::WORDS.len() {
                known |= same(<Outcome as Words>::WORDS[i].name, def.word.name);
                i += 1;
            }
            if !known {
                about(machine).with("an end that is no outcome: ").with(def.word.name).fail();
            }
        }
        state += 1;
    }
}

const fn about(machine: &Machine) -> Message {
    Message::new(machine.kind.word().name)
}

const fn about_row(machine: &Machine, row: &Row, problem: &str) -> Message {
    about(machine)
        .with(problem)
        .with(": ")
        .with(machine.state_name(row.from))
        .with(" -> ")
        .with(machine.state_name(row.to))
}
