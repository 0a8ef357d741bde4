//! The legal edges as rows, for the database to check by itself.
//!
//! Invariant: generated from the machines, so the database and the kernel refuse the same moves. Rows are added and
//! never taken away: an old log stays legal for ever.

use callboard_kernel::has_conversation;
use callboard_lifecycle::{Lifecycle, MACHINES, Row};

/// One row of the table of legal edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LegalEdge {
    pub(crate) kind: &'static str,
    pub(crate) from_state: &'static str,
    pub(crate) via: &'static str,
    pub(crate) to_state: &'static str,
}

/// Every legal edge of every machine: creations, transitions by trigger, observations and entries, which stay where they are.
pub(crate) fn edges() -> Vec<LegalEdge> {
    let mut all = Vec::new();
    for machine in MACHINES {
        let kind = machine.kind.word().name;
        for state in 0..machine.states.len() as u8 {
            let name = Lifecycle::new(machine.kind, state).name();
            if machine.start.has(state) {
                all.push(LegalEdge { kind, from_state: "", via: "created", to_state: name });
            }
            all.push(LegalEdge { kind, from_state: name, via: "observed", to_state: name });
            if has_conversation(machine.kind) && !machine.is_terminal(state) {
                all.push(LegalEdge { kind, from_state: name, via: "entry", to_state: name });
            }
        }
        for (at, row) in machine.rows.iter().enumerate() {
            // Two rows may share an edge and its trigger if they are for different actors.
            let is_listed = |trigger: &u8| {
                let same = |earlier: &Row| (earlier.from, earlier.to) == (row.from, row.to);
                machine.rows[..at].iter().any(|earlier| same(earlier) && earlier.fires_on(*trigger))
            };
            for trigger in row.trigger_list().filter(|trigger| !is_listed(trigger)) {
                all.push(LegalEdge {
                    kind,
                    from_state: machine.state_name(row.from),
                    via: machine.triggers[trigger as usize].name,
                    to_state: machine.state_name(row.to),
                });
            }
        }
    }
    all
}

/// What tells one set of legal edges from another.
pub(crate) fn digest() -> [u8; 32] {
    let mut edges = edges();
    edges.sort_unstable_by_key(|edge| (edge.kind, edge.from_state, edge.via, edge.to_state));
    let mut hasher = blake3::Hasher::new();
    for edge in edges {
        for word in [edge.kind, edge.from_state, edge.via, edge.to_state] {
            // No word has a zero in it, so the words cannot run into each other.
            hasher.update(word.as_bytes()).update(&[0]);
        }
    }
    *hasher.finalize().as_bytes()
}
