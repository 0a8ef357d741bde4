//! A YAML document as a tree in which every key and every value knows its place.
//!
//! Invariant: nothing of the document is lost or guessed; whoever reads the tree says what a value should have been, and where it stands.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

/// Where something stands in a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line().max(1), column: location.column().max(1) }
    }
}

/// One value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) what: What,
}

/// One key of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) at: Place,
    pub(super) name: String,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Neither a list nor a mapping.
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

impl Node {
    /// The same as JSON.
    pub(super) fn json(&self) -> Value {
        match &self.what {
            What::Scalar(value) => value.clone(),
            What::List(nodes) => Value::Array(nodes.iter().map(Self::json).collect()),
            What::Map(pairs) => Value::Object(
                pairs.iter().map(|(key, node)| (key.name.clone(), node.json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// What it is, in words.
    pub(super) fn told(&self) -> String {
        match &self.what {
            What::Scalar(Value::Null) => "nothing".to_owned(),
            What::Scalar(value) => value.to_string(),
            What::List(_) => "a list".to_owned(),
            What::Map(_) => "a mapping".to_owned(),
        }
    }
}

impl From<Spanned<Raw>> for Node {
    fn from(spanned: Spanned<Raw>) -> Self {
        Self { at: spanned.referenced.into(), what: spanned.value.0 }
    }
}

/// Reads a document, or says what is wrong with its spelling and where.
pub(super) fn read(text: &str) -> Result<Node, (Place, String)> {
    // The `n` of an older YAML is a name here, not a no.
    let options = serde_saphyr::options! { strict_booleans: true };
    let read: Result<Spanned<Raw>, _> = serde_saphyr::from_str_with_options(text, options);
    read.map(Node::from).map_err(|error| {
        let at = error.location().map_or(Place { line: 1, column: 1 }, Place::from);
        let text = error.without_snippet().to_string();
        let first = text.lines().next().unwrap_or("it cannot be read");
        let first = first.split(" at line ").next().unwrap_or(first);
        // Advice for programmers who use the parser.
        let first = first.split(", set DuplicateKeyPolicy").next().unwrap_or(first);
        (at, first.to_owned())
    })
}

/// A value as the parser hands it over.
struct Raw(What);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(Value::Null)))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(Value::Null)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(value.into())))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        let number =
            Number::from_f64(value).ok_or_else(|| E::custom(format!("{value} is no finite number")))?;
        Ok(Raw(What::Scalar(Value::Number(number))))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw(What::Scalar(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = from.next_element::<Spanned<Raw>>()? {
            all.push(element.into());
        }
        Ok(Raw(What::List(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut all = Vec::new();
        while let Some(key) = from.next_key::<Spanned<String>>()? {
            let key = Key { at: key.referenced.into(), name: key.value };
            if all.iter().any(|(other, _): &(Key, Node)| other.name == key.name) {
                return Err(A::Error::custom(format!("the key {} is there twice", key.name)));
            }
            all.push((key, from.next_value::<Spanned<Raw>>()?.into()));
        }
        Ok(Raw(What::Map(all)))
    }
}
