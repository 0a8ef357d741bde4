//! Reads words of the vocabularies, and other values, from the command line.
//!
//! Invariant: what is accepted here is what is accepted everywhere, old names included; what is not is answered with
//! the nearest words, or with an example. Deliberately absent: the vocabularies.

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

/// A value that cannot be read, and what one looks like.
#[derive(Debug)]
pub(crate) struct Misread {
    /// What is wrong with it.
    pub(crate) because: String,
    /// What to write instead.
    pub(crate) instead: String,
}

/// Parses a value with a function of its own.
#[derive(Clone, Copy)]
pub(crate) struct Reading<T>(pub(crate) fn(&str) -> Result<T, Misread>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Reading<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        (self.0)(&value.to_string_lossy()).map_err(|misread| {
            let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
            error.insert(ContextKind::Custom, ContextValue::String(misread.because));
            error.insert(ContextKind::SuggestedValue, ContextValue::Strings(vec![misread.instead]));
            error
        })
    }
}

/// Reads `name=value`.
pub(crate) fn pair(text: &str) -> Result<(String, String), Misread> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err(Misread {
            because: format!("{text:?} does not name a value"),
            instead: "NAME=VALUE".to_owned(),
        }),
    }
}
