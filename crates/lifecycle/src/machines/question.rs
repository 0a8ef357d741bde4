//! The question machine: something that needs a person, with options and what happens without an answer.
//!
//! Only a person answers, or a standing rule that a person made. Time alone grants nothing: a default that takes effect at the
//! expiry denies or leaves things as they are.

use crate::machine;
use crate::words;

machine! {
    /// Something that needs a person, with options, a default and an expiry.
    Question "qst" as "question" with "question" reasons;
    nature Ending;

    states QuestionState is "question state" in "question" {
        /// Nobody has answered yet.
        Asked = "asked" ("Asked", Review, Hand),
        /// A person, or a standing rule of a person, answered.
        Answered = "answered" ("Answered", Success, Check),
        /// Nobody answered in time, and the default took effect.
        Expired = "expired" ("Expired", Warning, Hourglass),
        /// Taken back before anybody answered.
        Withdrawn = "withdrawn" ("Withdrawn", Neutral, Slash),
    }
    triggers QuestionTrigger is "question trigger" {
        /// A person answered.
        AnswerGiven = "answer_given",
        /// A standing rule answered.
        RuleApplied = "rule_applied",
        /// Its expiry is over.
        ExpiryReached = "expiry_reached",
        /// Whoever asked has ended.
        AskerEnded = "asker_ended",
        /// What was asked about was decided in another way.
        Settled = "settled",
        /// Whoever asked took it back.
        Retracted = "retracted",
    }

    start [Asked];
    ends [Answered, Expired, Withdrawn];
    undecided [Asked];

    rows {
        Asked => Answered  on [AnswerGiven]   by [Operator] when [AnswerOffered, MayAnswer] because ["question.answered.person"] shown by [HumanAssertion];
        Asked => Answered  on [RuleApplied]   by [System]   when [AnswerOffered] because ["question.answered.rule"] shown by [HumanAssertion];
        Asked => Expired   on [ExpiryReached] by [System]   when [DefaultDue] because ["question.expired.*"];
        Asked => Withdrawn on [AskerEnded, Settled] by [System] because ["question.withdrawn.*"];
        Asked => Withdrawn on [Retracted]     by [Operator, Agent] when [AskedByActor] because ["question.withdrawn.retracted"];
    }

    reasons {
        "question.answered.person" by choice: "A person answered.";
        "question.answered.rule" by choice: "A standing rule of a person answered.";
        "question.expired.default": "Nobody answered in time, and the default took effect.";
        "question.withdrawn.asker_ended": "Whoever asked has ended.";
        "question.withdrawn.settled": "What was asked about was decided in another way.";
        "question.withdrawn.retracted" by choice: "Whoever asked took it back.";
    }
    vocabularies { "sources": QuestionSource }
}

words! {
    /// What a question is about, which says what an answer does.
    pub enum QuestionSource is "source of a question" {
        /// The tasks of a plan wait for approval.
        Plan = "plan",
        /// A verified result waits for approval.
        Review = "review",
        /// Something that a task needs will not come by itself.
        Dependency = "dependency",
        /// An agent wants to use a tool.
        Permission = "permission",
        /// A budget is used up.
        Budget = "budget",
        /// An agent, or somebody who works on a task, asks in their own words.
        Ask = "ask",
    }
}
