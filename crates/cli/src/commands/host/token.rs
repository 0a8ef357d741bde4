//! `callboard token`: tokens for the API, and links that let a browser in.
//!
//! Invariant: a token is printed once, when it is made; only its hash is kept. Making one and revoking it are records. A link is made from the operator's token,
//! which only the user can read, and works with a server that runs already. Deliberately absent: printing the operator's
//! token.

use std::net::SocketAddr;
use std::time::Duration;

use callboard_kernel::{Moment, one_line};
use callboard_ledger::Ledger;
use callboard_server::{IssuedToken, KeyError, Keyring, Scope, address_in, page, start_in};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids;
use crate::input::moment::{absolute, span};
use crate::input::word::Reading;
use crate::show::screen::Screen;
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;
use crate::store::grants::{self, Act, Grant, Grants, Told};
use crate::store::sending::need_person;

/// Make tokens for the API, and links that let a browser in.
#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it; it cannot be shown again.
    Create {
        /// What it opens.
        #[arg(long, value_enum)]
        scope: Wanted,
        /// The run that an agent's token is bound to; the token ends with it.
        #[arg(long, value_name = "ID", required_if_eq("scope", "agent"))]
        run: Option<String>,
        /// How long it opens anything, such as 12h or 90d.
        #[arg(long, value_name = "SPAN", default_value = "90d", value_parser = Reading(span))]
        expires: Duration,
    },
    /// List the tokens that were made, without the tokens themselves.
    List {
        /// One JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Take a token back; it opens nothing any more from then on.
    Revoke {
        /// Its id, as `callboard token list` shows it.
        #[arg(value_name = "TOKEN_ID")]
        id: String,
    },
    /// Print a link that lets a browser in once, within a minute.
    Link {
        /// Where the server that was last started on this store is reached; where it listens unless given.
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<SocketAddr>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wanted {
    /// Everything.
    Operator,
    /// Looking at everything.
    Viewer,
    /// Looking at one run, and saying that it lives.
    Agent,
}

impl TokenArgs {
    /// Makes what was asked for.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        if !matches!(self.command, TokenCommand::List { .. }) {
            need_person("making a token or a link, or revoking one", store.open_existing().ok().as_ref())?;
        }
        let state_dir = store.state_dir()?;
        let ring = Keyring::open(&state_dir).map_err(keys)?;
        let line = match &self.command {
            TokenCommand::Create { scope, run, expires } => {
                let scope = match (scope, run) {
                    (Wanted::Operator, _) => Scope::Operator,
                    (Wanted::Viewer, _) => Scope::Viewer,
                    (Wanted::Agent, run) => {
                        let typed = run.as_deref().unwrap_or_default();
                        Scope::Agent(ids::find(&store.open_existing()?, typed)?)
                    }
                };
                create(&store.open()?, &ring, scope, *expires)?
            }
            TokenCommand::List { json } => return list(screen, store, &ring, *json),
            TokenCommand::Revoke { id } => return revoke(store, &ring, id),
            TokenCommand::Link { listen } => {
                let (Some(start), Some(address)) = (start_in(&state_dir), address_in(&state_dir)) else {
                    return Err(Error::CommandLine {
                        because: "no server runs on this store, so no link would open anything".to_owned(),
                        instead: "callboard serve, which prints a link".to_owned(),
                    });
                };
                let code = ring.login_code(&start, clock::now()).map_err(keys)?;
                format!("{}login?once={code}", page(listen.unwrap_or(address), &ring.page_name()))
            }
        };
        screen.data_line(&line)?;
        Ok(Exit::DONE)
    }
}

fn keys(error: KeyError) -> Error {
    Error::Serve(callboard_server::ServeError::Keys(error))
}

/// Makes a token. It is recorded first: one that nobody knows of must not open anything.
fn create(ledger: &Ledger, ring: &Keyring, scope: Scope, expires: Duration) -> Result<String, Error> {
    let now = clock::now();
    let expires = Some(now.plus(expires));
    let new = ring.make(scope, now, expires).map_err(keys)?;
    let id = new.id.clone();
    let grant = Grant { id: &id, scope, expires };
    grants::record(ledger, Act::Created, grant, now)?;
    ring.keep(new).map_err(|error| {
        // What could not be kept opens nothing; the record of it must not stand alone.
        drop(grants::record(ledger, Act::NotKept, grant, clock::now()));
        keys(error)
    })
}

/// Takes a token back. It opens nothing any more even if that cannot be recorded.
fn revoke(store: &Store, ring: &Keyring, id: &str) -> Result<Exit, Error> {
    let tokens = ring.list().map_err(keys)?;
    let Some(token) = tokens.iter().find(|token| token.id == id) else {
        return Err(Error::NoEntity(id.to_owned()));
    };
    ring.revoke(id, clock::now()).map_err(keys)?;
    let grant = Grant { id, scope: token.scope, expires: token.expires_at };
    grants::record(&store.open()?, Act::Revoked, grant, clock::now())?;
    Ok(Exit::DONE)
}

/// A token with what is recorded of it.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    token: &'a IssuedToken,
    /// The record of making it; nothing if there is none.
    made: Option<&'a Told>,
    /// The record of revoking it.
    revoked: Option<&'a Told>,
}

fn list(screen: &Screen, store: &Store, ring: &Keyring, json: bool) -> Result<Exit, Error> {
    let tokens = ring.list().map_err(keys)?;
    let grants = match store.open_existing() {
        Ok(ledger) => Grants::read(&ledger, &tokens)?,
        // Tokens can be older than the store.
        Err(Error::NoStore(_)) => Grants::default(),
        Err(error) => return Err(error),
    };
    if json {
        let listed = tokens.iter().map(|token| Listed {
            made: grants.made(&token.id),
            revoked: grants.revoked(&token.id),
            token,
        });
        screen.json(&listed.collect::<Vec<_>>())?;
    } else {
        screen.print(&screen.table(&table(&tokens, &grants, clock::now())))?;
    }
    Ok(Exit::DONE)
}

/// The tokens as a table; what opens nothing any more says why.
fn table(tokens: &[IssuedToken], grants: &Grants, now: Moment) -> Table {
    let columns = [
        Column::names("id", 0),
        Column::names("opens", 1),
        Column::names("made", 3),
        Column::names("recorded", 2),
        Column::names("until", 2),
        Column::names("last used", 2),
        Column::names("state", 1),
    ];
    let row = |token: &IssuedToken| {
        let opens = match token.scope {
            Scope::Operator => "operator".to_owned(),
            Scope::Viewer => "viewer".to_owned(),
            Scope::Agent(run) => format!("agent {run}"),
        };
        let state = match token {
            IssuedToken { is_void: true, .. } => "void: the operator's token was replaced".to_owned(),
            IssuedToken { revoked_at: Some(at), .. } => format!("revoked {}", absolute(*at)),
            IssuedToken { expires_at: Some(at), .. } if *at <= now => "expired".to_owned(),
            IssuedToken { .. } => "open".to_owned(),
        };
        let when = |at: Option<Moment>| at.map_or_else(|| "-".to_owned(), absolute);
        [
            Cell::text(token.id.as_str()),
            Cell::text(opens),
            Cell::text(absolute(token.made_at)),
            Cell::text(match grants.made(&token.id) {
                Some(told) => format!("{} by {}", told.record, one_line(&told.by)),
                None => "no".to_owned(),
            }),
            Cell::text(when(token.expires_at)),
            Cell::text(when(token.last_used_at)),
            Cell::text(state),
        ]
    };
    Table::new(columns, tokens.iter().map(row).collect())
}
