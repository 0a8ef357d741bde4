//! Draws a machine as a Mermaid state diagram.
//!
//! Invariant: the ids in the drawing are the states' names and every edge is drawn once, so what is drawn can be read
//! back. Deliberately absent: layout; the renderer of the reader decides.

use super::description::{Description, Edge, RowDescription, describe};
use crate::actor::ActorClass;
use crate::colour::Token;
use crate::machine::Machine;
use crate::word::Words;

/// The state diagram of a machine, ending with a line break.
///
/// Edges are labelled with their triggers and, in brackets, their guards; those of the approval desk also say who takes them.
pub fn mermaid(machine: &Machine) -> String {
    let all = describe(machine);
    let mut lines = vec!["stateDiagram-v2".to_owned()];
    lines.extend(all.initial.iter().map(|state| format!("[*] --> {state}")));
    lines
        .extend(all.edges.iter().map(|edge| format!("{} --> {}: {}", edge.from, edge.to, label(&all, edge))));
    lines.extend(all.rows.iter().filter(|row| row.desk).map(desk_edge));
    lines.extend(all.terminal.iter().map(|state| format!("{state} --> [*]")));
    lines.extend(Token::ALL.iter().flat_map(|token| colouring(&all, *token)));
    lines.join("\n    ") + "\n"
}

fn label(all: &Description, edge: &Edge) -> String {
    let labels: Vec<String> =
        edge.triggers.iter().map(|trigger| format!("{trigger}{}", guards(all, edge, trigger))).collect();
    labels.join(", ")
}

/// What a trigger of an edge is guarded by, and for whom where others may take it unguarded.
fn guards(all: &Description, edge: &Edge, trigger: &str) -> String {
    let of_trigger = |row: &&RowDescription| {
        !row.desk && (row.from, row.to) == (edge.from, edge.to) && row.triggers.contains(&trigger)
    };
    let rows: Vec<&RowDescription> = all.rows.iter().filter(of_trigger).collect();
    let is_guarded = |row: &&RowDescription| !row.guards.is_empty();
    let names =
        |row: &RowDescription| row.guards.iter().map(|guard| guard.name()).collect::<Vec<_>>().join(", ");
    if rows.iter().all(is_guarded) {
        return rows.iter().map(|row| format!(" [{}]", names(row))).collect();
    }
    let takers =
        |row: &RowDescription| row.actors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let guarded = rows.into_iter().filter(is_guarded);
    guarded.map(|row| format!(" [{} for {}]", names(row), takers(row))).collect()
}

fn desk_edge(row: &RowDescription) -> String {
    let taker = if row.actors.contains(&ActorClass::Operator) { "person" } else { "approval desk" };
    format!("{} --> {}: {} ({taker})", row.from, row.to, row.triggers.join(", "))
}

/// The light pair alone: a diagram cannot follow the reader's theme, and ground and text together read in both.
fn colouring(all: &Description, token: Token) -> Vec<String> {
    let of_token = all.states.iter().filter(|state| state.token == token);
    let states: Vec<&str> = of_token.map(|state| state.name).collect();
    if states.is_empty() {
        return Vec::new();
    }
    let (ground, text) = (token.colours().light_bg.hex(), token.colours().light_fg.hex());
    vec![
        format!("classDef {token} fill:{ground},color:{text},stroke:{text}"),
        format!("class {} {token}", states.join(", ")),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Kind, MACHINES};

    /// Arrows as (from, to, label).
    fn arrows(drawing: &str) -> Vec<(&str, &str, &str)> {
        let arrow = |line| {
            let (from, rest) = str::split_once(line, " --> ")?;
            let (to, label) = rest.split_once(": ").unwrap_or((rest, ""));
            Some((from.trim(), to, label))
        };
        drawing.lines().filter_map(arrow).collect()
    }

    #[test]
    fn what_is_drawn_reads_back_as_the_table() {
        for machine in MACHINES {
            let drawing = mermaid(machine);
            assert!(drawing.starts_with("stateDiagram-v2\n") && drawing.ends_with('\n'));
            let arrows = arrows(&drawing);
            let drawn: BTreeSet<_> = arrows.iter().map(|(from, to, _)| (*from, *to)).collect();
            assert_eq!(drawn.len(), arrows.len(), "{}: an edge is drawn twice", machine.kind);

            let all = || (0..).zip(machine.state_names());
            let mut expected: BTreeSet<_> = all()
                .flat_map(|from| all().map(move |to| (from, to)))
                .filter(|((from, _), (to, _))| machine.can_transition(*from, *to))
                .map(|((_, from), (_, to))| (from, to))
                .collect();
            expected.extend(machine.start.iter().map(|state| ("[*]", machine.state_name(state))));
            expected.extend(machine.ends.iter().map(|state| (machine.state_name(state), "[*]")));
            assert_eq!(drawn, expected, "{}", machine.kind);
        }
    }

    #[test]
    fn a_label_names_the_triggers_and_who_takes_a_row_of_the_desk() {
        let session = mermaid(Kind::Session.machine());
        assert!(
            session.contains(
                "running --> failed: exited_dirty, contract_broken, ended_by_hand [no_living_supervisor]\n"
            ),
            "{session}"
        );
        let task = mermaid(Kind::Task.machine());
        assert!(task.contains("failed --> open: retried [retries_left for system]\n"), "{task}");
        assert!(task.contains("done --> pending_approval: approval_asked (approval desk)\n"), "{task}");
        assert!(task.contains("pending_approval --> closed: approved (person)\n"), "{task}");
        assert!(!session.contains('('), "only the desk's edges say who takes them");
    }

    #[test]
    fn every_state_has_one_colour_class_that_is_defined() {
        for machine in MACHINES {
            let drawing = mermaid(machine);
            let classes = drawing.lines().filter_map(|line| line.trim().strip_prefix("class "));
            let mut coloured = Vec::new();
            for class in classes {
                let (states, token) = class.rsplit_once(' ').unwrap();
                assert!(drawing.contains(&format!("classDef {token} fill:#")), "{token}");
                coloured.extend(states.split(", "));
            }
            let mut states: Vec<&str> = machine.state_names().collect();
            states.sort_unstable();
            coloured.sort_unstable();
            assert_eq!(coloured, states, "{}", machine.kind);
        }
    }

    #[test]
    fn no_name_is_a_word_of_the_drawing_language() {
        let reserved = [
            "state",
            "note",
            "end",
            "as",
            "class",
            "classDef",
            "click",
            "style",
            "direction",
            "hide",
            "scale",
        ];
        for machine in MACHINES {
            for name in machine.state_names() {
                assert!(!reserved.contains(&name), "{}: {name} cannot be drawn", machine.kind);
            }
        }
    }
}
