//! Words: closed sets of names, declared once, with parsing, printing and serde derived.
//!
//! Invariant: a value's name is the only text it is written as; old names are accepted on input and never written.
//! Deliberately absent: how a value looks (`vocabulary`), and any order or ranking of values.

use std::fmt;

/// One value of a closed set: its stable name and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The stable, snake_case name, as it stands in the ledger, the API and the database.
    pub name: &'static str,
    /// One sentence that says what the value means.
    pub meaning: &'static str,
}

/// A closed set of words as an enum.
pub trait Words: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// What one value of the set is called, for error messages: "health", "session state".
    const WHAT: &'static str;
    /// Every value, in declaration order.
    const ALL: &'static [Self];
    /// The word of every value, in the same order.
    const WORDS: &'static [Word];
    /// Old names that are accepted on input.
    const OLD_NAMES: &'static [(&'static str, Self)];

    /// The position of this value in `ALL`.
    fn index(self) -> usize;

    /// The stable name.
    fn name(self) -> &'static str {
        Self::WORDS[self.index()].name
    }

    /// One sentence that says what the value means.
    fn meaning(self) -> &'static str {
        Self::WORDS[self.index()].meaning
    }

    /// Reads a name, or an old name.
    fn parse(text: &str) -> Result<Self, UnknownWord> {
        if let Some(at) = Self::WORDS.iter().position(|word| word.name == text) {
            return Ok(Self::ALL[at]);
        }
        if let Some((_, value)) = Self::OLD_NAMES.iter().find(|(old, _)| *old == text) {
            return Ok(*value);
        }
        Err(UnknownWord::new(Self::WHAT, text, Self::WORDS.iter().map(|word| word.name)))
    }
}

/// A text that names no value of its set; the message names the nearest ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// What one value of the set is called.
    pub what: &'static str,
    /// The text that was read.
    pub word: String,
    /// The valid names nearest to it, or all of them when the set is small.
    pub nearest: Vec<&'static str>,
}

impl UnknownWord {
    /// Describes `word` against the `valid` names of its set.
    pub fn new(what: &'static str, word: &str, valid: impl Iterator<Item = &'static str>) -> Self {
        let valid: Vec<&'static str> = valid.collect();
        let mut nearest = nearest(word, &valid);
        if nearest.is_empty() && valid.len() <= SMALL_SET {
            nearest = valid;
        }
        Self { what, word: word.to_owned(), nearest }
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {:?}", self.what, self.word)?;
        match self.nearest.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "; did you mean {one}?"),
            many => write!(f, "; valid near it: {}", many.join(", ")),
        }
    }
}

impl std::error::Error for UnknownWord {}

/// A set up to this size is listed whole when nothing in it is near.
const SMALL_SET: usize = 20;
/// How many suggestions a message carries at the most.
const SUGGESTIONS_MAX: usize = 3;

/// The valid names nearest to `word`, nearest first, none that is further than a third of its length.
pub fn nearest(word: &str, valid: &[&'static str]) -> Vec<&'static str> {
    let lower = word.to_ascii_lowercase();
    let limit = (lower.len() / 3).max(2);
    let mut ranked: Vec<(usize, &'static str)> = valid
        .iter()
        .map(|name| (distance(&lower, name), *name))
        .filter(|(far, name)| *far <= limit && *far < name.len())
        .collect();
    ranked.sort_by_key(|(far, _)| *far);
    ranked.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name).collect()
}

/// Edit distance by bytes: names are ASCII, and a wrong byte of a stray word costs the same as a wrong letter.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// Declares a closed set of words: the enum, its names and meanings, parsing, printing and serde.
///
/// The doc comment of a value is its meaning.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$outer:meta])*
        pub enum $Name:ident is $what:literal {
            $( $(#[doc = $meaning:literal])+ $Value:ident = $name:literal ),+ $(,)?
        }
        $( old names { $( $old:literal => $Now:ident ),* $(,)? } )?
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $Name { $( $(#[doc = $meaning])+ $Value ),+ }

        impl $crate::Words for $Name {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$( Self::$Value ),+];
            const WORDS: &'static [$crate::Word] = &[
                $( $crate::Word { name: $name, meaning: concat!($($meaning),+).trim_ascii() } ),+
            ];
            const OLD_NAMES: &'static [(&'static str, Self)] = &[$($( ($old, Self::$Now) ),*)?];

            fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::Words::name(*self))
            }
        }

        impl std::str::FromStr for $Name {
            type Err = $crate::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <Self as $crate::Words>::parse(text)
            }
        }

        impl $crate::declare_support::serde::Serialize for $Name {
            fn serialize<S: $crate::declare_support::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str($crate::Words::name(*self))
            }
        }

        impl<'de> $crate::declare_support::serde::Deserialize<'de> for $Name {
            fn deserialize<D: $crate::declare_support::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                <Self as $crate::Words>::parse(&text).map_err($crate::declare_support::serde::de::Error::custom)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Health;

    #[test]
    fn a_near_miss_is_suggested_and_a_stranger_is_not() {
        assert_eq!(nearest("stuled", &["stalled", "ok"]), ["stalled"]);
        assert!(nearest("zebra", &["stalled", "ok"]).is_empty());
    }

    #[test]
    fn old_names_are_read_and_never_written() {
        let health: Health = serde_json::from_str("\"zombie\"").unwrap();
        assert_eq!(health, Health::Degraded);
        assert_eq!(serde_json::to_string(&health).unwrap(), "\"degraded\"");
    }

    #[test]
    fn the_message_names_the_nearest_words() {
        let error = "processdead".parse::<Health>().unwrap_err();
        assert_eq!(error.to_string(), "unknown health \"processdead\"; did you mean process_dead?");
    }

    #[test]
    fn distance_is_symmetric_and_zero_only_for_equals() {
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "axc"), distance("axc", "abc"));
        assert_eq!(distance("", "abc"), 3);
    }
}
