//! The peer: the session machine written for `statig`, with the same states and the same triggers.
//!
//! Invariant: it makes the moves that the session's table allows. Deliberately absent, because `statig` leaves them to
//! its user: who may move it, reasons, evidence, versions, records and refusals. It moves a state in memory.

use statig::prelude::*;

/// What can happen to a session.
#[derive(Clone, Copy)]
#[expect(
    dead_code,
    reason = "the peer gets the whole vocabulary to match on, and the benchmark sends two words of it"
)]
pub(crate) enum Trigger {
    Spawned,
    SpawnFailed,
    ExitedClean,
    ExitedDirty,
    ContractBroken,
    DeadlineReached,
    Interrupted,
    StopAsked,
    Reaped,
    EndedByHand,
}

/// A session that nobody keeps a record of.
#[derive(Default)]
pub(crate) struct Session;

#[state_machine(
    initial = "State::pending()",
    visibility = "pub(crate)",
    state(derive(Debug, Clone, Copy, PartialEq, Eq))
)]
impl Session {
    #[state]
    fn pending(event: &Trigger) -> Outcome<State> {
        match event {
            Trigger::Spawned => Transition(State::running()),
            Trigger::SpawnFailed => Transition(State::failed()),
            Trigger::Interrupted | Trigger::Reaped | Trigger::EndedByHand => Transition(State::aborted()),
            Trigger::StopAsked => Transition(State::cancelled()),
            Trigger::ExitedClean
            | Trigger::ExitedDirty
            | Trigger::ContractBroken
            | Trigger::DeadlineReached => Handled,
        }
    }

    #[state]
    fn running(event: &Trigger) -> Outcome<State> {
        match event {
            Trigger::ExitedClean => Transition(State::completed()),
            Trigger::ExitedDirty | Trigger::ContractBroken => Transition(State::failed()),
            Trigger::DeadlineReached => Transition(State::timed_out()),
            Trigger::Interrupted | Trigger::Reaped | Trigger::EndedByHand => Transition(State::aborted()),
            Trigger::StopAsked => Transition(State::cancelled()),
            Trigger::Spawned | Trigger::SpawnFailed => Handled,
        }
    }

    #[state]
    fn completed() -> Outcome<State> {
        Handled
    }

    #[state]
    fn failed() -> Outcome<State> {
        Handled
    }

    #[state]
    fn timed_out() -> Outcome<State> {
        Handled
    }

    #[state]
    fn aborted() -> Outcome<State> {
        Handled
    }

    #[state]
    fn cancelled() -> Outcome<State> {
        Handled
    }
}
