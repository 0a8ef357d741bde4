//! A question as it is recorded: its options, what happens without an answer, who may answer, and which standing rules fit.
//!
//! Invariant: all of it follows from the question's own records, so guards, rules and every surface give the same answer. An option
//! that grants something never takes effect by time alone. Deliberately absent: what an answer does to its subject.

use callboard_lifecycle::question::{QuestionSource, QuestionState};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, Words};

use crate::entity::Entity;
use crate::fact;
use crate::facts::{Facts, Value};
use crate::id::EntityId;
use crate::moment::Moment;
use crate::task;

/// An answer that a question offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerOption {
    /// What it is called, and what is recorded.
    pub name: String,
    /// Does it let something happen that would not happen otherwise?
    pub grants: bool,
}

impl AnswerOption {
    /// An option that lets something happen.
    pub fn granting(name: impl Into<String>) -> Self {
        Self { name: name.into(), grants: true }
    }

    /// An option that lets nothing happen.
    pub fn denying(name: impl Into<String>) -> Self {
        Self { name: name.into(), grants: false }
    }

    /// As it is recorded.
    pub fn facts(&self) -> Facts {
        Facts::none().and(fact::NAME, self.name.as_str()).and(fact::GRANTS, self.grants)
    }

    fn of(value: &Value) -> Option<Self> {
        let Value::Map(facts) = value else { return None };
        // What does not say that it grants nothing is taken to grant something.
        let grants = facts.read(fact::GRANTS).unwrap_or(true);
        Some(Self { name: facts.read(fact::NAME)?.to_owned(), grants })
    }
}

/// What happens at the expiry if nobody has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// Nothing: the question stays, and whoever asked is told that there is no answer.
    #[default]
    Hold,
    /// It is denied.
    Deny,
    /// This option is taken, which grants nothing.
    Option(String),
}

impl OnExpiry {
    const HOLD: &'static str = "hold";
    const DENY: &'static str = "deny";

    /// Reads it as it is written and recorded.
    pub fn of(text: &str) -> Self {
        match text {
            Self::HOLD => Self::Hold,
            Self::DENY => Self::Deny,
            option => Self::Option(option.to_owned()),
        }
    }

    /// As it is written and recorded.
    pub fn name(&self) -> &str {
        match self {
            Self::Hold => Self::HOLD,
            Self::Deny => Self::DENY,
            Self::Option(option) => option,
        }
    }
}

/// What a standing rule can be made for: how much it covers, and the key that questions of that sort share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleKey {
    /// How much it covers, in one word.
    pub scope: String,
    /// What every question that it covers carries.
    pub key: String,
}

impl RuleKey {
    /// As it is recorded.
    pub fn facts(&self) -> Facts {
        Facts::none().and(fact::SCOPE, self.scope.as_str()).and(fact::COVERS, self.key.as_str())
    }

    fn of(value: &Value) -> Option<Self> {
        let Value::Map(facts) = value else { return None };
        let (scope, key) = (facts.read(fact::SCOPE)?, facts.read(fact::COVERS)?);
        Some(Self { scope: scope.to_owned(), key: key.to_owned() })
    }
}

/// The state of a question; nothing if it is none, or has none yet.
pub fn state(entity: &Entity) -> Option<QuestionState> {
    let state = entity.state.lifecycle.filter(|state| state.kind() == Kind::Question)?;
    Some(QuestionState::ALL[usize::from(state.position())])
}

/// Does it wait for an answer?
pub fn is_open(entity: &Entity) -> bool {
    state(entity) == Some(QuestionState::Asked)
}

/// What it is about.
pub fn source(facts: &Facts) -> Option<QuestionSource> {
    facts.read(fact::SOURCE).and_then(|word| QuestionSource::parse(word).ok())
}

/// The entity that it is about.
pub fn subject(facts: &Facts) -> Option<EntityId> {
    facts.read(fact::SUBJECT).and_then(|id| id.parse().ok())
}

/// The options that it offers; any text is an answer where there is none.
pub fn options(facts: &Facts) -> Vec<AnswerOption> {
    facts.read(fact::OPTIONS).unwrap_or_default().iter().filter_map(AnswerOption::of).collect()
}

/// What happens at its expiry.
pub fn on_expiry(facts: &Facts) -> OnExpiry {
    facts.read(fact::ON_EXPIRY).map_or(OnExpiry::Hold, OnExpiry::of)
}

/// The standing rules that can be made of an answer to it.
pub fn rule_keys(facts: &Facts) -> Vec<RuleKey> {
    facts.read(fact::RULE_SCOPES).unwrap_or_default().iter().filter_map(RuleKey::of).collect()
}

/// Is a question about a task told by the task itself, which needs the same person for the same reason?
pub fn is_told_by_subject(facts: &Facts) -> bool {
    match source(facts) {
        Some(QuestionSource::Plan | QuestionSource::Review | QuestionSource::Dependency) => true,
        Some(QuestionSource::Permission | QuestionSource::Budget | QuestionSource::Ask) | None => false,
    }
}

/// Why a question needs no answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moot {
    /// Whoever asked has ended.
    AskerEnded,
    /// What was asked about was decided in another way.
    Settled,
}

/// Why a question about an entity needs no answer any more, if it does not. What a plan waits for is seen in all of its tasks, not in one.
pub fn moot(source: QuestionSource, subject: &Entity) -> Option<Moot> {
    let state = task::state(subject);
    match source {
        QuestionSource::Plan => None,
        QuestionSource::Review => (state != Some(TaskState::PendingApproval)).then_some(Moot::Settled),
        QuestionSource::Dependency => (state != Some(TaskState::Blocked)).then_some(Moot::Settled),
        QuestionSource::Permission | QuestionSource::Budget | QuestionSource::Ask => {
            let has_ended = match state {
                Some(state) => matches!(state, TaskState::Closed | TaskState::Cancelled),
                None => subject.ended_at.is_some(),
            };
            has_ended.then_some(Moot::AskerEnded)
        }
    }
}

/// Words that read like a yes. An asker names its own options, and none of these may take effect because nobody answered.
const YES: [&str; 13] = [
    "yes", "y", "ok", "okay", "allow", "approve", "accept", "agree", "confirm", "proceed", "continue", "go",
    "merge",
];

/// Does an option that an asker named itself read like a yes?
pub fn is_affirmative(name: &str) -> bool {
    let first = name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_none_or(|word| YES.contains(&word.to_lowercase().as_str()))
}

/// What stands in the way of an answer, if it is not one that the question takes.
pub(crate) fn not_offered(facts: &Facts, answer: Option<&str>) -> Option<String> {
    let Some(answer) = answer.filter(|answer| !answer.is_empty()) else {
        return Some("the answer is empty".to_owned());
    };
    let options = options(facts);
    if options.is_empty() || options.iter().any(|option| option.name == answer) {
        return None;
    }
    let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
    Some(format!("{answer:?} is not one of its options ({})", names.join(", ")))
}

/// Those who may answer, if not everybody.
pub fn answerers(facts: &Facts) -> Vec<&str> {
    let all = facts.read(fact::ANSWERERS).unwrap_or_default().iter();
    all.filter_map(|value| if let Value::Text(name) = value { Some(name.as_str()) } else { None }).collect()
}

/// What takes effect by itself at a moment: nothing unless the expiry is over, and never an option that grants something.
pub fn default_due(facts: &Facts, now: Moment) -> Result<Option<String>, String> {
    match facts.read(fact::EXPIRES_AT) {
        None => return Err("it has no expiry".to_owned()),
        Some(at) if at > now => return Err(format!("it expires at {at}")),
        Some(_) => {}
    }
    match on_expiry(facts) {
        OnExpiry::Hold => Err("it holds until somebody answers".to_owned()),
        OnExpiry::Deny => Ok(None),
        OnExpiry::Option(name) => {
            let grants =
                options(facts).iter().find(|option| option.name == name).is_none_or(|one| one.grants);
            if grants { Err(format!("its default {name:?} grants something")) } else { Ok(Some(name)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

    fn asked(on_expiry: &str) -> Facts {
        let options = [AnswerOption::granting("allow"), AnswerOption::denying("refuse")];
        Facts::none()
            .and(fact::OPTIONS, options.iter().map(AnswerOption::facts).collect::<Vec<_>>())
            .and(fact::ON_EXPIRY, on_expiry)
            .and(fact::EXPIRES_AT, NOW)
    }

    #[test]
    fn options_and_rule_keys_read_back_as_they_were_recorded() {
        let facts = asked("deny");
        assert_eq!(options(&facts), [AnswerOption::granting("allow"), AnswerOption::denying("refuse")]);
        let key = RuleKey { scope: "tool".into(), key: "tool Bash in /r".into() };
        let facts = facts.and(fact::RULE_SCOPES, vec![key.facts()]);
        assert_eq!(rule_keys(&facts), [key]);
        assert_eq!(on_expiry(&facts), OnExpiry::Deny);
        assert_eq!(OnExpiry::of(OnExpiry::Option("refuse".into()).name()), OnExpiry::Option("refuse".into()));
    }

    #[test]
    fn time_alone_grants_nothing() {
        assert_eq!(default_due(&asked("deny"), NOW), Ok(None));
        assert_eq!(default_due(&asked("refuse"), NOW), Ok(Some("refuse".to_owned())));
        for never in ["allow", "hold", "an option it does not have"] {
            assert!(default_due(&asked(never), NOW).is_err(), "{never}");
        }
        let earlier = Moment::from_micros(1_799_999_999_999_999);
        assert!(default_due(&asked("deny"), earlier).is_err());
    }

    #[test]
    fn what_reads_like_a_yes_grants() {
        for yes in ["yes", "Yes, do it", "ALLOW", "go ahead", ""] {
            assert!(is_affirmative(yes), "{yes}");
        }
        for no in ["no", "sqlite", "later"] {
            assert!(!is_affirmative(no), "{no}");
        }
    }

    #[test]
    fn an_option_that_does_not_say_what_it_does_grants() {
        let silent = Facts::none().and(fact::NAME, "go");
        let facts = Facts::none().and(fact::OPTIONS, vec![silent]);
        assert!(options(&facts)[0].grants);
    }

    #[test]
    fn an_answer_is_one_of_the_options_or_any_text_without_them() {
        assert_eq!(not_offered(&asked("hold"), Some("allow")), None);
        assert!(not_offered(&asked("hold"), Some("perhaps")).is_some());
        assert!(
            not_offered(&Facts::none(), Some("")).is_some() && not_offered(&Facts::none(), None).is_some()
        );
        assert_eq!(not_offered(&Facts::none(), Some("use the second one")), None);
    }
}
