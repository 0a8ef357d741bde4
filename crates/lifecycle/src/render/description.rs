//! One machine as plain data with every position replaced by its name, for JSON, tables and pages alike.
//!
//! Invariant: the fields that other programs rely on (`kind` to `admin_targets`) keep their names and their meaning;
//! more may be added after them. Deliberately absent: the reasons' meanings, which the registry has.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::actor::ActorClass;
use crate::machine::{Machine, Nature, Need, Row};
use crate::machines::Kind;
use crate::session::SessionState;
use crate::vocabulary::Pill;
use crate::word::{Word, Words};
use crate::{Delivery, Evidence, Guard, Health, Icon, Token, Tone};

/// One machine, described.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The kind of entity it governs.
    pub kind: Kind,
    /// Where an entity begins.
    pub initial: Vec<&'static str>,
    /// Where it ends for every program.
    pub terminal: Vec<&'static str>,
    /// The legal moves, one entry for each pair of states; without the approval desk's.
    pub edges: Vec<Edge>,
    /// The health values of this kind.
    pub health: &'static [Health],
    /// Further health values of this kind, which programs that rely on `health` need not know.
    #[serde(skip_serializing_if = "<[Health]>::is_empty")]
    pub health_also: &'static [Health],
    /// The delivery values of this kind.
    pub delivery: &'static [Delivery],
    /// The states an operator may move an entity to.
    pub admin_targets: Vec<&'static str>,
    /// The approval desk's own edges, where the machine has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<Also>,
    /// One sentence: what such an entity is.
    pub meaning: &'static str,
    /// What people call it.
    pub noun: &'static str,
    /// The prefix of its ids.
    pub prefix: &'static str,
    /// The first segment of its reason codes.
    pub reason_entity: &'static str,
    /// How it moves and whether it ends.
    #[serde(serialize_with = "nature")]
    pub nature: Nature,
    /// Where nothing is at work, the ends included.
    pub settled: Vec<&'static str>,
    /// The states, in declaration order.
    pub states: Vec<StateDescription>,
    /// The triggers, in declaration order.
    pub triggers: Vec<Meaning>,
    /// Every row as declared, the approval desk's included.
    pub rows: Vec<RowDescription>,
    /// What must be recorded with a transition into a state.
    pub requires: BTreeMap<&'static str, &'static [&'static str]>,
    /// Old names of states and what they are called instead.
    pub old_names: BTreeMap<&'static str, &'static str>,
    /// The exit code that tells an end to a shell; only a session has one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub exit_codes: BTreeMap<&'static str, u8>,
    /// Further vocabularies of the kind, by name.
    #[serde(flatten)]
    pub vocabularies: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A pair of states and everything that may cause the move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// From this state,
    pub from: &'static str,
    /// to this one,
    pub to: &'static str,
    /// caused by one of these.
    pub triggers: Vec<&'static str>,
}

/// Edges that no program may take.
#[derive(Clone, Debug, Serialize)]
pub struct Also {
    /// Why they stand apart.
    pub note: String,
    /// The edges.
    pub edges: Vec<Edge>,
}

/// One state with its pill.
#[derive(Clone, Debug, Serialize)]
pub struct StateDescription {
    /// The stable name.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// One sentence.
    pub meaning: &'static str,
    /// How its badge is coloured.
    pub tone: Tone,
    /// Its icon.
    pub icon: Icon,
    /// Its colours.
    pub token: Token,
    /// Why a person may be needed while it lasts.
    #[serde(serialize_with = "need")]
    pub need: Option<Need>,
}

/// A name and what it means.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Meaning {
    /// The stable name.
    pub name: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct RowDescription {
    /// From this state,
    pub from: &'static str,
    /// to this one,
    pub to: &'static str,
    /// caused by one of these,
    pub triggers: Vec<&'static str>,
    /// taken by one of these,
    pub actors: Vec<ActorClass>,
    /// for one of these reasons (`run.failed.*` is a family),
    pub reasons: Vec<String>,
    /// with evidence of one of these kinds, if any is listed,
    pub evidence: Vec<Evidence>,
    /// while all of these guards hold.
    pub guards: &'static [Guard],
    /// Is it the approval desk's?
    pub desk: bool,
}

/// Describes one machine.
pub fn describe(machine: &Machine) -> Description {
    let name = |state| machine.state_name(state);
    let exits = SessionState::exit_codes().map(|(state, code)| (state.name(), code));
    let words = |words: &[Word]| words.iter().map(|word| word.name).collect();
    Description {
        kind: machine.kind,
        initial: machine.start.iter().map(name).collect(),
        terminal: machine.ends.iter().map(name).collect(),
        edges: edges(machine, |row| !row.desk),
        health: machine.health,
        health_also: machine.health_also,
        delivery: machine.delivery,
        admin_targets: machine.admin_targets().into_iter().map(name).collect(),
        also: also(machine),
        meaning: machine.meaning,
        noun: machine.noun,
        prefix: machine.prefix,
        reason_entity: machine.entity,
        nature: machine.nature,
        settled: machine.settled.iter().map(name).collect(),
        states: machine
            .states
            .iter()
            .map(|state| describe_state(state.word, state.pill, state.need))
            .collect(),
        triggers: machine.triggers.iter().copied().map(Meaning::from).collect(),
        rows: machine.rows.iter().map(|row| describe_row(machine, row)).collect(),
        requires: machine.requires.iter().map(|needs| (name(needs.state), needs.facts)).collect(),
        old_names: machine.old_states.iter().map(|(old, state)| (*old, name(*state))).collect(),
        exit_codes: if machine.kind == Kind::Session { exits.collect() } else { BTreeMap::new() },
        vocabularies: machine.vocabularies.iter().map(|(name, all)| (*name, words(all))).collect(),
    }
}

impl Description {
    /// What sets a state apart: where things begin and end, and where a person is needed.
    pub fn notes(&self, state: &StateDescription) -> Vec<&'static str> {
        let mut notes = Vec::new();
        if self.initial.contains(&state.name) {
            notes.push("start");
        }
        if self.terminal.contains(&state.name) {
            notes.push("end");
        } else if self.settled.contains(&state.name) {
            notes.push("settled");
        }
        match state.need {
            None => {}
            Some(Need::Blocked) => notes.push("needs a person"),
            Some(Need::Decision) => notes.push("needs a decision"),
        }
        notes
    }
}

impl Description {
    /// The guards of its rows, each once.
    pub fn guards(&self) -> Vec<Guard> {
        let asked = |guard: &Guard| self.rows.iter().any(|row| row.guards.contains(guard));
        Guard::ALL.iter().copied().filter(asked).collect()
    }
}

impl From<Word> for Meaning {
    fn from(word: Word) -> Self {
        Self { name: word.name, meaning: word.meaning }
    }
}

fn describe_state(word: Word, pill: Pill, need: Option<Need>) -> StateDescription {
    StateDescription {
        name: word.name,
        label: pill.label,
        meaning: word.meaning,
        tone: pill.token.tone(),
        icon: pill.icon,
        token: pill.token,
        need,
    }
}

fn describe_row(machine: &Machine, row: &Row) -> RowDescription {
    let (from, to) = (machine.state_name(row.from), machine.state_name(row.to));
    let own_family = || vec![format!("{}.{to}.*", machine.entity)];
    let listed = || row.because.iter().map(|pattern| (*pattern).to_owned()).collect();
    RowDescription {
        from,
        to,
        triggers: triggers(machine, row),
        actors: row.actors.classes().collect(),
        reasons: if row.because.is_empty() { own_family() } else { listed() },
        evidence: row.evidence.kinds().collect(),
        guards: row.guards,
        desk: row.desk,
    }
}

fn triggers(machine: &Machine, row: &Row) -> Vec<&'static str> {
    row.trigger_list().map(|trigger| machine.triggers[usize::from(trigger)].name).collect()
}

/// The chosen rows with those of one pair of states merged, in the order in which the pairs first appear.
fn edges(machine: &Machine, chosen: impl Fn(&Row) -> bool) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    for row in machine.rows.iter().filter(|row| chosen(row)) {
        let (from, to) = (machine.state_name(row.from), machine.state_name(row.to));
        let at = edges.iter().position(|edge| edge.from == from && edge.to == to).unwrap_or(edges.len());
        if at == edges.len() {
            edges.push(Edge { from, to, triggers: Vec::new() });
        }
        for trigger in triggers(machine, row) {
            if !edges[at].triggers.contains(&trigger) {
                edges[at].triggers.push(trigger);
            }
        }
    }
    edges
}

fn also(machine: &Machine) -> Option<Also> {
    let edges = edges(machine, |row| row.desk);
    let held: Vec<&str> = machine
        .ends
        .iter()
        .filter(|end| machine.rows_from(*end).any(|row| row.desk))
        .map(|end| machine.state_name(end))
        .collect();
    let note = format!(
        "the approval desk's own edges: {} is entered only by the approval desk and left only by a person, so for \
         every program it is terminal",
        held.join(", ")
    );
    (!edges.is_empty()).then_some(Also { note, edges })
}

fn nature<S: Serializer>(nature: &Nature, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match nature {
        Nature::Ending => "ending",
        Nature::ByTrigger => "by_trigger",
        Nature::Perpetual => "perpetual",
    })
}

fn need<S: Serializer>(need: &Option<Need>, to: S) -> Result<S::Ok, S::Error> {
    match need {
        None => to.serialize_none(),
        Some(Need::Blocked) => to.serialize_str("blocked"),
        Some(Need::Decision) => to.serialize_str("decision"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::MACHINES;

    const FILE: &str = include_str!("../../tests/conformance/machines.json");

    fn described(kind: Kind) -> Value {
        serde_json::to_value(describe(kind.machine())).unwrap()
    }

    fn names(list: &Value) -> BTreeSet<&str> {
        list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
    }

    #[test]
    fn the_document_says_what_the_conformance_file_says_under_the_same_keys() {
        let file: Value = serde_json::from_str(FILE).unwrap();
        for expected in file["machines"].as_array().unwrap() {
            let given = described(expected["kind"].as_str().unwrap().parse().unwrap());
            for key in ["initial", "terminal", "settled", "health", "delivery", "admin_targets"] {
                if let Some(list) = expected.get(key) {
                    assert_eq!(names(&given[key]), names(list), "{}: {key}", expected["kind"]);
                }
            }
            for key in ["transition_reasons", "abort_reasons", "exit_codes"] {
                if let Some(value) = expected.get(key) {
                    assert_eq!(&given[key], value, "{}: {key}", expected["kind"]);
                }
            }
            let pairs = |edges: &Value| -> BTreeSet<(String, String)> {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let pair = |edge: &Value| match edge.as_array() {
                    Some(pair) => (text(&pair[0]), text(&pair[1])),
                    None => (text(&edge["from"]), text(&edge["to"])),
                };
                edges.as_array().unwrap().iter().map(pair).collect()
            };
            assert_eq!(pairs(&given["edges"]), pairs(&expected["edges"]), "{}", expected["kind"]);
            assert_eq!(
                given["edges"].as_array().unwrap().len(),
                expected["edges"].as_array().unwrap().len(),
                "{}: an edge stands once",
                expected["kind"]
            );
            if let Some(also) = expected.get("also") {
                assert_eq!(pairs(&given["also"]["edges"]), pairs(&also["edges"]));
                assert_eq!(given["also"]["note"], also["note"]);
            } else {
                assert_eq!(given.get("also"), None, "{}", expected["kind"]);
            }
        }
    }

    #[test]
    fn every_row_is_in_an_edge_with_all_its_triggers_and_nothing_else_is() {
        for machine in MACHINES {
            let all = describe(machine);
            let of_the_desk = all.also.iter().flat_map(|also| &also.edges);
            let mut from_edges: Vec<_> = all
                .edges
                .iter()
                .map(|edge| (edge, false))
                .chain(of_the_desk.map(|edge| (edge, true)))
                .flat_map(|(edge, desk)| {
                    edge.triggers.iter().map(move |trigger| (edge.from, edge.to, *trigger, desk))
                })
                .collect();
            let mut from_rows: Vec<_> = all
                .rows
                .iter()
                .flat_map(|row| row.triggers.iter().map(|trigger| (row.from, row.to, *trigger, row.desk)))
                .collect();
            from_edges.sort_unstable();
            from_rows.sort_unstable();
            from_rows.dedup();
            assert_eq!(from_edges, from_rows, "{}", machine.kind);
        }
    }

    #[test]
    fn a_row_without_reasons_of_its_own_names_the_family_of_its_target() {
        let task = described(Kind::Task);
        let claimed = task["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["to"] == "claimed" && row["from"] == "open");
        assert_eq!(claimed.unwrap()["reasons"], json!(["task.claimed.*"]));
    }

    #[test]
    fn a_state_carries_its_pill_and_what_it_needs() {
        let task = described(Kind::Task);
        let held =
            task["states"].as_array().unwrap().iter().find(|state| state["name"] == "pending_approval");
        assert_eq!(
            held.unwrap(),
            &json!({
                "name": "pending_approval", "label": "Waits for approval",
                "meaning": "Finished, and held until a person has judged it.",
                "tone": "info", "icon": "hand", "token": "review", "need": "decision",
            })
        );
        let session = described(Kind::Session);
        assert_eq!(session["states"][0]["need"], Value::Null);
        assert_eq!(
            (session["nature"].as_str(), session["reason_entity"].as_str()),
            (Some("ending"), Some("run"))
        );
        assert_eq!(session["requires"], json!({ "timed_out": ["timeout_s", "elapsed_s"] }));
        assert_eq!(session["old_names"]["killed"], "cancelled");
    }

    #[test]
    fn no_vocabulary_takes_the_place_of_a_field() {
        for machine in MACHINES {
            let bare =
                serde_json::to_value(Description { vocabularies: BTreeMap::new(), ..describe(machine) });
            for (name, _) in machine.vocabularies {
                assert_eq!(bare.as_ref().unwrap().get(name), None, "{}: {name}", machine.kind);
            }
        }
    }
}
