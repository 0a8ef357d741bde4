//! Reads fields of events without trusting their shape.
//!
//! Invariant: a field that is missing, null or of another type than expected reads as `None`, and the rest of the event
//! is read all the same. Values that nobody asks for are skipped without being built, so an event costs memory only for
//! what is read from it.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::usd::Usd;

/// `#[serde(default, deserialize_with = "lenient")]` on an `Option` field.
pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&'de RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// A list; what is not of the expected shape is left out of it.
#[derive(Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Items<T> {
            type Value = List<T>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a list")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(raw) = items.next_element::<&'de RawValue>()? {
                    if list.len() < ITEMS_MAX {
                        list.extend(serde_json::from_str(raw.get()).ok());
                    }
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_seq(Items(std::marker::PhantomData))
    }
}

/// A line may hold millions of tiny items; no vendor sends a message of more blocks than this.
const ITEMS_MAX: usize = 4_096;

/// The values of an object whose keys are names, such as models.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Named<T>, A::Error> {
                let mut named = Vec::new();
                while let Some((name, raw)) = entries.next_entry::<String, &'de RawValue>()? {
                    if named.len() < ITEMS_MAX
                        && let Ok(value) = serde_json::from_str(raw.get())
                    {
                        named.push((name, value));
                    }
                }
                Ok(Named(named))
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}

/// Text, borrowed from the line where it has no escapes.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn of<'b>(text: &'b Option<Text<'_>>) -> Option<&'b str> {
        text.as_ref().map(|text| text.0.as_ref())
    }

    pub(super) fn or_empty<'b>(text: &'b Option<Text<'_>>) -> &'b str {
        Text::of(text).unwrap_or_default()
    }
}

/// An amount of money, read from the digits of the number and not from a float.
#[derive(Debug)]
pub(super) struct Amount(pub(super) Usd);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Usd::parse(raw.get()).map(Self).ok_or_else(|| serde::de::Error::custom("no amount of money"))
    }
}

/// Seconds since 1970; a number too great for that is in milliseconds.
pub(super) const fn unix_seconds(number: i64) -> i64 {
    const MILLISECONDS_FROM: i64 = 100_000_000_000;
    if number >= MILLISECONDS_FROM { number / 1_000 } else { number }
}

/// What an HTTP status of the provider means: whether the same request may work later.
pub(super) const fn is_retryable(status: u64) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}

/// The number after the word `status`.
pub(super) fn http_status(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("status")?;
    let digits: String =
        rest.trim_start_matches([':', ' ']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The first number of three digits that can be the HTTP status of a failure.
pub(super) fn first_status(text: &str) -> Option<u64> {
    text.split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| word.len() == 3)
        .find_map(|word| word.parse().ok().filter(|status| (400..600).contains(status)))
}

/// What the text of a shell tool of Gemini CLI or qwen-code tells of its command's end. They say so only where the
/// command printed nothing, and call the result a success all the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShellEnd<'a> {
    pub(super) has_failed: bool,
    pub(super) exit: Option<i64>,
    pub(super) signal: Option<&'a str>,
}

impl<'a> ShellEnd<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let exit = text.strip_prefix("Command exited with code: ").and_then(|code| code.trim().parse().ok());
        let signal = text.strip_prefix("Command terminated by signal: ").map(str::trim);
        let has_failed = exit.is_some() || signal.is_some() || text.starts_with("Command failed: ");
        Self { has_failed, exit, signal }
    }
}
