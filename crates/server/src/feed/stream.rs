//! One listener's stream: from the ring while it keeps up, from the ledger while it does not, with looks in between.
//!
//! Invariant: the place of a listener moves only over what was handed to its connection, and nothing more is read for
//! it until that was taken; so a listener that does not read costs one chunk. A stream ends with the token that opened it.
//! Deliberately absent: a queue for each.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use callboard_engine::mutant;
use callboard_ledger::{Page, Record, RecordScope};
use futures_util::Stream;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use uuid::Uuid;

use super::frames::{Frames, Mark, Taken};
use super::looks::{Look, missed};
use super::ring::Next;
use crate::access::Held;
use crate::app::{App, Shared};

/// How often a silent stream says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often it is looked whether the token of a stream still opens anything.
const TOKEN_CHECK: Duration = Duration::from_secs(2);
/// Records read at once from the ledger. A record may be as large as what an agent may say at once, and each stream that is
/// behind holds one page.
const PAGE: usize = 100;

/// Which records somebody listens to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    pub(crate) kind: Option<String>,
    pub(crate) entity: Option<callboard_kernel::EntityId>,
    pub(crate) channel: Option<String>,
    /// End when the entity has ended.
    pub(crate) until_end: bool,
}

impl Choice {
    fn wants(&self, mark: &Mark) -> bool {
        let entity: Option<Uuid> = self.entity.map(callboard_kernel::EntityId::uuid);
        entity.is_none_or(|entity| entity == mark.entity)
            && self.kind.as_deref().is_none_or(|kind| kind == mark.kind)
            && self.channel.as_deref().is_none_or(|channel| channel == mark.channel)
    }

    /// Looks are in no channel.
    fn wants_look(&self, look: &Look) -> bool {
        let entity: Option<Uuid> = self.entity.map(callboard_kernel::EntityId::uuid);
        let fits = |(of, kind): (Uuid, &str)| {
            entity.is_none_or(|entity| entity == of)
                && self.kind.as_deref().is_none_or(|wanted| wanted == kind)
        };
        self.channel.is_none() && look.of.is_none_or(fits)
    }

    /// What this listener is told of a look.
    fn told(&self, look: Result<Arc<Look>, RecvError>) -> Option<Bytes> {
        match look {
            Ok(look) => self.wants_look(&look).then(|| look.bytes.clone()),
            Err(RecvError::Lagged(count)) => Some(missed(count)),
            // Whoever publishes lives as long as the server.
            Err(RecvError::Closed) => None,
        }
    }

    fn scope(&self) -> RecordScope {
        self.entity.map_or(RecordScope::All, RecordScope::Entity)
    }
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// After this record.
    pub(crate) after: u64,
    /// The place that was named does not exist, and this one was taken instead.
    pub(crate) reset: bool,
    /// The entity had ended with this record as its newest.
    pub(crate) ended_at: Option<u64>,
}

struct Listener {
    app: Shared,
    choice: Choice,
    start: Start,
    after: u64,
    stage: Stage,
    news: watch::Receiver<u64>,
    looks: broadcast::Receiver<Arc<Look>>,
    /// Looks that held when it began to listen.
    standing: Vec<Arc<Look>>,
    stopping: watch::Receiver<bool>,
    /// Tells the token that opened it.
    token: [u8; 32],
    /// When it is next looked whether the token opens anything, and when it is next said that the stream is there.
    check_at: Instant,
    here_at: Instant,
    _held: Permits,
}

/// What a stream counts against until it ends: the bound of the server, and that of its token.
pub(crate) type Permits = (OwnedSemaphorePermit, Held);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    Live,
    /// Reading the ledger; was it said?
    Behind,
    Over,
}

/// The stream, as chunks of server-sent events.
pub(crate) fn stream(
    app: Shared,
    choice: Choice,
    start: Start,
    token: [u8; 32],
    held: Permits,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let after = start.after;
    let (news, stopping) = (app.feed.news.clone(), app.stopping.clone());
    let (stage, (standing, looks)) = (Stage::Greeting, app.feed.looks.listen());
    let now = Instant::now();
    let (check_at, here_at) = (now + TOKEN_CHECK, now + KEEP_ALIVE);
    let listener = Listener {
        app,
        choice,
        start,
        after,
        stage,
        news,
        looks,
        standing,
        stopping,
        token,
        check_at,
        here_at,
        _held: held,
    };
    futures_util::stream::unfold(listener, |mut listener| async move {
        let bytes = listener.next().await?;
        Some((Ok(bytes), listener))
    })
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        if self.stage == Stage::Greeting {
            self.stage = Stage::Live;
            return Some(self.greeting());
        }
        loop {
            if self.stage == Stage::Over || *self.stopping.borrow() || !self.may_listen() {
                return None;
            }
            if self.start.ended_at.is_some_and(|last| self.after >= last) {
                return Some(self.done(Bytes::new()));
            }
            if let Some(look) = self.look() {
                return Some(look);
            }
            self.news.mark_unchanged();
            let choice = &self.choice;
            match self.app.feed.ring.next(self.after, choice.until_end, &|mark| choice.wants(mark)) {
                Next::Behind if mutant::removed("feed_reads_the_log") => {
                    self.after = self.app.feed.ring.floor()
                }
                Next::Behind => {
                    if let Some(bytes) = self.catch_up().await {
                        return Some(bytes);
                    }
                }
                Next::Some(taken) => {
                    if let Some(bytes) = self.hand_out(taken) {
                        return Some(bytes);
                    }
                }
                Next::Nothing => {
                    self.stage = Stage::Live;
                    if let Some(here) = self.here() {
                        return Some(here);
                    }
                    tokio::select! {
                        _ = self.news.changed() => {}
                        look = self.looks.recv() => {
                            if let Some(bytes) = self.choice.told(look) {
                                return Some(bytes);
                            }
                        }
                        _ = self.stopping.wait_for(|stop| *stop) => return None,
                        () = tokio::time::sleep_until(self.check_at.min(self.here_at).into()) => {}
                    }
                }
            }
        }
    }

    /// Does the token still open anything?
    fn may_listen(&mut self) -> bool {
        let now = Instant::now();
        if now < self.check_at {
            return true;
        }
        self.check_at = now + TOKEN_CHECK;
        self.app.keys.still_opens(&self.token, self.app.now())
    }

    /// That the stream is there, if it was silent for long enough.
    fn here(&mut self) -> Option<Bytes> {
        let now = Instant::now();
        (now >= self.here_at).then(|| {
            self.here_at = now + KEEP_ALIVE;
            Bytes::from_static(b": here\n\n")
        })
    }

    /// The next look that waits for this listener.
    fn look(&mut self) -> Option<Bytes> {
        loop {
            let look = match self.looks.try_recv() {
                Ok(look) => Ok(look),
                Err(TryRecvError::Lagged(count)) => Err(RecvError::Lagged(count)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            };
            if let Some(bytes) = self.choice.told(look) {
                return Some(bytes);
            }
        }
    }

    fn greeting(&mut self) -> Bytes {
        let mut text = "retry: 1000\n\n".to_owned();
        if self.start.reset {
            let after = self.after;
            text += &format!("id: {after}\nevent: reset\ndata: {{\"head\":{after}}}\n\n");
        }
        let mut bytes = text.into_bytes();
        let standing = std::mem::take(&mut self.standing);
        for look in standing.iter().filter(|look| self.choice.wants_look(look)) {
            bytes.extend_from_slice(&look.bytes);
        }
        bytes.into()
    }

    fn hand_out(&mut self, taken: Taken) -> Option<Bytes> {
        self.after = taken.after;
        if self.stage == Stage::Behind {
            self.stage = Stage::Live;
        }
        let ended = taken.ended;
        let bytes = taken.bytes();
        match (ended, bytes.is_empty()) {
            (true, _) => Some(self.done(bytes)),
            (false, true) => None,
            (false, false) => Some(bytes),
        }
    }

    fn done(&mut self, before: Bytes) -> Bytes {
        self.stage = Stage::Over;
        let mut text = before.to_vec();
        text.extend_from_slice(format!("event: done\ndata: {{\"seq\":{}}}\n\n", self.after).as_bytes());
        text.into()
    }

    /// Reads on in the ledger; nothing if there was nothing wanted in this piece, or the store is away.
    async fn catch_up(&mut self) -> Option<Bytes> {
        let (after, scope) = (self.after, self.choice.scope());
        let app = Arc::clone(&self.app);
        let read = tokio::task::spawn_blocking(move || page(&app, after, scope)).await;
        let Ok(Ok((head, records))) = read else {
            tokio::time::sleep(Duration::from_millis(200)).await;
            return None;
        };
        let mut taken = Taken::behind(after, self.choice.until_end);
        Frames::of(&records).take(after, &|mark| self.choice.wants(mark), &mut taken);
        if !taken.ended && records.len() < PAGE {
            // Between here and the head there is nothing more of this entity.
            taken.after = taken.after.max(head);
        }
        self.after = taken.after;
        let ended = taken.ended;
        let mut text = Vec::new();
        if self.stage != Stage::Behind {
            self.stage = Stage::Behind;
            text.extend_from_slice(format!("event: behind\ndata: {{\"head\":{head}}}\n\n").as_bytes());
        }
        text.extend_from_slice(&taken.bytes());
        match (ended, text.is_empty()) {
            (true, _) => Some(self.done(text.into())),
            (false, true) => None,
            (false, false) => Some(text.into()),
        }
    }
}

fn page(
    app: &App,
    after: u64,
    scope: RecordScope,
) -> Result<(u64, Vec<Record>), callboard_ledger::ReadError> {
    // The head is read first: what is committed meanwhile lies behind it and is read the next time.
    let head = app.ledger.head()?;
    Ok((head, app.ledger.records(Page { after, limit: PAGE, scope })?))
}
