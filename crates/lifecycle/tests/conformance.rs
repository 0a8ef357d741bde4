//! The tables against `conformance/machines.json`, which says what other programs rely on.
//!
//! Invariant: what the file gives is compared in both directions, so a row that is missing and a row too many are
//! both noticed and named. Deliberately absent: the claim, whose table is Callboard's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use callboard_lifecycle::agent::ExecutionState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{MACHINES, Machine, Row, Words};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectations {
    machines: Vec<Expected>,
}

/// A key this type does not know is an error, or it would go unchecked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    kind: String,
    #[serde(rename = "seeds")]
    _seeds: IgnoredAny,
    exact: bool,
    initial: Names,
    terminal: Names,
    settled: Option<Names>,
    edges: Edges,
    also: Option<Also>,
    triggered_edges: Option<BTreeSet<(String, String, String)>>,
    #[serde(default)]
    health: Names,
    #[serde(default)]
    delivery: Names,
    admin_targets: Option<Names>,
    triggers: Option<Names>,
    aliases: Option<Map>,
    transition_reasons: Option<Vec<String>>,
    abort_reasons: Option<Vec<String>>,
    exit_codes: Option<BTreeMap<String, u8>>,
    active: Option<Names>,
    agent_status: Option<Map>,
    activity_state: Option<Map>,
}

/// The approval desk's own edges.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    #[serde(rename = "note")]
    _note: IgnoredAny,
    edges: Edges,
}

type Names = BTreeSet<String>;
type Edges = BTreeSet<(String, String)>;
type Map = BTreeMap<String, String>;

#[test]
fn every_machine_but_those_of_callboard_alone_is_in_the_file() {
    let declared: Names = MACHINES.iter().map(|machine| machine.kind.to_string()).collect();
    let mut expected: Names = file().into_iter().map(|machine| machine.kind).collect();
    for own in ["claim", "question", "rule"] {
        assert!(expected.insert(own.to_owned()), "the {own} is in the file too: check it like the others");
    }
    same("the kinds", &declared, &expected);
}

#[test]
fn every_machine_begins_and_ends_where_the_file_says() {
    for expected in file() {
        let machine = declared(&expected);
        assert!(expected.exact, "{}: these tests know exact machines only", expected.kind);
        same(&of(machine, "initial"), &states(machine, machine.start.iter()), &expected.initial);
        same(&of(machine, "terminal"), &states(machine, machine.ends.iter()), &expected.terminal);
    }
}

#[test]
fn the_settled_states_are_those_of_the_file() {
    for (machine, settled) in given(|expected| expected.settled) {
        same(&of(machine, "settled"), &states(machine, machine.settled.iter()), &settled);
    }
}

#[test]
fn the_edges_are_those_of_the_file_and_no_others() {
    for expected in file() {
        let machine = declared(&expected);
        same(&of(machine, "edges"), &edges(machine, |row| !row.desk), &expected.edges);
    }
}

#[test]
fn the_rows_of_the_desk_are_the_further_edges_of_the_file() {
    for expected in file() {
        let machine = declared(&expected);
        let further = expected.also.map(|also| also.edges).unwrap_or_default();
        same(&of(machine, "also"), &edges(machine, |row| row.desk), &further);
    }
}

#[test]
fn a_move_is_possible_between_two_states_only_where_the_file_has_an_edge() {
    for expected in file() {
        let machine = declared(&expected);
        let all = || (0..).zip(machine.state_names());
        let possible: Edges = all()
            .flat_map(|from| all().map(move |to| (from, to)))
            .filter(|((from, _), (to, _))| machine.can_transition(*from, *to))
            .map(|((_, from), (_, to))| (from.to_owned(), to.to_owned()))
            .collect();
        let mut legal = expected.edges;
        legal.extend(expected.also.into_iter().flat_map(|also| also.edges));
        same(&of(machine, "possible moves"), &possible, &legal);
    }
}

#[test]
fn an_event_leads_where_the_file_says_and_nowhere_else() {
    for (machine, triggered) in given(|expected| expected.triggered_edges) {
        let rows = machine.rows.iter().flat_map(|row| row.trigger_list().map(move |trigger| (row, trigger)));
        let declared = rows
            .map(|(row, trigger)| {
                (
                    name(machine, row.from),
                    machine.triggers[usize::from(trigger)].name.to_owned(),
                    name(machine, row.to),
                )
            })
            .collect();
        same(&of(machine, "triggered_edges"), &declared, &triggered);
        for (from, trigger, to) in &triggered {
            let (from, trigger) = (machine.state(from).unwrap(), machine.trigger(trigger).unwrap());
            assert_eq!(machine.after(from, trigger), machine.state(to), "{}: after", machine.kind);
        }
    }
}

#[test]
fn health_and_delivery_have_the_values_of_the_file() {
    for expected in file() {
        let machine = declared(&expected);
        same(&of(machine, "health"), &texts(machine.health), &expected.health);
        same(&of(machine, "delivery"), &texts(machine.delivery), &expected.delivery);
    }
}

#[test]
fn an_operator_may_only_go_where_the_file_says() {
    for (machine, targets) in given(|expected| expected.admin_targets) {
        same(&of(machine, "admin_targets"), &states(machine, machine.admin_targets()), &targets);
    }
}

#[test]
fn the_triggers_are_those_of_the_file() {
    for (machine, triggers) in given(|expected| expected.triggers) {
        let declared = machine.triggers.iter().map(|trigger| trigger.name.to_owned()).collect();
        same(&of(machine, "triggers"), &declared, &triggers);
    }
}

#[test]
fn an_alias_leads_to_the_state_the_file_says() {
    for (machine, aliases) in given(|expected| expected.aliases) {
        for (alias, state) in aliases {
            let meant = machine.state(&alias).map(|state| machine.state_name(state));
            assert_eq!(meant, Some(state.as_str()), "{}: alias {alias}", machine.kind);
        }
    }
}

#[test]
fn the_canonical_reasons_stand_in_the_order_of_the_file() {
    let transition_reasons = given(|expected| expected.transition_reasons);
    let abort_reasons = given(|expected| expected.abort_reasons);
    for (vocabulary, all) in [("transition_reasons", transition_reasons), ("abort_reasons", abort_reasons)] {
        for (machine, expected) in all {
            let found = machine.vocabularies.iter().find(|(name, _)| *name == vocabulary);
            let declared: Option<Vec<&str>> =
                found.map(|(_, words)| words.iter().map(|word| word.name).collect());
            assert_eq!(declared.as_deref(), Some(refs(&expected).as_slice()), "{}", of(machine, vocabulary));
        }
    }
}

#[test]
fn a_session_tells_its_end_by_the_exit_code_of_the_file() {
    let declared = SessionState::exit_codes().map(|(state, code)| (state.to_string(), code)).collect();
    same("session: exit_codes", &declared, &pairs(only("session", |expected| expected.exit_codes)));
}

#[test]
fn an_agent_is_active_where_the_file_says() {
    let active = ExecutionState::ALL.iter().filter(|state| state.is_active());
    same("agent: active", &texts(active), &only("agent", |expected| expected.active));
}

#[test]
fn an_agent_has_the_status_and_the_activity_that_older_callers_know() {
    let status = |state: &ExecutionState| (state.to_string(), state.to_agent_status().to_string());
    let declared = ExecutionState::ALL.iter().map(status).collect();
    same("agent: agent_status", &declared, &pairs(only("agent", |expected| expected.agent_status)));

    let mut named = only("agent", |expected| expected.activity_state);
    let otherwise = named.remove("*").unwrap();
    let activity = |state: &ExecutionState| (state.to_string(), state.to_activity_state().to_string());
    let declared = ExecutionState::ALL.iter().map(activity).collect();
    let unnamed =
        ExecutionState::ALL.iter().map(ToString::to_string).filter(|state| !named.contains_key(state));
    let mut expected: BTreeSet<_> = unnamed.map(|state| (state, otherwise.clone())).collect();
    expected.extend(named);
    same("agent: activity_state", &declared, &expected);
}

#[test]
fn an_edge_too_many_and_a_missing_edge_are_both_named() {
    let session = file().into_iter().find(|expected| expected.kind == "session").unwrap();
    let table = edges(declared(&session), |row| !row.desk);
    assert_eq!(difference(&table, &session.edges), None);

    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let mut changed = table;
    assert!(changed.insert(edge("completed", "running")) && changed.remove(&edge("pending", "running")));
    assert_eq!(
        difference(&changed, &session.edges).unwrap(),
        "declared, not in the file: [(\"completed\", \"running\")]; \
         in the file, not declared: [(\"pending\", \"running\")]"
    );
}

fn file() -> Vec<Expected> {
    let read: Result<Expectations, _> = serde_json::from_str(include_str!("conformance/machines.json"));
    read.unwrap_or_else(|error| panic!("machines.json: {error}")).machines
}

fn declared(expected: &Expected) -> &'static Machine {
    let found = MACHINES.iter().find(|machine| machine.kind.name() == expected.kind);
    found.unwrap_or_else(|| panic!("no machine is declared for {}", expected.kind))
}

/// What the file gives for some machines, of those machines.
fn given<T>(of: impl Fn(Expected) -> Option<T>) -> Vec<(&'static Machine, T)> {
    let all: Vec<_> = file()
        .into_iter()
        .filter_map(|expected| {
            let machine = declared(&expected);
            Some((machine, of(expected)?))
        })
        .collect();
    assert!(!all.is_empty(), "no machine of the file gives this, so nothing would be checked");
    all
}

/// What the file gives for one machine and no other.
fn only<T>(kind: &str, of: impl Fn(Expected) -> Option<T>) -> T {
    let mut all = given(of);
    assert!(all.len() == 1 && all[0].0.kind.name() == kind, "the file gives this for others than the {kind}");
    all.remove(0).1
}

fn same<T: Ord + Debug>(what: &str, declared: &BTreeSet<T>, expected: &BTreeSet<T>) {
    if let Some(difference) = difference(declared, expected) {
        panic!("{what}: {difference}");
    }
}

fn difference<T: Ord + Debug>(declared: &BTreeSet<T>, expected: &BTreeSet<T>) -> Option<String> {
    let extra: Vec<&T> = declared.difference(expected).collect();
    let missing: Vec<&T> = expected.difference(declared).collect();
    let differ = !extra.is_empty() || !missing.is_empty();
    differ.then(|| format!("declared, not in the file: {extra:?}; in the file, not declared: {missing:?}"))
}

fn of(machine: &Machine, what: &str) -> String {
    format!("{}: {what}", machine.kind)
}

fn name(machine: &Machine, state: u8) -> String {
    machine.state_name(state).to_owned()
}

fn states(machine: &Machine, states: impl IntoIterator<Item = u8>) -> Names {
    states.into_iter().map(|state| name(machine, state)).collect()
}

fn edges(machine: &Machine, which: impl Fn(&&Row) -> bool) -> Edges {
    let rows = machine.rows.iter().filter(which);
    rows.map(|row| (name(machine, row.from), name(machine, row.to))).collect()
}

fn texts<T: ToString>(values: impl IntoIterator<Item = T>) -> Names {
    values.into_iter().map(|value| value.to_string()).collect()
}

fn pairs<V: Ord>(map: BTreeMap<String, V>) -> BTreeSet<(String, V)> {
    map.into_iter().collect()
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
