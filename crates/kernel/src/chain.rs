//! The chain people read: outcome first, then the phase, then health, then delivery, as one flat line.
//!
//! Invariant: two correct statements never look like a contradiction ("Failed" beside "Healthy"), and nothing is
//! shown as running when its health says otherwise. Deliberately absent: colour.

use std::fmt;

use callboard_lifecycle::{Delivery, Health, Lifecycle, Outcome, Shown};

use crate::normalize::Axes;
use crate::phase::Phase;

/// The chain: `Failed · Infra OK · Trace present`, `Running · Stopping (by alice)`.
///
/// Health is left out where it says nothing new: when it is ok and the work ended, and while it is simply at work.
/// After a failure "Infra OK" stays, because it answers the next question, unless the delivery already does.
/// Delivery is left out when nothing was promised, when it passed and the work ended well, and while it is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    /// What is known.
    pub axes: Axes,
    /// What the delivery says in particular, such as "No review.md produced", instead of its general label.
    pub delivery_detail: Option<&'a str>,
    /// What the health says in particular, such as "Retrying (9, 401)", instead of its general label.
    pub health_label: Option<&'a str>,
    /// What a run is doing.
    pub phase: Option<&'a Phase>,
}

impl Chain<'_> {
    /// The chain with the general labels.
    pub const fn new(axes: Axes) -> Self {
        Self { axes, delivery_detail: None, health_label: None, phase: None }
    }

    /// The phase, where it has a word of its own in the chain.
    fn phase(&self) -> Option<&Phase> {
        self.phase.filter(|phase| phase.is_shown())
    }

    fn health(&self) -> Option<&str> {
        let (outcome, health) = (self.axes.outcome(), self.axes.health?);
        if self.health_label.is_some() {
            return self.health_label;
        }
        let shown = match health {
            Health::Ok => match outcome {
                None => self.phase().is_none(),
                Some(Outcome::Failed | Outcome::PartialFailed) => !self.delivery_explains(),
                Some(_) => false,
            },
            Health::Running => outcome.is_some() || self.axes.lifecycle.is_none(),
            Health::Unknown => outcome.is_none(),
            Health::Idle
            | Health::Degraded
            | Health::Stalled
            | Health::ProcessDead
            | Health::Orphaned
            | Health::Disconnected
            | Health::Blocked
            | Health::Misfired
            | Health::Due
            | Health::Paused => true,
        };
        // "Blocked · Blocked" says it twice.
        let twice = self.axes.lifecycle.is_some_and(|state| state.def().pill.label == health.pill().label);
        (shown && !twice).then_some(health.pill().label)
    }

    fn delivery_explains(&self) -> bool {
        matches!(self.axes.delivery, Some(Delivery::Missing | Delivery::Partial | Delivery::Invalid))
    }

    fn delivery(&self) -> Option<&str> {
        let delivery = self.axes.delivery?;
        let outcome = self.axes.outcome();
        match delivery {
            Delivery::NotExpected => None,
            Delivery::Unknown if outcome.is_none() => None,
            Delivery::Passed if outcome.is_some_and(ended_well) => None,
            Delivery::Passed if outcome.is_some() => Some("Trace present"),
            Delivery::Passed
            | Delivery::Partial
            | Delivery::Missing
            | Delivery::Invalid
            | Delivery::Unknown => Some(self.delivery_detail.unwrap_or(delivery.pill().label)),
        }
    }
}

const fn ended_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Succeeded | Outcome::Completed | Outcome::Merged | Outcome::Closed)
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = match (self.axes.outcome(), self.axes.lifecycle) {
            // A lifecycle that gives this outcome by itself has the better label of its own kind.
            (Some(outcome), Some(state)) if state.outcome() == Some(outcome) => Some(state.def().pill.label),
            (Some(outcome), _) => Some(outcome.pill().label),
            (None, Some(state)) => Some(state.def().pill.label),
            (None, None) => None,
        };
        if self.axes.is_legacy() {
            return f.write_str("legacy");
        }
        let mut between = "";
        let phase = self.phase().map(Phase::to_string);
        let parts = [first, phase.as_deref(), self.health(), self.delivery()];
        for part in parts.into_iter().flatten() {
            write!(f, "{between}{part}")?;
            between = " · ";
        }
        if between.is_empty() { f.write_str("—") } else { Ok(()) }
    }
}

impl Chain<'_> {
    /// The one word for a pill that stands alone.
    pub fn effective(&self) -> String {
        if let Some(label) = self.health_label {
            return label.split(" (").next().unwrap_or(label).to_lowercase();
        }
        let is_in_doubt = self.axes.lifecycle.is_some_and(|state| doubt(state, self.axes.health).is_some());
        match self.phase().filter(|_| !is_in_doubt) {
            Some(phase) => phase.name.to_string(),
            None => Effective(self.axes).to_string(),
        }
    }
}

/// The one word for a pill that stands alone: "stale running" instead of a blue "Running".
#[derive(Clone, Copy, Debug)]
pub struct Effective(pub Axes);

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(state) = self.0.lifecycle else {
            return match self.0.outcome() {
                Some(outcome) => f.write_str(outcome.pill().label),
                None => f.write_str("legacy"),
            };
        };
        match doubt(state, self.0.health) {
            Some(doubt) => write!(f, "{doubt} {}", state.def().pill.label.to_lowercase()),
            None => f.write_str(state.def().pill.label),
        }
    }
}

/// What the health says against a state that claims to be going on.
fn doubt(state: Lifecycle, health: Option<Health>) -> Option<&'static str> {
    if state.is_terminal() || state.outcome().is_some() {
        return None;
    }
    match health? {
        Health::ProcessDead => Some("stale"),
        Health::Orphaned => Some("orphaned"),
        Health::Stalled => Some("stalled"),
        Health::Idle => Some("idle"),
        Health::Disconnected => Some("disconnected"),
        Health::Degraded => Some("degraded"),
        Health::Misfired => Some("misfired"),
        Health::Blocked => Some("blocked"),
        Health::Paused => Some("paused"),
        Health::Ok | Health::Running | Health::Due | Health::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callboard_lifecycle::PhaseName;
    use callboard_lifecycle::play::PlayState;
    use callboard_lifecycle::session::SessionState;

    fn chain(state: SessionState, health: Option<Health>, delivery: Option<Delivery>) -> String {
        let axes = Axes { lifecycle: Some(state.into()), outcome: None, health, delivery };
        Chain::new(axes).to_string()
    }

    #[test]
    fn what_waits_for_a_person_says_so() {
        let axes = Axes {
            lifecycle: Some(SessionState::Running.into()),
            outcome: None,
            health: Some(Health::Degraded),
            delivery: None,
        };
        let chain = Chain { health_label: Some("Waiting"), ..Chain::new(axes) };
        assert_eq!(
            (chain.to_string().as_str(), chain.effective().as_str()),
            ("Running · Waiting", "waiting")
        );
        let retrying = Chain { health_label: Some("Retrying (9, 401)"), ..Chain::new(axes) };
        assert_eq!(
            (retrying.to_string().as_str(), retrying.effective().as_str()),
            ("Running · Retrying (9, 401)", "retrying")
        );
        let erring = Chain::new(axes);
        assert_eq!(erring.to_string(), "Running · Degraded");
        assert_eq!(erring.effective(), "degraded running");
    }

    #[test]
    fn the_chains_of_the_design_read_as_they_stand_there() {
        use SessionState::{Completed, Failed, Running, TimedOut};
        let cases = [
            (Failed, Some(Health::Ok), Some(Delivery::Passed), "Failed · Infra OK · Trace present"),
            (
                Running,
                Some(Health::Stalled),
                Some(Delivery::Missing),
                "Running · Stalled · Artifacts missing",
            ),
            (Completed, Some(Health::Ok), Some(Delivery::Passed), "Completed"),
            (Completed, Some(Health::Ok), Some(Delivery::NotExpected), "Completed"),
            (Failed, Some(Health::Ok), Some(Delivery::Missing), "Failed · Artifacts missing"),
            (Failed, Some(Health::Ok), None, "Failed · Infra OK"),
            (Running, Some(Health::Running), Some(Delivery::Unknown), "Running"),
            (Running, Some(Health::ProcessDead), None, "Running · Process dead"),
            (Completed, Some(Health::Degraded), None, "Completed · Degraded"),
            (TimedOut, Some(Health::Ok), Some(Delivery::Partial), "Timed out · Artifacts partial"),
        ];
        for (state, health, delivery, expected) in cases {
            assert_eq!(chain(state, health, delivery), expected);
        }
    }

    #[test]
    fn a_phase_stands_behind_the_state_unless_it_is_plain_work() {
        let read = |state: SessionState, health, name, by: Option<&str>| {
            let axes = Axes { lifecycle: Some(state.into()), health: Some(health), ..Axes::default() };
            let phase = Phase { name, since: None, by: by.map(str::to_owned), detail: None };
            let chain = Chain { phase: Some(&phase), ..Chain::new(axes) };
            (chain.to_string(), chain.effective())
        };
        use SessionState::{Pending, Running};
        let both = |chain: &str, effective: &str| (chain.to_owned(), effective.to_owned());
        assert_eq!(read(Running, Health::Running, PhaseName::Working, None), both("Running", "Running"));
        let stopping = both("Running · Stopping (by alice)", "stopping");
        assert_eq!(read(Running, Health::Running, PhaseName::Stopping, Some("alice")), stopping);
        let starting = both("Pending · Starting", "starting");
        assert_eq!(read(Pending, Health::Ok, PhaseName::Starting, None), starting);
        let stalled = both("Pending · Starting · Stalled", "stalled pending");
        assert_eq!(read(Pending, Health::Stalled, PhaseName::Starting, None), stalled);
    }

    #[test]
    fn a_detail_takes_the_place_of_the_general_label() {
        let axes = Axes {
            lifecycle: Some(SessionState::TimedOut.into()),
            outcome: None,
            health: Some(Health::Ok),
            delivery: Some(Delivery::Missing),
        };
        let chain = Chain { delivery_detail: Some("No review.md produced"), ..Chain::new(axes) };
        assert_eq!(chain.to_string(), "Timed out · No review.md produced");
    }

    #[test]
    fn nothing_known_is_legacy_and_nothing_is_said_twice() {
        assert_eq!(Chain::new(Axes::default()).to_string(), "legacy");
        let blocked = Axes {
            lifecycle: Some(PlayState::Blocked.into()),
            health: Some(Health::Blocked),
            ..Axes::default()
        };
        assert_eq!(Chain::new(blocked).to_string(), "Blocked");
    }

    #[test]
    fn a_dead_process_is_never_a_lone_running() {
        let stale = Axes {
            lifecycle: Some(SessionState::Running.into()),
            health: Some(Health::ProcessDead),
            ..Axes::default()
        };
        assert_eq!(Effective(stale).to_string(), "stale running");
        let well = Axes { health: Some(Health::Running), ..stale };
        assert_eq!(Effective(well).to_string(), "Running");
        let ended = Axes { lifecycle: Some(SessionState::Completed.into()), ..stale };
        assert_eq!(Effective(ended).to_string(), "Completed");
    }
}
