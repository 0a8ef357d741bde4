//! The health of a schedule: did it fire when it should?

use callboard_lifecycle::schedule::ScheduleState;
use callboard_lifecycle::{Health, ReasonCode};

use super::judgement::Judgement;
use super::thresholds::Thresholds;
use crate::moment::Moment;

/// What is recorded of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleFacts {
    /// Where it stands.
    pub state: ScheduleState,
    /// When it should fire next.
    pub due_at: Option<Moment>,
    /// Does a firing of it run?
    pub firing: bool,
}

/// Judges the health of a schedule.
pub fn judge_schedule(facts: &ScheduleFacts, thresholds: &Thresholds, now: Moment) -> Judgement {
    if facts.firing {
        return Judgement::plain(Health::Running);
    }
    match (facts.state, facts.due_at) {
        (ScheduleState::Enabled, Some(due)) if now.since(due) > thresholds.misfire => {
            let seen = format!("due at {due}");
            Judgement::because(
                Health::Misfired,
                const { ReasonCode::of("schedule.health.misfired") },
                "Its time passed and nothing fired",
                seen,
            )
        }
        (ScheduleState::Enabled, Some(due)) if due <= now => {
            let seen = format!("due at {due}");
            Judgement::because(
                Health::Due,
                const { ReasonCode::of("schedule.health.due") },
                "Its time has come",
                seen,
            )
        }
        (ScheduleState::Enabled | ScheduleState::Paused | ScheduleState::Disabled, _) => {
            Judgement::plain(Health::Ok)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_due_for_a_minute_and_misfired_after_it() {
        let now = Moment::from_micros(1_000_000_000);
        let health = |state, seconds: i64, firing| {
            let due_at = Some(Moment::from_micros(now.as_micros() - seconds * 1_000_000));
            judge_schedule(&ScheduleFacts { state, due_at, firing }, &Thresholds::default(), now).health
        };
        assert_eq!(health(ScheduleState::Enabled, -1, false), Health::Ok);
        assert_eq!(health(ScheduleState::Enabled, 0, false), Health::Due);
        assert_eq!(health(ScheduleState::Enabled, 60, false), Health::Due);
        assert_eq!(health(ScheduleState::Enabled, 61, false), Health::Misfired);
        assert_eq!(health(ScheduleState::Enabled, 61, true), Health::Running);
        assert_eq!(health(ScheduleState::Paused, 61, false), Health::Ok);
    }
}
