//! How often something of a task is asked that may stay the same for long: a gate, a pull request, a result that cannot be merged now.
//!
//! Invariant: the first time is at once; each further one is later, up to a bound. Deliberately absent: what is asked.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use callboard_kernel::EntityId;
use callboard_ledger::Stored;

const FIRST: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(600);

/// When each thing is asked next, and how long it is left alone then.
#[derive(Debug, Default)]
pub(crate) struct Pace(HashMap<(EntityId, String), (Instant, Duration)>);

impl Pace {
    /// Is it time to ask? If so, the next time is later.
    pub(crate) fn is_due(&mut self, id: EntityId, what: &str) -> bool {
        let now = Instant::now();
        let (due, pause) = self.0.entry((id, what.to_owned())).or_insert((now, FIRST));
        let is_due = *due <= now;
        if is_due {
            (*due, *pause) = (now + *pause, (*pause * 2).min(SELDOM));
        }
        is_due
    }

    /// Forgets what is over.
    pub(crate) fn keep<'a>(&mut self, live: impl IntoIterator<Item = &'a Stored>) {
        let live: HashSet<EntityId> = live.into_iter().map(|stored| stored.entity.state.id).collect();
        self.0.retain(|(id, _), _| live.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use callboard_engine::new_id;
    use callboard_kernel::Moment;
    use callboard_lifecycle::Kind;

    use super::*;

    #[test]
    fn something_is_asked_at_once_and_then_left_alone() {
        let id = new_id(Kind::Task, Moment::default());
        let other = new_id(Kind::Task, Moment::default());
        let mut pace = Pace::default();
        assert!(pace.is_due(id, "a gate"));
        assert!(!pace.is_due(id, "a gate"));
        assert!(pace.is_due(id, "another gate") && pace.is_due(other, "a gate"));
        pace.keep([]);
        assert!(pace.is_due(id, "a gate"));
    }
}
