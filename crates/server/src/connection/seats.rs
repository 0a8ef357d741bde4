//! Connections that wait for a request: when there is no room for one more, the one that has waited longest goes.
//!
//! Invariant: a connection whose request is being answered is never closed to make room. Whoever opens connections and sends
//! nothing, or half a head, closes their own older ones that way, and nobody else has to wait. Deliberately absent: what
//! a token may keep open (`access::shares`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The connections that wait, the longest first.
pub(crate) struct Seats {
    waiting_max: usize,
    /// How long a connection may wait, however many there are: one whose request is there may not have been looked at yet.
    grace: Duration,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    by_turn: BTreeMap<u64, (Arc<Notify>, Instant)>,
}

/// The place of one connection.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    turn: Mutex<Option<u64>>,
    evicted: Arc<Notify>,
}

/// A request of a connection that is being answered; when it is let go of, the connection waits again.
pub(crate) struct Busy(Arc<Seat>);

impl Seats {
    pub(crate) fn new(waiting_max: usize, grace: Duration) -> Arc<Self> {
        Arc::new(Self { waiting_max: waiting_max.max(1), grace, waiting: Mutex::default() })
    }

    /// A place for a connection, which waits for its first request.
    pub(crate) fn take(self: &Arc<Self>) -> Arc<Seat> {
        let seat =
            Arc::new(Seat { seats: Arc::clone(self), turn: Mutex::default(), evicted: Arc::default() });
        seat.wait();
        seat
    }

    /// Closes the connection that has waited longest; `false` if none waits.
    pub(crate) fn evict(&self) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.by_turn.pop_first().map(|(_, (evicted, _))| evicted.notify_one()).is_some()
    }

    fn enter(&self, evicted: &Arc<Notify>) -> u64 {
        let now = Instant::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = waiting.next;
        waiting.next += 1;
        waiting.by_turn.insert(turn, (Arc::clone(evicted), now));
        if waiting.by_turn.len() > self.waiting_max
            && let Some(oldest) = waiting.by_turn.first_entry()
            && now.saturating_duration_since(oldest.get().1) >= self.grace
        {
            oldest.remove().0.notify_one();
        }
        turn
    }

    fn leave(&self, turn: u64) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.by_turn.remove(&turn);
    }
}

impl Seat {
    /// Comes to an end when the connection has to make room.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// The connection has sent a request.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.stop_waiting();
        Busy(Arc::clone(self))
    }

    fn wait(&self) {
        let turn = self.seats.enter(&self.evicted);
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
    }

    fn stop_waiting(&self) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        turn.into_iter().for_each(|turn| self.seats.leave(turn));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.stop_waiting();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_evicted(seat: &Arc<Seat>) -> bool {
        seat.evicted().now_or_never().is_some()
    }

    #[test]
    fn the_one_that_has_waited_longest_makes_room_and_never_one_that_is_answered() {
        let seats = Seats::new(2, Duration::ZERO);
        let (first, second) = (seats.take(), seats.take());
        let answered = first.busy();
        let third = seats.take();
        assert!(![&first, &second, &third].into_iter().any(is_evicted));
        let fourth = seats.take();
        assert!(is_evicted(&second) && ![&first, &third, &fourth].into_iter().any(is_evicted));
        // It waits again, behind the others.
        drop(answered);
        assert!(is_evicted(&third) && !is_evicted(&first));
        drop(fourth);
        assert!(seats.evict() && is_evicted(&first) && !seats.evict());
    }

    #[test]
    fn one_that_has_only_come_does_not_make_room_until_there_is_none() {
        let seats = Seats::new(1, Duration::from_secs(3600));
        let (first, second) = (seats.take(), seats.take());
        assert!(!is_evicted(&first) && !is_evicted(&second));
        assert!(seats.evict() && is_evicted(&first) && !is_evicted(&second));
    }
}
