//! Questions to people: what is asked, answered and listed, and the standing rules that people make of their answers.
//!
//! Invariant: what somebody is shown before they answer is here, so no surface shows less than another. Deliberately absent: what an answer
//! does, which the engine knows.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::SubjectShape;

/// Asks a person: the body of `POST /questions`, and what `callboard ask` and the MCP tool `ask` are told.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// The question, with everything that a person needs to answer it.
    pub text: String,
    /// What will happen, or what the person should look at: a command, a diff, a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The answers to choose from; any text is an answer if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// After how many seconds the asker stops waiting; never unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31536000)]
    pub expires_s: Option<f64>,
    /// What happens then: hold (the question stays), deny, or one of the options, unless it reads like a yes; hold unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<String>,
    /// What it is about: the ID of a run or a task; the run or the task of the caller unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Those who may answer, by name; everybody who may decide unless given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answerers: Vec<String>,
}

/// Answers a question.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// One of its options, or any text if it has none.
    pub option: String,
    /// Why; whoever asked is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Makes a standing rule of the answer: one of the scopes that the question lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

/// A question.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Question)]
pub struct QuestionShape {
    /// Its ID.
    pub id: String,
    /// asked, answered, expired or withdrawn.
    pub state: String,
    /// What it is about, which says what an answer does: plan, review, dependency, permission, budget or ask.
    pub source: Option<String>,
    /// The run or the task that it is about.
    pub subject: Option<SubjectShape>,
    /// The question.
    pub text: String,
    /// What will happen, or what to look at.
    pub context: Option<String>,
    /// The answers to choose from; any text if there are none.
    pub options: Vec<String>,
    /// What happens if nobody answers in time: hold, deny or an option.
    pub default: String,
    /// When it was asked.
    pub asked_at: Option<String>,
    /// When the asker stops waiting.
    pub expires_at: Option<String>,
    /// Who asked.
    pub asked_by: Option<String>,
    /// Those who may answer; everybody who may decide if nobody is listed.
    pub answerers: Vec<String>,
    /// The standing rules that can be made of an answer.
    pub scopes: Vec<RuleScopeShape>,
    /// The answer, or the default that took effect.
    pub answer: Option<String>,
    /// Who answered.
    pub answered_by: Option<String>,
    /// Why, in the words of who answered.
    pub because: Option<String>,
    /// The standing rule that answered.
    pub rule: Option<String>,
    /// When it was answered, expired or was withdrawn.
    pub ended_at: Option<String>,
}

/// How much a standing rule would cover.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = RuleScope)]
pub struct RuleScopeShape {
    /// Its name, for `--always`.
    pub scope: String,
    /// What it covers.
    pub covers: String,
}

/// Questions, the oldest first.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Inbox)]
pub struct InboxShape {
    /// The questions.
    pub items: Vec<QuestionShape>,
}

/// A standing rule.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Rule)]
pub struct RuleShape {
    /// Its ID.
    pub id: String,
    /// in_force or revoked.
    pub state: String,
    /// What it covers.
    pub covers: String,
    /// How it answers.
    pub answer: String,
    /// Who made it.
    pub made_by: Option<String>,
    /// When.
    pub made_at: Option<String>,
    /// The question whose answer it was made of.
    pub question: Option<String>,
}

/// Standing rules, the oldest first.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Rules)]
pub struct RulesShape {
    /// The rules.
    pub items: Vec<RuleShape>,
}
