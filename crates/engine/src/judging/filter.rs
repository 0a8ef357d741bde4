//! Which of the recorded things are meant: one filter for every list and for every deed that names no ids.
//!
//! Invariant: everything that is asked for must hold. A word means what it means in its vocabulary, old names included;
//! a word that is in none is refused with the nearest ones. Deliberately absent: judging; a filter reads a finished view.

use std::collections::BTreeSet;
use std::time::Duration;

use callboard_kernel::{EntityId, Moment, Value};
use callboard_lifecycle::{Delivery, Health, Kind, Lifecycle, MACHINES, Severity, UnknownWord, Words};

use crate::judging::view::View;

/// What must hold of a view; nothing asked for is everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Words of its state, all of which apply.
    pub states: Vec<StateWord>,
    /// Labels it has: the name, and the value unless any will do.
    pub labels: Vec<(String, Option<String>)>,
    /// The project it belongs to.
    pub project: Option<String>,
    /// What it belongs to.
    pub parent: Option<EntityId>,
    /// For longer than this.
    pub older_than: Option<Duration>,
    /// For no longer than this.
    pub newer_than: Option<Duration>,
}

/// One word, and everything it may mean: `running` is a state of a run and a health.
#[derive(Clone, Debug, PartialEq)]
pub struct StateWord {
    states: Vec<Lifecycle>,
    health: Option<Health>,
    delivery: Option<Delivery>,
    severity: Option<Severity>,
}

impl StateWord {
    /// Reads a word of the lifecycle, health, delivery or severity of a kind, or of any.
    pub fn read(word: &str, kind: Option<Kind>) -> Result<Self, UnknownWord> {
        let machines = || MACHINES.iter().filter(|machine| kind.is_none_or(|kind| kind == machine.kind));
        let has_health = |health: &Health| machines().any(|machine| machine.has_health(*health));
        let has_delivery = |verdict: &Delivery| machines().any(|machine| machine.delivery.contains(verdict));
        let read = Self {
            states: machines().filter_map(|machine| Lifecycle::parse(machine.kind, word).ok()).collect(),
            health: Health::parse(word).ok().filter(has_health),
            delivery: Delivery::parse(word).ok().filter(has_delivery),
            severity: Severity::parse(word).ok(),
        };
        let Self { states, health, delivery, severity } = &read;
        if !states.is_empty() || health.is_some() || delivery.is_some() || severity.is_some() {
            return Ok(read);
        }
        let of_health = Health::ALL.iter().filter(|health| has_health(health)).map(|health| health.name());
        let of_delivery =
            Delivery::ALL.iter().filter(|verdict| has_delivery(verdict)).map(|verdict| verdict.name());
        let valid: BTreeSet<&'static str> = machines()
            .flat_map(|machine| machine.states.iter().map(|state| state.word.name))
            .chain(of_health)
            .chain(of_delivery)
            .chain(Severity::ALL.iter().map(|severity| severity.name()))
            .collect();
        Err(UnknownWord::new("state", word, valid.into_iter()))
    }

    fn applies_to(&self, view: &View<'_>) -> bool {
        let state = &view.state;
        state.lifecycle.is_some_and(|lifecycle| self.states.contains(&lifecycle))
            || (self.health.is_some() && self.health == state.health)
            || (self.delivery.is_some() && self.delivery == state.delivery)
            || self.severity == Some(state.severity)
    }

    /// Does it mean an end, or the verdict that comes with one?
    fn is_of_an_end(&self) -> bool {
        let is_delivery_alone = self.states.is_empty() && self.health.is_none() && self.severity.is_none();
        is_delivery_alone || self.states.iter().any(|state| state.is_terminal())
    }
}

impl Filter {
    /// Does everything that is asked for hold? `since` is from when its age counts.
    pub fn admits(&self, view: &View<'_>, since: Option<Moment>) -> bool {
        let age = since.map(|since| view.state.evaluated_at.since(since));
        let label = |(name, value): &(String, Option<String>)| match (view.labels.get(name), value) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(found), Some(value)) => says(found, value),
        };
        self.states.iter().all(|word| word.applies_to(view))
            && self.labels.iter().all(label)
            && self.project.as_deref().is_none_or(|project| view.project() == Some(project))
            && self.parent.is_none_or(|parent| view.parent == Some(parent.to_string().as_str()))
            && self.older_than.is_none_or(|span| age.is_some_and(|age| age > span))
            && self.newer_than.is_none_or(|span| age.is_some_and(|age| age <= span))
    }

    /// Does it ask for what has ended, so that a list of what is alive would be empty?
    pub fn asks_for_ends(&self) -> bool {
        self.states.iter().any(StateWord::is_of_an_end)
    }
}

/// Is it the value that was typed?
fn says(found: &Value, typed: &str) -> bool {
    match found {
        Value::Text(text) => text == typed,
        Value::Int(number) => number.to_string() == typed,
        Value::Bool(yes) => yes.to_string() == typed,
        Value::Float(number) => number.to_string() == typed,
        Value::Null | Value::List(_) | Value::Map(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Facts;
    use callboard_lifecycle::session::SessionState;

    use super::*;
    use crate::judging::view::{evaluate, samples};
    use crate::judging::viewpoint::Viewpoint;

    fn admits(filter: &Filter) -> bool {
        let labels = Facts::none().with("batch", "7").with("urgent", true);
        let facts = Facts::none()
            .with("labels", Value::Map(labels))
            .with("project", "shop")
            .with("delivery", "missing");
        let stored = samples::stored(SessionState::Failed, facts, &["run.failed.exit_nonzero"]);
        let view = evaluate(&stored, &Viewpoint::past(samples::NOW));
        filter.admits(&view, view.entered_at)
    }

    fn word(text: &str) -> StateWord {
        StateWord::read(text, Some(Kind::Session)).unwrap_or_else(|unknown| panic!("{unknown}"))
    }

    #[test]
    fn every_part_decides_alone_and_all_must_hold() {
        let label = |name: &str, value: Option<&str>| Filter {
            labels: vec![(name.to_owned(), value.map(str::to_owned))],
            ..Filter::default()
        };
        let state = |text| Filter { states: vec![word(text)], ..Filter::default() };
        let project = |name: &str| Filter { project: Some(name.to_owned()), ..Filter::default() };
        let older = |s| Filter { older_than: Some(Duration::from_secs(s)), ..Filter::default() };
        let newer = |s| Filter { newer_than: Some(Duration::from_secs(s)), ..Filter::default() };
        // It has been in its state for 80 seconds.
        let cases = [
            (Filter::default(), true),
            (label("batch", Some("7")), true),
            (label("batch", Some("8")), false),
            (label("urgent", None), true),
            (label("urgent", Some("true")), true),
            (label("team", None), false),
            (state("failed"), true),
            (state("completed"), false),
            (state("critical"), true),
            (state("missing"), true),
            (state("stalled"), false),
            (project("shop"), true),
            (project("other"), false),
            (older(79), true),
            (older(80), false),
            (newer(80), true),
            (newer(79), false),
            (Filter { states: vec![word("failed"), word("warning")], ..Filter::default() }, false),
            (Filter { states: vec![word("failed"), word("critical")], ..Filter::default() }, true),
            (
                Filter {
                    parent: Some(samples::stored(SessionState::Failed, Facts::none(), &[]).entity.state.id),
                    ..Filter::default()
                },
                false,
            ),
        ];
        for (at, (filter, expected)) in cases.iter().enumerate() {
            assert_eq!(admits(filter), *expected, "case {at}: {filter:?}");
        }
    }

    #[test]
    fn a_word_is_of_its_kind_and_an_unknown_one_is_told_the_nearest() {
        let unknown = StateWord::read("faild", Some(Kind::Session)).unwrap_err();
        assert_eq!((unknown.what, unknown.nearest.first()), ("state", Some(&"failed")));
        assert!(StateWord::read("gate_failed", Some(Kind::Session)).is_err());
        assert!(StateWord::read("merged", Some(Kind::Session)).is_err());
        assert!(StateWord::read("merged", None).is_ok());
        assert_eq!(word("zombie"), word("degraded"), "an old name is still understood");
    }

    #[test]
    fn only_a_word_that_means_an_end_asks_for_ends() {
        let of = |word| Filter { states: vec![word], ..Filter::default() }.asks_for_ends();
        let asks = |text| of(word(text));
        assert!(of(StateWord::read("failed", None).unwrap()), "also where some kind goes on after it");
        assert!(asks("failed") && asks("timed_out") && asks("missing"));
        assert!(!asks("running") && !asks("critical") && !asks("pending"));
    }
}
