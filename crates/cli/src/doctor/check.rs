//! One check: what was looked at, how it stands and what to do.

use callboard_kernel::redact;
use serde::Serialize;

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// As it should be.
    Ok,
    /// Callboard works, and something could be better.
    Warning,
    /// Something does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    /// What is the case.
    pub(crate) found: String,
    /// What to do about it.
    pub(crate) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, found: redact::text(&found.into()), advice: None }
    }

    pub(super) fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Warning,
            found: redact::text(&found.into()),
            advice: Some(advice.into()),
        }
    }

    pub(super) fn broken(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Broken,
            found: redact::text(&found.into()),
            advice: Some(advice.into()),
        }
    }
}
