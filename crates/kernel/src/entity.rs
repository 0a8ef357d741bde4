//! An entity as views show it: everything its events have said, folded in order.
//!
//! Invariant: the same fold serves the live view, a rebuilt one and any moment of the past. Deliberately absent:
//! health, delivery and severity; they are judged when somebody looks.

use callboard_lifecycle::ActorClass;

use crate::apply::{Misfit, State, apply};
use crate::event::{Event, EventType};
use crate::facts::Facts;
use crate::moment::Moment;
use crate::reason::StateReason;

/// What is recorded of one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Where it stands.
    pub state: State,
    /// When it came to be.
    pub created_at: Option<Moment>,
    /// When it first left its start to go on.
    pub started_at: Option<Moment>,
    /// When it entered the state it is in.
    pub entered_at: Option<Moment>,
    /// When it ended; nothing while it can go on.
    pub ended_at: Option<Moment>,
    /// When anything was last heard of it.
    pub last_activity_at: Option<Moment>,
    /// Why it is in the state it is in.
    pub reasons: Vec<StateReason>,
    /// Everything that was recorded beside, the latest value of each.
    pub facts: Facts,
}

impl Entity {
    /// An entity that does not exist yet.
    pub const fn unborn(id: crate::EntityId) -> Self {
        Self::known_by(State::unborn(id))
    }

    /// An entity of which nothing is known but where it stands.
    pub const fn known_by(state: State) -> Self {
        Self {
            state,
            created_at: None,
            started_at: None,
            entered_at: None,
            ended_at: None,
            last_activity_at: None,
            reasons: Vec::new(),
            facts: Facts::none(),
        }
    }

    /// Takes one more event in, or says why it does not follow.
    pub fn apply(&mut self, event: &Event) -> Result<(), Misfit> {
        apply(&mut self.state, event)?;
        if is_sign_of_life(event) {
            self.last_activity_at = Some(event.at);
        }
        // What is said in a conversation is no fact about the agent.
        if event.kind != EventType::Entry {
            self.facts.merge(&event.data);
        }
        match event.kind {
            EventType::Created => {
                self.created_at = Some(event.at);
                self.enter(event);
            }
            EventType::Transitioned => {
                // What is called off before it began has no start.
                if !event.to.is_terminal() {
                    self.started_at.get_or_insert(event.at);
                }
                self.enter(event);
            }
            EventType::Observed | EventType::Entry => {}
        }
        Ok(())
    }

    fn enter(&mut self, event: &Event) {
        self.entered_at = Some(event.at);
        self.ended_at = event.to.is_terminal().then_some(event.at);
        self.reasons.clone_from(&event.reasons);
    }
}

/// What somebody notes about an entity is nothing that was heard of it; everything else is.
const fn is_sign_of_life(event: &Event) -> bool {
    match (event.kind, event.actor.class) {
        (EventType::Observed, ActorClass::Operator | ActorClass::System | ActorClass::ApprovalDesk) => false,
        (EventType::Observed, ActorClass::Supervisor | ActorClass::Worker | ActorClass::Agent)
        | (EventType::Created | EventType::Transitioned | EventType::Entry, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Actor, Command, Context, Create, Decision, EntityId, EvidenceRef, Order, Transition, decide,
    };
    use callboard_lifecycle::session::SessionState;
    use callboard_lifecycle::{Kind, reason};

    fn step(entity: &mut Entity, order: Order, second: i64) {
        let actor = Actor::new(ActorClass::Supervisor, "host/1");
        let context = Context::new(&actor, Moment::from_micros(second * 1_000_000));
        let command = Command::new(entity.state.id, order);
        match decide(entity, command, &context).unwrap() {
            Decision::Record(event) => entity.apply(&event).unwrap(),
            Decision::Repeat { .. } => unreachable!("no key was given"),
        }
    }

    #[test]
    fn the_times_of_a_run_come_from_its_events() {
        let id = EntityId::new(Kind::Session, uuid::Uuid::from_u128(7));
        let mut entity = Entity::unborn(id);
        let why = |code: &str| StateReason::new(reason(code).unwrap(), "it did");
        let data = Facts::none().with("title", "fix the bug");
        step(
            &mut entity,
            Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data }),
            1,
        );
        step(&mut entity, Order::Transition(Transition::to(SessionState::Running, why("run.started.ok"))), 2);
        let done = why("run.completed.ok").shown_by(EvidenceRef::tool_result("exit 0"));
        step(&mut entity, Order::Transition(Transition::to(SessionState::Completed, done)), 9);

        let at = |second: i64| Some(Moment::from_micros(second * 1_000_000));
        assert_eq!((entity.created_at, entity.started_at, entity.ended_at), (at(1), at(2), at(9)));
        assert_eq!(entity.reasons[0].code.as_str(), "run.completed.ok");
        assert!(entity.facts.has("title"));
    }

    #[test]
    fn a_note_about_a_run_is_no_sign_of_its_life() {
        let id = EntityId::new(Kind::Session, uuid::Uuid::from_u128(7));
        let mut entity = Entity::unborn(id);
        let begin = Create { at: SessionState::Pending.into(), reasons: vec![], data: Facts::none() };
        step(&mut entity, Order::Create(begin), 1);
        for (class, expected) in [(ActorClass::Operator, 1), (ActorClass::Agent, 3), (ActorClass::System, 3)]
        {
            let actor = Actor::new(class, "somebody");
            let now = Moment::from_micros(if class == ActorClass::Agent { 3 } else { 2 } * 1_000_000);
            let order = Order::Observe(crate::Observe { reasons: vec![], data: Facts::none() });
            let decision = decide(&entity, Command::new(id, order), &Context::new(&actor, now)).unwrap();
            let Decision::Record(event) = decision else { unreachable!("no key was given") };
            entity.apply(&event).unwrap();
            assert_eq!(entity.last_activity_at, Some(Moment::from_micros(expected * 1_000_000)), "{class}");
        }
    }

    #[test]
    fn an_event_out_of_order_does_not_load() {
        let id = EntityId::new(Kind::Session, uuid::Uuid::from_u128(7));
        let mut entity = Entity::unborn(id);
        step(
            &mut entity,
            Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data: Facts::none() }),
            1,
        );
        let mut copy = entity.clone();
        let why = StateReason::new(reason("run.started.ok").unwrap(), "it did");
        step(&mut entity, Order::Transition(Transition::to(SessionState::Running, why)), 2);
        let event = Event {
            entity: id,
            version: 3,
            at: Moment::from_micros(3),
            kind: EventType::Transitioned,
            channel: crate::Channel::Audit,
            from: Some(SessionState::Pending.into()),
            to: SessionState::Running.into(),
            trigger: None,
            actor: Actor::new(ActorClass::System, "test"),
            reasons: vec![],
            cause: None,
            key: None,
            data: Facts::none(),
            guards: callboard_lifecycle::GuardSet::NONE,
        };
        assert!(matches!(copy.apply(&event), Err(Misfit::Version { has: 1, makes: 3, .. })));
        assert!(matches!(entity.apply(&event), Err(Misfit::Edge { version: 3, .. })));
    }
}
