//! `callboard token`: tokens for the API, and links that let a browser in.
//!
//! Invariant: a token is printed once, when it is made; only its hash is kept. A link is made from the operator's token,
//! which only the user can read, and works with a server that runs already. Deliberately absent: printing the operator's
//! token.

use std::net::SocketAddr;
use std::time::Duration;

use callboard_kernel::Moment;
use callboard_server::{IssuedToken, Keyring, Scope, address_in, page, start_in};
use clap::{Args, Subcommand, ValueEnum};

use crate::clock;
use crate::error::{Error, Exit};
use crate::ids;
use crate::screen::Screen;
use crate::sending::need_person;
use crate::store::Store;
use crate::table::{Cell, Column, Table};
use crate::when::{absolute, span};
use crate::word::Reading;

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
        let keys = |error| Error::Serve(callboard_server::ServeError::Keys(error));
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
                let now = clock::now();
                ring.issue(scope, now, Some(now.plus(*expires))).map_err(keys)?
            }
            TokenCommand::List { json } => {
                let tokens = ring.list().map_err(keys)?;
                return match json {
                    true => screen.json(&tokens),
                    false => screen.print(&screen.table(&table(&tokens, clock::now()))),
                }
                .map(|()| Exit::DONE);
            }
            TokenCommand::Revoke { id } => {
                return match ring.revoke(id, clock::now()).map_err(keys)? {
                    true => Ok(Exit::DONE),
                    false => Err(Error::NoEntity(id.clone())),
                };
            }
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

/// The tokens as a table; what opens nothing any more says why.
fn table(tokens: &[IssuedToken], now: Moment) -> Table {
    let columns = [
        Column::names("id", 0),
        Column::names("opens", 1),
        Column::names("made", 3),
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
            Cell::text(when(token.expires_at)),
            Cell::text(when(token.last_used_at)),
            Cell::text(state),
        ]
    };
    Table::new(columns, tokens.iter().map(row).collect())
}
