//! `callboard token`: tokens for the API, and links that let a browser in.
//!
//! Invariant: a token is printed once, when it is made; only its hash is kept. A link is made from the operator's token,
//! which only the user can read, and works with a server that runs already. Deliberately absent: printing the operator's
//! token.

use std::net::SocketAddr;

use callboard_server::{Keyring, Scope, address_in, page};
use clap::{Args, Subcommand, ValueEnum};

use super::serve;
use crate::clock;
use crate::error::{Error, Exit};
use crate::ids;
use crate::screen::Screen;
use crate::store::Store;

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
    },
    /// Print a link that lets a browser in once, within a minute.
    Link {
        /// Where the server listens; where the one that was last started on this store does unless given.
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
        let keys = |error| Error::Serve(callboard_server::ServeError::Keys(error));
        let state_dir = store.state_dir()?;
        let ring = Keyring::open(&state_dir).map_err(keys)?;
        let line = match &self.command {
            TokenCommand::Create { scope, run } => {
                let scope = match (scope, run) {
                    (Wanted::Operator, _) => Scope::Operator,
                    (Wanted::Viewer, _) => Scope::Viewer,
                    (Wanted::Agent, run) => {
                        let typed = run.as_deref().unwrap_or_default();
                        Scope::Agent(ids::find(&store.open_existing()?, typed)?)
                    }
                };
                ring.issue(scope, clock::now()).map_err(keys)?
            }
            TokenCommand::Link { listen } => {
                let code = ring.login_code(clock::now()).map_err(keys)?;
                let listens = listen.or_else(|| address_in(&state_dir)).unwrap_or(serve::LISTEN);
                format!("{}login?once={code}", page(listens))
            }
        };
        screen.data_line(&line)?;
        Ok(Exit::DONE)
    }
}
