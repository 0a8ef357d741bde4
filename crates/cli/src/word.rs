//! Reads a word of a vocabulary from the command line.
//!
//! Invariant: what is accepted here is what is accepted everywhere, old names included; what is not is answered with
//! the nearest words. Deliberately absent: the vocabularies.

use std::ffi::OsStr;
use std::marker::PhantomData;

use callboard_lifecycle::{UnknownWord, Words};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Parses one value of the vocabulary, and lists all of them for help and completions.
#[derive(Clone, Copy)]
pub(crate) struct WordParser<T>(PhantomData<T>);

impl<T: Words> WordParser<T> {
    /// The parser.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Words> TypedValueParser for WordParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        T::parse(&value.to_string_lossy()).map_err(|unknown| refuse(command, &unknown))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(T::WORDS.iter().map(|word| PossibleValue::new(word.name).help(word.meaning))))
    }
}

/// The error for a word that is not in its vocabulary.
pub(crate) fn refuse(command: &clap::Command, unknown: &UnknownWord) -> clap::Error {
    let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
    let because = format!("unknown {} {:?}", unknown.what, unknown.word);
    error.insert(ContextKind::Custom, ContextValue::String(because));
    let nearest = unknown.nearest.iter().map(|word| (*word).to_owned()).collect();
    error.insert(ContextKind::SuggestedValue, ContextValue::Strings(nearest));
    error
}
