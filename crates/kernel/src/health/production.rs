//! The health of shows and plays, judged from the plays and runs they are made of.

use callboard_lifecycle::play::PlayState;
use callboard_lifecycle::show::ShowState;
use callboard_lifecycle::{Health, ReasonCode};

use super::judgement::Judgement;

/// What is recorded of a show's plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShowFacts {
    /// Where it stands.
    pub state: ShowState,
    /// Plays that run or wait for a place to.
    pub plays_moving: u32,
    /// Plays that wait for the gate or for dependencies that still move.
    pub plays_waiting: u32,
    /// Plays that cannot go on by themselves.
    pub plays_blocked: u32,
}

/// Judges the health of a show.
pub fn judge_show(facts: &ShowFacts) -> Judgement {
    match facts.state {
        ShowState::Active if facts.plays_moving > 0 => Judgement::plain(Health::Running),
        ShowState::Active if facts.plays_blocked > 0 || facts.plays_waiting == 0 => {
            let seen = format!("{} plays are blocked and none can start", facts.plays_blocked);
            Judgement::because(
                Health::Blocked,
                const { ReasonCode::of("show.health.no_ready_plays") },
                "Nothing runs and nothing can",
                seen,
            )
        }
        ShowState::Active => Judgement::plain(Health::Running),
        ShowState::Draft
        | ShowState::Planned
        | ShowState::Completed
        | ShowState::Merged
        | ShowState::Failed
        | ShowState::Archived => Judgement::plain(Health::Ok),
    }
}

/// What is recorded of a play and its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayFacts {
    /// Where it stands.
    pub state: PlayState,
    /// The judged health of its run.
    pub run: Option<Health>,
}

/// Judges the health of a play.
pub fn judge_play(facts: &PlayFacts) -> Judgement {
    match facts.state {
        PlayState::Blocked => {
            let seen = "its state is blocked";
            Judgement::because(
                Health::Blocked,
                const { ReasonCode::of("play.health.blocked") },
                "It cannot go on by itself",
                seen,
            )
        }
        PlayState::Running => match facts.run {
            Some(Health::Stalled | Health::ProcessDead | Health::Orphaned | Health::Disconnected) => {
                let run = facts.run.map_or_else(String::new, |health| health.to_string());
                let seen = format!("the health of its run is {run}");
                Judgement::because(
                    Health::Stalled,
                    const { ReasonCode::of("play.health.stalled") },
                    "Its run makes no progress",
                    seen,
                )
            }
            Some(
                Health::Ok
                | Health::Running
                | Health::Idle
                | Health::Degraded
                | Health::Blocked
                | Health::Misfired
                | Health::Due
                | Health::Paused
                | Health::Unknown,
            )
            | None => Judgement::plain(Health::Running),
        },
        PlayState::Planned
        | PlayState::Queued
        | PlayState::RunComplete
        | PlayState::Merged
        | PlayState::Failed
        | PlayState::TimedOut
        | PlayState::Cancelled
        | PlayState::Skipped => Judgement::plain(Health::Ok),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_active_show_that_cannot_move_is_blocked() {
        let show = |plays_moving, plays_waiting, plays_blocked| {
            judge_show(&ShowFacts { state: ShowState::Active, plays_moving, plays_waiting, plays_blocked })
                .health
        };
        assert_eq!(show(1, 0, 5), Health::Running);
        assert_eq!(show(0, 2, 0), Health::Running);
        assert_eq!(show(0, 2, 1), Health::Blocked);
        assert_eq!(show(0, 0, 0), Health::Blocked);
        let planned =
            ShowFacts { state: ShowState::Planned, plays_moving: 0, plays_waiting: 0, plays_blocked: 1 };
        assert_eq!(judge_show(&planned).health, Health::Ok);
    }

    #[test]
    fn a_play_stalls_with_its_run() {
        let play = |state, run| judge_play(&PlayFacts { state, run }).health;
        assert_eq!(play(PlayState::Running, Some(Health::Running)), Health::Running);
        assert_eq!(play(PlayState::Running, Some(Health::ProcessDead)), Health::Stalled);
        assert_eq!(play(PlayState::Blocked, None), Health::Blocked);
        assert_eq!(play(PlayState::Merged, Some(Health::Stalled)), Health::Ok);
    }
}
