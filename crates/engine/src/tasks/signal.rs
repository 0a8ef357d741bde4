//! Completion signals: what is checked once a worker says that a task is done.
//!
//! Invariant: a signal reads back as it was recorded. Deliberately absent: checking, which the crew does in the worktree.

use callboard_kernel::{Facts, Value, fact};

/// One thing that must hold before a task is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A path or a glob that must be there.
    Exists(String),
    /// A command that must succeed in the worktree.
    Test(String),
    /// The work is not empty.
    Diff,
    /// A file that contains a text.
    Contains {
        /// The file.
        path: String,
        /// The text.
        text: String,
    },
    /// A JSON file that fits a schema.
    Schema {
        /// The file.
        path: String,
        /// The schema.
        schema: String,
    },
    /// An artifact contract.
    Contract(String),
    /// A command that reviews the work.
    Review(String),
}

impl Signal {
    /// As it is recorded.
    pub fn facts(&self) -> Facts {
        let check = |word: &str| Facts::none().and(fact::CHECK, word);
        match self {
            Self::Exists(path) => check("exists").and(fact::PATH, path.as_str()),
            Self::Test(command) => check("test").and(fact::COMMAND, command.as_str()),
            Self::Diff => check("diff"),
            Self::Contains { path, text } => {
                check("contains").and(fact::PATH, path.as_str()).and(fact::TEXT, text.as_str())
            }
            Self::Schema { path, schema } => {
                check("schema").and(fact::PATH, path.as_str()).and(fact::TEXT, schema.as_str())
            }
            Self::Contract(path) => check("contract").and(fact::PATH, path.as_str()),
            Self::Review(command) => check("review").and(fact::COMMAND, command.as_str()),
        }
    }

    /// Reads what was recorded; nothing if only a newer program knows it.
    pub fn of(value: &Value) -> Option<Self> {
        let Value::Map(facts) = value else { return None };
        let path = || facts.read(fact::PATH).map(str::to_owned);
        let command = || facts.read(fact::COMMAND).map(str::to_owned);
        let text = || facts.read(fact::TEXT).map(str::to_owned);
        Some(match facts.read(fact::CHECK)? {
            "exists" => Self::Exists(path()?),
            "test" => Self::Test(command()?),
            "diff" => Self::Diff,
            "contains" => Self::Contains { path: path()?, text: text()? },
            "schema" => Self::Schema { path: path()?, schema: text()? },
            "contract" => Self::Contract(path()?),
            "review" => Self::Review(command()?),
            _ => return None,
        })
    }

    /// The signals of a task. One that only a newer program knows is an error: it cannot be checked here.
    pub fn all(facts: &Facts) -> Result<Vec<Self>, String> {
        let one = |value: &Value| {
            Self::of(value).ok_or_else(|| "one of its checks is not known to this program".to_owned())
        };
        facts.read(fact::SIGNALS).unwrap_or_default().iter().map(one).collect()
    }

    /// In a few words.
    pub fn told(&self) -> String {
        match self {
            Self::Exists(path) => format!("{path} exists"),
            Self::Test(command) => format!("`{command}` succeeds"),
            Self::Diff => "something changed".to_owned(),
            Self::Contains { path, text } => format!("{path} contains {text:?}"),
            Self::Schema { path, schema } => format!("{path} fits {schema}"),
            Self::Contract(path) => format!("the contract {path} holds"),
            Self::Review(command) => format!("the review `{command}` agrees"),
        }
    }

    /// Does it run a command that somebody wrote down?
    pub const fn runs_command(&self) -> bool {
        matches!(self, Self::Test(_) | Self::Review(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reads_back_as_it_was_recorded() {
        let all = [
            Signal::Exists("a".into()),
            Signal::Test("t".into()),
            Signal::Diff,
            Signal::Contains { path: "p".into(), text: "x".into() },
            Signal::Schema { path: "p".into(), schema: "s".into() },
            Signal::Contract("c".into()),
            Signal::Review("r".into()),
        ];
        for signal in &all {
            assert_eq!(Signal::of(&Value::Map(signal.facts())).as_ref(), Some(signal));
        }
        let unknown = Facts::none().and(fact::SIGNALS, vec![Facts::none().and(fact::CHECK, "vibes")]);
        assert!(Signal::all(&unknown).is_err());
    }
}
