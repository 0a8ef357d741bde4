//! `callboard task heartbeat`: keeps the lease of a task.

use std::time::Duration;

use clap::Args;

use super::holder::{HolderArgs, LEASE};
use crate::error::{Error, Exit};
use crate::input::moment::span;
use crate::input::word::Reading;
use crate::show::screen::Screen;
use crate::store::Store;

/// Say that the holder of a task is there: its lease goes on.
///
/// No record is made. A lease that has ended cannot be renewed.
#[derive(Args, Debug)]
pub(crate) struct HeartbeatArgs {
    #[command(flatten)]
    holder: HolderArgs,
    /// How long the lease lasts from now on.
    #[arg(long, value_name = "SPAN", default_value = LEASE, value_parser = Reading(span))]
    lease: Duration,
}

impl HeartbeatArgs {
    /// Renews it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        self.holder.act(screen, store, |asking, hold| asking.heartbeat(hold, self.lease).map(drop))
    }
}
