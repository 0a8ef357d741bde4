//! `callboard note`: writes something down about an entity, for whoever asks why later.
//!
//! Invariant: a note is a record like any other and moves nothing. Deliberately absent: changing or removing one.

use callboard_kernel::{Command, EvidenceRef, Facts, Observe, Order, StateReason, fact};
use callboard_lifecycle::reason;
use clap::Args;

use crate::error::{Error, Exit};
use crate::input::ids::{self, Short};
use crate::show::record_text;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::{Form, around, send};

/// Write something down about an entity.
///
/// From inside a run it is recorded as what the agent said.
#[derive(Args, Debug)]
pub(crate) struct NoteArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// What to write down.
    #[arg(value_name = "TEXT")]
    text: String,
    /// The same key with the same text is the same note, however often it is sent.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

const REASON: &str = "system.operator.note";

impl NoteArgs {
    /// Writes it down.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let id = ids::find(&ledger, &self.id)?;
        let Ok(code) = reason(REASON) else { unreachable!("BUG: {REASON} is not registered") };
        // What a program says of itself is no person's word: it is kept as what was said, not as a reason.
        let order = match around(&ledger)? {
            Some(_) => Observe { reasons: vec![], data: Facts::none().and(fact::SAID, self.text.as_str()) },
            None => {
                let said = StateReason::new(code, self.text.as_str())
                    .shown_by(EvidenceRef::human_assertion(self.text.as_str()));
                Observe { reasons: vec![said], data: Facts::none() }
            }
        };
        let mut command = Command::new(id, Order::Observe(order));
        command.key.clone_from(&self.key);
        let text = |record: &_| record_text::line(record, &Short::among([id].into_iter()), screen.width());
        send(screen, &ledger, command, &if self.json { Form::Json } else { Form::Text(&text) })
    }
}
