//! The body of a record: what does not need a column of its own, as compact JSON.
//!
//! Invariant: absent is written as nothing, and unknown reasons and data of a newer program are carried along as the
//! text they are. Deliberately absent: columns that the database checks or searches.

use std::borrow::Cow;

use callboard_kernel::{Facts, StateReason};
use callboard_lifecycle::GuardSet;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::record::Unreadable;
use crate::writing::group::Member;

#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "<[StateReason]>::is_empty")]
    reasons: &'a [StateReason],
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Facts::is_empty")]
    data: &'a Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Member>,
}

/// The parts of a body, as the text they are.
#[derive(Default, Deserialize)]
pub(crate) struct Body<'a> {
    #[serde(borrow)]
    pub(crate) reasons: Option<&'a RawValue>,
    pub(crate) cause: Option<String>,
    #[serde(borrow)]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) guards: Option<&'a RawValue>,
    pub(crate) group: Option<Member>,
}

/// Encodes a body; an empty one is an empty text.
pub(crate) fn encode(
    reasons: &[StateReason],
    cause: Option<&str>,
    data: &Facts,
    group: Option<Member>,
) -> String {
    if reasons.is_empty() && cause.is_none() && data.is_empty() && group.is_none() {
        return String::new();
    }
    // Writing to memory fails only if a value cannot be JSON, and facts and reasons can.
    serde_json::to_string(&Written { reasons, cause, data, group })
        .unwrap_or_else(|error| unreachable!("BUG: a body is always JSON: {error}"))
}

/// An encoded body that also names the guards that held. They are known when the command is decided, and the body is encoded
/// before.
pub(crate) fn with_guards(body: &str, guards: GuardSet) -> String {
    if guards.is_empty() {
        return body.to_owned();
    }
    let names = serde_json::to_string(&guards)
        .unwrap_or_else(|error| unreachable!("BUG: names are always JSON: {error}"));
    match body.strip_suffix('}') {
        None => format!("{{\"guards\":{names}}}"),
        Some(open) => format!("{open},\"guards\":{names}}}"),
    }
}

/// Only the reasons of a stored body, in one go. Those whose codes only a newer program knows stay unread: a list of
/// entities must not end at one of them.
pub(crate) fn reasons(text: &str) -> Result<Vec<StateReason>, Unreadable> {
    #[derive(Deserialize)]
    struct Reasons {
        reasons: Option<Vec<StateReason>>,
    }
    if text.is_empty() {
        return Ok(Vec::new());
    }
    match serde_json::from_str::<Reasons>(text) {
        Ok(reasons) => Ok(reasons.reasons.unwrap_or_default()),
        Err(_) => {
            let raw: Vec<&RawValue> =
                Body::parse(text)?.reasons.map_or(Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))?;
            Ok(raw.into_iter().filter_map(|reason| serde_json::from_str(reason.get()).ok()).collect())
        }
    }
}

impl<'a> Body<'a> {
    /// Splits a stored body into its parts.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unreadable> {
        if text.is_empty() { Ok(Self::default()) } else { Ok(serde_json::from_str(text)?) }
    }

    /// The reasons, if this program knows all their codes.
    pub(crate) fn reasons(&self) -> Result<Vec<StateReason>, Unreadable> {
        self.reasons.map_or_else(|| Ok(Vec::new()), |raw| Ok(serde_json::from_str(raw.get())?))
    }

    /// The guards that held, if this program knows all of them.
    pub(crate) fn guards(&self) -> Result<GuardSet, Unreadable> {
        let Some(raw) = self.guards else { return Ok(GuardSet::NONE) };
        let names: Vec<Cow<'_, str>> = serde_json::from_str(raw.get())?;
        Ok(GuardSet::parse(names.iter().map(AsRef::as_ref))?)
    }

    /// The data.
    pub(crate) fn data(&self) -> Result<Facts, Unreadable> {
        self.data.map_or_else(|| Ok(Facts::none()), |raw| Ok(serde_json::from_str(raw.get())?))
    }
}
