//! A store in a directory of its own, driven by the binary and, for what only a supervisor may do, by the ledger.

use std::path::{Path, PathBuf};
use std::process::Command;

use callboard_kernel::{Actor, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition};
use callboard_ledger::{Ledger, Options, Record, Request};
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, reason};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::driver::{Ran, command, finish};

/// The first second of the made-up day: 2025-03-01 12:00:00 UTC.
const NOON: i64 = 1_740_830_400;

/// A directory with one store in it.
pub(crate) struct Shelf {
    directory: TempDir,
}

impl Shelf {
    /// A place where no store is yet.
    pub(crate) fn empty() -> Self {
        match tempfile::tempdir() {
            Ok(directory) => Self { directory },
            Err(error) => panic!("{error}"),
        }
    }

    /// A file beside the store.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The store.
    pub(crate) fn path(&self) -> PathBuf {
        self.file("store.db")
    }

    /// The binary on this store, run by Ann.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("CALLBOARD_STORE", self.path()).env("USER", "ann");
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(&mut self.command(arguments))
    }

    /// What it wrote, if it ended well.
    pub(crate) fn well(&self, arguments: &[&str]) -> String {
        self.run(arguments).well()
    }

    /// The document it wrote, if it ended well.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).json()
    }

    /// Makes an entity and gives its id.
    pub(crate) fn create(&self, arguments: &[&str]) -> String {
        self.well(&[&["create"], arguments].concat()).trim_end().to_owned()
    }

    /// The ledger itself, for what the command line does not do.
    pub(crate) fn ledger(&self) -> Ledger {
        match Ledger::open(&self.path(), Options::default()) {
            Ok(ledger) => ledger,
            Err(error) => panic!("{error}"),
        }
    }

    /// Changes the store behind the ledger's back.
    pub(crate) fn tamper(&self, sql: &str) {
        let done = rusqlite::Connection::open(self.path()).and_then(|store| store.execute_batch(sql));
        if let Err(error) = done {
            panic!("{sql}: {error}");
        }
    }
}

/// The path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_else(|| panic!("{} is no text", path.display()))
}

/// A session with made-up bits, always the same.
pub(crate) fn session(number: u64) -> EntityId {
    let bits = 0x0195_0000_0000_7000_8000_0000_0000_0000_u128 + (u128::from(number) << 72);
    EntityId::new(Kind::Session, uuid::Uuid::from_u128(bits))
}

/// A second of the made-up day.
pub(crate) fn at(second: i64) -> Moment {
    Moment::from_micros((NOON + second) * 1_000_000)
}

/// Records an order as the supervisor, at a second of the made-up day.
pub(crate) fn record(ledger: &Ledger, id: EntityId, second: i64, order: Order) -> Record {
    let request = Request {
        command: callboard_kernel::Command::new(id, order),
        actor: Actor::new(ActorClass::Supervisor, "host-a/4711"),
        now: at(second),
        cause: None,
    };
    match ledger.append(request) {
        Ok(receipt) => receipt.record,
        Err(error) => panic!("{error}"),
    }
}

/// Let an entity come to be.
pub(crate) fn begin(start: impl Into<Lifecycle>, data: Facts) -> Order {
    Order::Create(Create { at: start.into(), reasons: vec![], data })
}

/// Move an entity for a reason that a tool's result shows.
pub(crate) fn go(to: impl Into<Lifecycle>, code: &str, message: &str, seen: &str, data: Facts) -> Order {
    let code = reason(code).unwrap_or_else(|unknown| panic!("{unknown}"));
    let why = StateReason::new(code, message).shown_by(EvidenceRef::tool_result(seen));
    Order::Transition(Transition::to(to, why).with(data))
}
