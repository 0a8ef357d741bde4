//! `callboard heartbeat`: says from inside a run that it lives, and what it is doing.
//!
//! Invariant: a heartbeat is a record of the run and moves nothing; it counts as a sign of life, and with `--progress` as
//! progress. Inside of a run its supervisor hears of it too. Deliberately absent: doing it for somebody else's run unnoticed; who said it is in the record.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use callboard_kernel::{Actor, Command, Facts, Observe, Order, fact};
use callboard_ledger::{AppendError, Request};
use callboard_lifecycle::ActorClass;
use clap::Args;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending;

/// Say from inside a run that it lives.
///
/// Inside a run the id is known from the environment and need not be given, and the run is not silent while it says this.
#[derive(Args, Debug)]
pub(crate) struct HeartbeatArgs {
    /// The run, if it is not the one this is called from.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Something came of it: it gets on, and not only lives.
    #[arg(long)]
    progress: bool,
    /// What it is doing, in a few words.
    #[arg(long, value_name = "TEXT")]
    status: Option<String>,
    /// The record as JSON.
    #[arg(long)]
    json: bool,
}

impl HeartbeatArgs {
    /// Records it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let typed = self.id.clone().or_else(own_run).ok_or_else(|| Error::CommandLine {
            because: "no run is named, and this is not called from inside one".to_owned(),
            instead: "callboard heartbeat ID".to_owned(),
        })?;
        let ledger = match store.open_existing() {
            // Its supervisor is reached all the same, and counts and records that it lives.
            Err(Error::InSandbox(_)) if self.id.is_none() && tell_supervisor(self.status.as_deref()) => {
                return Ok(Exit::DONE);
            }
            opened => opened?,
        };
        let id = ids::find(&ledger, &typed)?;
        let now = clock::now();
        let mut data = Facts::none().and(fact::HEARTBEAT_AT, now);
        if self.progress {
            data.record(fact::LAST_PROGRESS_AT, now);
        }
        if let Some(status) = &self.status {
            data.record(fact::STATUS, status.as_str());
        }
        let command = Command::new(id, Order::Observe(Observe { reasons: Vec::new(), data }));
        let actor = Actor::new(ActorClass::Agent, own_run().unwrap_or(typed));
        match ledger.append(Request { command, actor, now, cause: None }) {
            Ok(receipt) => {
                if own_run().as_deref() == Some(&id.to_string()) {
                    tell_supervisor(None);
                }
                if self.json {
                    screen.data_line(&sending::json(&receipt.record)?)?;
                }
            }
            Err(AppendError::Refused(refusal)) => return Err(Error::Refused(refusal)),
            Err(AppendError::Fault(fault)) => return Err(Error::Append(fault)),
        }
        Ok(Exit::DONE)
    }
}

/// Tells the supervisor that the run is not silent: its clocks do not read the log. A run without such a socket is left as it
/// is; the heartbeat is recorded all the same.
fn tell_supervisor(status: Option<&str>) -> bool {
    let Ok(socket) = std::env::var("NOTIFY_SOCKET") else { return false };
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&socket),
    };
    let sender = UnixDatagram::unbound();
    let status = status.map(|status| format!("\nSTATUS={}", status.replace(['\n', '\r'], " ")));
    let words = format!("WATCHDOG=1{}", status.unwrap_or_default());
    address.and_then(|address| sender?.send_to_addr(words.as_bytes(), &address)).is_ok()
}

/// The run this program was started in: the innermost one.
pub(crate) fn own_run() -> Option<String> {
    sending::seen_around()?.marker
}
