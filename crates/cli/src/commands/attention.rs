//! `callboard attention`: what needs somebody, the most urgent and oldest first.
//!
//! Invariant: an item is here because its severity says so, and for no other reason; what is alive is judged when it is
//! read. Rows from before there were states never appear. Deliberately absent: putting items off.

use std::collections::BTreeMap;

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::{Kind, Severity, Shown, Tone, Words};
use clap::Args;
use serde::Serialize;

use crate::error::{Error, Exit};
use crate::ids::Short;
use crate::look::LookArgs;
use crate::screen::Screen;
use crate::store::Store;
use crate::style::of_tone;
use crate::table::{Cell, Column, Table};
use crate::telling::one_line;
use crate::view::{View, evaluate};
use crate::when::age_of;

/// List what needs somebody, the most urgent and oldest first.
#[derive(Args, Debug)]
pub(crate) struct AttentionArgs {
    /// At most this many; 0 is all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    look: LookArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    generated_at: Moment,
    total: usize,
    by_severity: BTreeMap<&'static str, usize>,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Item<'a> {
    fingerprint: String,
    severity: Severity,
    tone: Tone,
    entity: EntityTitle<'a>,
    chain: &'a str,
    reason: Option<Cause<'a>>,
    cluster: &'a str,
    cluster_size: usize,
    first_seen_at: Option<Moment>,
    actions: Vec<Action>,
}

#[derive(Serialize)]
struct EntityTitle<'a> {
    kind: Kind,
    id: EntityId,
    title: Option<&'a str>,
}

#[derive(Serialize)]
struct Cause<'a> {
    code: &'static str,
    message: &'a str,
}

/// What can be done about it.
#[derive(Serialize)]
struct Action {
    name: &'static str,
    command: String,
}

/// What was taken over from before there were reasons needs nobody.
const LEGACY: &str = "legacy.imported";

impl AttentionArgs {
    /// Lists them.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let look = self.look.open(store)?;
        let stored = look.candidates()?;
        let mut views: Vec<View<'_>> = stored.iter().map(|stored| evaluate(stored, look.now)).collect();
        views.retain(|view| is_needed(view.state.severity) && cluster(view) != LEGACY);
        views.sort_by_key(|view| (view.state.severity, view.cause_since()));
        let document = document(&views, self.limit, look.now);
        if self.json {
            screen.json(&document)?;
        } else {
            screen.print(&text(screen, &document))?;
        }
        Ok(Exit::DONE)
    }
}

const fn is_needed(severity: Severity) -> bool {
    match severity {
        Severity::Critical | Severity::Warning => true,
        Severity::Info | Severity::Neutral => false,
    }
}

/// What belongs together: the same reason, or the same state where there is no reason.
fn cluster<'a>(view: &'a View<'_>) -> &'a str {
    let state = || view.state.lifecycle.map_or("", |state| state.name());
    view.cause().map_or_else(state, |reason| reason.code.as_str())
}

fn document<'a>(views: &'a [View<'_>], limit: usize, now: Moment) -> Document<'a> {
    let (mut by_severity, mut clusters) = (BTreeMap::new(), BTreeMap::new());
    for view in views {
        *by_severity.entry(view.state.severity.name()).or_insert(0) += 1;
        *clusters.entry(cluster(view)).or_insert(0) += 1;
    }
    let shown = if limit == 0 { views.len() } else { limit.min(views.len()) };
    let items = views[..shown].iter().map(|view| item(view, clusters[cluster(view)])).collect();
    Document { generated_at: now, total: views.len(), by_severity, items }
}

fn item<'a>(view: &'a View<'_>, cluster_size: usize) -> Item<'a> {
    let cluster = cluster(view);
    Item {
        fingerprint: format!("{}:{}:{cluster}", view.kind, view.id),
        severity: view.state.severity,
        tone: view.state.tone,
        entity: EntityTitle { kind: view.kind, id: view.id, title: view.title },
        chain: &view.chain,
        reason: view.cause().map(|reason| Cause { code: reason.code.as_str(), message: &reason.message }),
        cluster,
        cluster_size,
        first_seen_at: view.cause_since(),
        actions: vec![Action { name: "why", command: format!("callboard why {}", view.id) }],
    }
}

fn text(screen: &Screen, document: &Document<'_>) -> String {
    if document.items.is_empty() {
        return screen.prose("Nothing needs you.");
    }
    let left = document.total - document.items.len();
    let more = match left {
        0 => String::new(),
        left => screen.hint(&format!("and {left} more: callboard attention --limit 0")),
    };
    screen.table(&table(document)) + &more + &screen.hint("the whole story of one: callboard why ID")
}

fn table(document: &Document<'_>) -> Table {
    let columns = [
        Column::names("", 8),
        Column::names("ID", 9),
        Column::text("TITLE", 6, 12),
        Column::names("STATE", 7),
        Column::numbers("AGE", 5),
        Column::text("BECAUSE", 4, 16),
        Column::numbers("ALIKE", 2),
    ];
    let short = Short::among(document.items.iter().map(|item| item.entity.id));
    let row = |item: &Item<'_>| {
        let alike = if item.cluster_size > 1 { item.cluster_size.to_string() } else { String::new() };
        [
            Cell::styled(item.severity.pill().icon.glyph(), of_tone(item.tone)),
            Cell::text(short.of(item.entity.id)),
            Cell::text(item.entity.title.map_or_else(|| "—".to_owned(), one_line)),
            Cell::styled(item.chain, of_tone(item.tone)),
            Cell::text(age_of(item.first_seen_at, document.generated_at)),
            Cell::text(item.reason.as_ref().map_or_else(|| "—".to_owned(), |cause| one_line(cause.message))),
            Cell::text(alike),
        ]
    };
    Table::new(columns, document.items.iter().map(row).collect())
}
