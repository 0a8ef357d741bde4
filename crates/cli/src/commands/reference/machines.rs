//! `callboard machines`: every state machine, explained, drawn, or as data.
//!
//! Invariant: what is shown is read from the tables. Deliberately absent: entities; this is about what may happen,
//! `ps` is about what did.

use callboard_lifecycle::render::{
    Catalogue, Description, RowDescription, StateDescription, describe, mermaid,
};
use callboard_lifecycle::{Guard, Kind, MACHINES, Machine, Nature, Words};
use clap::{Args, ValueEnum};

use crate::error::{Error, Exit};
use crate::input::word::WordParser;
use crate::show::screen::Screen;
use crate::show::style::of_token;
use crate::show::table::{Cell, Column, Table};

/// Explain every state machine: its states, what may happen, and who may do it.
///
/// Without KIND, lists all of them. With KIND, explains one: its states as they are shown, its rows, what must be
/// recorded, and its old names. Old names of kinds are accepted too: `run` is `session`.
#[derive(Args, Debug)]
pub(crate) struct MachinesArgs {
    /// The kind whose machine to explain.
    #[arg(value_name = "KIND", value_parser = WordParser::<Kind>::new())]
    kind: Option<Kind>,
    /// How to show it: for people, for programs, or drawn.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    #[default]
    Table,
    Json,
    Mermaid,
}

impl MachinesArgs {
    /// Shows one machine or all.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let one = self.kind.map(|kind| [kind.machine()]);
        let machines: &[&Machine] = one.as_ref().map_or(&MACHINES, |one| one);
        match (if self.json { Format::Json } else { self.format }, self.kind) {
            (Format::Json, _) => screen.json(&Catalogue::of(machines))?,
            (Format::Mermaid, Some(kind)) => screen.print(&mermaid(kind.machine()))?,
            (Format::Mermaid, None) => screen.print(&drawings())?,
            (Format::Table, Some(kind)) => screen.print(&explanation(screen, &describe(kind.machine())))?,
            (Format::Table, None) => screen.print(&list(screen))?,
        }
        Ok(Exit::DONE)
    }
}

/// All diagrams, each under a comment that names its kind.
fn drawings() -> String {
    let drawings: Vec<String> =
        MACHINES.iter().map(|machine| format!("%% {}\n{}", machine.kind, mermaid(machine))).collect();
    drawings.join("\n")
}

fn list(screen: &Screen) -> String {
    let columns = [
        Column::names("KIND", 9),
        Column::numbers("STATES", 7),
        Column::numbers("EDGES", 6),
        Column::text("START", 4, 14),
        Column::text("ENDS", 5, 20),
        Column::text("MEANING", 1, 40),
    ];
    let row = |machine: &&Machine| {
        let all = describe(machine);
        [
            Cell::text(all.kind.name()),
            Cell::text(all.states.len().to_string()),
            Cell::text(all.edges.len().to_string()),
            Cell::list(&all.initial),
            if all.terminal.is_empty() { Cell::text("—") } else { Cell::list(&all.terminal) },
            Cell::text(all.meaning),
        ]
    };
    let table = Table::new(columns, MACHINES.iter().map(row).collect());
    screen.table(&table) + &screen.hint("explain one: callboard machines KIND · draw it: --format mermaid")
}

fn explanation(screen: &Screen, all: &Description) -> String {
    let mut text = screen.title(all.kind.name());
    text += &screen.prose(all.meaning);
    text.push('\n');
    text += &screen.table(&states(all));
    text.push('\n');
    text += &screen.table(&rows(all, |row| !row.desk));
    if all.also.is_some() {
        text += &format!("\n{}", screen.title("the approval desk's own moves, out of every program's reach"));
        text += &screen.table(&rows(all, |row| row.desk));
    }
    text.push('\n');
    text += &screen.properties(&properties(all));
    text + &screen.hint(&format!("its reasons: callboard reasons {}", all.kind))
}

/// What is declared beside states and rows.
fn properties(all: &Description) -> Vec<(String, Vec<String>)> {
    let moves = match all.nature {
        Nature::Ending => "by command; every state can reach an end",
        Nature::ByTrigger => "by event; every state can reach an end",
        Nature::Perpetual => "by command; it has no end and can always go on",
    };
    let of_states = |said: &dyn Fn(&str) -> Option<String>| -> Vec<String> {
        all.states.iter().filter_map(|state| said(state.name)).collect()
    };
    let facts = |state: &str| all.requires.get(state).map(|facts| format!("{state}: {}", facts.join(" + ")));
    let exit = |state: &str| all.exit_codes.get(state).map(|code| format!("{state} {code}"));
    let mut properties = vec![
        ("shown as", vec![all.noun.to_owned()]),
        ("ids", vec![format!("{}_…", all.prefix)]),
        ("moves", vec![moves.to_owned()]),
        ("starts as", texts(&all.initial)),
        ("ends as", texts(&all.terminal)),
        ("operator moves it to", texts(&all.admin_targets)),
        ("health", texts(&[all.health, all.health_also].concat())),
        ("delivery", texts(all.delivery)),
        ("required facts", of_states(&facts)),
        ("guards", all.guards().into_iter().map(|guard| guarded(all, guard)).collect()),
        ("exit codes", of_states(&exit)),
        ("old names", all.old_names.iter().map(|(old, state)| format!("{old} → {state}")).collect()),
    ]
    .into_iter()
    .map(|(name, values)| (name.to_owned(), values))
    .collect::<Vec<_>>();
    properties.extend(all.vocabularies.iter().map(|(name, words)| (name.replace('_', " "), texts(words))));
    properties
}

/// A guard, with the triggers whose rows have it.
fn guarded(all: &Description, guard: Guard) -> String {
    let mut triggers: Vec<&str> = Vec::new();
    for trigger in all.rows.iter().filter(|row| row.guards.contains(&guard)).flat_map(|row| &row.triggers) {
        if !triggers.contains(trigger) {
            triggers.push(trigger);
        }
    }
    format!("{guard} (on {}): {}", triggers.join(" and "), guard.meaning())
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn states(all: &Description) -> Table {
    let columns = [
        Column::names("STATE", 9),
        Column::names("SHOWN AS", 8),
        Column::names("NOTES", 5),
        Column::prose("MEANING", 7, 24),
    ];
    let row = |state: &StateDescription| {
        let pill = format!("{} {}", state.icon.glyph(), state.label);
        [
            Cell::text(state.name),
            Cell::styled(pill, of_token(state.token)),
            Cell::list(all.notes(state)),
            Cell::text(state.meaning),
        ]
    };
    Table::new(columns, all.states.iter().map(row).collect())
}

fn rows(all: &Description, chosen: impl Fn(&RowDescription) -> bool) -> Table {
    let columns = [
        Column::names("FROM", 9),
        Column::names("TO", 8),
        Column::text("ON", 7, 20),
        Column::text("BY", 6, 18),
        Column::text("BECAUSE", 5, 0),
        Column::text("SHOWN BY", 4, 18),
        Column::text("WHEN", 3, 20),
    ];
    let row = |row: &RowDescription| {
        [
            Cell::text(row.from),
            Cell::text(row.to),
            Cell::list(&row.triggers),
            Cell::list(&row.actors),
            Cell::list(&row.reasons),
            Cell::list(&row.evidence),
            Cell::list(row.guards),
        ]
    };
    Table::new(columns, all.rows.iter().filter(|row| chosen(row)).map(row).collect()).grouped()
}
