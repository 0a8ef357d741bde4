//! Questions on a store in memory: who answers, what an answer does, and what is never done by itself.

use std::time::Duration;

use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{Actor, EntityId, Facts, Moment, RefusalCode, fact, question};
use callboard_ledger::{Ledger, Memory};
use callboard_lifecycle::question::{QuestionSource, QuestionState};
use callboard_lifecycle::rule::RuleState;
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::{AskRequest, TaskRequest};

use super::service::{expire, look};
use super::{Answering, NewQuestion, PermissionRequest, QuestionEnd, inbox, question_end, rules};
use crate::tasks::{Asking, Block, Done, Hold, LEASE, NewTask, NewWorker, PlanTask, TaskError};

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

fn ledger() -> Ledger {
    Ledger::direct(&Memory::new("questions"))
}

fn at(ledger: &Ledger, class: ActorClass, name: &str) -> Asking<'static> {
    // The store outlives every test.
    Asking::new(Box::leak(Box::new(ledger.clone())), Actor::new(class, name), NOW)
}

fn person(ledger: &Ledger) -> Asking<'static> {
    at(ledger, ActorClass::Operator, "ann")
}

fn agent(ledger: &Ledger) -> Asking<'static> {
    at(ledger, ActorClass::Agent, "ses_agent")
}

fn answered(option: &str) -> Answering<'_> {
    Answering { option, because: "a reason", always: None }
}

fn state(ledger: &Ledger, id: EntityId) -> QuestionState {
    question::state(&ledger.entity(id).unwrap().unwrap().entity).unwrap()
}

fn task_state(ledger: &Ledger, id: EntityId) -> TaskState {
    task::state(&ledger.entity(id).unwrap().unwrap().entity).unwrap()
}

fn new_task(title: &str) -> NewTask {
    let request = TaskRequest { title: title.to_owned(), ..TaskRequest::default() };
    NewTask::read(&request, ActorClass::Operator).unwrap()
}

fn begun(ledger: &Ledger) -> (Asking<'static>, Hold) {
    let task = person(ledger).add(new_task("work")).unwrap();
    let worker = person(ledger).join(&NewWorker::default()).unwrap();
    let asking = person(ledger).acting_for_worker(worker);
    let hold = asking.claim(worker, task, LEASE).unwrap();
    asking.begin(&hold, "a line").unwrap();
    (asking, hold)
}

/// A task whose result waits for approval, and the question about it.
fn pending(ledger: &Ledger) -> (EntityId, EntityId) {
    let (asking, hold) = begun(ledger);
    let done = Done { summary: "did it".into(), evidence: "exit 0".into(), data: Facts::none() };
    asking.report_done(&hold, &done).unwrap();
    let janitor = at(ledger, ActorClass::System, "janitor");
    janitor.ask_approval(&janitor.task(hold.task).unwrap(), "a person must approve it").unwrap();
    (hold.task, open_question(ledger))
}

fn open_question(ledger: &Ledger) -> EntityId {
    let open = inbox(ledger, None).unwrap().items;
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].id.parse().unwrap()
}

#[track_caller]
fn refused(answer: Result<(), TaskError>) -> (RefusalCode, String) {
    match answer {
        Err(TaskError::Refused(refusal)) => (refusal.code, refusal.message),
        other => panic!("not refused: {other:?}"),
    }
}

fn permission(input: &str) -> PermissionRequest {
    PermissionRequest {
        run: None,
        tool: "Bash".to_owned(),
        input: input.to_owned(),
        place: Some("/repo".to_owned()),
        wait: Duration::from_secs(60),
    }
}

#[test]
fn the_first_answer_counts_and_the_second_is_told_what_it_was() {
    let ledger = ledger();
    let id = agent(&ledger).ask_permission(&permission("ls")).unwrap();
    person(&ledger).answer(id, &answered("deny")).unwrap();
    let (code, told) = refused(at(&ledger, ActorClass::Operator, "bob").answer(id, &answered("allow")));
    assert_eq!(code, RefusalCode::Ended);
    assert!(told.contains("ann answered it already: deny"), "{told}");
    let stored = ledger.entity(id).unwrap().unwrap();
    let by = ("deny".to_owned(), "ann".to_owned());
    assert!(
        matches!(question_end(&stored.entity), Some(QuestionEnd::Answered { answer, by: who, .. }) if (answer.clone(), who.clone()) == by)
    );
}

#[test]
fn nobody_but_a_person_answers_and_only_what_is_offered() {
    let ledger = ledger();
    let id = agent(&ledger).ask_permission(&permission("ls")).unwrap();
    for class in [ActorClass::Agent, ActorClass::Worker, ActorClass::Supervisor, ActorClass::System] {
        let (code, _) = refused(at(&ledger, class, "x").answer(id, &answered("allow")));
        assert_eq!(code, RefusalCode::NotPermitted, "{class}");
    }
    assert_eq!(refused(person(&ledger).answer(id, &answered("perhaps"))).0, RefusalCode::GuardFailed);
    assert_eq!(state(&ledger, id), QuestionState::Asked);
}

#[test]
fn a_question_to_somebody_is_answered_by_nobody_else() {
    let ledger = ledger();
    let request =
        AskRequest { text: "well?".into(), answerers: vec!["bob".to_owned()], ..AskRequest::default() };
    let id = agent(&ledger).ask(&NewQuestion::read(&request, None, NOW).unwrap()).unwrap();
    assert_eq!(refused(person(&ledger).answer(id, &answered("yes"))).0, RefusalCode::GuardFailed);
    at(&ledger, ActorClass::Operator, "bob").answer(id, &answered("yes")).unwrap();
}

#[test]
fn a_standing_rule_answers_the_same_request_and_no_other_until_it_is_revoked() {
    let ledger = ledger();
    let first = agent(&ledger).ask_permission(&permission("cargo test")).unwrap();
    let always = Answering { always: Some("exact"), ..answered("allow") };
    person(&ledger).answer(first, &always).unwrap();
    let ask = |input: &str| agent(&ledger).ask_permission(&permission(input)).unwrap();
    assert_eq!(state(&ledger, ask("cargo test")), QuestionState::Answered);
    assert_eq!(state(&ledger, ask("cargo test; rm -rf /")), QuestionState::Asked);
    let all = rules(&ledger, false).unwrap().items;
    assert_eq!((all.len(), all[0].answer.as_str(), all[0].made_by.as_deref()), (1, "allow", Some("ann")));
    let rule: EntityId = all[0].id.parse().unwrap();
    assert_eq!(refused(agent(&ledger).revoke_rule(rule, "mine")).0, RefusalCode::NotPermitted);
    person(&ledger).revoke_rule(rule, "not any more").unwrap();
    assert_eq!(state(&ledger, ask("cargo test")), QuestionState::Asked);
    let none = Answering { always: Some("everything"), ..answered("allow") };
    assert!(matches!(person(&ledger).answer(ask("ls"), &none), Err(TaskError::Unfit { .. })));
}

#[test]
fn an_agent_makes_no_rule() {
    let ledger = ledger();
    for class in [ActorClass::Agent, ActorClass::System, ActorClass::Worker] {
        let asking = at(&ledger, class, "x");
        let id = asking.fresh_id(Kind::Rule);
        let made = asking.send_one(asking.create(id, RuleState::InForce, Facts::none())).map(drop);
        assert_eq!(refused(made).0, RefusalCode::NotPermitted, "{class}");
    }
}

#[test]
fn a_question_that_an_agent_made_up_decides_nothing() {
    let ledger = ledger();
    let (task, own) = pending(&ledger);
    // It names the task and the source, as the desk does.
    let forged = NewQuestion {
        options: vec![question::AnswerOption::granting("approve")],
        ..NewQuestion::new(QuestionSource::Review, task, "Do you like tea?")
    };
    let id = agent(&ledger).ask(&forged).unwrap();
    person(&ledger).answer(id, &answered("approve")).unwrap();
    assert_eq!(state(&ledger, id), QuestionState::Answered);
    assert_eq!(
        (task_state(&ledger, task), state(&ledger, own)),
        (TaskState::PendingApproval, QuestionState::Asked)
    );
}

#[test]
fn every_answer_about_a_result_does_what_it_says() {
    for (option, to) in [
        ("approve", TaskState::Closed),
        ("reject", TaskState::Failed),
        ("send back", TaskState::Open),
        ("cancel", TaskState::Cancelled),
    ] {
        let ledger = ledger();
        let (task, id) = pending(&ledger);
        person(&ledger).answer(id, &answered(option)).unwrap();
        assert_eq!(
            (task_state(&ledger, task), state(&ledger, id)),
            (to, QuestionState::Answered),
            "{option}"
        );
    }
}

#[test]
fn a_decision_about_a_task_answers_the_question_about_it() {
    let ledger = ledger();
    let (task, id) = pending(&ledger);
    person(&ledger).turn_down(task, "not good", true).unwrap();
    let stored = ledger.entity(id).unwrap().unwrap();
    assert_eq!(question::state(&stored.entity), Some(QuestionState::Answered));
    assert_eq!(stored.entity.facts.read(fact::ANSWER), Some("send back"));
}

fn plan(ledger: &Ledger) -> Vec<EntityId> {
    let part = |name: &str| PlanTask { name: name.to_owned(), task: new_task(name), after: Vec::new() };
    let named = person(ledger).add_plan("login", vec![part("one"), part("two"), part("three")]).unwrap();
    named.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn an_answer_about_a_plan_decides_all_of_it() {
    for (option, to) in [("approve", TaskState::Open), ("reject", TaskState::Cancelled)] {
        let ledger = ledger();
        let tasks = plan(&ledger);
        person(&ledger).answer(open_question(&ledger), &answered(option)).unwrap();
        assert!(tasks.iter().all(|id| task_state(&ledger, *id) == to), "{option}");
    }
}

#[test]
fn the_question_of_a_plan_stays_until_its_last_task_is_decided() {
    let ledger = ledger();
    let tasks = plan(&ledger);
    let id = open_question(&ledger);
    person(&ledger).approve_plan(&tasks[..1], "this one").unwrap();
    assert_eq!(state(&ledger, id), QuestionState::Asked);
    person(&ledger).reject_plan(&tasks[1..], "not these").unwrap();
    let stored = ledger.entity(id).unwrap().unwrap();
    assert_eq!(stored.entity.facts.read(fact::ANSWER), Some("reject"));
}

#[test]
fn a_task_that_waits_for_a_person_goes_on_when_the_person_says_so() {
    for (option, to) in [("go on", TaskState::Open), ("cancel", TaskState::Cancelled)] {
        let ledger = ledger();
        let (asking, hold) = begun(&ledger);
        let by = [Block::Dependency(Dependency::Person { what: "the design".to_owned() })];
        asking.block(&hold, &by, "no design").unwrap();
        person(&ledger).answer(open_question(&ledger), &answered(option)).unwrap();
        assert_eq!(task_state(&ledger, hold.task), to, "{option}");
    }
}

#[test]
fn a_question_is_withdrawn_when_its_subject_was_decided_by_hand_or_has_ended() {
    let ledger = ledger();
    let (task, id) = pending(&ledger);
    let ask = NewQuestion::new(QuestionSource::Ask, task, "which one?");
    let asked = agent(&ledger).ask(&ask).unwrap();
    let why = crate::tasks::reason(
        const { callboard_lifecycle::ReasonCode::of("task.cancelled.operator") },
        "by hand",
    )
    .shown_by(callboard_kernel::EvidenceRef::human_assertion("ann"));
    let by_hand = person(&ledger);
    by_hand.send_one(by_hand.go(task, TaskState::Cancelled, why, Facts::none())).unwrap();
    look(&ledger, NOW, &|| true).unwrap();
    assert_eq!(
        (state(&ledger, id), state(&ledger, asked)),
        (QuestionState::Withdrawn, QuestionState::Withdrawn)
    );
}

#[test]
fn nobody_but_the_asker_takes_a_question_back() {
    let ledger = ledger();
    let id = agent(&ledger).ask_permission(&permission("ls")).unwrap();
    let other = at(&ledger, ActorClass::Agent, "ses_other");
    assert_eq!(refused(other.retract(id, "mine")).0, RefusalCode::GuardFailed);
    agent(&ledger).retract(id, "not needed").unwrap();
    assert_eq!(state(&ledger, id), QuestionState::Withdrawn);
}

#[test]
fn without_an_answer_a_tool_is_denied_and_a_question_that_holds_stays() {
    let ledger = ledger();
    let id = agent(&ledger).ask_permission(&permission("ls")).unwrap();
    let holds = AskRequest { text: "well?".into(), expires_s: Some(1.0), ..AskRequest::default() };
    let held = agent(&ledger).ask(&NewQuestion::read(&holds, None, NOW).unwrap()).unwrap();
    look(&ledger, NOW.plus(Duration::from_secs(59)), &|| true).unwrap();
    assert_eq!(state(&ledger, id), QuestionState::Asked);
    look(&ledger, NOW.plus(Duration::from_secs(61)), &|| true).unwrap();
    let stored = ledger.entity(id).unwrap().unwrap();
    assert_eq!(question_end(&stored.entity), Some(QuestionEnd::NoAnswer { default: None }));
    assert_eq!(state(&ledger, held), QuestionState::Asked);
    let early = agent(&ledger).ask_permission(&permission("ls")).unwrap();
    expire(&ledger, &ledger.entity(early).unwrap().unwrap(), NOW).unwrap();
    assert_eq!(state(&ledger, early), QuestionState::Asked);
}

#[test]
fn a_default_that_reads_like_a_yes_cannot_be_asked_for() {
    let ask = |options: &[&str], on_expiry: &str| {
        let request = AskRequest {
            text: "well?".into(),
            options: options.iter().map(|text| (*text).to_owned()).collect(),
            expires_s: Some(5.0),
            on_expiry: Some(on_expiry.to_owned()),
            ..AskRequest::default()
        };
        NewQuestion::read(&request, None, NOW).map(drop)
    };
    assert!(ask(&["yes", "no"], "no").is_ok() && ask(&["sqlite", "postgres"], "sqlite").is_ok());
    for (options, default) in [(&["yes", "no"], "yes"), (&["Go ahead", "no"], "Go ahead"), (&["a", "b"], "c")]
    {
        assert!(ask(options, default).is_err(), "{default}");
    }
    assert!(ask(&["a", "a"], "hold").is_err() && ask(&["a", ""], "hold").is_err());
}
