//! Follows the ledger and fills the ring, once for all listeners.
//!
//! Invariant: whoever writes, in this process or another one, what is committed gets into the ring in the order of the
//! log. A store that is away for a while is waited for. Deliberately absent: who listens.

use std::sync::Arc;
use std::time::Duration;

use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, Page, ReadError, RecordScope};
use callboard_lifecycle::{Kind, Words};
use tokio::sync::watch;

use super::frames::Frames;
use super::looks::Looks;
use super::ring::Ring;
use crate::deaths::Deaths;

/// Records read at once.
const PAGE: usize = 1000;
/// How long the log is waited for before a look whether the server is to stop.
const WAIT: Duration = Duration::from_millis(250);
/// How long a store that failed is left alone.
const PAUSE: Duration = Duration::from_millis(200);

/// The feed: the ring, news of its head, and what changed although nothing was recorded.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) ring: Arc<Ring>,
    pub(crate) looks: Arc<Looks>,
    pub(crate) news: watch::Receiver<u64>,
}

/// Starts following behind the newest record, on a thread of its own that ends when the server is to stop. Which runs
/// moved is told to those who watch their processes.
pub(crate) fn follow(
    ledger: &Ledger,
    deaths: Arc<Deaths>,
    stopping: watch::Receiver<bool>,
) -> Result<(Feed, std::thread::JoinHandle<()>), FollowError> {
    let head = ledger.head()?;
    let (tell, news) = watch::channel(head);
    let ring = Arc::new(Ring::after(head));
    let looks = Arc::new(Looks::default());
    let feed = Feed { ring: Arc::clone(&ring), looks: Arc::clone(&looks), news };
    let ledger = ledger.clone();
    let push = move |frames: Frames| {
        let marks = frames.marks();
        let moved = marks.iter().filter(|mark| mark.moves && mark.kind == Kind::Session.name());
        deaths.moved(moved.map(|mark| EntityId::new(Kind::Session, mark.entity)));
        looks.take_back(marks.iter().map(|mark| (mark.seq, mark.entity)));
        ring.push(frames);
        tell.send_replace(ring.head());
        ring.head()
    };
    let thread = std::thread::Builder::new().name("feed".to_owned()).spawn(move || {
        let mut head = head;
        while !*stopping.borrow() {
            if let Err(_away) = advance(&ledger, &mut head, &push) {
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

fn advance(ledger: &Ledger, head: &mut u64, push: &dyn Fn(Frames) -> u64) -> Result<(), ReadError> {
    let end = ledger.wait_beyond(*head, WAIT)?;
    while *head < end {
        let records = ledger.records(Page { after: *head, limit: PAGE, scope: RecordScope::All })?;
        if records.is_empty() {
            break;
        }
        *head = push(Frames::of(&records));
    }
    Ok(())
}
