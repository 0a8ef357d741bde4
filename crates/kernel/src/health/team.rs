//! The health of a team: does what it belongs to still exist?

use callboard_lifecycle::team::TeamState;
use callboard_lifecycle::{Health, ReasonCode};

use super::judgement::Judgement;

/// What is recorded of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamFacts {
    /// Where it stands.
    pub state: TeamState,
    /// Has the show or play it belongs to ended?
    pub owner_ended: bool,
}

/// Judges the health of a team.
pub fn judge_team(facts: &TeamFacts) -> Judgement {
    match facts.state {
        TeamState::Active | TeamState::Idle | TeamState::Blocked if facts.owner_ended => {
            let seen = "its owner has ended";
            Judgement::because(
                Health::Orphaned,
                const { ReasonCode::of("team.health.orphaned") },
                "What it belonged to has ended",
                seen,
            )
        }
        TeamState::Active | TeamState::Idle | TeamState::Blocked | TeamState::Closed => {
            Judgement::plain(Health::Ok)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callboard_lifecycle::Words;

    #[test]
    fn an_open_team_without_an_owner_is_orphaned() {
        for state in TeamState::ALL {
            let health = |owner_ended| judge_team(&TeamFacts { state: *state, owner_ended }).health;
            assert_eq!(health(false), Health::Ok);
            assert_eq!(health(true) == Health::Orphaned, *state != TeamState::Closed, "{state}");
        }
    }
}
