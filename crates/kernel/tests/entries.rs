//! Entries: what a conversation takes in, on which channel, and what it refuses.

use callboard_kernel::{
    Actor, AuditEntry, Channel, Command, Context, Decision, Entity, EntityId, Entry, EntryType, Event,
    EventType, Facts, Misfit, Moment, Order, RefusalCode, ReplayEntry, State, decide, fact,
};
use callboard_lifecycle::agent::ExecutionState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle};

fn id(kind: Kind, number: u128) -> EntityId {
    EntityId::new(kind, uuid::Uuid::from_u128(number))
}

fn turn() -> EntityId {
    id(Kind::Turn, 9)
}

/// An entity of which its state and its open turn are recorded.
fn standing(state: impl Into<Lifecycle>, turn: Option<EntityId>) -> Entity {
    let lifecycle = state.into();
    let mut entity =
        Entity::known_by(State { id: id(lifecycle.kind(), 7), version: 3, lifecycle: Some(lifecycle) });
    entity.facts.record(fact::TURN, turn.map(|turn| turn.to_string()));
    entity
}

fn said(kind: impl Into<EntryType>, turn: EntityId) -> Entry {
    Entry::new(kind, turn, Facts::none().with("text", "fix the bug"))
}

fn ask(entity: &Entity, class: ActorClass, entry: Entry) -> Result<Event, RefusalCode> {
    let actor = Actor::new(class, "test");
    let context = Context::new(&actor, Moment::from_micros(5));
    match decide(entity, Command::new(entity.state.id, Order::Entry(entry)), &context) {
        Ok(Decision::Record(event)) => Ok(event),
        Ok(Decision::Repeat { .. }) => panic!("no key was given"),
        Err(refusal) => {
            assert!(!refusal.help.is_empty(), "{refusal:?}");
            Err(refusal.code)
        }
    }
}

#[test]
fn the_type_of_an_entry_fixes_its_channel_and_reads_back() {
    let agent = standing(ExecutionState::Busy, Some(turn()));
    let types: [(EntryType, Channel); 3] = [
        (ReplayEntry::UserMessage.into(), Channel::Replay),
        (ReplayEntry::ToolResult.into(), Channel::Replay),
        (AuditEntry::ProviderUsage.into(), Channel::Audit),
    ];
    for (kind, channel) in types {
        let event = ask(&agent, ActorClass::Supervisor, said(kind, turn())).unwrap();
        assert_eq!((event.kind, event.channel), (EventType::Entry, channel), "{kind:?}");
        assert_eq!(event.entry(), Some(said(kind, turn())));
    }
}

#[test]
fn an_entry_moves_nothing_and_is_no_fact_of_its_agent() {
    let mut agent = standing(ExecutionState::Busy, Some(turn()));
    let before = agent.clone();
    let event = ask(&agent, ActorClass::Operator, said(ReplayEntry::UserMessage, turn())).unwrap();
    agent.apply(&event).unwrap();
    assert_eq!((&agent.facts, &agent.reasons), (&before.facts, &before.reasons));
    assert_eq!((agent.state.version, agent.state.lifecycle), (4, before.state.lifecycle));
    assert_eq!(agent.last_activity_at, Some(Moment::from_micros(5)));
}

#[test]
fn each_rule_has_its_own_refusal() {
    use ActorClass::{ApprovalDesk, Operator, Supervisor};
    let busy = || standing(ExecutionState::Busy, Some(turn()));
    let message = || said(ReplayEntry::UserMessage, turn());
    let refused = |what: &str, entity: Entity, class, entry, expected| {
        assert_eq!(ask(&entity, class, entry).unwrap_err(), expected, "{what}");
    };
    let run = standing(SessionState::Running, Some(turn()));
    refused("a run has no conversation", run, Supervisor, message(), RefusalCode::WrongKind);
    let unborn = Entity::unborn(id(Kind::Agent, 7));
    refused("an unborn agent", unborn, Supervisor, message(), RefusalCode::NotFound);
    for end in [ExecutionState::Stopped, ExecutionState::Failed] {
        refused("an ended agent", standing(end, Some(turn())), Supervisor, message(), RefusalCode::Ended);
    }
    let idle = standing(ExecutionState::Idle, None);
    refused("no turn is open", idle, Supervisor, message(), RefusalCode::WrongTurn);
    let other = said(ReplayEntry::UserMessage, id(Kind::Turn, 10));
    refused("the turn of another agent", busy(), Supervisor, other, RefusalCode::WrongTurn);
    let answer = said(ReplayEntry::AssistantMessage, turn());
    refused("a person speaks for it", busy(), Operator, answer, RefusalCode::NotPermitted);
    refused("the desk asks it", busy(), ApprovalDesk, message(), RefusalCode::NotPermitted);
    let long = Facts::none().with("text", "x".repeat(4 * 1024 * 1024));
    let long = Entry::new(ReplayEntry::UserMessage, turn(), long);
    refused("a long text", busy(), Supervisor, long, RefusalCode::TooLarge);
}

#[test]
fn the_same_key_is_the_same_entry() {
    let agent = standing(ExecutionState::Busy, Some(turn()));
    let earlier = ask(&agent, ActorClass::Supervisor, said(ReplayEntry::ToolCall, turn())).unwrap();
    let actor = Actor::new(ActorClass::Supervisor, "test");
    let context = Context { earlier: Some(&earlier), ..Context::new(&actor, Moment::from_micros(6)) };
    let again = |entry: Entry| {
        let mut command = Command::new(agent.state.id, Order::Entry(entry));
        command.key = Some("k".to_owned());
        decide(&agent, command, &context).map_err(|refusal| refusal.code)
    };
    let same = again(said(ReplayEntry::ToolCall, turn()));
    assert_eq!(same, Ok(Decision::Repeat { version: 4 }));
    assert_eq!(again(said(ReplayEntry::ToolResult, turn())), Err(RefusalCode::KeyReused));
}

#[test]
fn a_conversation_of_something_without_one_does_not_load() {
    let agent = standing(ExecutionState::Busy, Some(turn()));
    let event = ask(&agent, ActorClass::Agent, said(AuditEntry::Diagnostic, turn())).unwrap();
    let mut run = standing(SessionState::Running, None);
    let state = run.state.lifecycle;
    let forged = Event { entity: run.state.id, from: state, to: state.unwrap(), ..event };
    assert!(matches!(run.apply(&forged), Err(Misfit::Edge { .. })));
}

/// A store that somebody edited may say any version.
#[test]
fn a_version_that_nothing_can_follow_is_a_misfit_and_no_panic() {
    let mut agent = standing(ExecutionState::Busy, Some(turn()));
    let event = ask(&agent, ActorClass::Agent, said(AuditEntry::Diagnostic, turn())).unwrap();
    agent.state.version = u64::MAX;
    assert!(matches!(agent.apply(&event), Err(Misfit::Version { .. })));
}
