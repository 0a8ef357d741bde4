//! Which of the recorded things are meant: one filter for every list, on every surface, and for every act that names no ids.
//!
//! Invariant: everything that is asked for must hold. A word means what it means in its vocabulary, old names included;
//! a word that is in none is refused with the nearest ones. An entry of the board and a view of the same entity pass the
//! same filters. Deliberately absent: judging, and how a surface writes a filter.

use std::collections::BTreeSet;
use std::time::Duration;

use callboard_kernel::{EntityId, Moment, Value, fact};
use callboard_lifecycle::{Delivery, Health, Kind, Lifecycle, MACHINES, Severity, UnknownWord, Words};

use super::entry::{BoardEntry, Label, SearchKeys};
use crate::judging::view::View;

/// What must hold of an entity; nothing asked for is everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Its kind.
    pub kind: Option<Kind>,
    /// The entity it belongs to.
    pub parent: Option<EntityId>,
    /// Conditions on its state, all of which apply.
    pub states: Vec<StateCondition>,
    /// Labels it has: the name, and the value unless any will do.
    pub labels: Vec<(String, Option<String>)>,
    /// The project it belongs to.
    pub project: Option<String>,
    /// What its id, title, project, status or directory contains, in lower case.
    pub text: Option<String>,
    /// In its state for longer than this.
    pub older_than: Option<Duration>,
    /// In its state for no longer than this.
    pub newer_than: Option<Duration>,
}

/// Values of a state, one of which must apply: `running` is a state of a run and a health.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateCondition {
    lifecycles: Vec<Lifecycle>,
    health: Vec<Health>,
    delivery: Vec<Delivery>,
    severity: Vec<Severity>,
}

/// The axes of a judged state.
#[derive(Clone, Copy)]
struct JudgedAxes {
    lifecycle: Option<Lifecycle>,
    health: Option<Health>,
    delivery: Option<Delivery>,
    severity: Severity,
}

impl StateCondition {
    /// Reads a word of the lifecycle, health, delivery or severity of a kind, or of any.
    pub fn read(word: &str, kind: Option<Kind>) -> Result<Self, UnknownWord> {
        let machines = || MACHINES.iter().filter(|machine| kind.is_none_or(|kind| kind == machine.kind));
        let has_health = |health: &Health| machines().any(|machine| machine.has_health(*health));
        let has_delivery = |verdict: &Delivery| machines().any(|machine| machine.delivery.contains(verdict));
        let read = Self {
            lifecycles: machines().filter_map(|machine| Lifecycle::parse(machine.kind, word).ok()).collect(),
            health: Health::parse(word).ok().filter(has_health).into_iter().collect(),
            delivery: Delivery::parse(word).ok().filter(has_delivery).into_iter().collect(),
            severity: Severity::parse(word).ok().into_iter().collect(),
        };
        if read != Self::default() {
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

    /// One of these states of the lifecycle, by their names in any machine. A name that no machine has is a slip, and nothing
    /// would ever be found under it.
    pub fn lifecycles<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, UnknownWord> {
        let mut lifecycles = Vec::new();
        for name in names {
            let states = || MACHINES.iter().flat_map(|machine| machine.states.iter());
            if !states().any(|state| state.word.name == name) {
                return Err(UnknownWord::new("state", name, states().map(|state| state.word.name)));
            }
            let parsed = MACHINES.iter().filter_map(|machine| Lifecycle::parse(machine.kind, name).ok());
            lifecycles.extend(parsed.filter(|state| state.name() == name));
        }
        Ok(Self { lifecycles, ..Self::default() })
    }

    /// One of these healths.
    pub fn healths(health: Vec<Health>) -> Self {
        Self { health, ..Self::default() }
    }

    /// One of these severities.
    pub fn severities(severity: Vec<Severity>) -> Self {
        Self { severity, ..Self::default() }
    }

    /// Does it ask for nothing?
    pub fn is_empty(&self) -> bool {
        let Self { lifecycles, health, delivery, severity } = self;
        lifecycles.is_empty() && health.is_empty() && delivery.is_empty() && severity.is_empty()
    }

    fn applies_to(&self, axes: JudgedAxes) -> bool {
        axes.lifecycle.is_some_and(|lifecycle| self.lifecycles.contains(&lifecycle))
            || axes.health.is_some_and(|health| self.health.contains(&health))
            || axes.delivery.is_some_and(|delivery| self.delivery.contains(&delivery))
            || self.severity.contains(&axes.severity)
    }

    /// Can it be told without judging that it does not apply?
    fn excludes(&self, lifecycle: Option<Lifecycle>) -> bool {
        let is_of_lifecycle = self.health.is_empty() && self.delivery.is_empty() && self.severity.is_empty();
        is_of_lifecycle && !lifecycle.is_some_and(|lifecycle| self.lifecycles.contains(&lifecycle))
    }

    /// Does it mean an end, or the verdict that comes with one?
    fn is_of_an_end(&self) -> bool {
        let is_delivery_alone =
            self.lifecycles.is_empty() && self.health.is_empty() && self.severity.is_empty();
        is_delivery_alone || self.lifecycles.iter().any(|state| state.is_terminal())
    }
}

/// What is recorded of an entity and can be searched for, whoever keeps it.
trait Searchable {
    fn id(&self) -> EntityId;
    fn lifecycle(&self) -> Option<Lifecycle>;
    fn parent(&self) -> Option<&str>;
    fn project(&self) -> Option<&str>;
    /// Does it have this label, with this value or with any?
    fn has_label(&self, name: &str, value: Option<&str>) -> bool;
    /// Does its id or one of its texts contain this, which is in lower case?
    fn contains(&self, wanted: &str) -> bool;
}

impl Filter {
    /// Does everything that is asked for hold? `since` is from when its age counts.
    pub fn admits(&self, view: &View<'_>, since: Option<Moment>) -> bool {
        let state = &view.state;
        let axes = JudgedAxes {
            lifecycle: state.lifecycle,
            health: state.health,
            delivery: state.delivery,
            severity: state.severity,
        };
        self.admits_recorded(view) && self.admits_judged(axes, since, state.evaluated_at)
    }

    /// Does everything that is asked for hold of an entry of the board?
    pub(super) fn admits_entry(&self, entry: &BoardEntry) -> bool {
        let keys = &entry.keys;
        let axes = JudgedAxes {
            lifecycle: keys.state,
            health: entry.verdict.health,
            delivery: keys.delivery,
            severity: entry.verdict.severity,
        };
        self.admits_recorded(keys) && self.admits_judged(axes, keys.entered_at, entry.look.at)
    }

    /// May it be admitted, as far as that can be told without judging it?
    pub(super) fn may_admit(&self, keys: &SearchKeys) -> bool {
        self.admits_recorded(keys)
    }

    fn admits_recorded(&self, entity: &impl Searchable) -> bool {
        self.kind.is_none_or(|kind| kind == entity.id().kind())
            && self.parent.is_none_or(|parent| entity.parent() == Some(parent.to_string().as_str()))
            && self.project.as_deref().is_none_or(|project| entity.project() == Some(project))
            && !self.states.iter().any(|condition| condition.excludes(entity.lifecycle()))
            && self.labels.iter().all(|(name, value)| entity.has_label(name, value.as_deref()))
            && self.text.as_deref().is_none_or(|wanted| entity.contains(wanted))
    }

    fn admits_judged(&self, axes: JudgedAxes, since: Option<Moment>, now: Moment) -> bool {
        let age = since.map(|since| now.since(since));
        self.states.iter().all(|condition| condition.applies_to(axes))
            && self.older_than.is_none_or(|span| age.is_some_and(|age| age > span))
            && self.newer_than.is_none_or(|span| age.is_some_and(|age| age <= span))
    }

    /// Does it ask for nothing but a kind and a parent, which the ledger selects by itself?
    pub fn is_plain(&self) -> bool {
        let Self { kind: _, parent: _, states, labels, project, text, older_than, newer_than } = self;
        states.is_empty()
            && labels.is_empty()
            && project.is_none()
            && text.is_none()
            && older_than.is_none()
            && newer_than.is_none()
    }

    /// Does it ask for what has ended, so that a list of what is alive would be empty?
    pub fn asks_for_ends(&self) -> bool {
        self.states.iter().any(StateCondition::is_of_an_end)
    }
}

impl Searchable for SearchKeys {
    fn id(&self) -> EntityId {
        self.id
    }

    fn lifecycle(&self) -> Option<Lifecycle> {
        self.state
    }

    fn parent(&self) -> Option<&str> {
        self.texts.parent.as_deref()
    }

    fn project(&self) -> Option<&str> {
        self.texts.project.as_deref()
    }

    fn has_label(&self, name: &str, value: Option<&str>) -> bool {
        let is_it =
            |(its, text): &Label| **its == *name && value.is_none_or(|value| text.as_deref() == Some(value));
        self.texts.labels.iter().any(is_it)
    }

    fn contains(&self, wanted: &str) -> bool {
        let texts = &*self.texts;
        contains(
            self.id,
            [&texts.title, &texts.project, &texts.status, &texts.cwd].map(Option::as_deref),
            wanted,
        )
    }
}

impl Searchable for View<'_> {
    fn id(&self) -> EntityId {
        self.id
    }

    fn lifecycle(&self) -> Option<Lifecycle> {
        self.state.lifecycle
    }

    fn parent(&self) -> Option<&str> {
        self.parent
    }

    fn project(&self) -> Option<&str> {
        self.project()
    }

    fn has_label(&self, name: &str, value: Option<&str>) -> bool {
        let is = |found: &Value| value.is_none_or(|value| label_text(found).as_deref() == Some(value));
        self.labels.get(name).is_some_and(is)
    }

    fn contains(&self, wanted: &str) -> bool {
        let read = |name| self.recorded_facts().read(name);
        contains(self.id, [self.title, self.project(), read(fact::STATUS), read(fact::CWD)], wanted)
    }
}

fn contains(id: EntityId, texts: [Option<&str>; 4], wanted: &str) -> bool {
    id.to_string().contains(wanted)
        || texts.into_iter().flatten().any(|text| text.to_lowercase().contains(wanted))
}

/// The value of a label as somebody types it; nothing if it is not a single value.
pub(super) fn label_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
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
        let admitted = filter.admits(&view, view.entered_at);
        let entry = BoardEntry::of(&stored, &Viewpoint::past(samples::NOW)).unwrap();
        assert_eq!(
            filter.admits_entry(&entry),
            admitted,
            "an entry of the board passes as its view does: {filter:?}"
        );
        admitted
    }

    fn word(text: &str) -> StateCondition {
        StateCondition::read(text, Some(Kind::Session)).unwrap_or_else(|unknown| panic!("{unknown}"))
    }

    fn any_of(names: &[&str]) -> StateCondition {
        StateCondition::lifecycles(names.iter().copied()).unwrap_or_else(|unknown| panic!("{unknown}"))
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
            (Filter { kind: Some(Kind::Session), ..Filter::default() }, true),
            (Filter { kind: Some(Kind::Task), ..Filter::default() }, false),
            (Filter { text: Some("sho".to_owned()), ..Filter::default() }, true),
            (Filter { text: Some("shoe".to_owned()), ..Filter::default() }, false),
            (Filter { states: vec![any_of(&["completed", "failed"])], ..Filter::default() }, true),
            (Filter { states: vec![any_of(&["completed", "running"])], ..Filter::default() }, false),
            (
                Filter { states: vec![StateCondition::healths(vec![Health::Stalled])], ..Filter::default() },
                false,
            ),
            (
                Filter {
                    states: vec![StateCondition::severities(Severity::ALL.to_vec())],
                    ..Filter::default()
                },
                true,
            ),
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
        let unknown = StateCondition::read("faild", Some(Kind::Session)).unwrap_err();
        assert_eq!((unknown.what, unknown.nearest.first()), ("state", Some(&"failed")));
        assert!(StateCondition::read("gate_failed", Some(Kind::Session)).is_err());
        assert!(StateCondition::read("merged", Some(Kind::Session)).is_err());
        assert!(StateCondition::read("merged", None).is_ok());
        assert_eq!(word("zombie"), word("degraded"), "an old name is still understood");
    }

    #[test]
    fn only_a_word_that_means_an_end_asks_for_ends() {
        let of = |word| Filter { states: vec![word], ..Filter::default() }.asks_for_ends();
        let asks = |text| of(word(text));
        assert!(of(StateCondition::read("failed", None).unwrap()), "also where some kind goes on after it");
        assert!(asks("failed") && asks("timed_out") && asks("missing"));
        assert!(!asks("running") && !asks("critical") && !asks("pending"));
    }
}
