//! This host's process table, as the judge asks it.
//!
//! Invariant: a host without a readable process table sees nothing and says so by knowing nobody; then nothing is judged
//! dead from here.

use callboard_kernel::health::{Here, ProcessIdentity, Sighting};
use callboard_supervisor::{Identity, process};

use crate::mutant;
use crate::sight::ProcessTable;

/// The host this program runs on.
#[derive(Debug)]
pub struct Host {
    here: Here,
}

impl Host {
    /// This host, as it calls itself.
    #[must_use]
    pub fn this() -> Self {
        let here = process::this().map(|this| Here { host: this.host, boot: this.boot });
        Self { here: here.unwrap_or(Here { host: String::new(), boot: String::new() }) }
    }
}

impl ProcessTable for Host {
    fn here(&self) -> &Here {
        &self.here
    }

    fn look(&self, pid: u32) -> Sighting {
        if mutant::removed("see_the_dead") {
            return Sighting::NotLooked;
        }
        match process::of(pid) {
            Ok(Some(seen)) if process::look(&seen).is_ok_and(|now| now == process::Sighting::Zombie) => {
                Sighting::Gone
            }
            Ok(Some(seen)) => Sighting::Seen { started_ticks: seen.started_ticks },
            Ok(None) => Sighting::Gone,
            Err(_) => Sighting::NotLooked,
        }
    }
}

/// A recorded process as the supervisor names it.
pub(crate) fn identity(process: &ProcessIdentity) -> Identity {
    Identity {
        host: process.host.clone(),
        boot: process.boot.clone(),
        pid: process.pid,
        started_ticks: process.started_ticks,
    }
}
