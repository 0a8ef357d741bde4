//! Who was given access to the API: each token that is made or revoked is a record.
//!
//! Invariant: a token is recorded before it opens anything, with who made it, what it opens and until when, and never with the
//! token itself. That of an agent is recorded on its run, the others on one claim of the store. Deliberately absent: the
//! tokens, of which the server keeps hashes.

use std::collections::{BTreeMap, BTreeSet};

use callboard_kernel::{Command, Create, EntityId, Facts, Moment, Observe, Order, RefusalCode, fact};
use callboard_ledger::{AppendError, Ledger, Page, Record, Request};
use callboard_lifecycle::Kind;
use callboard_lifecycle::claim::ClaimStatus;
use callboard_server::{IssuedToken, Scope};

use crate::error::Error;
use crate::input::ids;
use crate::store::sending;

/// What the claim is called on which tokens are recorded that are for no run.
const TITLE: &str = "tokens of this store";

/// What was done with a token.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Created,
    /// It was recorded as made, and could not be kept.
    NotKept,
    Revoked,
}

impl Act {
    const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::NotKept => "not kept",
            Self::Revoked => "revoked",
        }
    }
}

/// A token, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant<'a> {
    pub(crate) id: &'a str,
    pub(crate) scope: Scope,
    pub(crate) expires: Option<Moment>,
}

/// Records what was done with a token; gives the number of the record.
pub(crate) fn record(ledger: &Ledger, act: Act, grant: Grant<'_>, now: Moment) -> Result<u64, Error> {
    let (name, run) = match grant.scope {
        Scope::Operator => ("operator", None),
        Scope::Viewer => ("viewer", None),
        Scope::Agent(run) => ("agent", Some(run)),
    };
    let mut told = Facts::none().and(fact::ACT, act.word()).and(fact::ID, grant.id).and(fact::SCOPE, name);
    if let Some(run) = run {
        told.record(fact::RUN, run.to_string());
    }
    if let Some(expires) = grant.expires {
        told.record(fact::EXPIRES_AT, expires);
    }
    let on = match run {
        Some(run) => run,
        None => begun(ledger, now)?,
    };
    let data = Facts::none().and(fact::GRANT, told);
    append(ledger, on, Order::Observe(Observe { reasons: Vec::new(), data }), now)
}

/// The claim on which tokens are recorded that are for no run.
fn begun(ledger: &Ledger, now: Moment) -> Result<EntityId, Error> {
    let id = of_the_store();
    if ledger.entity(id).map_err(Error::Ask)?.is_some() {
        return Ok(id);
    }
    let data = Facts::none().and(fact::TITLE, TITLE);
    let create = Create { at: ClaimStatus::Observed.into(), reasons: Vec::new(), data };
    match append(ledger, id, Order::Create(create), now) {
        // Somebody else was faster.
        Err(Error::Refused(refusal)) if refusal.code == RefusalCode::Exists => Ok(id),
        done => done.map(|_| id),
    }
}

fn of_the_store() -> EntityId {
    ids::of_key(Kind::Claim, TITLE)
}

fn append(ledger: &Ledger, id: EntityId, order: Order, now: Moment) -> Result<u64, Error> {
    let actor = sending::actor(ledger)?;
    let request = Request { command: Command::new(id, order), actor, now, cause: None };
    match ledger.append(request) {
        Ok(receipt) => Ok(receipt.record.seq),
        Err(AppendError::Refused(refusal)) => Err(Error::Refused(refusal)),
        Err(AppendError::Fault(fault)) => Err(Error::Append(fault)),
    }
}

/// The record of what was done with a token, and who did it.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Told {
    pub(crate) record: u64,
    pub(crate) by: String,
}

/// What is read of a record that may tell of a token.
#[derive(serde::Deserialize)]
struct Body {
    #[serde(default)]
    data: Facts,
}

/// What is recorded of tokens: who made each, and who revoked it.
#[derive(Default)]
pub(crate) struct Grants {
    made: BTreeMap<String, Told>,
    revoked: BTreeMap<String, Told>,
}

impl Grants {
    /// Reads what is recorded of these tokens.
    pub(crate) fn read(ledger: &Ledger, tokens: &[IssuedToken]) -> Result<Self, Error> {
        let mut on = BTreeSet::from([of_the_store()]);
        on.extend(tokens.iter().filter_map(|token| match token.scope {
            Scope::Agent(run) => Some(run),
            Scope::Operator | Scope::Viewer => None,
        }));
        let mut found = Self::default();
        for id in on {
            let page = Page { after: 0, limit: usize::MAX, scope: callboard_ledger::RecordScope::Entity(id) };
            for record in ledger.records(page).map_err(Error::Ask)? {
                found.take(&record);
            }
        }
        Ok(found)
    }

    fn take(&mut self, record: &Record) {
        let Ok(Body { data }) = serde_json::from_str(&record.body) else { return };
        let Some(grant) = data.read(fact::GRANT) else { return };
        let (Some(act), Some(id)) = (grant.read(fact::ACT), grant.read(fact::ID)) else { return };
        let told = Told { record: record.seq, by: record.actor_id.clone() };
        let into = if act == Act::Created.word() { &mut self.made } else { &mut self.revoked };
        into.entry(id.to_owned()).or_insert(told);
    }

    /// The record of making a token.
    pub(crate) fn made(&self, id: &str) -> Option<&Told> {
        self.made.get(id)
    }

    /// The record of revoking it.
    pub(crate) fn revoked(&self, id: &str) -> Option<&Told> {
        self.revoked.get(id)
    }
}
