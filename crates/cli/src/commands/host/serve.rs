//! `callboard serve`: the dashboard, the API and the live feed over the store.
//!
//! Invariant: it ends no run when it ends, because each has a supervisor of its own. The link it prints lets a browser
//! in once; the token itself is never printed. Deliberately absent: everything behind the address.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use callboard_engine::keep_private;
use callboard_server::{Config, Server, TraceSettings};
use clap::Args;
use serde::Serialize;

use crate::clock::Real;
use crate::error::{Error, Exit, tell};
use crate::input::word::{Misread, Reading};
use crate::launch::background::Background;
use crate::launch::shim_input;
use crate::show::screen::Screen;
use crate::store::sending;
use crate::store::sending::need_person;
use crate::store::{Store, config};

/// Serve the dashboard, the API and the live feed.
///
/// Prints a link that lets a browser in once, within a minute; `callboard token link` prints another one. Stops on
/// Ctrl-C, and every run goes on.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value_t = LISTEN)]
    listen: SocketAddr,
    /// Listen where other hosts can reach it. There is no encryption: whoever can read the network between can read
    /// tokens and start programs as you. Put a proxy with TLS in front of it.
    #[arg(long)]
    allow_remote: bool,
    /// Another name it answers to, such as the name of a proxy in front of it. May be given several times.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Requests a second for each token; 0 is no limit.
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: u32,
    /// A variable of its environment that the runs it starts inherit, beside the usual ones (docs/serve.md). May be given
    /// several times.
    #[arg(long = "env", value_name = "NAME", value_parser = Reading(name_of_variable))]
    passed_on: Vec<String>,
    /// Open the page in the browser.
    #[arg(long)]
    open: bool,
    /// Print {"url","socket","page","login"} once it is ready.
    #[arg(long)]
    json: bool,
}

/// Where a server listens unless it is told otherwise.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7557);
/// How often the dead are looked for whose end the server was not told.
pub(crate) const REAP: Duration = Duration::from_secs(10);
/// The file that a browser is opened with.
const OPENED: &str = "open.html";
/// Streams at the most.
pub(crate) const STREAMS: usize = 2000;

#[derive(Serialize)]
struct Ready<'a> {
    /// For programs.
    url: &'a str,
    /// For programs of the same user.
    socket: Option<&'a Path>,
    /// For browsers.
    page: &'a str,
    login: &'a str,
}

fn name_of_variable(text: &str) -> Result<String, Misread> {
    let misread = |because: String, instead: &str| Misread { because, instead: instead.to_owned() };
    if text.is_empty() || text.contains('=') {
        let because = format!("{text:?} is no name of a variable");
        return Err(misread(because, "NAME; it has the value that it has in the environment of the server"));
    }
    if shim_input::is_withheld(text) {
        let instead = "the env field of POST /api/v1/runs gives it to one run";
        return Err(misread(format!("{text} is not passed on, because it holds a secret"), instead));
    }
    Ok(text.to_owned())
}

impl ServeArgs {
    /// Serves until it is told to stop.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open()?;
        // The link that it prints makes an operator of whoever opens it.
        need_person("serving", Some(&ledger))?;
        let server = Server::bind(Config {
            listen: self.listen,
            allow_remote: self.allow_remote,
            host_names: self.host_name.clone(),
            ledger,
            state_dir: store.state_dir()?,
            clock: Arc::new(Real),
            runner: Arc::new(Background::new(store.again(), self.passed_on.clone())),
            operator: sending::operator().id,
            rate: self.rate,
            streams: STREAMS,
            reap: Some(REAP),
            traces: TraceSettings::read(|name| std::env::var(name).ok())
                .map_err(|error| Error::Serve(error.into()))?,
            notifications: config::notifications().map_err(Error::Settings)?,
        })
        .map_err(Error::Serve)?;
        let (url, page, login) = (server.url(), server.page(), server.login().map_err(Error::Serve)?);
        if !self.listen.ip().is_loopback() {
            tell("other hosts can reach this server, and nothing it sends is encrypted\n");
        }
        if self.json {
            screen.json_line(&Ready { url: &url, socket: server.socket(), page: &page, login: &login })?;
        } else {
            screen.print(&format!("Callboard is at {page}\nOpen it once within a minute: {login}\n"))?;
        }
        if self.open {
            open(&login, &store.state_dir()?);
        }
        server.run();
        if self.open {
            // Its link opens nothing any more.
            drop(std::fs::remove_file(store.state_dir()?.join(OPENED)));
        }
        Ok(Exit::DONE)
    }
}

/// Opens a page in the browser, where somebody sits in front of one. The link lets in whoever is first, and everybody can read a
/// command line; so the browser is given a file that only the user can read, and that leads there.
#[expect(clippy::disallowed_methods, reason = "the user's browser is no run, and is not waited for")]
pub(crate) fn open(link: &str, dir: &Path) {
    let file = dir.join(OPENED);
    // The link has no character that means something else in HTML.
    let text = format!(
        "<!doctype html><meta http-equiv=refresh content=\"0; url={link}\"><a href=\"{link}\">Callboard</a>\n"
    );
    if !std::io::stderr().is_terminal() || keep_private(&file, text.as_bytes()).is_err() {
        return;
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without a browser the link is there to be copied.
    drop(command.spawn());
}
