//! The judge of a run: which of its parts decides.

use callboard_lifecycle::session::SessionState;

use super::ended::after_the_end;
use super::facts::SessionFacts;
use super::gone::{dead, is_vouched, unseen};
use super::living::living;
use crate::health::judgement::Judgement;
use crate::health::process::{Liveness, Vantage};
use crate::health::thresholds::Thresholds;
use crate::moment::Moment;

/// Judges the health of a run.
pub fn judge_session(facts: &SessionFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    match facts.state {
        SessionState::Completed
        | SessionState::Failed
        | SessionState::TimedOut
        | SessionState::Aborted
        | SessionState::Cancelled => after_the_end(facts),
        SessionState::Pending | SessionState::Running => match facts.liveness {
            // A machine id may be shared by clones of an image, and a clone that vouches for its run is not dead.
            Liveness::Dead if facts.presence.vantage == Vantage::Restarted && is_vouched(facts, now) => {
                unseen(facts, thresholds, now)
            }
            Liveness::Dead => dead(facts, now),
            Liveness::Unknown => unseen(facts, thresholds, now),
            Liveness::Alive => living(facts, thresholds, now),
        },
    }
}
