//! What a command tried that its sandbox noticed: the hosts it asked for, and the system calls that were refused.
//!
//! Invariant: bounded, whatever the command does: the same thing twice is one entry with a count, and what is new beyond the
//! bound is only counted. Whoever watches the run is woken for what was refused for the first time, and not for each time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::watching::waker::Wake;

/// The most hosts that are listed: as many that were refused, and as many others.
const HOSTS_MAX: usize = 64;

/// What a command tried that its sandbox noticed, in the order in which it was first tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// When this was read, from the start of the run.
    pub at: Duration,
    /// The hosts that it asked the proxy for.
    pub hosts: Vec<HostSeen>,
    /// How often it asked for further hosts, which are not listed.
    pub more_hosts: u64,
    /// The system calls that were refused; none if they are not told to us.
    pub calls: Option<Vec<CallSeen>>,
}

/// A system call that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSeen {
    /// Its name; of a socket, with its kind.
    pub name: &'static str,
    /// How often.
    pub count: u64,
    /// When for the first time, from the start of the run.
    pub first: Duration,
}

/// A host that a command asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSeen {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What became of it.
    pub outcome: Outcome,
    /// How often.
    pub count: u64,
    /// When for the first time, from the start of the run.
    pub first: Duration,
}

/// What became of a request for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was connected.
    Allowed,
    /// It may be reached, and could not be: no address, or no answer.
    Failed,
    /// It is not listed.
    NotListed,
    /// It is listed, and its name led only to addresses inside that are not.
    Inward,
}

impl Outcome {
    /// Its name, as it is recorded.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Failed => "failed",
            Self::NotListed => "not_listed",
            Self::Inward => "inward",
        }
    }

    /// Was it refused?
    #[must_use]
    pub const fn is_refused(self) -> bool {
        match self {
            Self::NotListed | Self::Inward => true,
            Self::Allowed | Self::Failed => false,
        }
    }
}

/// Where those who notice something write it down.
#[derive(Debug)]
pub(crate) struct Notebook {
    started: Instant,
    wake: Arc<Wake>,
    pages: Mutex<Sightings>,
}

impl Notebook {
    pub(crate) fn new(wake: Arc<Wake>) -> Self {
        Self { started: Instant::now(), wake, pages: Mutex::default() }
    }

    pub(crate) fn read(&self) -> Sightings {
        Sightings { at: self.started.elapsed(), ..self.pages().clone() }
    }

    fn pages(&self) -> MutexGuard<'_, Sightings> {
        // The lists are whole at every moment.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that refused calls are told to us.
    pub(super) fn listens(&self) {
        self.pages().calls.get_or_insert_default();
    }

    /// Notes a call that is refused. There are only so many names.
    pub(super) fn call(&self, name: &'static str) {
        let first = self.started.elapsed();
        let mut pages = self.pages();
        let calls = pages.calls.get_or_insert_default();
        if let Some(seen) = calls.iter_mut().find(|seen| seen.name == name) {
            seen.count = seen.count.saturating_add(1);
            return;
        }
        calls.push(CallSeen { name, count: 1, first });
        drop(pages);
        self.wake.sighted();
    }

    /// Notes what became of a request for a host.
    pub(super) fn host(&self, host: &str, port: u16, outcome: Outcome) {
        let mut pages = self.pages();
        let is_same =
            |seen: &&mut HostSeen| seen.port == port && seen.outcome == outcome && seen.host == host;
        if let Some(seen) = pages.hosts.iter_mut().find(is_same) {
            seen.count = seen.count.saturating_add(1);
            return;
        }
        let is_alike = |seen: &&HostSeen| seen.outcome.is_refused() == outcome.is_refused();
        if pages.hosts.iter().filter(is_alike).count() >= HOSTS_MAX {
            pages.more_hosts = pages.more_hosts.saturating_add(1);
            return;
        }
        let first = self.started.elapsed();
        pages.hosts.push(HostSeen { host: host.to_owned(), port, outcome, count: 1, first });
        drop(pages);
        if outcome.is_refused() {
            self.wake.sighted();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_host_is_one_entry_and_the_list_is_bounded() {
        let notebook = Notebook::new(Arc::new(Wake::new().unwrap()));
        for number in 0..200 {
            notebook.host("a.example", 443, Outcome::Allowed);
            notebook.host(&format!("{number}.evil"), 443, Outcome::NotListed);
        }
        let Sightings { hosts, more_hosts, .. } = notebook.read();
        assert_eq!((hosts.len(), more_hosts), (1 + HOSTS_MAX, 200 - HOSTS_MAX as u64));
        assert_eq!((hosts[0].host.as_str(), hosts[0].count), ("a.example", 200));
        assert!(notebook.wake.take().sighted && !notebook.wake.take().sighted);
    }
}
