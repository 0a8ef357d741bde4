//! What needs somebody: the severe views, the most urgent and oldest first, with those that were set aside left out.
//!
//! Invariant: an item is here because its severity says so, and for no other reason. Setting one aside is a record on
//! its entity that names the condition, so it ends by itself when the condition does. Rows from before there were
//! states never appear. Deliberately absent: severity, which the kernel derives.

use std::collections::BTreeMap;

use callboard_kernel::{EntityId, Facts, Moment, fact};
use callboard_lifecycle::{Kind, Lifecycle, ReasonCode, Severity, Tone, Words};
use serde::Serialize;

use crate::judging::triage_input::TriageVerdict;
use crate::judging::view::View;
use crate::kinds::rules;

/// What was taken over from before there were reasons needs nobody.
pub(crate) const LEGACY: &str = "legacy.imported";

/// What needs somebody, at one moment.
#[derive(Debug, Serialize)]
pub struct Attention<'a> {
    /// When it was judged.
    pub generated_at: Moment,
    /// How many need somebody, shown or not.
    pub total: usize,
    /// How many of each severity.
    pub by_severity: BTreeMap<&'static str, usize>,
    /// How many more were put off or dismissed.
    pub set_aside: usize,
    /// The most urgent, then the oldest.
    pub items: Vec<AttentionItem<'a>>,
}

/// One thing that needs somebody.
#[derive(Debug, Serialize)]
pub struct AttentionItem<'a> {
    /// The same condition of the same entity has the same one.
    pub fingerprint: String,
    /// How urgent.
    pub severity: Severity,
    /// How its badge is coloured.
    pub tone: Tone,
    /// What it is about.
    pub entity: AttentionSubject<'a>,
    /// Its state as people read it.
    pub chain: &'a str,
    /// Why it needs somebody.
    pub reason: Option<AttentionCause<'a>>,
    /// What belongs together.
    pub cluster: &'static str,
    /// How many belong together.
    pub cluster_size: usize,
    /// Since when.
    pub first_seen_at: Option<Moment>,
    /// Until when it is put off; dismissed if it says `null` while `dismissed` is true.
    pub snoozed_until: Option<Moment>,
    /// It was dismissed, and comes back only when its condition changes.
    pub dismissed: bool,
    /// What can be done about it.
    pub actions: Vec<Action>,
}

/// The entity of an item.
#[derive(Debug, Serialize)]
pub struct AttentionSubject<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: EntityId,
    /// What it is called.
    pub title: Option<&'a str>,
}

/// The reason of an item.
#[derive(Debug, Serialize)]
pub struct AttentionCause<'a> {
    /// Its code.
    pub code: &'static str,
    /// What happened.
    pub message: &'a str,
}

/// Something that can be done, and the command that does it.
#[derive(Debug, Serialize)]
pub struct Action {
    /// What it is called.
    pub name: &'static str,
    /// How it is done at a terminal.
    pub command: String,
}

/// Which of them to list.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// At most this many; 0 is all.
    pub limit: usize,
    /// Those that were set aside too.
    pub set_aside: bool,
}

/// Which of many need somebody, told from verdicts alone.
#[derive(Debug)]
pub struct Triage {
    /// The places of those to show, the most urgent and oldest first.
    pub shown: Vec<usize>,
    total: usize,
    by_severity: BTreeMap<&'static str, usize>,
    set_aside: usize,
    clusters: BTreeMap<&'static str, usize>,
}

/// Finds those that need somebody. Each comes with its id, which decides between two that began at the same moment.
pub fn triage<'a>(all: impl Iterator<Item = (EntityId, &'a TriageVerdict)>, choice: Choice) -> Triage {
    let (mut by_severity, mut clusters, mut set_aside) = (BTreeMap::new(), BTreeMap::new(), 0);
    let mut needed = Vec::new();
    for (place, (id, verdict)) in all.enumerate() {
        if !verdict.severity.is_urgent() || verdict.condition == LEGACY {
            continue;
        }
        if verdict.is_set_aside && !choice.set_aside {
            set_aside += 1;
            continue;
        }
        *by_severity.entry(verdict.severity.name()).or_insert(0) += 1;
        *clusters.entry(verdict.condition).or_insert(0) += 1;
        needed.push((verdict.severity, verdict.since, id, place));
    }
    let total = needed.len();
    if choice.limit > 0 && choice.limit < total {
        needed.select_nth_unstable(choice.limit);
        needed.truncate(choice.limit);
    }
    needed.sort_unstable();
    let shown = needed.into_iter().map(|(.., place)| place).collect();
    Triage { shown, total, by_severity, set_aside, clusters }
}

impl Triage {
    /// The list, given the views of those to show, in their order.
    pub fn attention<'a>(self, shown: impl Iterator<Item = &'a View<'a>>, now: Moment) -> Attention<'a> {
        let Self { total, by_severity, set_aside, clusters, .. } = self;
        let size = |view| clusters.get(condition(view)).copied().unwrap_or(1);
        let items = shown.map(|view| item(view, size(view), now)).collect();
        Attention { generated_at: now, total, by_severity, set_aside, items }
    }
}

/// Lists what needs somebody among these views.
pub fn attention<'a>(views: &'a [View<'a>], choice: Choice, now: Moment) -> Attention<'a> {
    let verdicts: Vec<TriageVerdict> = views.iter().map(|view| TriageVerdict::of(view, now)).collect();
    let triage = triage(views.iter().map(|view| view.id).zip(&verdicts), choice);
    let shown: Vec<&View<'_>> = triage.shown.iter().map(|place| &views[*place]).collect();
    triage.attention(shown.into_iter(), now)
}

/// Does it need somebody, and has nobody set it aside?
pub fn needs_somebody(view: &View<'_>, now: Moment) -> bool {
    TriageVerdict::of(view, now).needs_somebody()
}

/// What to record to set the present condition of a view aside: until a moment, or until it changes.
pub fn set_aside(view: &View<'_>, until: Option<Moment>) -> Facts {
    let mark = Facts::none()
        .and(fact::CONDITION, condition(view))
        .and(fact::SINCE, view.cause_since())
        .and(fact::UNTIL, until);
    Facts::none().and(fact::SET_ASIDE, mark)
}

/// What to record to take that back.
pub fn taken_back() -> Facts {
    Facts::none().and(fact::SET_ASIDE, None::<Facts>)
}

/// The same condition of the same entity has the same fingerprint.
pub fn fingerprint(view: &View<'_>) -> String {
    format!("{}:{}:{}", view.kind, view.id, condition(view))
}

/// What belongs together: the same reason, or the same state where there is no reason.
pub(crate) fn condition(view: &View<'_>) -> &'static str {
    condition_of(view.cause().map(|reason| reason.code), view.state.lifecycle)
}

pub(crate) fn condition_of(cause: Option<ReasonCode>, state: Option<Lifecycle>) -> &'static str {
    cause.map_or_else(|| state.map_or("", Lifecycle::name), ReasonCode::as_str)
}

/// A condition that somebody set aside.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    condition: String,
    since: Option<Moment>,
    until: Option<Moment>,
}

impl Mark {
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let mark = facts.read(fact::SET_ASIDE)?;
        let condition = mark.read(fact::CONDITION)?.to_owned();
        Some(Self { condition, since: mark.read(fact::SINCE), until: mark.read(fact::UNTIL) })
    }

    /// Is it this condition, and is it not over yet?
    pub(crate) fn holds(&self, condition: &str, since: Option<Moment>, now: Moment) -> bool {
        self.condition == condition && self.since == since && self.until.is_none_or(|until| now < until)
    }
}

fn item<'a>(view: &'a View<'a>, cluster_size: usize, now: Moment) -> AttentionItem<'a> {
    let holds = |mark: &Mark| mark.holds(condition(view), view.cause_since(), now);
    let mark = Mark::of(view.recorded_facts()).filter(holds);
    AttentionItem {
        fingerprint: fingerprint(view),
        severity: view.state.severity,
        tone: view.state.tone,
        entity: AttentionSubject { kind: view.kind, id: view.id, title: view.title },
        chain: &view.chain,
        reason: view
            .cause()
            .map(|reason| AttentionCause { code: reason.code.as_str(), message: &reason.message }),
        cluster: condition(view),
        cluster_size,
        first_seen_at: view.cause_since(),
        snoozed_until: mark.as_ref().and_then(|mark| mark.until),
        dismissed: mark.is_some_and(|mark| mark.until.is_none()),
        actions: actions(view),
    }
}

fn actions(view: &View<'_>) -> Vec<Action> {
    let mut names = vec!["why"];
    names.extend(rules(view.kind).commands(view));
    let mut all: Vec<Action> = names
        .into_iter()
        .map(|name| Action { name, command: format!("callboard {name} {}", view.id) })
        .collect();
    all.extend(
        ["snooze", "dismiss"]
            .map(|name| Action { name, command: format!("callboard attention {name} {}", view.id) }),
    );
    all
}

#[cfg(test)]
mod tests {
    use callboard_ledger::Stored;
    use callboard_lifecycle::session::SessionState;

    use super::*;
    use crate::judging::view::{evaluate, samples};
    use crate::judging::viewpoint::Viewpoint;

    const NOW: Moment = samples::NOW;
    const ALL: Choice = Choice { limit: 0, set_aside: false };

    fn failed() -> Stored {
        samples::stored(SessionState::Failed, Facts::none(), &["run.failed.exit_nonzero"])
    }

    fn listed(stored: &[Stored], choice: Choice, now: Moment) -> (usize, usize) {
        let views: Vec<View<'_>> = stored.iter().map(|one| evaluate(one, &Viewpoint::past(now))).collect();
        let attention = attention(&views, choice, now);
        (attention.total, attention.set_aside)
    }

    #[test]
    fn what_was_put_off_comes_back_when_its_time_is_over() {
        let mut stored = failed();
        let later = Moment::from_micros(NOW.as_micros() + 1);
        let mark = set_aside(&evaluate(&stored, &Viewpoint::past(NOW)), Some(later));
        stored.entity.facts.merge(&mark);
        assert_eq!(listed(std::slice::from_ref(&stored), ALL, NOW), (0, 1));
        assert_eq!(listed(std::slice::from_ref(&stored), ALL, later), (1, 0));
        stored.entity.facts.merge(&taken_back());
        assert_eq!(listed(&[stored], ALL, NOW), (1, 0));
    }

    #[test]
    fn a_changed_condition_is_a_new_one() {
        let mut stored = failed();
        let mark = set_aside(&evaluate(&stored, &Viewpoint::past(NOW)), None);
        stored.entity.facts.merge(&mark);
        assert_eq!(listed(std::slice::from_ref(&stored), ALL, NOW), (0, 1));
        let mut other = samples::stored(SessionState::Failed, mark, &["run.failed.oom"]);
        assert_eq!(listed(std::slice::from_ref(&other), ALL, NOW), (1, 0));
        other.entity = stored.entity.clone();
        other.entity.entered_at = Some(NOW);
        assert_eq!(listed(&[other], ALL, NOW), (1, 0), "it failed again");
    }

    #[test]
    fn what_is_set_aside_can_still_be_listed_and_a_choice_needs_nobody() {
        let mut stored = failed();
        let mark = set_aside(&evaluate(&stored, &Viewpoint::past(NOW)), None);
        stored.entity.facts.merge(&mark);
        assert_eq!(listed(&[stored], Choice { limit: 0, set_aside: true }, NOW), (1, 0));
        let chosen = samples::stored(SessionState::Aborted, Facts::none(), &["run.aborted.sigint"]);
        assert_eq!(listed(&[chosen], ALL, NOW), (0, 0));
    }
}
