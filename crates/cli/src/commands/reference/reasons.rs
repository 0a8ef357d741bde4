//! `callboard reasons`: every registered reason code and what it means.
//!
//! Invariant: what is listed is the whole registry; a code that is not here cannot be emitted. Deliberately absent:
//! the reasons of one entity; `why` tells those.

use std::ffi::OsStr;

use callboard_lifecycle::{Kind, REASONS, ReasonDef, Scope, UnknownWord, Words};
use clap::Args;
use clap::builder::{PossibleValue, TypedValueParser};
use serde::Serialize;

use crate::error::{Error, Exit};
use crate::input::word::refuse;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};

/// List the reason codes: why an entity can be in its state.
///
/// A code is entity.dimension.cause. A kind takes its own codes and the shared ones, `system` and `legacy`. What a
/// person chose is marked: nobody needs to follow it up.
#[derive(Args, Debug)]
pub(crate) struct ReasonsArgs {
    /// Only those of a kind, or of an entity (the first segment of a code).
    #[arg(value_name = "KIND|ENTITY", value_parser = FilterParser)]
    filter: Option<Filter>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

/// Which reasons to list.
#[derive(Clone, Copy, Debug)]
enum Filter {
    Kind(Kind),
    Entity(&'static str),
}

impl Filter {
    fn takes(self, def: &ReasonDef) -> bool {
        match self {
            Self::Kind(kind) => def.scope == Scope::Of(kind),
            Self::Entity(entity) => def.entity() == entity,
        }
    }

    fn parse(text: &str) -> Result<Self, UnknownWord> {
        if let Ok(kind) = Kind::parse(text) {
            return Ok(Self::Kind(kind));
        }
        let entity = entities().find(|entity| *entity == text).map(Self::Entity);
        entity.ok_or_else(|| UnknownWord::new("kind or entity", text, Self::words()))
    }

    /// The kinds, then the entities that are not called like one.
    fn words() -> impl Iterator<Item = &'static str> {
        let kinds = || Kind::WORDS.iter().map(|word| word.name);
        kinds().chain(entities().filter(move |entity| kinds().all(|kind| kind != *entity)))
    }
}

/// The first segments of all codes, each once.
fn entities() -> impl Iterator<Item = &'static str> {
    REASONS.chunk_by(|a, b| a.entity() == b.entity()).map(|reasons| reasons[0].entity())
}

#[derive(Clone)]
struct FilterParser;

impl TypedValueParser for FilterParser {
    type Value = Filter;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Filter, clap::Error> {
        Filter::parse(&value.to_string_lossy()).map_err(|unknown| refuse(command, &unknown))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Filter::words().map(PossibleValue::new)))
    }
}

/// The document.
#[derive(Serialize)]
struct Document {
    reasons: Vec<Reason>,
}

/// One reason in it.
#[derive(Serialize)]
struct Reason {
    code: &'static str,
    entity: &'static str,
    dimension: &'static str,
    meaning: &'static str,
    /// Nothing for a reason that every kind may have.
    kind: Option<Kind>,
    old_codes: &'static [&'static str],
    /// Did a person choose this, so that nobody needs to follow it up?
    chosen: bool,
}

impl Reason {
    fn of(def: &ReasonDef) -> Self {
        Self {
            code: def.code,
            entity: def.entity(),
            dimension: def.dimension(),
            meaning: def.meaning,
            kind: match def.scope {
                Scope::Of(kind) => Some(kind),
                Scope::Any => None,
            },
            old_codes: def.old_codes,
            chosen: def.chosen,
        }
    }
}

impl ReasonsArgs {
    /// Lists the reasons that were asked for.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let taken = |def: &&ReasonDef| self.filter.is_none_or(|filter| filter.takes(def));
        let reasons: Vec<Reason> = REASONS.iter().filter(taken).map(Reason::of).collect();
        if self.json {
            screen.json(&Document { reasons })?;
        } else {
            screen.print(&(screen.table(&table(&reasons)) + &self.hint(screen)))?;
        }
        Ok(Exit::DONE)
    }

    fn hint(&self, screen: &Screen) -> String {
        match self.filter {
            Some(Filter::Kind(_)) => screen.hint("those that every kind may have: callboard reasons system"),
            Some(Filter::Entity(_)) | None => String::new(),
        }
    }
}

fn table(reasons: &[Reason]) -> Table {
    let columns = [
        Column::names("CODE", 9),
        Column::prose("MEANING", 8, 24),
        Column::names("BY CHOICE", 2),
        Column::text("OLD CODES", 1, 20),
    ];
    let row = |reason: &Reason| {
        [
            Cell::text(reason.code),
            Cell::text(reason.meaning),
            Cell::text(if reason.chosen { "yes" } else { "" }),
            Cell::list(reason.old_codes),
        ]
    };
    Table::new(columns, reasons.iter().map(row).collect())
}
