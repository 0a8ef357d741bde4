//! `callboard attention`: what needs somebody, the most urgent and oldest first, and putting items off.
//!
//! Invariant: the list is the engine's; what is alive is judged when it is read. Putting an item off is a record of its
//! entity, and it ends by itself when the condition does. Deliberately absent: severity and order of its own.

use std::time::Duration;

use callboard_engine::board::Filter;
use callboard_engine::{Attention, AttentionItem, Choice, Observed, View, attention, set_aside, taken_back};
use callboard_kernel::{Command, EntityId, EvidenceRef, Facts, Observe, Order, StateReason, one_line};
use callboard_lifecycle::{Kind, ReasonCode, Shown};
use clap::{Args, Subcommand};

use crate::error::{Error, Exit};
use crate::input::filter_args::FilterArgs;
use crate::input::ids::Short;
use crate::input::moment::{absolute, age_of, span};
use crate::input::word::{Reading, WordParser};
use crate::launch::notifying::Teller;
use crate::show::live::{Frame, watch};
use crate::show::record_text;
use crate::show::screen::Screen;
use crate::show::style::of_tone;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;
use crate::store::at_moment::{MomentArgs, StoreAt};
use crate::store::sending::{Form, need_person, send};

/// List what needs somebody, the most urgent and oldest first.
///
/// An item that is put off or dismissed comes back by itself when its condition changes.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AttentionArgs {
    #[command(subcommand)]
    act: Option<Act>,
    /// Those that were put off or dismissed too.
    #[arg(long)]
    all: bool,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short, conflicts_with_all = ["at", "as_of"])]
    watch: bool,
    /// Send a notification for everything new that needs somebody, as the settings say: docs/notifications.md.
    #[arg(long, requires = "watch")]
    notify: bool,
    #[command(flatten)]
    look: MomentArgs,
    /// One JSON document; with --watch, one a line.
    #[arg(long)]
    json: bool,
    /// Only those of a kind.
    #[arg(long, value_name = "KIND", value_parser = WordParser::<Kind>::new())]
    kind: Option<Kind>,
    #[command(flatten)]
    filters: FilterArgs,
}

/// How many are listed unless somebody says how many.
const LIMIT: usize = 50;

#[derive(Debug, Subcommand)]
enum Act {
    Snooze(SnoozeArgs),
    Dismiss(DismissArgs),
    Undo(UndoArgs),
}

/// Put one off for a while.
#[derive(Args, Debug)]
struct SnoozeArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// For how long, such as 30m, 4h or 1d.
    #[arg(long = "for", value_name = "SPAN", default_value = "1d", value_parser = Reading(span))]
    how_long: Duration,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

/// Put one off until its condition changes.
#[derive(Args, Debug)]
struct DismissArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

/// Take a snooze or a dismissal back.
#[derive(Args, Debug)]
struct UndoArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

impl AttentionArgs {
    /// Lists them, or puts one off.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let records = self.act.is_some() || self.notify;
        let look = if records { self.look.open_to_record(store)? } else { self.look.open(store)? };
        if self.act.is_some() {
            need_person("putting something off", Some(&look.ledger))?;
        }
        match &self.act {
            None => self.list(screen, look),
            Some(Act::Snooze(args)) => {
                let until = look.now.plus(args.how_long);
                let said = format!("put off until {}", absolute(until));
                mark(screen, &look, &args.id, args.json, &said, |view| Ok(set_aside(view, Some(until))))
            }
            Some(Act::Dismiss(args)) => {
                let said = "dismissed until its condition changes";
                mark(screen, &look, &args.id, args.json, said, |view| Ok(set_aside(view, None)))
            }
            Some(Act::Undo(args)) => {
                mark(screen, &look, &args.id, args.json, "no longer put off", |_| Ok(taken_back()))
            }
        }
    }

    fn list(&self, screen: &Screen, mut look: StoreAt) -> Result<Exit, Error> {
        let filter = self.filters.filter(&look.ledger, self.kind)?;
        if self.watch {
            let ledger = look.ledger.clone();
            let mut teller = self.notify.then(Teller::new).transpose()?;
            return watch(screen, &ledger, self.json, &mut |screen| {
                look.again();
                self.frame(screen, &look, &filter, teller.as_mut())
            });
        }
        let frame = self.frame(screen, &look, &filter, None)?;
        if self.json {
            screen.data_text(&frame.text)?
        } else {
            screen.print(&frame.text)?
        }
        Ok(Exit::DONE)
    }

    fn frame(
        &self,
        screen: &Screen,
        look: &StoreAt,
        filter: &Filter,
        teller: Option<&mut Teller>,
    ) -> Result<Frame, Error> {
        let seen = look.candidates()?;
        let mut views: Vec<View<'_>> = seen.iter().map(Observed::view).collect();
        views.retain(|view| self.kind.is_none_or(|kind| kind == view.kind));
        views.retain(|view| filter.admits(view, view.cause_since()));
        if let Some(teller) = teller {
            teller.look(&look.ledger, &views);
        }
        let choice = Choice { limit: self.filters.limit.unwrap_or(LIMIT), set_aside: self.all };
        let attention = attention(&views, choice, look.now);
        let line = |item: &AttentionItem<'_>| {
            format!("{} {:?} {} {}\n", item.fingerprint, item.first_seen_at, item.severity, item.chain)
        };
        let key = attention.items.iter().map(line).collect::<String>()
            + &format!("{} {}", attention.total, attention.set_aside);
        let text = match self.json {
            true => screen.document(&attention, self.watch)?,
            false => text(screen, &attention, self.filters.is_given() || self.kind.is_some()),
        };
        Ok(Frame { key, text })
    }
}

/// Records on the entity what is to become of its condition.
fn mark(
    screen: &Screen,
    look: &StoreAt,
    typed: &str,
    json: bool,
    said: &str,
    facts: impl Fn(&View<'_>) -> Result<Facts, Error>,
) -> Result<Exit, Error> {
    let seen = look.entity(typed)?;
    let view = seen.view();
    let reason = StateReason::new(const { ReasonCode::of("system.operator.note") }, said)
        .shown_by(EvidenceRef::human_assertion(said));
    let order = Observe { reasons: vec![reason], data: facts(&view)? };
    let command = Command::new(view.id, Order::Observe(order));
    let id: EntityId = view.id;
    let text = |record: &_| record_text::line(record, &Short::among([id].into_iter()), screen.width());
    send(screen, &look.ledger, command, &if json { Form::Json } else { Form::Text(&text) })
}

fn text(screen: &Screen, attention: &Attention<'_>, is_filtered: bool) -> String {
    let aside = match attention.set_aside {
        0 => String::new(),
        aside => screen.hint(&format!("{aside} put off: callboard attention --all")),
    };
    if attention.items.is_empty() {
        let nothing = if is_filtered { "Nothing that matches needs you." } else { "Nothing needs you." };
        return screen.prose(nothing) + &aside;
    }
    let more = match attention.total - attention.items.len() {
        0 => String::new(),
        left => screen.hint(&format!("and {left} more: callboard attention --limit 0")),
    };
    screen.table(&table(attention))
        + &more
        + &aside
        + &screen.hint("the whole story of one: callboard why ID")
}

fn table(attention: &Attention<'_>) -> Table {
    let columns = [
        Column::names("", 8),
        Column::names("ID", 9),
        Column::text("TITLE", 6, 12),
        Column::names("STATE", 7),
        Column::numbers("AGE", 5),
        Column::text("BECAUSE", 4, 16),
        Column::numbers("ALIKE", 2),
    ];
    let short = Short::among(attention.items.iter().map(|item| item.entity.id));
    let row = |item: &AttentionItem<'_>| {
        let alike = if item.cluster_size > 1 { item.cluster_size.to_string() } else { String::new() };
        [
            Cell::styled(item.severity.pill().icon.glyph(), of_tone(item.tone)),
            Cell::text(short.of(item.entity.id)),
            Cell::text(item.entity.title.map_or_else(|| "—".to_owned(), one_line)),
            Cell::styled(item.chain, of_tone(item.tone)),
            Cell::text(age_of(item.first_seen_at, attention.generated_at)),
            Cell::text(item.reason.as_ref().map_or_else(|| "—".to_owned(), |cause| one_line(cause.message))),
            Cell::text(alike),
        ]
    };
    Table::new(columns, attention.items.iter().map(row).collect())
}
