//! The health judge: one pure function a kind, from recorded facts, thresholds and a clock to a health value.
//!
//! Invariant: every surface asks this judge, so two pages can never disagree. Health is judged when it is read and
//! never stored. All bounds are strict: at exactly the threshold nothing is wrong yet. Deliberately absent: probing
//! processes and hosts; what a look showed is handed in as a fact.

mod judgement;
mod process;
mod production;
mod schedule;
mod session;
mod team;
mod thresholds;
mod worker;

pub use judgement::Judgement;
pub use process::{Hold, Liveness, Place, Presence, ProcessIdentity, Sighting, Vantage, liveness};
pub use production::{PlayFacts, ShowFacts, judge_play, judge_show};
pub use schedule::{ScheduleFacts, judge_schedule};
#[cfg(test)]
pub(crate) use session::samples;
pub use session::{CompletedWith, SessionFacts, Since, Stopping, judge_session};
pub(crate) use session::{hold, told};
pub use team::{TeamFacts, judge_team};
pub use thresholds::{RunClass, Thresholds};
pub use worker::{Grip, WorkerFacts, WorkerProcess, WorkerVisual, judge_worker};
