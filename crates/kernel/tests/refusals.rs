//! Each rule refuses with its own code, says what is allowed and what to do, and leaves the key unburnt.

use callboard_kernel::{
    Actor, Command, Confidence, Context, Create, Decision, Entity, EntityId, Event, EvidenceRef, Facts,
    Moment, Order, RefusalCode, State, StateReason, Transition, decide,
};
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::turn::TurnState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, reason};

fn why(code: &str) -> StateReason {
    let Ok(code) = reason(code) else { panic!("{code} is not registered") };
    StateReason::new(code, "because").shown_by(EvidenceRef::tool_result("exit 1"))
}

fn at(state: impl Into<Lifecycle>) -> State {
    let lifecycle = state.into();
    State {
        id: EntityId::new(lifecycle.kind(), uuid::Uuid::from_u128(7)),
        version: 3,
        lifecycle: Some(lifecycle),
    }
}

fn ask(state: &State, class: ActorClass, transition: Transition) -> Result<Event, RefusalCode> {
    let actor = Actor::new(class, "test");
    let context = Context::new(&actor, Moment::from_micros(1));
    let entity = Entity::known_by(*state);
    match decide(&entity, Command::new(state.id, Order::Transition(transition)), &context) {
        Ok(Decision::Record(event)) => Ok(event),
        Ok(Decision::Repeat { .. }) => panic!("no key was given"),
        Err(refusal) => {
            assert!(
                !refusal.help.is_empty() && refusal.message.contains(&state.id.to_string()),
                "{refusal:?}"
            );
            Err(refusal.code)
        }
    }
}

/// Asks for a move that one rule forbids, and expects that rule's code.
fn refused(what: &str, state: State, class: ActorClass, transition: Transition, expected: RefusalCode) {
    assert_eq!(ask(&state, class, transition), Err(expected), "{what}");
}

fn failed() -> Transition {
    Transition::to(SessionState::Failed, why("run.failed.exit_nonzero"))
}

#[test]
fn each_rule_about_the_move_has_its_own_refusal() {
    use ActorClass::{Agent, Operator, Supervisor};
    use SessionState::{Completed, Pending, Running};
    let running = at(Running);
    let completed = || Transition::to(Completed, why("run.completed.ok"));
    let stranger = Transition::to(TaskState::Done, why("run.failed.oom"));
    let spawned = failed().caused_by(SessionTrigger::Spawned);
    refused("an unborn entity", State::unborn(running.id), Supervisor, failed(), RefusalCode::NotFound);
    refused("an end", at(Completed), Supervisor, failed(), RefusalCode::Ended);
    refused("no such edge", at(Pending), Supervisor, completed(), RefusalCode::IllegalEdge);
    refused("another kind's state", running, Supervisor, stranger, RefusalCode::WrongKind);
    refused("a trigger of another row", running, Supervisor, spawned, RefusalCode::WrongTrigger);
    refused("an agent ends its own run", running, Agent, failed(), RefusalCode::NotPermitted);
    refused("an operator completes a run", running, Operator, completed(), RefusalCode::NotPermitted);
    assert!(ask(&running, Supervisor, failed()).is_ok());
}

#[test]
fn each_rule_about_the_reason_has_its_own_refusal() {
    use ActorClass::Supervisor;
    let running = at(SessionState::Running);
    let because = |reason: StateReason| Transition::to(SessionState::Failed, reason);
    let silent = Transition { reasons: vec![], ..failed() };
    let absurd = why("run.failed.oom").held(ClaimStatus::Inferred, Confidence::new(2.0));
    let bare = StateReason { evidence: vec![], ..why("run.failed.oom") };
    let timeout = Transition::to(SessionState::TimedOut, why("run.timed_out.deadline"));
    refused("no reason", running, Supervisor, silent, RefusalCode::ReasonRequired);
    let other_end = because(why("run.completed.ok"));
    refused("a reason of another end", running, Supervisor, other_end, RefusalCode::ReasonNotAllowed);
    let other_kind = because(why("play.failed.gate"));
    refused("a reason of another kind", running, Supervisor, other_kind, RefusalCode::ReasonNotAllowed);
    refused("doubt beyond all", running, Supervisor, because(absurd), RefusalCode::ReasonFlawed);
    refused("no evidence", running, Supervisor, because(bare), RefusalCode::EvidenceRequired);
    refused("a timeout without its times", running, Supervisor, timeout, RefusalCode::FactRequired);
}

#[test]
fn only_a_person_leads_out_of_pending_approval() {
    let held = at(TaskState::PendingApproval);
    let judged = StateReason::new(reason("task.closed.approved").unwrap(), "reviewed")
        .shown_by(EvidenceRef::human_assertion("I read the diff"));
    for class in [
        ActorClass::System,
        ActorClass::Supervisor,
        ActorClass::Worker,
        ActorClass::Agent,
        ActorClass::ApprovalDesk,
    ] {
        let refused = ask(&held, class, Transition::to(TaskState::Closed, judged.clone()));
        assert_eq!(refused, Err(RefusalCode::Ended), "{class}");
    }
    assert!(ask(&held, ActorClass::Operator, Transition::to(TaskState::Closed, judged)).is_ok());
}

#[test]
fn a_turn_is_completed_only_with_its_clean_answer_on_record() {
    let running = at(TurnState::Running);
    let answered = StateReason::new(reason("turn.completed.answered").unwrap(), "answered")
        .shown_by(EvidenceRef::message("m9"));
    let bare = Transition::to(TurnState::Completed, answered.clone());
    assert_eq!(ask(&running, ActorClass::System, bare.clone()), Err(RefusalCode::FactRequired));
    let data = Facts::none().with("assistant_message", "m9").with("tools_paired", true);
    assert!(ask(&running, ActorClass::System, bare.with(data)).is_ok());
}

#[test]
fn a_refused_command_does_not_burn_its_key_and_a_repeated_one_gets_its_earlier_result() {
    let id = EntityId::new(Kind::Session, uuid::Uuid::from_u128(9));
    let supervisor = Actor::new(ActorClass::Supervisor, "test");
    let now = Moment::from_micros(5);
    let mut entity = Entity::unborn(id);
    let keyed = |order| Command { key: Some("k1".to_owned()), ..Command::new(id, order) };
    let create =
        || Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data: Facts::none() });
    let start = || Order::Transition(Transition::to(SessionState::Running, why("run.started.ok")));

    let refused = decide(&entity, keyed(start()), &Context::new(&supervisor, now)).unwrap_err();
    assert_eq!(refused.code, RefusalCode::NotFound);

    let created = match decide(&entity, keyed(create()), &Context::new(&supervisor, now)) {
        Ok(Decision::Record(event)) => event,
        other => panic!("{other:?}"),
    };
    entity.apply(&created).unwrap();

    let mut seen = Context::new(&supervisor, now);
    seen.earlier = Some(&created);
    assert_eq!(decide(&entity, keyed(create()), &seen), Ok(Decision::Repeat { version: 1 }));
    assert_eq!(decide(&entity, keyed(start()), &seen).unwrap_err().code, RefusalCode::KeyReused);
    assert_eq!(entity.state.version, 1);
}

#[test]
fn a_stale_version_is_a_conflict_that_names_the_version_it_has() {
    let state = at(SessionState::Running);
    let actor = Actor::new(ActorClass::Supervisor, "test");
    let order = Order::Transition(Transition::to(SessionState::Failed, why("run.failed.oom")));
    let command = Command { if_version: Some(2), ..Command::new(state.id, order) };
    let refusal =
        decide(&Entity::known_by(state), command, &Context::new(&actor, Moment::from_micros(1))).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::VersionConflict);
    assert!(refusal.message.ends_with("it has version 3, not 2"), "{refusal}");
    assert_eq!(refusal.allowed, ["completed", "failed", "timed_out", "aborted", "cancelled"]);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_kept_for_ever() {
    let state = at(SessionState::Running);
    let huge = StateReason::new(reason("run.failed.oom").unwrap(), "x".repeat(16 * 1024 + 1));
    assert_eq!(
        ask(&state, ActorClass::Supervisor, Transition::to(SessionState::Failed, huge)),
        Err(RefusalCode::TooLarge)
    );
}
