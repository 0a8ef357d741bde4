//! Ids: UUIDv7, shown with the kind's prefix in Crockford base32.
//!
//! Invariant: the text of an id names its kind, sorts by time of creation, and reads back to the same 128 bits.
//! Deliberately absent: making new ones (that reads a clock) and short forms (that needs the store).

use std::fmt;
use std::str::FromStr;

use callboard_lifecycle::Kind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The id of one entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId {
    kind: Kind,
    uuid: Uuid,
}

/// Crockford's alphabet in lower case: no i, l, o, u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 128 bits in groups of five.
const TEXT_LEN: usize = 26;

impl EntityId {
    /// The id of this kind with these bits.
    pub const fn new(kind: Kind, uuid: Uuid) -> Self {
        Self { kind, uuid }
    }

    /// The kind of the entity.
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The bits.
    pub const fn uuid(self) -> Uuid {
        self.uuid
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; TEXT_LEN];
        let mut bits = self.uuid.as_u128();
        for digit in text.iter_mut().rev() {
            *digit = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
        let text = std::str::from_utf8(&text).map_err(|_| fmt::Error)?;
        write!(f, "{}_{text}", self.kind.machine().prefix)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// There is no prefix and underscore in front.
    #[error("{0:?} is no id; an id looks like ses_01k7c3h2f4x8w6t5r3q1n0m9bz")]
    Shape(String),
    /// No kind has this prefix.
    #[error("no kind has the id prefix {0:?}")]
    Prefix(String),
    /// A character outside the alphabet, or too many or too few of them.
    #[error("{0:?} is not 26 characters of base32 behind its prefix")]
    Digits(String),
}

impl FromStr for EntityId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (prefix, digits) = text.split_once('_').ok_or_else(|| BadId::Shape(text.to_owned()))?;
        let kind = Kind::of_prefix(prefix).ok_or_else(|| BadId::Prefix(prefix.to_owned()))?;
        let bits = bits(digits).ok_or_else(|| BadId::Digits(text.to_owned()))?;
        Ok(Self { kind, uuid: Uuid::from_u128(bits) })
    }
}

fn bits(digits: &str) -> Option<u128> {
    if digits.len() != TEXT_LEN {
        return None;
    }
    let mut bits: u128 = 0;
    for (at, byte) in digits.bytes().enumerate() {
        let value = digit(byte)?;
        // 26 digits hold 130 bits; the first may use only three of its five.
        if at == 0 && value > 7 {
            return None;
        }
        bits = bits << 5 | u128::from(value);
    }
    Some(bits)
}

/// What a person types by mistake for a digit is read as the digit, as Crockford's alphabet means it.
fn digit(byte: u8) -> Option<u8> {
    let byte = match byte.to_ascii_lowercase() {
        b'o' => b'0',
        b'i' | b'l' => b'1',
        other => other,
    };
    ALPHABET.iter().position(|known| *known == byte).map(|at| at as u8)
}

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bits_read_back(bits: u128) {
            let id = EntityId::new(Kind::Session, Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse::<EntityId>().unwrap(), id);
        }

        #[test]
        fn text_sorts_as_the_bits_do(a: u128, b: u128) {
            let text = |bits| EntityId::new(Kind::Task, Uuid::from_u128(bits)).to_string();
            prop_assert_eq!(a.cmp(&b), text(a).cmp(&text(b)));
        }

        #[test]
        fn no_text_makes_it_panic(text: String) {
            let _ignored: Result<EntityId, BadId> = text.parse();
        }
    }

    #[test]
    fn typing_slips_are_read_and_overlong_numbers_are_not() {
        let id = EntityId::new(Kind::Session, Uuid::from_u128(1));
        assert_eq!("ses_0000000000000000000000000l".parse(), Ok(id));
        assert!("ses_80000000000000000000000000".parse::<EntityId>().is_err());
        assert_eq!("xyz_1".parse::<EntityId>(), Err(BadId::Prefix("xyz".to_owned())));
    }
}
