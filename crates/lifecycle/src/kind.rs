//! What a kind knows: its word and its machine.
//!
//! Invariant: there is exactly one machine a kind. Deliberately absent: the list of kinds, which is generated from
//! the files in `machines/`.

use crate::machine::Machine;
use crate::machines::{Kind, MACHINES};
use crate::word::{Word, Words};

impl Kind {
    /// The word of the kind.
    pub const fn word(self) -> Word {
        <Self as Words>::WORDS[self as usize]
    }

    /// The machine that governs entities of this kind.
    pub const fn machine(self) -> &'static Machine {
        MACHINES[self as usize]
    }

    /// The kind whose ids have this prefix.
    pub fn of_prefix(prefix: &str) -> Option<Self> {
        MACHINES.iter().find(|machine| machine.prefix == prefix).map(|machine| machine.kind)
    }
}

const _: () = {
    let mut i = 0;
    while i < MACHINES.len() {
        assert!(MACHINES[i].kind as usize == i, "the machines do not stand in the order of their kinds");
        i += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_share_a_prefix_or_a_reason_family() {
        for (i, a) in MACHINES.iter().enumerate() {
            assert_eq!(a.prefix.len(), 3, "{}: ids line up in a column", a.kind);
            for b in &MACHINES[..i] {
                assert!(a.prefix != b.prefix && a.entity != b.entity, "{} and {}", a.kind, b.kind);
            }
        }
    }
}
