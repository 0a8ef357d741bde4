//! Each guard, made true and made false: every row that has it is taken in the one case and refused in the other.
//!
//! Invariant: a declared guard has its two cases here, or this file does not compile. Deliberately absent: how a guard is
//! answered in the world; the tests of the program show that.

use callboard_kernel::{
    Actor, Command, Context, Decision, Entity, EntityId, Event, EvidenceRef, Facts, FilesInUse, Guarding,
    HeldLease, LeaseState, Moment, Order, Refusal, RefusalCode, State, StateReason, SubtasksSeen,
    SupervisorSeen, Testimony, Transition, Value, decide,
};
use callboard_lifecycle::{
    ActorClass, Guard, GuardSet, Kind, Lifecycle, MACHINES, Machine, REASONS, Row, Trigger, Words, reason,
};

/// What is recorded of the entity, what the command records, and what its sender saw.
#[derive(Clone)]
struct Case {
    recorded: Facts,
    data: Facts,
    testimony: Testimony,
    lease: Lease,
    /// A path that another task under way holds.
    in_use: Option<&'static str>,
}

/// What the store says about the lease of the entity.
#[derive(Clone, Copy)]
enum Lease {
    NotAsked,
    Free,
    Held(&'static str),
}

impl Case {
    const SILENT: Self = Self {
        recorded: Facts::none(),
        data: Facts::none(),
        testimony: Testimony { supervisor: None, subtasks: None },
        lease: Lease::NotAsked,
        in_use: None,
    };

    /// Everything that the other guards of a row may ask for is there.
    fn helped(self, row: &Row, guard: Guard) -> Self {
        let mut case = self;
        if guard != Guard::HasNextMove {
            case.data.merge(&next_moves());
        }
        if guard != Guard::AnswerOffered && row.guards.contains(&Guard::AnswerOffered) {
            case.data.merge(&answer("allow"));
        }
        let is_lease_asked = matches!(case.lease, Lease::NotAsked);
        if is_lease_asked && row.guards.contains(&Guard::HeldByActor) {
            case.lease = Lease::Held("test");
        }
        case
    }

    fn recorded(name: &'static str, value: impl Into<Value>) -> Self {
        Self { recorded: Facts::none().with(name, value), ..Self::SILENT }
    }

    fn subtasks(closed: u32, all: u32) -> Self {
        let subtasks = Some(SubtasksSeen { closed, all });
        Self { testimony: Testimony { supervisor: None, subtasks }, ..Self::SILENT }
    }

    fn files(in_use: &'static str) -> Self {
        let wanted = vec![Value::from("src/login.rs")];
        Self { in_use: Some(in_use), ..Self::recorded("files", wanted) }
    }

    /// Somebody answers a question with two options.
    fn answer(text: &str) -> Self {
        Self { data: answer(text), ..Self::recorded("options", options()) }
    }

    /// A question with two options that expires at this moment.
    fn expiry(on_expiry: &str, micros: i64) -> Self {
        let recorded = Facts::none()
            .with("options", options())
            .with("on_expiry", on_expiry)
            .with("expires_at", Moment::from_micros(micros).to_string());
        Self { recorded, ..Self::SILENT }
    }

    fn leased(lease: Lease) -> Self {
        Self { lease, ..Self::SILENT }
    }

    fn seen(supervisor: SupervisorSeen) -> Self {
        Self { testimony: Testimony { supervisor: Some(supervisor), subtasks: None }, ..Self::SILENT }
    }

    fn retry(used: i64, limit: Option<i64>, next: Option<i64>) -> Self {
        let mut recorded = Facts::none().with("retries", used);
        limit.into_iter().for_each(|limit| recorded.set("retries_max", limit));
        let mut data = Facts::none();
        next.into_iter().for_each(|next| data.set("retries", next));
        Self { recorded, data, ..Self::SILENT }
    }
}

fn answer(text: &str) -> Facts {
    Facts::none().with("answer", text)
}

/// One option that grants something, and one that does not.
fn options() -> Vec<Value> {
    let option =
        |name: &str, grants: bool| Value::from(Facts::none().with("name", name).with("grants", grants));
    vec![option("allow", true), option("refuse", false)]
}

/// What names somebody who moves a task on, whichever state it goes to.
fn next_moves() -> Facts {
    let child = EntityId::new(Kind::Task, uuid::Uuid::from_u128(9)).to_string();
    Facts::none()
        .with("lease_holder", "test")
        .with("blocked_by", vec![Value::from("the network")])
        .with("subtasks", vec![Value::from(child)])
}

/// Cases in which the guard holds, and cases in which it does not.
fn cases(guard: Guard) -> (Vec<Case>, Vec<Case>) {
    match guard {
        Guard::NoLivingSupervisor => {
            (vec![Case::seen(SupervisorSeen::Absent)], vec![Case::seen(SupervisorSeen::Alive { pid: 7 })])
        }
        Guard::HeldByActor => (
            vec![Case::leased(Lease::Held("test"))],
            vec![Case::leased(Lease::Held("other")), Case::leased(Lease::Free)],
        ),
        Guard::LeaseExpired => (
            vec![Case::leased(Lease::Free)],
            vec![Case::leased(Lease::Held("test")), Case::leased(Lease::Held("other"))],
        ),
        Guard::RetriesLeft => (
            vec![
                Case::retry(0, None, Some(1)),
                Case::retry(2, None, Some(3)),
                Case::retry(3, Some(4), Some(4)),
            ],
            vec![
                Case::retry(3, None, Some(4)),
                Case::retry(0, Some(0), Some(1)),
                Case::retry(1, None, Some(1)),
                Case::retry(0, None, None),
            ],
        ),
        Guard::DependenciesMet => {
            let person = Facts::none().with("on", "person").with("what", "the design");
            let unknown = Facts::none().with("on", "the weather");
            (
                vec![Case::SILENT, Case::recorded("unmet", Vec::new())],
                vec![
                    Case::recorded("unmet", vec![Value::from(person)]),
                    Case::recorded("unmet", vec![Value::from(unknown)]),
                ],
            )
        }
        Guard::Due => {
            let at = |micros| Case::recorded("not_before", Moment::from_micros(micros).to_string());
            (vec![Case::SILENT, at(0), at(1)], vec![at(2), at(1_000_000_000)])
        }
        Guard::FilesFree => (
            vec![Case::files("src/other.rs"), Case::SILENT],
            vec![Case::files("src/login.rs"), Case::files("src"), Case::files("src/login.rs/below")],
        ),
        Guard::SubtasksSettled => {
            (vec![Case::subtasks(2, 2)], vec![Case::subtasks(1, 2), Case::subtasks(0, 0)])
        }
        Guard::HasNextMove => (vec![Case { data: next_moves(), ..Case::SILENT }], vec![Case::SILENT]),
        Guard::AnswerOffered => answers(),
        Guard::DefaultDue => defaults(),
        Guard::MayAnswer => (
            vec![Case::SILENT, Case::recorded("answerers", vec![Value::from("test")])],
            vec![Case::recorded("answerers", vec![Value::from("somebody else")])],
        ),
        Guard::AskedByActor => (
            vec![Case::recorded("asked_by", "test")],
            vec![Case::recorded("asked_by", "other"), Case::SILENT],
        ),
    }
}

/// Answers that a question takes, and answers that it does not.
fn answers() -> (Vec<Case>, Vec<Case>) {
    (
        vec![Case::answer("allow"), Case { recorded: Facts::none(), ..Case::answer("any text") }],
        vec![Case::answer("perhaps"), Case::answer(""), Case { data: Facts::none(), ..Case::answer("") }],
    )
}

/// Questions whose default takes effect, and questions whose default does not.
fn defaults() -> (Vec<Case>, Vec<Case>) {
    (
        vec![Case::expiry("deny", 1), Case { data: answer("refuse"), ..Case::expiry("refuse", 0) }],
        vec![
            Case::SILENT,
            Case::expiry("deny", 2),
            Case::expiry("hold", 1),
            Case { data: answer("allow"), ..Case::expiry("allow", 1) },
            Case { data: answer("refuse"), ..Case::expiry("deny", 1) },
        ],
    )
}

/// The rows that have a guard, with their machine.
fn guarded(guard: Guard) -> Vec<(&'static Machine, &'static Row)> {
    let rows = MACHINES.iter().flat_map(|machine| machine.rows.iter().map(move |row| (*machine, row)));
    rows.filter(|(_, row)| row.guards.contains(&guard)).collect()
}

/// What a proved row always has.
fn found<T>(part: Option<T>) -> T {
    part.unwrap_or_else(|| panic!("a row lacks what the proofs ask for"))
}

fn take(machine: &Machine, row: &Row, case: &Case, guarding: Guarding) -> Result<Event, Box<Refusal>> {
    let (from, to) = (Lifecycle::new(machine.kind, row.from), Lifecycle::new(machine.kind, row.to));
    let id = EntityId::new(machine.kind, uuid::Uuid::from_u128(1));
    let mut entity = Entity::known_by(State { id, version: 1, lifecycle: Some(from) });
    entity.facts = case.recorded.clone();
    let explains = |code: &str| match row.because.first() {
        None => code.starts_with(&format!("{}.{}.", machine.entity, machine.state_name(row.to))),
        Some(pattern) => code.starts_with(pattern.trim_end_matches('*')),
    };
    let code = REASONS.iter().filter(|def| explains(def.code)).find_map(|def| reason(def.code).ok());
    let mut why = StateReason::new(found(code), "seen");
    let filled = |text: &str| Some(text.to_owned());
    for kind in row.evidence.kinds() {
        let (detail, path) = (filled("seen"), filled("p"));
        let message_id = filled("m");
        why = why.shown_by(EvidenceRef { detail, path, message_id, ..EvidenceRef::bare(kind) });
    }
    let mut data = case.data.clone();
    machine.required_facts(row.to).iter().for_each(|fact| data.set(*fact, 1));
    let trigger = Trigger::new(machine.kind, found(row.trigger_list().next()));
    let order = Transition::to(to, why).caused_by(trigger).with(data);
    let actor = Actor::new(found(row.actors.classes().next()), "test");
    let mut context = Context::new(&actor, Moment::from_micros(1));
    context.guarding = guarding;
    let held =
        |holder: &str| HeldLease { holder: holder.to_owned(), epoch: 3, until: Moment::from_micros(9) };
    let held = if let Lease::Held(holder) = case.lease { Some(held(holder)) } else { None };
    context.lease = match (&held, case.lease) {
        (Some(held), _) => LeaseState::Held(held),
        (None, Lease::NotAsked) => LeaseState::NotAsked,
        (None, Lease::Free | Lease::Held(_)) => LeaseState::Free,
    };
    let other = EntityId::new(Kind::Task, uuid::Uuid::from_u128(77));
    let in_use: Vec<(EntityId, String)> =
        case.in_use.map(|path| (other, path.to_owned())).into_iter().collect();
    if case.in_use.is_some() {
        context.files = FilesInUse::Held(&in_use);
    }
    let command = Command { testimony: case.testimony, ..Command::new(id, Order::Transition(order)) };
    decide(&entity, command, &context).map(|decision| match decision {
        Decision::Record(event) => event,
        Decision::Repeat { .. } => unreachable!("no key was given"),
    })
}

fn helped(cases: &[Case], row: &Row, guard: Guard) -> Vec<Case> {
    cases.iter().map(|case| case.clone().helped(row, guard)).collect()
}

#[test]
fn every_guard_is_made_true_and_false_on_every_row_that_has_it() {
    for guard in Guard::ALL.iter().copied() {
        let (true_cases, false_cases) = cases(guard);
        assert!(!true_cases.is_empty() && !false_cases.is_empty(), "{guard}");
        let rows = guarded(guard);
        assert!(!rows.is_empty(), "{guard} guards nothing");
        for (machine, row) in rows {
            let (true_cases, false_cases) =
                (helped(&true_cases, row, guard), helped(&false_cases, row, guard));
            for case in &true_cases {
                let event = take(machine, row, case, Guarding::Asked).unwrap();
                assert_eq!(event.guards, GuardSet::of(row.guards), "the record says which guards held");
            }
            for case in &false_cases {
                let refusal = take(machine, row, case, Guarding::Asked).unwrap_err();
                assert_eq!(
                    (refusal.code, refusal.guard),
                    (RefusalCode::GuardFailed, Some(guard)),
                    "{refusal}"
                );
                assert!(refusal.message.contains(guard.name()) && !refusal.help.is_empty(), "{refusal:?}");
            }
        }
    }
}

#[test]
fn a_guard_that_nobody_answered_refuses() {
    for (machine, row) in guarded(Guard::NoLivingSupervisor) {
        let refusal = take(machine, row, &Case::SILENT, Guarding::Asked).unwrap_err();
        let expected = (RefusalCode::GuardUnanswered, Some(Guard::NoLivingSupervisor));
        assert_eq!((refusal.code, refusal.guard), expected);
        assert!(refusal.message.contains("no_living_supervisor") && refusal.help.contains("callboard reap"));
    }
}

#[test]
fn a_guard_of_the_store_is_not_answered_without_it() {
    for guard in [Guard::HeldByActor, Guard::LeaseExpired] {
        for (machine, row) in guarded(guard) {
            let refusal = take(machine, row, &Case::SILENT, Guarding::Asked).unwrap_err();
            assert_eq!((refusal.code, refusal.guard), (RefusalCode::GuardUnanswered, Some(guard)));
        }
    }
    for (machine, row) in guarded(Guard::FilesFree) {
        let unasked = Case { in_use: None, ..Case::files("src") }.helped(row, Guard::FilesFree);
        let refusal = take(machine, row, &unasked, Guarding::Asked).unwrap_err();
        assert_eq!((refusal.code, refusal.guard), (RefusalCode::GuardUnanswered, Some(Guard::FilesFree)));
    }
}

#[test]
fn the_agent_in_the_run_of_the_holder_acts_for_the_holder() {
    for (machine, row) in guarded(Guard::HeldByActor) {
        let its_run = Case { lease: Lease::Held("a worker"), ..Case::recorded("run", "test") };
        take(machine, row, &its_run.clone().helped(row, Guard::HeldByActor), Guarding::Asked).unwrap();
        let no_lease = Case { lease: Lease::Free, ..its_run };
        take(machine, row, &no_lease.helped(row, Guard::HeldByActor), Guarding::Asked).unwrap_err();
    }
}

#[test]
fn a_record_is_decided_anew_without_asking_what_nobody_can_see_any_more() {
    for (machine, row) in guarded(Guard::NoLivingSupervisor) {
        let event = take(machine, row, &Case::SILENT, Guarding::Recorded).unwrap();
        assert_eq!(event.guards, GuardSet::of(row.guards));
    }
}

#[test]
fn a_person_may_open_a_task_again_that_has_no_retries_left() {
    let (machine, guarded) = guarded(Guard::RetriesLeft)[0];
    let by_hand = machine
        .rows
        .iter()
        .find(|row| (row.from, row.to) == (guarded.from, guarded.to) && row.actors.has(ActorClass::Operator));
    let event = take(machine, by_hand.unwrap(), &Case::retry(9, None, None), Guarding::Asked).unwrap();
    assert!(event.guards.is_empty());
}
