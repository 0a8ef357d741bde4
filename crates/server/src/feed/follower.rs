//! Follows the ledger and fills the ring, once for all listeners.
//!
//! Invariant: whoever writes, in this process or another one, what is committed gets into the ring in the order of the
//! log. A store that is away for a while is waited for. Deliberately absent: who listens.

use std::sync::Arc;
use std::time::Duration;

use callboard_ledger::{Ledger, Page, ReadError, Scope};
use tokio::sync::watch;

use super::frames::Frames;
use super::ring::Ring;

/// Records read at once.
const PAGE: usize = 1000;
/// How long the log is waited for before a look whether the server is to stop.
const WAIT: Duration = Duration::from_millis(250);
/// How long a store that failed is left alone.
const PAUSE: Duration = Duration::from_millis(200);

/// The feed: the ring, and news of its head.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) ring: Arc<Ring>,
    pub(crate) news: watch::Receiver<u64>,
}

/// Starts following behind the newest record, on a thread of its own that ends when the server is to stop.
pub(crate) fn follow(
    ledger: &Ledger,
    stopping: watch::Receiver<bool>,
) -> Result<(Feed, std::thread::JoinHandle<()>), FollowError> {
    let head = ledger.head()?;
    let (tell, news) = watch::channel(head);
    let ring = Arc::new(Ring::after(head));
    let feed = Feed { ring: Arc::clone(&ring), news };
    let ledger = ledger.clone();
    let thread = std::thread::Builder::new().name("feed".to_owned()).spawn(move || {
        while !*stopping.borrow() {
            if let Err(_away) = advance(&ledger, &ring, &tell) {
                std::thread::sleep(PAUSE);
            }
        }
    })?;
    Ok((feed, thread))
}

/// Why nobody follows.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("failed to start the thread of the feed")]
    Thread(#[from] std::io::Error),
}

fn advance(ledger: &Ledger, ring: &Ring, tell: &watch::Sender<u64>) -> Result<(), ReadError> {
    let end = ledger.wait_beyond(ring.head(), WAIT)?;
    while ring.head() < end {
        let records = ledger.records(Page { after: ring.head(), limit: PAGE, scope: Scope::All })?;
        if records.is_empty() {
            break;
        }
        ring.push(Frames::of(&records));
        tell.send_replace(ring.head());
    }
    Ok(())
}
