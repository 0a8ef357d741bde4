//! The way between one host and the server, on a loopback port, and what can go wrong on it.
//!
//! Invariant: a stream that lost a byte is never used again, as no network would go on with it: it is cut at the latest
//! when the way heals. What the way does to one commit it does exactly once. Deliberately absent: deciding when;
//! `nemesis` does that.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

/// What the way does with what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It carries it.
    Open,
    /// It swallows everything and says nothing.
    Silent,
    /// It carries requests and swallows answers.
    Deaf,
    /// It holds everything back until it heals, and delivers it then.
    Stalled,
    /// It cuts what there is and lets nobody in.
    Shut,
    /// It does something to the next commit, once.
    Commit(Astray),
}

/// What becomes of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Astray {
    /// It is carried out, and the answer is lost.
    LosesTheAnswer,
    /// The same, and nobody is let in until the way heals.
    LosesTheAnswerAndShuts,
    /// It is lost before it arrives.
    LosesTheRequest,
    /// The client is cut off, and the request arrives this many milliseconds later.
    DeliversLate(u64),
}

/// A way to the server.
pub(crate) struct Proxy {
    port: u16,
    link: Arc<Link>,
}

/// What the connections of one way share.
struct Link {
    way: Mutex<Way>,
    changed: Condvar,
    connections: Mutex<Vec<Arc<Connection>>>,
    server: PathBuf,
    is_over: AtomicBool,
}

/// One connection through the proxy.
struct Connection {
    client: TcpStream,
    server: UnixStream,
    /// Its answers are swallowed until the commit is done; then it is cut.
    is_deaf: AtomicBool,
    /// The client is gone, and somebody still delivers to the server.
    is_late: AtomicBool,
}

/// Every record that is sent to be written names its actor, and nothing else does: who sees it sees a commit.
pub(crate) const MARK: &[u8] = b"host/1";
/// The server says so when no transaction is open any more.
const READY: &[u8] = b"Z\0\0\0\x05I";

impl Proxy {
    /// Opens a way to the server's socket.
    pub(crate) fn start(server: &Path) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the proxy")?;
        let port = listener.local_addr()?.port();
        let link = Arc::new(Link {
            way: Mutex::new(Way::Open),
            changed: Condvar::new(),
            connections: Mutex::default(),
            server: server.to_owned(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&link);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A server that is down refuses, and so does the way to it.
                drop(accepting.admit(client));
            }
        });
        Ok(Self { port, link })
    }

    /// The URL of a database on the other side.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// From here on the way does this.
    pub(crate) fn turn(&self, way: Way) {
        *self.link.way() = way;
        self.link.changed.notify_all();
        if way == Way::Shut {
            self.link.cut();
        }
    }

    /// Waits until the way did what it was to do to a commit; false if none came by in time.
    pub(crate) fn went_astray(&self, limit: Duration) -> bool {
        let is_armed = |way: &mut Way| matches!(way, Way::Commit(_));
        let waited = self.link.changed.wait_timeout_while(self.link.way(), limit, is_armed);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The way is open again; what has lost something is cut.
    pub(crate) fn heal(&self) {
        let was = std::mem::replace(&mut *self.link.way(), Way::Open);
        self.link.changed.notify_all();
        match was {
            Way::Silent | Way::Deaf | Way::Shut => self.link.cut(),
            Way::Open | Way::Stalled | Way::Commit(_) => {}
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.link.is_over.store(true, Ordering::SeqCst);
        self.turn(Way::Shut);
        // Wakes the thread that accepts, so that it sees that it is over; if that fails it is gone already.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Link {
    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts every connection.
    fn cut(&self) {
        for connection in self.connections().drain(..) {
            connection.cut();
        }
    }

    /// What the way does, once it does not hold things back.
    fn carries(&self) -> Way {
        let stalled = |way: &mut Way| *way == Way::Stalled;
        *self.changed.wait_while(self.way(), stalled).unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(self: &Arc<Self>, client: TcpStream) -> std::io::Result<()> {
        if *self.way() == Way::Shut {
            return Ok(());
        }
        let server = UnixStream::connect(&self.server)?;
        client.set_nodelay(true)?;
        let (requests, answers) = (client.try_clone()?, server.try_clone()?);
        let connection = Arc::new(Connection {
            client,
            server,
            is_deaf: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
        });
        let mut connections = self.connections();
        // Nobody else holds those that have ended.
        connections.retain(|connection| Arc::strong_count(connection) > 1);
        connections.push(Arc::clone(&connection));
        drop(connections);
        let (link, going) = (Arc::clone(self), Arc::clone(&connection));
        std::thread::spawn(move || link.carry_requests(requests, &going));
        let link = Arc::clone(self);
        std::thread::spawn(move || link.carry_answers(answers, &connection));
        Ok(())
    }

    fn carry_requests(&self, mut from: TcpStream, connection: &Connection) {
        let mut bytes = vec![0; 65536];
        while let Some(length) = read(&mut from, &mut bytes) {
            let request = &bytes[..length];
            // A commit that is to lose its answer still arrives whole, whatever else the way does.
            let way = if connection.is_deaf.load(Ordering::SeqCst) { Way::Open } else { self.carries() };
            match way {
                Way::Silent => continue,
                Way::Shut => break,
                // Two commits may come by at once; only the first is meant.
                Way::Commit(astray) if is_commit(request) && self.take(astray) => {
                    if !connection.lead_astray(astray, request) {
                        break;
                    }
                }
                Way::Open | Way::Deaf | Way::Commit(_) | Way::Stalled => {}
            }
            if (&connection.server).write_all(request).is_err() {
                break;
            }
        }
        connection.cut_unless_late();
    }

    /// Is it still this that the way is to do? Then it is done, and the way goes on.
    fn take(&self, astray: Astray) -> bool {
        let mut way = self.way();
        let is_meant = *way == Way::Commit(astray);
        if is_meant {
            *way = if astray == Astray::LosesTheAnswerAndShuts { Way::Shut } else { Way::Open };
            self.changed.notify_all();
        }
        is_meant
    }

    fn carry_answers(&self, mut from: UnixStream, connection: &Connection) {
        let (mut bytes, mut swallowed) = (vec![0; 65536], Vec::new());
        while let Some(length) = read(&mut from, &mut bytes) {
            if connection.is_deaf.load(Ordering::SeqCst) {
                swallowed.extend_from_slice(&bytes[..length]);
                if swallowed.windows(READY.len()).any(|window| window == READY) {
                    break;
                }
                continue;
            }
            match self.carries() {
                Way::Silent | Way::Deaf => continue,
                Way::Shut => break,
                Way::Open | Way::Commit(_) | Way::Stalled => {}
            }
            if (&connection.client).write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        connection.cut_unless_late();
    }
}

impl Connection {
    /// Does to one commit what was to be done; false if nothing of it is to be carried.
    fn lead_astray(&self, astray: Astray, request: &[u8]) -> bool {
        match astray {
            Astray::LosesTheAnswer | Astray::LosesTheAnswerAndShuts => {
                self.is_deaf.store(true, Ordering::SeqCst);
                true
            }
            Astray::LosesTheRequest => false,
            Astray::DeliversLate(millis) => {
                self.is_late.store(true, Ordering::SeqCst);
                // It fails only for a client that is gone already.
                drop(self.client.shutdown(Shutdown::Both));
                // The delay is the fault itself, so this wait is not for anything.
                std::thread::sleep(Duration::from_millis(millis));
                drop((&self.server).write_all(request));
                self.is_late.store(false, Ordering::SeqCst);
                false
            }
        }
    }

    fn cut_unless_late(&self) {
        if !self.is_late.load(Ordering::SeqCst) {
            self.cut();
        }
    }

    /// Ends both sides; each fails only if it has ended already.
    fn cut(&self) {
        drop(self.client.shutdown(Shutdown::Both));
        drop(self.server.shutdown(Shutdown::Both));
    }
}

fn is_commit(request: &[u8]) -> bool {
    request.windows(MARK.len()).any(|window| window == MARK)
}

/// The next bytes; nothing when the stream has ended.
fn read(from: &mut impl Read, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(bytes) {
            Ok(0) => return None,
            Ok(length) => return Some(length),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
