//! Sends a command as whoever asks, and says what became of it.
//!
//! Invariant: who asks is an operator by the name the system knows, or the agent of the run that this is called from, also if
//! that run cleared the environment; what needs a person is refused there. A refusal of the kernel is an answer with
//! `--json` and an error in words without. Deliberately absent: acting for anybody else.

use callboard_engine::{EnclosingRun, Host, is_inside, run_around};
use callboard_kernel::{Actor, Command, EntityId, Refusal};
use callboard_ledger::{AppendError, Ledger, ReadError, Record, Request};
use callboard_lifecycle::ActorClass;
use callboard_supervisor::process::{self, Inside};
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;

/// What the answer is written as.
pub(crate) enum Form<'a> {
    Json,
    Text(&'a dyn Fn(&Record) -> String),
}

/// A refusal as an answer for programs.
#[derive(Serialize)]
pub(crate) struct Refused<'a> {
    pub(crate) refused: &'a Refusal,
}

/// Sends the command and writes the record, or the refusal.
pub(crate) fn send(
    screen: &Screen,
    ledger: &Ledger,
    command: Command,
    form: &Form<'_>,
) -> Result<Exit, Error> {
    let request = Request { command, actor: actor(ledger)?, now: clock::now(), cause: None };
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

/// Whoever asks: the agent of the run that this is called from, or the person at the terminal. Where nobody can tell whether this
/// is called from inside a run, it is the user who calls.
pub(crate) fn actor(ledger: &Ledger) -> Result<Actor, Error> {
    let agent = |marker| Actor::new(ActorClass::Agent, marker);
    if let Some(inside) = seen_around() {
        let own = inside.marker.map(|marker| vouched_for(ledger, marker)).transpose()?.flatten();
        return Ok(agent(own.unwrap_or_else(|| "an unknown run".to_owned())));
    }
    let recorded = run_around(ledger, &Host::this()).map_err(Error::Ask)?;
    let seen = recorded.filter(|around| around.is_seen);
    Ok(seen.map_or_else(operator, |around| agent(around.id.to_string())))
}

/// The run of a marker, unless that run is somebody else's: an agent can put any marker into its environment, and must not act for the
/// task of another agent. Its own run is the one whose supervisor is above it.
fn vouched_for(ledger: &Ledger, marker: String) -> Result<Option<String>, Error> {
    let Ok(run) = marker.parse::<EntityId>() else { return Ok(Some(marker)) };
    let host = Host::this();
    if is_inside(ledger, &host, run).map_err(Error::Ask)? != Some(false) {
        return Ok(Some(marker));
    }
    let above = run_around(ledger, &host).map_err(Error::Ask)?.filter(|around| around.is_seen);
    Ok(above.map(|around| around.id.to_string()))
}

/// The run that this is called from, if there is one, as it can be seen or as the records of the store tell. One that it cannot
/// be told not to be called from counts.
pub(crate) fn around(ledger: &Ledger) -> Result<Option<Inside>, Error> {
    if let Some(inside) = seen_around() {
        return Ok(Some(inside));
    }
    let recorded = run_around(ledger, &Host::this()).map_err(Error::Ask)?;
    Ok(recorded.map(|EnclosingRun { id, shown_by, .. }| Inside { marker: Some(id.to_string()), shown_by }))
}

/// The run that this is called from, as the control group, the environment and those above tell.
pub(crate) fn seen_around() -> Option<Inside> {
    // The checks of a run carry its id with a word behind it.
    let run = |marker: &str| marker.split('-').next().is_some_and(|id| id.parse::<EntityId>().is_ok());
    let mut inside = process::inside(run)?;
    if let Some(marker) = &mut inside.marker {
        marker.truncate(marker.find('-').unwrap_or(marker.len()));
    }
    Some(inside)
}

/// Refuses what needs a person to who is inside of a run.
pub(crate) fn need_person(act: &'static str, ledger: Option<&Ledger>) -> Result<(), Error> {
    let inside = ledger.map_or_else(|| Ok(seen_around()), around)?;
    match inside {
        Some(Inside { marker, shown_by }) => Err(Error::NeedsPerson { act, run: marker, shown_by }),
        None => Ok(()),
    }
}

/// The person at the terminal.
pub(crate) fn operator() -> Actor {
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let name = named("USER").or_else(|| named("LOGNAME")).unwrap_or_else(|| "operator".to_owned());
    Actor::new(ActorClass::Operator, name)
}
