//! The filter as it is typed: the same options for every list, and for every deed that names no ids.
//!
//! Invariant: what is typed is understood completely or refused; nothing is guessed. Deliberately absent: what a filter
//! admits, which the engine decides.

use std::path::PathBuf;
use std::time::Duration;

use callboard_engine::board::{Filter, StateCondition};
use callboard_engine::project_of;
use callboard_ledger::Ledger;
use callboard_lifecycle::Kind;
use clap::Args;

use crate::error::{Error, instead_of};
use crate::input::ids;
use crate::input::moment::span;
use crate::input::word::{Misread, Reading};

const HEADING: &str = "Filters, all of which must hold";

/// Which of them are meant.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = HEADING)]
pub(crate) struct FilterArgs {
    /// In this state: a word of the lifecycle, the health, the delivery or the severity. May be given several times.
    #[arg(long = "state", value_name = "STATE")]
    states: Vec<String>,
    /// With this label, whatever its value or with this one. May be given several times.
    #[arg(long = "label", value_name = "NAME[=VALUE]", value_parser = Reading(label))]
    labels: Vec<(String, Option<String>)>,
    /// Of this project; a dot is the project of the current directory.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Started by this one.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// With an AGE of more than this.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    older_than: Option<Duration>,
    /// With an AGE of no more than this.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    newer_than: Option<Duration>,
    /// At most this many; 0 is all.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// Reads `name` or `name=value`.
fn label(text: &str) -> Result<(String, Option<String>), Misread> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() {
        let because = format!("{text:?} names no label");
        return Err(Misread { because, instead: "NAME or NAME=VALUE".to_owned() });
    }
    Ok((name.to_owned(), value))
}

impl FilterArgs {
    /// Was anything asked for, beside how many?
    pub(crate) fn is_given(&self) -> bool {
        let Self { states, labels, project, parent, older_than, newer_than, limit: _ } = self;
        !states.is_empty()
            || !labels.is_empty()
            || project.is_some()
            || parent.is_some()
            || older_than.is_some()
            || newer_than.is_some()
    }

    /// How many of so many are shown.
    pub(crate) fn shown(&self, found: usize, unless_given: usize) -> usize {
        match self.limit.unwrap_or(unless_given) {
            0 => found,
            limit => limit.min(found),
        }
    }

    /// The filter, with its words read and its ids found.
    pub(crate) fn filter(&self, ledger: &Ledger, kind: Option<Kind>) -> Result<Filter, Error> {
        let states = self.states.iter().map(|word| state(word, kind)).collect::<Result<Vec<_>, _>>()?;
        let parent = self.parent.as_deref().map(|typed| ids::find(ledger, typed)).transpose()?;
        Ok(Filter {
            kind,
            states,
            labels: self.labels.clone(),
            project: self.project.as_deref().map(project).transpose()?,
            parent,
            text: None,
            older_than: self.older_than,
            newer_than: self.newer_than,
        })
    }
}

fn state(word: &str, kind: Option<Kind>) -> Result<StateCondition, Error> {
    StateCondition::read(word, kind).map_err(|unknown| {
        let of = kind.map_or_else(String::new, |kind| format!(" of a {kind}"));
        let all =
            kind.map_or_else(|| "callboard machines".to_owned(), |kind| format!("callboard machines {kind}"));
        Error::CommandLine {
            because: format!("unknown state {word:?}{of}"),
            instead: instead_of(&unknown, &format!("a word that {all} lists, or a severity")),
        }
    })
}

/// The project that is meant.
fn project(typed: &str) -> Result<String, Error> {
    if typed != "." {
        return Ok(typed.to_owned());
    }
    let here = std::env::current_dir().map_err(|source| Error::Input(PathBuf::from("."), source))?;
    project_of(&here).ok_or_else(|| Error::CommandLine {
        because: format!("{} is not under git, so it belongs to no project", here.display()),
        instead: "--project NAME, or a directory of the project".to_owned(),
    })
}
