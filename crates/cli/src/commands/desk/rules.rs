//! `callboard rules`: the standing rules that answer questions, and revoking one.

use callboard_engine::questions::rules;
use callboard_kernel::{EntityId, one_line};
use callboard_lifecycle::Kind;
use callboard_wire::{RuleShape, RulesShape};
use clap::{Args, Subcommand};

use crate::clock;
use crate::commands::tasks::answer::{asking, entity_id, not_done};
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::input::moment::age_of;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;
use crate::store::sending::need_person;

/// List the standing rules, which callboard answer --always makes.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    act: Option<Act>,
    /// Those that were revoked too.
    #[arg(long)]
    all: bool,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Act {
    Revoke(RevokeArgs),
}

/// Revoke a standing rule: it answers nothing any more.
#[derive(Args, Debug)]
struct RevokeArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// Why.
    #[arg(long, value_name = "TEXT", default_value = "revoked")]
    because: String,
    /// The rules that are left, as JSON.
    #[arg(long)]
    json: bool,
}

impl RulesArgs {
    /// Lists them, or revokes one.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        match &self.act {
            Some(Act::Revoke(args)) => args.run(screen, store),
            None => {
                let ledger = store.open_to_look()?;
                show(screen, &rules(&ledger, self.all).map_err(Error::Ask)?, self.json)
            }
        }
    }
}

impl RevokeArgs {
    fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        need_person("revoking a rule", Some(&ledger))?;
        let id = entity_id(&ledger, &self.id, Kind::Rule)?;
        if let Err(error) = asking(&ledger)?.revoke_rule(id, &self.because) {
            return not_done(screen, self.json, error);
        }
        show(screen, &rules(&ledger, false).map_err(Error::Ask)?, self.json)
    }
}

fn show(screen: &Screen, shown: &RulesShape, json: bool) -> Result<Exit, Error> {
    match json {
        true => screen.json(shown)?,
        false if shown.items.is_empty() => {
            screen.print(&screen.prose(
                "No standing rule is in force. Make one: callboard answer ID OPTION --always SCOPE",
            ))?;
        }
        false => screen.print(&screen.table(&table(shown)))?,
    }
    Ok(Exit::DONE)
}

fn table(shown: &RulesShape) -> Table {
    let columns = [
        Column::names("ID", 9),
        Column::names("ANSWER", 8),
        Column::text("COVERS", 7, 20),
        Column::numbers("AGE", 5),
        Column::text("MADE BY", 4, 6),
        Column::names("STATE", 3),
    ];
    let id = |item: &RuleShape| item.id.parse::<EntityId>().ok();
    let short = Short::among(shown.items.iter().filter_map(id));
    let row = |item: &RuleShape| {
        [
            Cell::text(id(item).map_or_else(|| item.id.clone(), |id| short.of(id))),
            Cell::text(one_line(&item.answer)),
            Cell::text(one_line(&item.covers)),
            Cell::text(age_of(item.made_at.as_ref().and_then(|at| at.parse().ok()), clock::now())),
            Cell::text(item.made_by.as_deref().map_or_else(|| "—".to_owned(), one_line)),
            Cell::text(item.state.as_str()),
        ]
    };
    Table::new(columns, shown.items.iter().map(row).collect())
}
