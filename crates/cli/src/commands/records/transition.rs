//! `callboard transition`: moves an entity by hand, if the tables allow it.
//!
//! Invariant: the kernel decides, with an operator as the actor and the message as what the operator vouches for.
//! Deliberately absent: moving as somebody else; who may is part of the row.

use callboard_engine::{Host, Viewpoint, supervisor_seen};
use callboard_kernel::{
    Command, EntityId, EvidenceRef, Facts, Order, StateReason, SupervisorSeen, Transition, Value,
};
use callboard_ledger::Ledger;
use callboard_lifecycle::{Kind, Lifecycle, ReasonCode, Trigger, UnknownWord, reason};
use clap::Args;

use crate::clock;
use crate::error::{Error, Exit, instead_of};
use crate::input::ids::{self, Short};
use crate::input::word::{Misread, Reading, pair};
use crate::show::record_text;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::{Form, need_person, send};

/// Move an entity to another state by hand.
///
/// You act as an operator; from inside a run it is refused. A run whose supervisor is alive is ended by `callboard stop`. What an
/// operator may do with a kind, and for which reasons: callboard machines KIND.
/// Prints the record; a refusal is told on standard error, or as {"refused": …} with --json, and the exit code is 3.
#[derive(Args, Debug)]
pub(crate) struct TransitionArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// The state to move it to.
    #[arg(value_name = "TO")]
    to: String,
    /// Why, as a code: callboard reasons lists them.
    #[arg(long, value_name = "CODE", value_parser = Reading(code))]
    reason: ReasonCode,
    /// Why, in words. You vouch for it.
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// Only if it has exactly this version.
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
    /// The same key with the same move is the same command, however often it is sent.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What caused it; the first cause the table allows you unless given.
    #[arg(long, value_name = "TRIGGER")]
    trigger: Option<String>,
    /// A fact to record with it; what reads as JSON is taken as JSON. May be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = Reading(pair))]
    data: Vec<(String, String)>,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

fn code(text: &str) -> Result<ReasonCode, Misread> {
    reason(text).map_err(|unknown| Misread {
        because: format!("unknown reason {text:?}"),
        instead: instead_of(&unknown, "callboard reasons lists them"),
    })
}

impl TransitionArgs {
    /// Moves it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        need_person("moving an entity by hand", Some(&ledger))?;
        let id = ids::find(&ledger, &self.id)?;
        let mut command = self.command(id)?;
        command.testimony.supervisor = supervisor(&ledger, id)?;
        let text = |record: &_| record_text::line(record, &Short::among([id].into_iter()), screen.width());
        send(screen, &ledger, command, &if self.json { Form::Json } else { Form::Text(&text) })
    }

    fn command(&self, id: EntityId) -> Result<Command, Error> {
        let kind = id.kind();
        let not_of_kind = |unknown: &UnknownWord| Error::CommandLine {
            because: format!("{kind} has no {} {:?}", unknown.what, unknown.word),
            instead: instead_of(unknown, &format!("callboard machines {kind} lists them")),
        };
        let to = Lifecycle::parse(kind, &self.to).map_err(|unknown| not_of_kind(&unknown))?;
        let trigger = self.trigger.as_ref().map(|name| Trigger::parse(kind, name)).transpose();
        let why = StateReason::new(self.reason, self.message.as_str())
            .shown_by(EvidenceRef::human_assertion(self.message.as_str()));
        let order = Transition {
            to: Some(to),
            trigger: trigger.map_err(|unknown| not_of_kind(&unknown))?,
            reasons: vec![why],
            data: facts(&self.data),
        };
        let mut command = Command::new(id, Order::Transition(order));
        (command.key, command.if_version) = (self.key.clone(), self.if_version);
        Ok(command)
    }
}

/// Looks for the supervisor of a run, which is asked for before a run is ended by hand.
fn supervisor(ledger: &Ledger, id: EntityId) -> Result<Option<SupervisorSeen>, Error> {
    if id.kind() != Kind::Session {
        return Ok(None);
    }
    let host = Host::this();
    let stored = ledger.entity(id).map_err(Error::Ask)?;
    Ok(stored.map(|stored| supervisor_seen(&stored, &Viewpoint::present(clock::now(), &host))))
}

fn facts(pairs: &[(String, String)]) -> Facts {
    let mut facts = Facts::none();
    for (name, text) in pairs {
        facts.set(name.clone(), serde_json::from_str(text).unwrap_or_else(|_| Value::Text(text.clone())));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_reads_as_json_and_text_otherwise() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let facts = facts(&[pair("a", "2"), pair("b", "two"), pair("c", r#"{"d":[true]}"#), pair("e", "")]);
        assert_eq!(serde_json::to_string(&facts).unwrap(), r#"{"a":2,"b":"two","c":{"d":[true]},"e":""}"#);
    }
}
