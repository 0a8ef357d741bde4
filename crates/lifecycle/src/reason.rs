//! The registry of reason codes: every `entity.dimension.cause` that may explain a state.
//!
//! Invariant: a `ReasonCode` exists only for a registered code, so an unregistered one cannot be emitted; its scope
//! says which kind may use it. Codes are reserved for ever: retire one by making it an old name of another.
//! Deliberately absent: messages, confidence and evidence; a `StateReason` of the kernel adds those.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::machines::{Kind, MACHINES};
use crate::message::{Message, less, same};
use crate::word::UnknownWord;

/// One registered reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonDef {
    /// The code: `entity.dimension.cause`.
    pub code: &'static str,
    /// One sentence that says what it means.
    pub meaning: &'static str,
    /// Old spellings, accepted on input.
    pub old_codes: &'static [&'static str],
    /// Who may use it.
    pub scope: Scope,
    /// A person chose this; nobody needs to follow it up.
    pub chosen: bool,
}

/// Which entities a reason may explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Entities of one kind.
    Of(Kind),
    /// Entities of every kind.
    Any,
}

/// Reasons that belong to no single kind.
const SHARED: &[ReasonDef] = &[
    shared(
        "system.health.process_dead_no_terminal",
        "The process is gone and wrote no end.",
        &["session.phantom.process_dead", "session.stale.no_heartbeat"],
    ),
    shared(
        "system.health.orphaned",
        "Nobody holds it any more.",
        &["session.orphaned.no_process", "session.phantom.missing_artifacts"],
    ),
    shared("system.health.lease_expired", "Its host let the lease run out.", &[]),
    shared("system.health.host_restarted", "The host was restarted since it began.", &[]),
    shared("system.import.recorded", "Taken over from another store in the state it had there.", &[]),
    shared("system.operator.note", "A person wrote something down.", &[]),
    shared("legacy.imported", "Recorded before states had reasons; counted nowhere.", &[]),
];

const fn shared(code: &'static str, meaning: &'static str, old_codes: &'static [&'static str]) -> ReasonDef {
    ReasonDef { code, meaning, old_codes, scope: Scope::Any, chosen: false }
}

const COUNT: usize = {
    let (mut count, mut i) = (SHARED.len(), 0);
    while i < MACHINES.len() {
        count += MACHINES[i].reasons.len();
        i += 1;
    }
    count
};

/// Every registered reason, sorted by code.
pub static REASONS: [ReasonDef; COUNT] = collect();

const fn collect() -> [ReasonDef; COUNT] {
    let mut all = [SHARED[0]; COUNT];
    let (mut len, mut machine) = (0, 0);
    while len < SHARED.len() {
        all[len] = SHARED[len];
        len += 1;
    }
    while machine < MACHINES.len() {
        let mut i = 0;
        while i < MACHINES[machine].reasons.len() {
            all[len] = MACHINES[machine].reasons[i];
            len += 1;
            i += 1;
        }
        machine += 1;
    }
    sorted(all)
}

const fn sorted(mut all: [ReasonDef; COUNT]) -> [ReasonDef; COUNT] {
    let mut i = 1;
    while i < COUNT {
        let mut j = i;
        while j > 0 && less(all[j].code, all[j - 1].code) {
            (all[j], all[j - 1]) = (all[j - 1], all[j]);
            j -= 1;
        }
        if j > 0 && same(all[j].code, all[j - 1].code) {
            Message::new("registry").with("reason declared twice: ").with(all[j].code).fail();
        }
        i += 1;
    }
    all
}

/// Is the code among those that every kind may use?
pub(crate) const fn is_shared(pattern: &str) -> bool {
    let mut i = 0;
    while i < SHARED.len() {
        if matches(pattern, SHARED[i].code) {
            return true;
        }
        i += 1;
    }
    false
}

/// Does `code` fall under `pattern`, which is a code or a family such as `run.failed.*`?
pub(crate) const fn matches(pattern: &str, code: &str) -> bool {
    match pattern.as_bytes() {
        [family @ .., b'*'] => crate::message::starts_with_bytes(code.as_bytes(), family),
        _ => same(pattern, code),
    }
}

impl ReasonDef {
    /// The first segment: what kind of thing it speaks of.
    pub fn entity(&self) -> &'static str {
        self.segment(0)
    }

    /// The second segment: the state, the outcome, or the axis it explains.
    pub fn dimension(&self) -> &'static str {
        self.segment(1)
    }

    fn segment(&self, at: usize) -> &'static str {
        self.code.split('.').nth(at).unwrap_or("")
    }

    /// May it explain an entity of this kind?
    pub const fn fits(&self, kind: Kind) -> bool {
        match self.scope {
            Scope::Any => true,
            Scope::Of(own) => own as u8 == kind as u8,
        }
    }

    /// Is it `entity.dimension.…`?
    pub const fn is_in_family(&self, entity: &str, dimension: &str) -> bool {
        crate::proof::in_family(self.code, entity, dimension)
    }

    /// Is it one of a row's reasons?
    pub const fn is_among(&self, patterns: &[&str]) -> bool {
        let mut i = 0;
        while i < patterns.len() {
            if matches(patterns[i], self.code) {
                return true;
            }
            i += 1;
        }
        false
    }
}

/// A registered reason code.
#[derive(Clone, Copy)]
pub struct ReasonCode(&'static ReasonDef);

impl ReasonCode {
    /// The reason with this code, found while compiling: a code that is not registered stops the build.
    pub const fn of(code: &str) -> Self {
        let mut i = 0;
        while i < REASONS.len() {
            if same(REASONS[i].code, code) {
                return Self(&REASONS[i]);
            }
            i += 1;
        }
        Message::new("registry").with("no reason has the code ").with(code).fail()
    }

    /// What is registered for it.
    pub const fn def(self) -> &'static ReasonDef {
        self.0
    }

    /// The code as text.
    pub const fn as_str(self) -> &'static str {
        self.0.code
    }
}

/// Finds a reason by its code or an old spelling of it.
pub fn reason(code: &str) -> Result<ReasonCode, UnknownWord> {
    if let Ok(at) = REASONS.binary_search_by(|def| def.code.cmp(code)) {
        return Ok(ReasonCode(&REASONS[at]));
    }
    match REASONS.iter().find(|def| def.old_codes.contains(&code)) {
        Some(def) => Ok(ReasonCode(def)),
        None => Err(UnknownWord::new("reason", code, REASONS.iter().map(|def| def.code))),
    }
}

impl PartialEq for ReasonCode {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for ReasonCode {}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.code)
    }
}

impl fmt::Debug for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.code)
    }
}

impl FromStr for ReasonCode {
    type Err = UnknownWord;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        reason(code)
    }
}

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.code)
    }
}

impl<'de> Deserialize<'de> for ReasonCode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let code = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        reason(&code).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_and_every_old_spelling_leads_to_it() {
        for def in &REASONS {
            assert_eq!(reason(def.code).unwrap().def(), def);
            for old in def.old_codes {
                assert_eq!(reason(old).unwrap().def(), def, "{old} is claimed twice, or is a code itself");
            }
        }
    }

    #[test]
    fn a_code_has_three_segments_of_lowercase_words() {
        let word = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        };
        for def in REASONS.iter().filter(|def| def.code != "legacy.imported") {
            let segments: Vec<&str> = def.code.split('.').collect();
            assert!(segments.len() == 3 && segments.into_iter().all(word), "{}", def.code);
            assert!(def.meaning.ends_with('.') && def.meaning.len() > 10, "{}: {:?}", def.code, def.meaning);
        }
    }

    #[test]
    fn a_kind_takes_its_own_and_the_shared_reasons_only() {
        let own = reason("run.failed.oom").unwrap().def();
        assert!(own.fits(Kind::Session) && !own.fits(Kind::Play));
        assert!(reason("system.health.orphaned").unwrap().def().fits(Kind::Play));
    }

    #[test]
    fn an_unknown_code_is_answered_with_its_neighbours() {
        let error = reason("run.failed.exit_nonzeroo").unwrap_err();
        assert_eq!(error.nearest, ["run.failed.exit_nonzero"]);
    }

    #[test]
    fn a_code_found_while_compiling_is_the_registered_one() {
        const OOM: ReasonCode = ReasonCode::of("run.failed.oom");
        assert_eq!(OOM, reason("run.failed.oom").unwrap());
    }
}
