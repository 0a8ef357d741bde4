//! Sends a command as the person at the terminal, and says what became of it.
//!
//! Invariant: who asks is an operator by the name the system knows; a refusal is an answer with `--json` and an error
//! in words without. Deliberately absent: acting for anybody else; programs have their own ways in.

use callboard_kernel::{Actor, Command, Refusal};
use callboard_ledger::{AppendError, Ledger, ReadError, Record, Request};
use callboard_lifecycle::ActorClass;
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Exit};
use crate::screen::Screen;

/// What the answer is written as.
pub(crate) enum Form<'a> {
    Json,
    Text(&'a dyn Fn(&Record) -> String),
}

#[derive(Serialize)]
struct Refused<'a> {
    refused: &'a Refusal,
}

/// Sends the command and writes the record, or the refusal.
pub(crate) fn send(
    screen: &Screen,
    ledger: &Ledger,
    command: Command,
    form: &Form<'_>,
) -> Result<Exit, Error> {
    let request = Request { command, actor: operator(), now: clock::now(), cause: None };
    match (ledger.append(request), form) {
        (Ok(receipt), Form::Json) => screen.data_line(&json(&receipt.record)?)?,
        (Ok(receipt), Form::Text(text)) => screen.print(&text(&receipt.record))?,
        (Err(AppendError::Refused(refusal)), Form::Json) => {
            screen.json(&Refused { refused: &refusal })?;
            return Ok(Exit::REFUSED);
        }
        (Err(AppendError::Refused(refusal)), Form::Text(_)) => return Err(Error::Refused(refusal)),
        (Err(AppendError::Fault(fault)), _) => return Err(Error::Append(fault)),
    }
    Ok(Exit::DONE)
}

/// A record as its line of JSON.
pub(crate) fn json(record: &Record) -> Result<String, Error> {
    record.line().map_err(|error| Error::Ask(ReadError::from(error)))
}

/// The person at the terminal.
pub(crate) fn operator() -> Actor {
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let name = named("USER").or_else(|| named("LOGNAME")).unwrap_or_else(|| "operator".to_owned());
    Actor::new(ActorClass::Operator, name)
}
