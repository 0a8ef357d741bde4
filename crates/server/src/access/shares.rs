//! What one token, or one run, may use of the server: requests and streams at once, bytes and records over time.
//!
//! Invariant: whatever the agent of a run asks for and however slowly, there is room for everybody else. All tokens of a run share
//! what the run may use. A request counts until its answer was taken, or its connection is gone. Deliberately absent:
//! connections without a request (`seats`), and how many requests a second there may be (`rate`).

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use callboard_engine::mutant;
use callboard_kernel::EntityId;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use super::keyring::{Principal, Scope};
use super::rate::Bucket;
use crate::problem::Problem;

/// Requests of agents that are worked on at once, of all runs together: fewer than the threads that may wait for the store, so
/// that some are left for people.
const AGENTS_AT_ONCE: usize = 8;
/// Those of one run.
const RUN_AT_ONCE: usize = 2;
/// An answer is sent in pieces of this size, so that it counts until the last of them was taken.
const CHUNK: usize = 64 * 1024;
/// Owners that are kept in mind before those that use nothing are forgotten.
const OWNERS_MAX: usize = 4096;

/// Records of a run: at once, and a second.
const RECORDS: (f64, f64) = (240.0, 8.0);
/// Bytes in the records of a run: at once, and a second.
const RECORDED_BYTES: (f64, f64) = (1024.0 * 1024.0, 32.0 * 1024.0);

/// What one owner may use.
struct Bounds {
    requests: u32,
    streams: u32,
    /// Bytes of answers: at once, and a second.
    bytes: Option<(f64, f64)>,
}

impl Bounds {
    const fn of(scope: Scope) -> Self {
        const MIB: f64 = 1024.0 * 1024.0;
        match scope {
            Scope::Operator => Self { requests: u32::MAX, streams: u32::MAX, bytes: None },
            Scope::Viewer => Self { requests: 256, streams: 128, bytes: Some((128.0 * MIB, 64.0 * MIB)) },
            Scope::Agent(_) => Self { requests: 8, streams: 4, bytes: Some((16.0 * MIB, 8.0 * MIB)) },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Run(EntityId),
    Token([u8; 32]),
}

impl Owner {
    const fn of(who: &Principal) -> Self {
        match who.scope {
            Scope::Agent(run) => Self::Run(run),
            Scope::Operator | Scope::Viewer => Self::Token(who.mark),
        }
    }
}

/// What an owner uses.
struct Used {
    /// Requests that are worked on.
    turns: Arc<Semaphore>,
    requests: u32,
    streams: u32,
    sent: Option<Bucket>,
    records: Option<Bucket>,
    recorded: Option<Bucket>,
}

impl Default for Used {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(RUN_AT_ONCE)),
            requests: 0,
            streams: 0,
            sent: None,
            records: None,
            recorded: None,
        }
    }
}

/// The turn of an agent: one of those of its run, and one of all.
pub(crate) struct Turn {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// What all owners use.
pub(crate) struct Shares {
    used: Mutex<HashMap<Owner, Used>>,
    agents: Arc<Semaphore>,
}

/// Something that counts until it is let go of.
pub(crate) struct Held {
    shares: Arc<Shares>,
    owner: Owner,
    scope: Scope,
    is_stream: bool,
}

impl Shares {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { used: Mutex::default(), agents: Arc::new(Semaphore::new(AGENTS_AT_ONCE)) })
    }

    /// Counts a request.
    pub(crate) fn request(self: &Arc<Self>, who: &Principal, now: Instant) -> Result<Held, Problem> {
        let bounds = Bounds::of(who.scope);
        self.with(who, |used| {
            let over = |wait: Duration| {
                let told = "more was read with this token than it may read in this time";
                Problem::too_many(told, wait.as_secs().max(1))
            };
            if let Some((burst, a_second)) = bounds.bytes {
                used.sent
                    .get_or_insert_with(|| Bucket::full(burst, now))
                    .wait(burst, a_second, now)
                    .map_err(over)?;
            }
            if used.requests >= bounds.requests && !mutant::removed("requests_of_a_run") {
                let told = format!("{} requests of this token are being answered", used.requests);
                return Err(Problem::too_many(told, 1));
            }
            used.requests += 1;
            Ok(())
        })?;
        Ok(self.held(who, false))
    }

    /// Counts a stream.
    pub(crate) fn stream(self: &Arc<Self>, who: &Principal) -> Result<Held, Problem> {
        let bounds = Bounds::of(who.scope);
        self.with(who, |used| {
            if used.streams >= bounds.streams && !mutant::removed("requests_of_a_run") {
                return Err(Problem::too_many(format!("{} streams of this token are open", used.streams), 5));
            }
            used.streams += 1;
            Ok(())
        })?;
        Ok(self.held(who, true))
    }

    /// Counts a record that an agent asks for. What people record is theirs to bound.
    pub(crate) fn record(&self, who: &Principal, bytes: usize, now: Instant) -> Result<(), Problem> {
        if !matches!(who.scope, Scope::Agent(_)) || mutant::removed("records_of_a_run") {
            return Ok(());
        }
        let over = |wait: Duration| {
            let told = "this run has recorded as much as it may in this time";
            Problem::too_many(told, wait.as_secs().max(1))
        };
        self.with(who, |used| {
            for (bucket, amount, (burst, a_second)) in
                [(&mut used.records, 1.0, RECORDS), (&mut used.recorded, bytes as f64, RECORDED_BYTES)]
            {
                let bucket = bucket.get_or_insert_with(|| Bucket::full(burst, now));
                bucket.take(amount, burst, a_second, now).map_err(over)?;
            }
            Ok(())
        })
    }

    /// Waits until an agent's request may be worked on.
    pub(crate) async fn turn(&self, who: &Principal) -> Option<Turn> {
        match who.scope {
            Scope::Agent(_) => {
                let turns = self.with(who, |used| Ok(Arc::clone(&used.turns))).ok()?;
                let own = turns.acquire_owned().await.ok()?;
                Some(Turn { _own: own, _all: Arc::clone(&self.agents).acquire_owned().await.ok()? })
            }
            Scope::Operator | Scope::Viewer => None,
        }
    }

    fn held(self: &Arc<Self>, who: &Principal, is_stream: bool) -> Held {
        Held { shares: Arc::clone(self), owner: Owner::of(who), scope: who.scope, is_stream }
    }

    fn with<T>(
        &self,
        who: &Principal,
        act: impl FnOnce(&mut Used) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= OWNERS_MAX {
            all.retain(|_, used| used.requests > 0 || used.streams > 0);
        }
        act(all.entry(Owner::of(who)).or_default())
    }
}

impl Held {
    /// Counts bytes of an answer; how long to wait until more of them are sent.
    fn sent(&self, bytes: usize, now: Instant) -> Option<Duration> {
        let (burst, a_second) = Bounds::of(self.scope).bytes?;
        let mut all = self.shares.used.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = all.get_mut(&self.owner)?.sent.get_or_insert_with(|| Bucket::full(burst, now));
        bucket.owe(bytes as f64, burst, a_second, now);
        bucket.wait(burst, a_second, now).err()
    }

    /// Counts until the answer was taken.
    pub(crate) fn until_taken(self, body: Body) -> Body {
        Body::new(Metered { body, rest: Bytes::new(), held: self, pause: None })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.shares.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = all.get_mut(&self.owner) {
            let count = if self.is_stream { &mut used.streams } else { &mut used.requests };
            *count = count.saturating_sub(1);
        }
    }
}

/// An answer that is counted while it is sent.
struct Metered {
    body: Body,
    /// What is left of a part that was too large to be sent at once.
    rest: Bytes,
    held: Held,
    pause: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.rest = bytes,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let count = self.rest.len().min(CHUNK);
        let bytes = self.rest.split_to(count);
        self.pause = self.held.sent(count, Instant::now()).map(|wait| Box::pin(sleep(wait)));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(left.lower() + rest);
        if let Some(upper) = left.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> (Principal, EntityId) {
        let run: EntityId = "ses_01k7c3h2f4x8w6t5r3q1n0m9bz".parse().unwrap();
        (Principal { scope: Scope::Agent(run), mark: [1; 32] }, run)
    }

    #[test]
    fn the_tokens_of_a_run_share_what_it_may_keep_open() {
        let (shares, now) = (Shares::new(), Instant::now());
        let (one, run) = agent();
        let other = Principal { scope: Scope::Agent(run), mark: [2; 32] };
        let mut held: Vec<Held> = (0..8).map(|_| shares.request(&one, now).unwrap()).collect();
        assert!(shares.request(&one, now).is_err() && shares.request(&other, now).is_err());
        let person = Principal { scope: Scope::Operator, mark: [3; 32] };
        assert!((0..1000).map(|_| shares.request(&person, now)).all(|asked| asked.is_ok()));
        held.pop();
        let streams: Vec<Held> = (0..4).map(|_| shares.stream(&other).unwrap()).collect();
        assert!(shares.stream(&one).is_err() && shares.request(&other, now).is_ok());
        drop(streams);
        assert!(shares.stream(&one).is_ok());
    }

    #[test]
    fn an_agent_records_so_much_and_reads_so_much_in_a_while() {
        let (shares, now) = (Shares::new(), Instant::now());
        let (who, _) = agent();
        let recorded = (0..1000).take_while(|_| shares.record(&who, 16 * 1024, now).is_ok()).count();
        assert_eq!(recorded, 64, "a mebibyte at once");
        let later = now + Duration::from_secs(2);
        assert_eq!((0..1000).take_while(|_| shares.record(&who, 16 * 1024, later).is_ok()).count(), 4);
        let held = shares.request(&who, now).unwrap();
        assert_eq!(held.sent(16 << 20, now), None);
        assert!(held.sent(8 << 20, now).is_some_and(|wait| wait >= Duration::from_millis(900)));
        assert!(shares.request(&who, now).is_err() && shares.request(&who, later).is_ok());
    }
}
