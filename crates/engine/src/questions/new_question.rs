//! What is asked: read from a request, checked once for all surfaces, and recorded as facts.
//!
//! Invariant: a question has a text, options that differ, and a default that is not a yes.

use std::time::Duration;

use callboard_kernel::question::{self, AnswerOption, OnExpiry, RuleKey};
use callboard_kernel::{EntityId, Facts, Moment, fact, one_line};
use callboard_lifecycle::Words;
use callboard_lifecycle::question::QuestionSource;
use callboard_wire::AskRequest;

use crate::tasks::{TaskError, unfit};

const TEXT_BYTES_MAX: usize = 16 * 1024;
const CONTEXT_BYTES_MAX: usize = 64 * 1024;
const OPTIONS_MAX: usize = 20;
const OPTION_CHARS_MAX: usize = 80;
const TITLE_CHARS: usize = 120;
const EXPIRY_MAX: Duration = Duration::from_secs(365 * 86_400);

/// A question that is to be asked.
#[derive(Clone, Debug)]
pub struct NewQuestion {
    /// What it is about, which says what an answer does.
    pub source: QuestionSource,
    /// The entity it is about.
    pub subject: Option<EntityId>,
    /// The question.
    pub text: String,
    /// What will happen, or what to look at.
    pub context: Option<String>,
    /// The answers to choose from.
    pub options: Vec<AnswerOption>,
    /// When the asker stops waiting.
    pub expires_at: Option<Moment>,
    /// What happens then.
    pub on_expiry: OnExpiry,
    /// Those who may answer, if not everybody.
    pub answerers: Vec<String>,
    /// The standing rules that can be made of an answer.
    pub rule_keys: Vec<RuleKey>,
}

impl NewQuestion {
    /// A question that waits until somebody answers.
    pub fn new(source: QuestionSource, subject: EntityId, text: impl Into<String>) -> Self {
        Self {
            source,
            subject: Some(subject),
            text: text.into(),
            context: None,
            options: Vec::new(),
            expires_at: None,
            on_expiry: OnExpiry::Hold,
            answerers: Vec::new(),
            rule_keys: Vec::new(),
        }
    }

    /// Reads what somebody asks in their own words.
    pub fn read(request: &AskRequest, subject: Option<EntityId>, now: Moment) -> Result<Self, TaskError> {
        let option = |name: &String| {
            let name = name.trim().to_owned();
            AnswerOption { grants: question::is_affirmative(&name), name }
        };
        let options: Vec<AnswerOption> = request.options.iter().map(option).collect();
        let on_expiry = request.on_expiry.as_deref().map_or(OnExpiry::Hold, OnExpiry::of);
        let expires_at = request.expires_s.map(|seconds| expiry(seconds, now)).transpose()?;
        let context = request.context.clone().filter(|text| !text.trim().is_empty());
        let question = Self {
            source: QuestionSource::Ask,
            subject,
            text: request.text.trim().to_owned(),
            context,
            options,
            expires_at,
            on_expiry,
            answerers: request.answerers.clone(),
            rule_keys: Vec::new(),
        };
        question.check()?;
        Ok(question)
    }

    /// Refuses what nobody could answer, and a default that grants something.
    pub(super) fn check(&self) -> Result<(), TaskError> {
        if self.text.is_empty() {
            return Err(unfit("the question is empty", "say what you want to know"));
        }
        bounded("the question", self.text.len(), TEXT_BYTES_MAX)?;
        bounded("the context", self.context.as_ref().map_or(0, String::len), CONTEXT_BYTES_MAX)?;
        if self.options.len() > OPTIONS_MAX {
            return Err(unfit(
                format!("{} options", self.options.len()),
                format!("offer at most {OPTIONS_MAX}"),
            ));
        }
        for (at, option) in self.options.iter().enumerate() {
            let is_fit = !option.name.is_empty()
                && option.name.chars().count() <= OPTION_CHARS_MAX
                && one_line(&option.name) == option.name;
            if !is_fit || self.options[..at].iter().any(|other| other.name == option.name) {
                let problem = format!("the option {:?} is empty, too long or there twice", option.name);
                return Err(unfit(problem, "offer different options of a few words each"));
            }
        }
        self.check_expiry()
    }

    fn check_expiry(&self) -> Result<(), TaskError> {
        match (&self.on_expiry, self.expires_at) {
            (OnExpiry::Hold, _) => Ok(()),
            (_, None) => Err(unfit("a default without an expiry never takes effect", "say when it expires")),
            (OnExpiry::Deny, Some(_)) => Ok(()),
            (OnExpiry::Option(name), Some(_)) => {
                match self.options.iter().find(|option| option.name == *name) {
                    None => Err(unfit(
                        format!("{name:?} is not one of the options"),
                        "use hold, deny or an option",
                    )),
                    Some(option) if option.grants => Err(unfit(
                        format!("{name:?} would grant something because nobody answered"),
                        "use hold, deny or an option that grants nothing",
                    )),
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// What it is called in lists.
    pub(crate) fn title(&self) -> String {
        one_line(&self.text).chars().take(TITLE_CHARS).collect()
    }

    /// As it is recorded.
    pub(super) fn facts(&self, asked_by: &str) -> Facts {
        let subject = self.subject.map(|id| id.to_string());
        let mut facts = Facts::none()
            .and(fact::TITLE, self.title())
            .and(fact::TEXT, self.text.as_str())
            .and(fact::SOURCE, self.source.name())
            .and(fact::ASKED_BY, asked_by)
            .and(fact::ON_EXPIRY, self.on_expiry.name())
            .and(fact::OPTIONS, self.options.iter().map(AnswerOption::facts).collect::<Vec<_>>());
        if let Some(id) = subject {
            facts = facts.and(fact::SUBJECT, id.as_str()).and(fact::PARENT, id.as_str());
        }
        if let Some(context) = &self.context {
            facts.record(fact::CONTEXT, context.as_str());
        }
        if let Some(at) = self.expires_at {
            facts.record(fact::EXPIRES_AT, at);
        }
        if !self.answerers.is_empty() {
            facts.record(fact::ANSWERERS, self.answerers.clone());
        }
        if !self.rule_keys.is_empty() {
            facts.record(fact::RULE_SCOPES, self.rule_keys.iter().map(RuleKey::facts).collect::<Vec<_>>());
        }
        facts
    }
}

/// A tool that an agent wants to use.
#[derive(Clone, Debug)]
pub struct PermissionRequest {
    /// The run of the agent, if it is in one.
    pub run: Option<EntityId>,
    /// The tool, as the agent calls it.
    pub tool: String,
    /// What the tool is to be told, as JSON.
    pub input: String,
    /// Where the agent works, if that is known; a standing rule holds for one place.
    pub place: Option<String>,
    /// How long the agent waits.
    pub wait: Duration,
}

impl PermissionRequest {
    /// The option that lets the tool be used.
    pub const ALLOW: &'static str = "allow";
    /// The option that does not.
    pub const DENY: &'static str = "deny";

    /// As a question. Rules are exact: a rule for a command never covers a longer command that begins like it.
    pub(super) fn question(&self, now: Moment) -> Result<NewQuestion, TaskError> {
        let Self { tool, input, .. } = self;
        let tool = one_line(tool);
        let keys = |place: &String| {
            let whole = RuleKey { scope: "tool".to_owned(), key: format!("any use of {tool} in {place}") };
            let exact = RuleKey { scope: "exact".to_owned(), key: format!("{tool} with {input} in {place}") };
            vec![exact, whole]
        };
        let question = NewQuestion {
            context: Some(input.clone()),
            options: vec![AnswerOption::granting(Self::ALLOW), AnswerOption::denying(Self::DENY)],
            expires_at: Some(now.plus(self.wait)),
            on_expiry: OnExpiry::Deny,
            rule_keys: self.place.as_ref().map_or_else(Vec::new, keys),
            subject: self.run,
            source: QuestionSource::Permission,
            text: format!("May the agent use {tool}?"),
            answerers: Vec::new(),
        };
        question.check()?;
        Ok(question)
    }
}

fn bounded(what: &str, bytes: usize, most: usize) -> Result<(), TaskError> {
    if bytes <= most {
        return Ok(());
    }
    Err(unfit(
        format!("{what} has {bytes} bytes, more than {most}"),
        "put the details into a file and name it",
    ))
}

fn expiry(seconds: f64, now: Moment) -> Result<Moment, TaskError> {
    if !(1.0..=EXPIRY_MAX.as_secs_f64()).contains(&seconds) {
        return Err(unfit(
            format!("a question cannot expire after {seconds} s"),
            "use from 1 second to a year",
        ));
    }
    Ok(now.plus(Duration::from_secs_f64(seconds)))
}
