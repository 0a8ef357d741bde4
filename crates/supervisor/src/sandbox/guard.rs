//! Who watches a sandbox from outside: takes what the child hands over, serves the proxy, and answers the kernel about refused
//! calls.
//!
//! Invariant: it lives as long as the run does and waits for nobody but the child; what it notices is in the notebook
//! before the command is answered.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::calls::{Asked, Calls};
use super::handover::{self, Giver, Purpose, Taken, Taker};
use super::hosts::AllowedHost;
use super::proxy::Proxy;
use super::sightings::{Notebook, Sightings};
use crate::watching::waker::Wake;

const STACK_BYTES: usize = 64 * 1024;

/// Who watches a sandbox; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    notebook: Arc<Notebook>,
    over: Arc<OwnedFd>,
    /// The proxy, where it listens outside of the sandbox.
    _outside: Option<Proxy>,
}

/// Where the proxy listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    /// In the network namespace of the command, where the child makes the socket.
    Inside,
    /// On the loopback device of the host.
    Outside,
}

impl Guard {
    /// Begins to watch: the guard, the end of the child, and the port of the proxy if there is one.
    pub(super) fn begin(
        proxied: Option<(&[AllowedHost], Listening)>,
        wake: Arc<Wake>,
    ) -> io::Result<(Self, Giver, Option<u16>)> {
        let notebook = Arc::new(Notebook::new(wake));
        let (giver, taker) = handover::pair()?;
        let over = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (mut outside, mut port, mut inside) = (None, None, None);
        match proxied {
            Some((hosts, Listening::Inside)) => {
                (port, inside) = (Some(super::mounts::PROXY_PORT), Some(hosts.to_vec()));
            }
            Some((hosts, Listening::Outside)) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                port = Some(listener.local_addr()?.port());
                outside = Some(Proxy::start(listener, hosts.to_vec(), Arc::clone(&notebook))?);
            }
            None => {}
        }
        let post =
            Post { taker: Some(taker), inside, proxy: None, calls: None, notebook: Arc::clone(&notebook) };
        let until = Arc::clone(&over);
        std::thread::Builder::new()
            .name("guard".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || post.watch(&until))?;
        Ok((Self { notebook, over, _outside: outside }, giver, port))
    }

    /// What it has noticed.
    pub(crate) fn sightings(&self) -> Sightings {
        self.notebook.read()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It cannot be full: it is rung once.
        rustix::io::write(&*self.over, &1u64.to_ne_bytes()).ok();
    }
}

/// What the thread of a guard holds.
struct Post {
    taker: Option<Taker>,
    /// The hosts, until the socket for the proxy has come.
    inside: Option<Vec<AllowedHost>>,
    proxy: Option<Proxy>,
    /// Where the kernel asks about refused calls.
    calls: Option<Calls>,
    notebook: Arc<Notebook>,
}

impl Post {
    /// The life of the thread.
    fn watch(mut self, over: &OwnedFd) {
        while self.taker.is_some() || self.proxy.is_some() || self.calls.is_some() {
            // A command that makes refused calls without end waits for its answers; everybody else goes on.
            let pause = self.calls.as_ref().and_then(Calls::pause);
            let calls = self.calls.as_ref().filter(|_| pause.is_none());
            let mut waiting = vec![PollFd::new(over, PollFlags::IN)];
            waiting.extend(self.taker.as_ref().map(|taker| PollFd::new(taker, PollFlags::IN)));
            waiting.extend(calls.map(|calls| PollFd::new(calls, PollFlags::IN)));
            if poll(&mut waiting, pause.as_ref()).is_err() {
                continue;
            }
            if waiting.first().is_some_and(|waited| !waited.revents().is_empty()) {
                return;
            }
            match self.taker.as_ref().map(Taker::take) {
                Some(Taken::Descriptor(Purpose::Proxy, socket)) => self.serve(socket),
                Some(Taken::Descriptor(Purpose::Calls, asked)) => {
                    self.notebook.listens();
                    self.calls = Some(Calls::new(asked));
                }
                Some(Taken::Closed) => self.taker = None,
                Some(Taken::Nothing) | None => {}
            }
            if let Some(Asked::NoMore) = self.calls.as_mut().map(|calls| calls.answer(&self.notebook)) {
                self.calls = None;
            }
        }
    }

    fn serve(&mut self, socket: OwnedFd) {
        let Some(hosts) = self.inside.take() else { return };
        // Without one nobody answers the command, which is what it would be told anyway.
        self.proxy = Proxy::start(TcpListener::from(socket), hosts, Arc::clone(&self.notebook)).ok();
    }
}
