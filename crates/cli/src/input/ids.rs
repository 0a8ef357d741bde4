//! Ids at the edge: making one, finding one by what somebody typed, and showing one short.
//!
//! Invariant: any unambiguous beginning of an id is that id, with or without the prefix of its kind; a short form is
//! long enough to tell apart what is listed beside it. Deliberately absent: how an id is spelled, which is the
//! kernel's.

use std::collections::BTreeSet;

pub(crate) use callboard_engine::{id_of_key as of_key, new_id as new};
use callboard_kernel::EntityId;
use callboard_ledger::Ledger;
use callboard_lifecycle::{Kind, MACHINES, Words};
use uuid::Uuid;

use crate::error::Error;

/// The digits of a whole id.
const DIGITS: usize = 26;
/// A short form has at least so many: ten of them are the time to the millisecond.
const SHORT: usize = 12;
/// More candidates than this are not listed.
const CANDIDATES_MAX: usize = 10;

/// The one entity whose id begins with what was typed.
pub(crate) fn find(ledger: &Ledger, typed: &str) -> Result<EntityId, Error> {
    let mut found = Vec::new();
    for (kind, low, high) in ranges(typed)? {
        found.extend(ledger.between(kind, low, high, CANDIDATES_MAX + 1).map_err(Error::Ask)?);
    }
    match found.as_slice() {
        [] => Err(Error::NoEntity(typed.to_owned())),
        [one] => Ok(*one),
        [..] => Err(Error::Ambiguous { typed: typed.to_owned(), candidates: listed(&found) }),
    }
}

fn listed(found: &[EntityId]) -> String {
    let short = Short::among(found.iter().copied());
    let mut names: Vec<String> = found.iter().take(CANDIDATES_MAX).map(|id| short.of(*id)).collect();
    if found.len() > CANDIDATES_MAX {
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// Where the ids lie that begin like this: a kind and the bounds of its bits, for each kind it may be.
fn ranges(typed: &str) -> Result<Vec<(Kind, u128, u128)>, Error> {
    if let Ok(uuid) = Uuid::try_parse(typed) {
        let bits = uuid.as_u128();
        return Ok(Kind::ALL.iter().map(|kind| (*kind, bits, bits)).collect());
    }
    let lower = typed.to_ascii_lowercase();
    let (kinds, digits) = match lower.split_once('_') {
        None => (Kind::ALL.to_vec(), lower.as_str()),
        Some((prefix, digits)) => match Kind::of_prefix(prefix) {
            Some(kind) => (vec![kind], digits),
            None => return Err(no_id(typed, &format!("no kind has the prefix {prefix:?}"), &prefixes())),
        },
    };
    if digits.len() > DIGITS || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let example = "letters and digits as in ses_01k7c3h2f4x8";
        return Err(no_id(typed, "no id is spelled like this", example));
    }
    // Letters that no id has are the beginning of none.
    Ok(kinds.into_iter().filter_map(|kind| bounds(kind, digits)).collect())
}

fn no_id(typed: &str, why: &str, instead: &str) -> Error {
    Error::CommandLine { because: format!("{typed:?} is no id: {why}"), instead: instead.to_owned() }
}

fn prefixes() -> String {
    let all: Vec<String> =
        MACHINES.iter().map(|machine| format!("{}_ ({})", machine.prefix, machine.kind)).collect();
    format!("one of {}", all.join(", "))
}

/// The lowest and the highest id that begin with these digits.
fn bounds(kind: Kind, digits: &str) -> Option<(Kind, u128, u128)> {
    const LOWEST: &str = "00000000000000000000000000";
    const HIGHEST: &str = "7zzzzzzzzzzzzzzzzzzzzzzzzz";
    let whole = |rest: &str| {
        let rest = rest.get(digits.len()..)?;
        let id: EntityId = format!("{}_{digits}{rest}", kind.machine().prefix).parse().ok()?;
        Some(id.uuid().as_u128())
    };
    Some((kind, whole(LOWEST)?, whole(HIGHEST)?))
}

/// Short forms of the ids of one listing.
pub(crate) struct Short(usize);

impl Short {
    /// As long as it takes to tell these apart.
    pub(crate) fn among(ids: impl Iterator<Item = EntityId>) -> Self {
        let all: BTreeSet<String> = ids.map(|id| id.to_string()).collect();
        let names: Vec<&String> = all.iter().collect();
        let same =
            |(a, b): (&&String, &&String)| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count() + 1;
        let needed = names.iter().zip(names.iter().skip(1)).map(same).max().unwrap_or(0);
        Self(needed.saturating_sub(PREFIX).clamp(SHORT, DIGITS))
    }

    /// The short form of one of them.
    pub(crate) fn of(&self, id: EntityId) -> String {
        let mut text = id.to_string();
        text.truncate(PREFIX + self.0);
        text
    }
}

/// The prefix of a kind and its underscore.
const PREFIX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(bits: u128) -> EntityId {
        EntityId::new(Kind::Session, Uuid::from_u128(bits))
    }

    #[test]
    fn every_beginning_of_an_id_has_it_between_its_bounds() {
        let id = session(0x0193_3a4b_5c6d_7e8f_90a1_b2c3_d4e5_f607);
        let text = id.to_string();
        for length in PREFIX..=text.len() {
            for typed in [&text[..length], &text[..length].to_uppercase()] {
                let Ok(ranges) = ranges(typed) else { panic!("{typed}") };
                let (kind, low, high) = ranges[0];
                assert!(kind == Kind::Session && (low..=high).contains(&id.uuid().as_u128()), "{typed}");
            }
        }
        let Ok(bare) = ranges(&text[PREFIX..PREFIX + 8]) else { panic!("no prefix is needed") };
        assert_eq!(bare.len(), Kind::ALL.len());
        assert!(ranges(&id.uuid().to_string()).is_ok_and(|ranges| ranges[0].1 == ranges[0].2));
    }

    #[test]
    fn what_cannot_be_an_id_is_refused() {
        for typed in ["ses_!", "foo_01", "ses_01k7c3h2f4x8w6t5r3q1n0m9bzz", "fix the bug", "é", "ses_é"] {
            assert!(ranges(typed).is_err(), "{typed}");
        }
        for typed in ["9", "ses_u", "zzz"] {
            assert!(ranges(typed).is_ok_and(|ranges| ranges.is_empty()), "{typed} begins no id");
        }
    }

    #[test]
    fn short_forms_are_as_long_as_they_must_be() {
        let (a, b) = (session(1 << 80), session((1 << 80) + 1));
        assert_eq!(Short::among([a].into_iter()).of(a).len(), PREFIX + SHORT);
        let short = Short::among([a, b].into_iter());
        assert_ne!(short.of(a), short.of(b));
        assert_eq!(short.of(a), a.to_string(), "they differ in the last digit");
    }
}
