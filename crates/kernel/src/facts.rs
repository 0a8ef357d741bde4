//! Facts: the named values an event carries beside its reasons.
//!
//! Invariant: names are sorted and unique, so equal facts have equal bytes. Deliberately absent: what a value means;
//! the registry of the lifecycle crate names those that a machine requires.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One value: what JSON can say, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number that is not whole.
    Float(f64),
    /// A text.
    Text(String),
    /// Several values in order.
    List(Vec<Value>),
    /// Named values.
    Map(Facts),
}

/// Named values, sorted by name, each name once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(Vec<(Cow<'static, str>, Value)>);

impl Facts {
    /// No facts.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// These facts and one more, or another value for one of them.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets one fact.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.find(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// The value of a fact.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    /// Is the fact recorded, with a value that says something?
    pub fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Value::Null))
    }

    /// Takes over every fact of `other`; its values win.
    pub fn merge(&mut self, other: &Self) {
        for (name, value) in &other.0 {
            self.set(name.clone(), value.clone());
        }
    }

    /// The facts in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Changes values in place.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&str, &mut Value)) {
        self.0.iter_mut().for_each(|(name, value)| change(name, value));
    }

    /// Puts one text in the place of another, however deep it stands.
    pub(crate) fn exchange(&mut self, from: &str, to: &str) {
        self.0.iter_mut().for_each(|(_, value)| value.exchange(from, to));
    }

    /// How many bytes of text they hold, names included.
    pub(crate) fn text_bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.text_bytes()).sum()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name))
    }
}

impl Value {
    fn exchange(&mut self, from: &str, to: &str) {
        match self {
            Self::Text(text) if text == from => to.clone_into(text),
            Self::List(values) => values.iter_mut().for_each(|value| value.exchange(from, to)),
            Self::Map(facts) => facts.exchange(from, to),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Text(_) => {}
        }
    }

    fn text_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 0,
            Self::Text(text) => text.len(),
            Self::List(values) => values.iter().map(Self::text_bytes).sum(),
            Self::Map(facts) => facts.text_bytes(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Bool(yes)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Facts> for Value {
    fn from(facts: Facts) -> Self {
        Self::Map(facts)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Self::List(values)
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(yes) => to.serialize_bool(*yes),
            Self::Int(number) => to.serialize_i64(*number),
            Self::Float(number) => to.serialize_f64(*number),
            Self::Text(text) => to.serialize_str(text),
            Self::List(values) => values.serialize(to),
            Self::Map(facts) => facts.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Map(facts) => Ok(facts),
            Value::Null => Ok(Self::none()),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) => {
                Err(serde::de::Error::custom("facts are an object of named values"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = from.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut facts = Facts::none();
        while let Some((name, value)) = from.next_entry::<String, Value>()? {
            facts.set(name, value);
        }
        Ok(Value::Map(facts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_the_last_value_wins() {
        let facts = Facts::none().with("b", 1).with("a", "x").with("b", 2);
        assert_eq!(serde_json::to_string(&facts).unwrap(), r#"{"a":"x","b":2}"#);
        assert!(facts.has("a") && !facts.has("c"));
    }

    #[test]
    fn json_reads_back() {
        let text = r#"{"deep":{"list":[1,2.5,null,true,"t"]},"n":-3}"#;
        let facts: Facts = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&facts).unwrap(), text);
    }

    #[test]
    fn null_says_nothing() {
        let facts: Facts = serde_json::from_str(r#"{"exit_code":null}"#).unwrap();
        assert!(!facts.has("exit_code"));
    }
}
