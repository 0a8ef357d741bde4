//! `callboard create`: lets an entity come to be by hand.
//!
//! Invariant: it begins where its machine allows. Asking twice with the same key is asking once, because the key then
//! gives the id. Deliberately absent: starting anything; `run` does that.

use callboard_kernel::{Command, Create, EntityId, Facts, Order, fact};
use callboard_ledger::Ledger;
use callboard_lifecycle::{Kind, Lifecycle, Need};
use clap::Args;

use crate::clock;
use crate::error::{Error, Exit, instead_of};
use crate::input::ids;
use crate::input::word::{Reading, WordParser, pair};
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::{Form, send};

/// Record a new entity by hand, for programs that do the work themselves.
///
/// Prints its id. It begins in the first of the start states of its kind that waits for nobody's decision, unless --state
/// names another.
#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// What it is.
    #[arg(value_name = "KIND", value_parser = WordParser::<Kind>::new())]
    kind: Kind,
    /// Where it begins.
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// What people call it.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// What started it: an id, or as much of it as tells it apart.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The same key with the same values is the same entity, however often it is sent.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Its whole id; made from the time, or from the key if there is one, unless given.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

impl CreateArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (at, id) = (self.start()?, self.id()?);
        let ledger = store.open()?;
        let order = Create { at, reasons: Vec::new(), data: self.data(&ledger)? };
        let mut command = Command::new(id, Order::Create(order));
        command.key.clone_from(&self.key);
        let text = |_: &_| format!("{id}\n");
        send(screen, &ledger, command, &if self.json { Form::Json } else { Form::Text(&text) })
    }

    fn start(&self) -> Result<Lifecycle, Error> {
        let Some(name) = &self.state else { return Ok(first_start(self.kind)) };
        Lifecycle::parse(self.kind, name).map_err(|unknown| Error::CommandLine {
            because: format!("{} has no state {name:?}", self.kind),
            instead: instead_of(&unknown, &format!("callboard machines {} lists them", self.kind)),
        })
    }

    fn id(&self) -> Result<EntityId, Error> {
        let (Some(text), kind) = (&self.id, self.kind) else {
            let new = || ids::new(self.kind, clock::now());
            return Ok(self.key.as_ref().map_or_else(new, |key| ids::of_key(self.kind, key)));
        };
        let refuse = |because| Error::CommandLine {
            because,
            instead: format!("{}_ and 26 digits, or leave it out", kind.machine().prefix),
        };
        match text.parse::<EntityId>() {
            Ok(id) if id.kind() == kind => Ok(id),
            Ok(id) => Err(refuse(format!("{id} is the id of a {}, not of a {kind}", id.kind()))),
            Err(bad) => Err(refuse(bad.to_string())),
        }
    }

    fn data(&self, ledger: &Ledger) -> Result<Facts, Error> {
        let mut data = Facts::none();
        if let Some(title) = &self.title {
            data.record(fact::TITLE, title.as_str());
        }
        if let Some(parent) = &self.parent {
            data.record(fact::PARENT, ids::find(ledger, parent)?.to_string());
        }
        if !self.labels.is_empty() {
            let mut labels = Facts::none();
            for (name, value) in &self.labels {
                labels.set(name.clone(), value.as_str());
            }
            data.record(fact::LABELS, labels);
        }
        Ok(data)
    }
}

/// Where an entity of a kind begins unless somebody says otherwise: not where it waits for a decision, if it need not.
fn first_start(kind: Kind) -> Lifecycle {
    let starts = || kind.machine().start.iter().map(|state| Lifecycle::new(kind, state));
    let is_decided = |state: &Lifecycle| state.def().need != Some(Need::Decision);
    starts().find(is_decided).or_else(|| starts().next()).unwrap_or_else(|| Lifecycle::new(kind, 0))
}
