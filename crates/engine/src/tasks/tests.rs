//! Cases that the model and the simulation of the task board found: acts that left a task where nobody moves it on.

use std::sync::Arc;
use std::time::Duration;

use callboard_kernel::task::{self, Dependency, DependencyEnd, NextMove};
use callboard_kernel::timeout::{SAMPLES_MIN, SampleEnd, TimeoutRule};
use callboard_kernel::{Actor, EntityId, Facts, Moment, RefusalCode, fact, turn_state, worker_state};
use callboard_ledger::{ClaimQuery, Ledger, Memory, Page, Range, RecordScope};
use callboard_lifecycle::task::{TaskState, TransitionReason};
use callboard_lifecycle::task_turn::TaskTurnState;
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode, Words};
use callboard_supervisor::Identity;
use callboard_wire::TaskRequest;
use uuid::Uuid;

use super::{
    Asking, Block, CardFilter, Done, FORSAKEN, Hold, IDLE, LEASE, NewTask, NewWorker, OVERDUE, RetryTime,
    TaskError, TaskFailure, TaskFilter, TaskService, board, sample_facts, timeout_for,
};
use crate::Clock;

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

fn ledger() -> Ledger {
    Ledger::direct(&Memory::new("tasks"))
}

fn person(ledger: &Ledger) -> Asking<'_> {
    Asking::new(ledger, Actor::new(ActorClass::Operator, "person"), NOW)
}

fn request(title: &str) -> NewTask {
    let request = TaskRequest { title: title.to_owned(), ..TaskRequest::default() };
    NewTask::read(&request, ActorClass::Operator).unwrap()
}

/// A task that a worker has begun.
fn begun<'a>(ledger: &'a Ledger) -> (Asking<'a>, Hold) {
    let task = person(ledger).add(request("work")).unwrap();
    let worker = person(ledger).join(&NewWorker::default()).unwrap();
    let asking = person(ledger).acting_as(super::holding::worker_actor(worker));
    let hold = asking.claim(worker, task, LEASE).unwrap();
    asking.begin(&hold, "a line").unwrap();
    (asking, hold)
}

fn state(ledger: &Ledger, id: EntityId) -> TaskState {
    task::state(&person(ledger).task(id).unwrap().entity).unwrap()
}

#[test]
fn a_failure_that_is_not_tried_again_waits_for_a_person() {
    let ledger = ledger();
    let (asking, hold) = begun(&ledger);
    let code = const { ReasonCode::of("task.failed.permission_denied") };
    let canonical = Some(TransitionReason::PermissionDenied);
    asking
        .report_failed(&hold, &TaskFailure { canonical, ..TaskFailure::new(code, "not permitted") })
        .unwrap();
    let stored = asking.task(hold.task).unwrap();
    let next = task::next_move(TaskState::Failed, &stored.entity.facts);
    assert_eq!(task::state(&stored.entity), Some(TaskState::Failed));
    assert!(matches!(next, Some(NextMove::Person(_))), "{next:?}");
}

#[test]
fn a_person_who_retries_or_unblocks_a_task_in_progress_does_not_take_it_from_its_worker() {
    let ledger = ledger();
    let (asking, hold) = begun(&ledger);
    let person = person(&ledger);
    let all = [
        person.retry(hold.task, "once more", RetryTime::Same),
        person.unblock(hold.task, "it is there"),
        person.approve_plan(&[hold.task], "fine"),
        person.reject_plan(&[hold.task], "no"),
        person.turn_down(hold.task, "no", true),
    ];
    for answer in all {
        assert!(
            matches!(&answer, Err(TaskError::Refused(refusal)) if refusal.code == RefusalCode::WrongTrigger),
            "{answer:?}"
        );
    }
    assert_eq!(state(&ledger, hold.task), TaskState::InProgress);
    person.reassign(hold.task, "somebody else is to do it").unwrap();
    assert!(asking.task(hold.task).unwrap().entity.facts.known(fact::LEASE_HOLDER).is_none());
    assert!(asking.heartbeat(&hold, LEASE).is_err());
}

#[test]
fn a_task_is_not_blocked_by_itself_or_by_one_that_does_not_exist() {
    let ledger = ledger();
    let (asking, hold) = begun(&ledger);
    let nobody = EntityId::new(Kind::Task, Uuid::from_u128(7));
    for id in [hold.task, nobody] {
        let by = [Block::Dependency(Dependency::Task { id, until: DependencyEnd::Closed })];
        assert!(asking.block(&hold, &by, "not there").is_err(), "{id}");
    }
    assert_eq!(state(&ledger, hold.task), TaskState::InProgress);
}

/// Everything of one store in another one, which knows none of its leases.
fn imported(from: &Ledger) -> Ledger {
    let (mut text, to) = (String::new(), Ledger::direct(&Memory::new("copy")));
    let mut each = |line: &str| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    };
    from.export(Range::ALL, &mut each).unwrap();
    to.import(&mut text.as_bytes()).unwrap();
    to
}

fn serve(ledger: &Ledger, at: Moment) {
    TaskService::new(Arc::new(At(at)), OVERDUE).step_alone(ledger, 0).unwrap();
}

#[test]
fn a_claim_that_came_with_an_import_is_held_by_nobody() {
    let ledger = ledger();
    let (_, hold) = begun(&ledger);
    let claimed = person(&ledger).add(request("claimed")).unwrap();
    let worker = person(&ledger).join(&NewWorker::default()).unwrap();
    person(&ledger).claim(worker, claimed, LEASE).unwrap();
    serve(&ledger, NOW);
    assert_eq!(state(&ledger, hold.task), TaskState::InProgress, "here it is held");
    let copy = imported(&ledger);
    serve(&copy, NOW);
    assert_eq!(state(&copy, hold.task), TaskState::Orphaned);
    assert_eq!(state(&copy, claimed), TaskState::Open);
    assert!(person(&copy).heartbeat(&hold, LEASE).is_err());
}

#[test]
fn a_worker_that_stands_for_somebody_is_recycled_unless_it_holds_a_task() {
    let ledger = ledger();
    let join = |nth: u64| {
        let mut asking = person(&ledger);
        asking.now = NOW.plus(Duration::from_millis(nth));
        asking.join(&NewWorker { by: Some("ann".to_owned()), ..NewWorker::default() }).unwrap()
    };
    let long = IDLE * 4;
    let [idle, fresh, lost, holding] = [1, 2, 3, 4].map(join);
    let claim = |worker: EntityId| {
        let asking = person(&ledger).acting_as(super::holding::worker_actor(worker));
        let task = asking.acting_as(person(&ledger).actor).add(request("work")).unwrap();
        let hold = asking.claim(worker, task, long).unwrap();
        asking.begin(&hold, "a line").unwrap();
        (asking, hold)
    };
    let (asking, hold) = claim(idle);
    asking
        .report_done(&hold, &Done { summary: "did it".into(), evidence: "a line".into(), ..Done::default() })
        .unwrap();
    let (_, taken) = claim(lost);
    let (_, kept) = claim(holding);
    // A person moves a task by hand, which tells neither its worker nor its turn.
    let why = super::asking::reason(const { ReasonCode::of("task.open.reassigned") }, "by hand");
    let asking = person(&ledger);
    asking.send_one(asking.go(taken.task, TaskState::Open, why, Facts::none())).unwrap();
    let states = |ids: &[EntityId]| -> Vec<Option<WorkerState>> {
        ids.iter().map(|id| worker_state(&ledger.entity(*id).unwrap().unwrap().entity)).collect()
    };
    use WorkerState::{Dead, Idle, Starting, Working};
    serve(&ledger, NOW.plus(IDLE / 2));
    assert_eq!(states(&[idle, fresh, lost, holding]), [Idle, Starting, Working, Working].map(Some));
    serve(&ledger, NOW.plus(IDLE + Duration::from_secs(1)));
    assert_eq!(states(&[idle, fresh, lost, holding]), [Dead, Dead, Dead, Working].map(Some));
    let turn = |id: EntityId| turn_state(&ledger.entity(id).unwrap().unwrap().entity);
    assert_eq!(
        [turn(hold.turn), turn(taken.turn), turn(kept.turn)],
        [TaskTurnState::Verifying, TaskTurnState::Reaped, TaskTurnState::Running].map(Some)
    );
}

#[test]
fn a_worker_whose_first_process_cannot_be_started_is_dead_and_was_never_at_work() {
    let ledger = ledger();
    let task = person(&ledger).add(request("work")).unwrap();
    let worker = person(&ledger).join(&NewWorker::default()).unwrap();
    let asking = person(&ledger).acting_as(super::holding::worker_actor(worker));
    let hold = asking.claim(worker, task, LEASE).unwrap();
    let code = const { ReasonCode::of("task.failed.spawn") };
    asking.report_failed(&hold, &TaskFailure::new(code, "no such file")).unwrap();
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(worker) };
    let moves =
        ledger.records(page).unwrap().into_iter().filter(|record| record.from_state != record.to_state);
    assert_eq!(moves.map(|record| record.to_state).collect::<Vec<_>>(), ["starting", "dead"]);
    assert!(!asking.rest(worker).unwrap());
}

#[test]
fn a_board_counts_what_is_over_and_shows_the_newest_of_it_and_a_filter_is_exact() {
    let ledger = ledger();
    let add = |nth: u64, role: &str| {
        let wanted = TaskRequest {
            title: format!("task {nth}"),
            role: (!role.is_empty()).then(|| role.to_owned()),
            ..TaskRequest::default()
        };
        let mut asking = person(&ledger);
        asking.now = NOW.plus(Duration::from_millis(nth));
        asking.add(NewTask::read(&wanted, ActorClass::Operator).unwrap()).unwrap()
    };
    let roles = ["backend", "", "backend", "frontend", "backend"];
    let all: Vec<EntityId> = (0..).zip(roles).map(|(nth, role)| add(nth, role)).collect();
    all[..4].iter().for_each(|id| person(&ledger).cancel(*id, "not needed").unwrap());
    let shown = |role: Option<&str>, limit: usize| {
        let tasks = TaskFilter { role: role.map(str::to_owned), ..TaskFilter::default() };
        let filter = CardFilter { tasks, limit };
        let columns = board(&ledger, &filter, NOW).unwrap().columns;
        let of = |state: TaskState| columns.iter().find(|column| column.state == state.name()).unwrap();
        let column = |state: TaskState| {
            let titles: Vec<String> = of(state).items.iter().filter_map(|card| card.title.clone()).collect();
            (of(state).count, titles)
        };
        (column(TaskState::Cancelled), column(TaskState::Open))
    };
    let titled = |count: u64, numbers: &[u64]| {
        (count, numbers.iter().map(|number| format!("task {number}")).collect::<Vec<String>>())
    };
    assert_eq!(shown(None, 2), (titled(4, &[3, 2]), titled(1, &[4])));
    assert_eq!(shown(Some("backend"), 1), (titled(2, &[2]), titled(1, &[4])));
    assert_eq!(shown(Some("nobody"), 5), (titled(0, &[]), titled(0, &[])));
    let tasks = TaskFilter { states: vec![TaskState::Closed], ..TaskFilter::default() };
    let closed = CardFilter { tasks, limit: 5 };
    let columns = board(&ledger, &closed, NOW).unwrap().columns;
    assert_eq!(columns.iter().map(|column| column.count).collect::<Vec<_>>(), [0]);
}

/// A worker that is a process on some host.
fn process_on(host: &str, pid: u32) -> NewWorker {
    let process = Identity {
        host: host.to_owned(),
        machine: None,
        boot: "b".to_owned(),
        pid_ns: None,
        time_ns: None,
        pid,
        started_ticks: 1,
    };
    NewWorker { process: Some(process), ..NewWorker::default() }
}

#[test]
fn a_worker_of_a_host_that_never_returns_is_given_up_and_claims_nothing_when_it_does() {
    let ledger = ledger();
    let join = |nth: u64, host: &str| {
        let mut asking = person(&ledger);
        asking.now = NOW.plus(Duration::from_millis(nth));
        asking.join(&process_on(host, nth as u32)).unwrap()
    };
    let [gone, watched, holding] = [join(1, "lost"), join(2, "here"), join(3, "lost")];
    let task = person(&ledger).add(request("work")).unwrap();
    let asking = |worker| person(&ledger).acting_as(super::holding::worker_actor(worker));
    asking(holding).claim(holding, task, FORSAKEN * 4).unwrap();
    ledger.take_lease("crew@here#12345678", "a crew", FORSAKEN * 4).unwrap();
    let state = |id: EntityId| worker_state(&ledger.entity(id).unwrap().unwrap().entity);
    use WorkerState::{Dead, Starting};
    serve(&ledger, NOW.plus(FORSAKEN / 2));
    assert_eq!([gone, watched, holding].map(state), [Starting; 3].map(Some));
    serve(&ledger, NOW.plus(FORSAKEN + Duration::from_secs(1)));
    assert_eq!([gone, watched, holding].map(state), [Dead, Starting, Starting].map(Some));
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(gone) };
    let end = ledger.records(page).unwrap().pop().unwrap().event().unwrap();
    assert_eq!(end.reasons[0].code.as_str(), "worker.dead.unknown");
    assert!(format!("{:?}", end.reasons[0].evidence).contains("on lost"), "{:?}", end.reasons);

    // It comes back: what it would claim is left for others, and it joins anew.
    let open = person(&ledger).add(request("more")).unwrap();
    let refused = asking(gone).claim(gone, open, LEASE);
    assert!(matches!(refused, Err(TaskError::Refused(_))), "{refused:?}");
    assert!(asking(gone).claim_next(gone, ClaimQuery::default(), LEASE).is_err());
    assert!(!asking(gone).rest(gone).unwrap());
    assert_eq!(super::tests::state(&ledger, open), TaskState::Open);
}

#[test]
fn the_agent_of_a_worker_that_is_a_process_does_not_renew_its_lease() {
    let ledger = ledger();
    let worker = person(&ledger).join(&process_on("here", 7)).unwrap();
    let task = person(&ledger).add(request("work")).unwrap();
    let asking = person(&ledger).acting_as(super::holding::worker_actor(worker));
    let hold = asking.claim(worker, task, LEASE).unwrap();
    let agent = person(&ledger).acting_as(Actor::new(ActorClass::Agent, "run_1"));
    let until = || super::lease(&ledger, task).unwrap().unwrap().lease.until;
    let before = until();
    assert_eq!(agent.heartbeat(&hold, LEASE * 10).unwrap(), before);
    assert_eq!(until(), before);
    assert!(asking.heartbeat(&hold, LEASE * 10).unwrap() > before);
}

struct At(Moment);

impl Clock for At {
    fn now(&self) -> Moment {
        self.0
    }
}

#[test]
fn a_task_that_waits_for_one_that_does_not_exist_keeps_no_other_one_waiting() {
    let ledger = ledger();
    let nobody = EntityId::new(Kind::Task, Uuid::from_u128(7));
    let waits_for =
        [Dependency::Task { id: nobody, until: DependencyEnd::Closed }, Dependency::Time { at: NOW }];
    let add = |(nth, dependency): (u64, &Dependency)| {
        let mut asking = person(&ledger);
        asking.now = NOW.plus(Duration::from_millis(nth));
        let id = asking.add(request("work")).unwrap();
        let unmet = Facts::none().and(fact::UNMET, vec![dependency.facts()]);
        asking.send_one(asking.observe(id, unmet)).unwrap();
        id
    };
    let ids: Vec<EntityId> = (0..).zip(&waits_for).map(add).collect();
    TaskService::new(Arc::new(At(NOW)), OVERDUE).step_alone(&ledger, 0).unwrap();
    let is_offered = |id: &EntityId| task::offer(&person(&ledger).task(*id).unwrap().entity).is_some();
    assert_eq!(ids.iter().map(is_offered).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn calling_off_a_parent_goes_on_after_a_part_that_cannot_be_called_off() {
    let ledger = ledger();
    let (asking, hold) = begun(&ledger);
    let parts = asking.split(&hold, vec![request("one"), request("two")]).unwrap();
    let again = asking.claim(hold.worker, parts[0], Duration::from_secs(30)).unwrap();
    let code = const { ReasonCode::of("task.failed.reported") };
    asking.report_failed(&again, &TaskFailure { is_final: true, ..TaskFailure::new(code, "no") }).unwrap();
    person(&ledger).cancel(hold.task, "not needed").unwrap();
    assert_eq!(state(&ledger, hold.task), TaskState::Cancelled);
    assert_eq!(
        parts.iter().map(|id| state(&ledger, *id)).collect::<Vec<_>>(),
        [TaskState::Failed, TaskState::Cancelled]
    );
}

/// One attempt at a task of a role, with a profile, that takes so many seconds.
fn attempt(ledger: &Ledger, role: &str, profile: &str, seconds: f64) -> TimeoutRule {
    let mut new = request("work");
    new.facts.record(fact::ROLE, role);
    let task = person(ledger).add(new).unwrap();
    let worker = person(ledger).join(&NewWorker::default()).unwrap();
    let asking = person(ledger).acting_as(super::holding::worker_actor(worker));
    let hold = asking.claim(worker, task, LEASE).unwrap();
    let facts = asking.task(task).unwrap().entity.facts;
    let chosen = timeout_for(ledger, &facts, Some(profile)).unwrap();
    asking.launched(&hold, None, chosen.bound_facts(), &chosen.turn_facts()).unwrap();
    asking.begin(&hold, "a line").unwrap();
    asking.note_turn(hold.turn, sample_facts(seconds, SampleEnd::Finished)).unwrap();
    let done = Done { summary: "done".into(), evidence: "a line".into(), data: Facts::none() };
    asking.report_done(&hold, &done).unwrap();
    chosen.timeout.rule
}

#[test]
fn a_bound_follows_attempts_of_the_same_role_scope_and_profile() {
    let ledger = ledger();
    for _ in 0..SAMPLES_MIN {
        assert_eq!(attempt(&ledger, "writer", "fast", 2_000.0), TimeoutRule::Default);
    }
    assert_eq!(attempt(&ledger, "writer", "slow", 1.0), TimeoutRule::Default);
    assert_eq!(attempt(&ledger, "reader", "fast", 1.0), TimeoutRule::Default);
    assert_eq!(attempt(&ledger, "writer", "fast", 2_000.0), TimeoutRule::Adaptive);
    let facts = Facts::none().and(fact::ROLE, "writer");
    let chosen = timeout_for(&ledger, &facts, Some("fast")).unwrap();
    assert_eq!(chosen.timeout.bound, Duration::from_secs(3_000), "{chosen:?}");
    assert_eq!(chosen.samples.len(), SAMPLES_MIN + 1);
}

#[test]
fn a_part_that_failed_takes_along_what_the_policy_of_the_whole_says() {
    let cases = [
        (None, TaskState::Open, TaskState::Blocked),
        (Some("contain"), TaskState::Open, TaskState::Blocked),
        (Some("siblings"), TaskState::Cancelled, TaskState::Blocked),
        (Some("session"), TaskState::Cancelled, TaskState::Cancelled),
    ];
    for (policy, beside, whole) in cases {
        let ledger = ledger();
        let mut new = request("whole");
        if let Some(policy) = policy {
            new.facts.record(fact::ON_CHILD_FAILURE, policy);
        }
        let task = person(&ledger).add(new).unwrap();
        let worker = person(&ledger).join(&NewWorker::default()).unwrap();
        let asking = person(&ledger).acting_as(super::holding::worker_actor(worker));
        let hold = asking.claim(worker, task, LEASE).unwrap();
        let parts = asking.split(&hold, vec![request("one"), request("two")]).unwrap();
        let first = asking.claim(worker, parts[0], LEASE).unwrap();
        let code = const { ReasonCode::of("task.failed.reported") };
        asking
            .report_failed(&first, &TaskFailure { is_final: true, ..TaskFailure::new(code, "no") })
            .unwrap();
        serve(&ledger, NOW);
        assert_eq!((state(&ledger, parts[1]), state(&ledger, task)), (beside, whole), "{policy:?}");
        let code = |id| person(&ledger).task(id).unwrap().entity.reasons[0].code.as_str();
        match policy {
            Some("siblings") => assert_eq!(code(parts[1]), "task.cancelled.sibling"),
            Some("session") => {
                assert_eq!((code(parts[1]), code(task)), ("task.cancelled.parent", "task.cancelled.child"));
            }
            Some(_) | None => {}
        }
    }
}
