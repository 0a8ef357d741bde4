//! Random commands through `decide` and `apply`, against a model that knows nothing but the declared rows.
//!
//! The model keeps names instead of positions and asks every question in the plainest way, so that a short cut in the
//! kernel shows up as a difference. Each machine takes 100,000 steps from a printed seed.

use std::collections::HashMap;

use callboard_kernel::{
    Actor, Command, Context, Create, Decision, Entity, EntityId, Event, EvidenceRef, Facts, HeldLease,
    LeaseState, Moment, Observe, Order, State, StateReason, SubtasksSeen, SupervisorSeen, Testimony,
    Transition, Value, decide,
};
use callboard_lifecycle::{
    ActorClass, Evidence, Guard, Lifecycle, MACHINES, Machine, REASONS, ReasonDef, Row, Trigger, Words,
    reason,
};

const STEPS: u32 = 100_000;
const SEED: u64 = 0x5EED_CA11_B0A2_D001;

/// A small generator (xorshift) that gives the same walk for the same seed on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// What the model believes of one entity.
#[derive(Default)]
struct Belief {
    version: u64,
    state: Option<&'static str>,
    keys: HashMap<String, Event>,
    /// How often it was tried again.
    retries: i64,
    /// Which facts were ever recorded of it.
    named: Vec<String>,
}

/// What names somebody who moves a task on, by the state it goes to.
const NEXT_MOVES: [(&str, &str); 3] =
    [("claimed", "lease_holder"), ("blocked", "blocked_by"), ("waiting_for_subtasks", "subtasks")];

/// Such a fact with its value.
fn next_move(state: &str) -> Option<(&'static str, Value)> {
    let (_, name) = NEXT_MOVES.into_iter().find(|(to, _)| *to == state)?;
    let id = EntityId::new(callboard_lifecycle::Kind::Task, uuid::Uuid::from_u128(9)).to_string();
    Some((name, if name == "lease_holder" { Value::from("model") } else { Value::List(vec![id.into()]) }))
}

impl Belief {
    fn learn(&mut self, event: &Event) {
        self.version += 1;
        self.state = Some(event.to.name());
        if let Some(Value::Int(retries)) = event.data.get("retries") {
            self.retries = *retries;
        }
        self.named.extend(event.data.iter().map(|(name, _)| name.to_owned()));
    }
}

/// Would the plainest reading of the table let this through?
fn allowed(
    machine: &Machine,
    belief: &Belief,
    (order, testimony): (&Order, &Testimony),
    actor: ActorClass,
) -> Option<&'static str> {
    match order {
        Order::Create(create) => {
            let begins = machine.start.iter().any(|state| machine.state_name(state) == create.at.name());
            let may = machine.makers.is_empty() || machine.makers.contains(&actor);
            (belief.state.is_none() && begins && may).then(|| create.at.name())
        }
        Order::Observe(_) => belief.state,
        Order::Entry(_) => unreachable!("entries have tests of their own"),
        Order::Transition(transition) => {
            let from = belief.state?;
            let rows = || machine.rows.iter().filter(|row| machine.state_name(row.from) == from);
            let target = match (transition.to, transition.trigger) {
                (Some(to), _) => to.name(),
                (None, Some(trigger)) => {
                    let mut targets: Vec<&str> = rows()
                        .filter(|row| fires(machine, row, trigger))
                        .map(|row| machine.state_name(row.to))
                        .collect();
                    targets.dedup();
                    if targets.len() != 1 {
                        return None;
                    }
                    targets[0]
                }
                (None, None) => return None,
            };
            let fits = |row: &&Row| {
                machine.state_name(row.to) == target
                    && transition.trigger.is_none_or(|trigger| fires(machine, row, trigger))
                    && row.actors.classes().any(|class| class == actor)
                    && transition
                        .reasons
                        .first()
                        .is_some_and(|reason| explains(machine, row, reason.code.def()))
                    && (row.evidence.is_empty() || has_evidence(row, &transition.reasons))
            };
            let holds = |row: &&Row| {
                row.guards.iter().all(|guard| holds(*guard, belief, (transition, target), testimony))
            };
            let facts =
                machine.required_facts(machine.state(target)?).iter().all(|fact| transition.data.has(fact));
            (facts && rows().find(fits).is_some_and(|row| holds(&row))).then_some(target)
        }
    }
}

fn holds(
    guard: Guard,
    belief: &Belief,
    (transition, target): (&Transition, &str),
    testimony: &Testimony,
) -> bool {
    match guard {
        Guard::NoLivingSupervisor => testimony.supervisor == Some(SupervisorSeen::Absent),
        Guard::RetriesLeft => {
            belief.retries < 3 && transition.data.get("retries") == Some(&Value::Int(belief.retries + 1))
        }
        // The model holds the lease of whatever walks here.
        Guard::HeldByActor => true,
        Guard::LeaseExpired => false,
        // No task here depends on anything, claims a file or waits for a moment.
        Guard::DependenciesMet | Guard::Due | Guard::FilesFree => true,
        Guard::SubtasksSettled => {
            testimony.subtasks.is_some_and(|seen| seen.closed == seen.all && seen.all > 0)
        }
        Guard::HasNextMove => next_move(target).is_none_or(|(name, _)| {
            transition.data.has(name)
                || (target != "claimed" && belief.named.iter().any(|known| known == name))
        }),
        // Every question here was asked by the model, of everybody, without options, and is denied at once if nobody answers.
        Guard::AnswerOffered => transition.data.has("answer"),
        Guard::MayAnswer | Guard::AskedByActor => true,
        Guard::DefaultDue => !transition.data.has("answer"),
    }
}

fn fires(machine: &Machine, row: &Row, trigger: Trigger) -> bool {
    row.trigger_list().any(|at| machine.triggers[at as usize].name == trigger.name())
}

fn explains(machine: &Machine, row: &Row, def: &ReasonDef) -> bool {
    if row.because.is_empty() {
        let mut segments = def.code.split('.');
        return (segments.next(), segments.next())
            == (Some(machine.entity), Some(machine.state_name(row.to)));
    }
    row.because.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => def.code.starts_with(prefix),
        None => def.code == *pattern,
    })
}

fn has_evidence(row: &Row, reasons: &[StateReason]) -> bool {
    let kinds: Vec<Evidence> = row.evidence.kinds().collect();
    reasons.iter().flat_map(|reason| &reason.evidence).any(|evidence| kinds.contains(&evidence.kind))
}

/// A reason, mostly one that fits the row; its evidence is mostly there.
fn some_reason(dice: &mut Dice, machine: &Machine, row: Option<&Row>) -> StateReason {
    let def = loop {
        let def = dice.pick(&REASONS);
        let wanted = row.is_none_or(|row| explains(machine, row, &def)) || dice.roll(400) == 0;
        if def.fits(machine.kind) && wanted {
            break def;
        }
    };
    let Ok(code) = reason(def.code) else { panic!("{} is in the registry and not found there", def.code) };
    let mut why = StateReason::new(code, "the model says so");
    if dice.roll(8) > 0 {
        let wanted: Vec<Evidence> = row.map_or_else(Vec::new, |row| row.evidence.kinds().collect());
        let kind = if wanted.is_empty() { dice.pick(Evidence::ALL) } else { dice.pick(&wanted) };
        let filled = |text: &str| Some(text.to_owned());
        why = why.shown_by(EvidenceRef {
            detail: filled("seen"),
            path: filled("p"),
            url: filled("u"),
            message_id: filled("m"),
            ..EvidenceRef::bare(kind)
        });
    }
    why
}

fn some_order(dice: &mut Dice, machine: &'static Machine, belief: &Belief) -> (Order, ActorClass) {
    let some_state = |dice: &mut Dice| Lifecycle::new(machine.kind, dice.roll(machine.states.len()) as u8);
    let actor = dice.pick(ActorClass::ALL);
    if belief.state.is_none() || dice.roll(50) == 0 {
        let start: Vec<u8> = machine.start.iter().collect();
        let at =
            if dice.roll(4) > 0 { Lifecycle::new(machine.kind, dice.pick(&start)) } else { some_state(dice) };
        return (Order::Create(Create { at, reasons: vec![], data: birth(machine) }), actor);
    }
    if dice.roll(20) == 0 {
        let data = Facts::none().with("seen", dice.roll(3) as i64);
        return (Order::Observe(Observe { reasons: vec![], data }), actor);
    }
    let from = belief.state.and_then(|name| machine.state(name));
    let rows: Vec<&Row> = machine.rows.iter().filter(|row| Some(row.from) == from).collect();
    let row = if rows.is_empty() || dice.roll(5) == 0 { None } else { Some(dice.pick(&rows)) };
    let to = match row {
        Some(row) => Lifecycle::new(machine.kind, row.to),
        None => some_state(dice),
    };
    let trigger = match (row, dice.roll(3)) {
        (_, 0) => None,
        (Some(row), 1) => row.trigger_list().next().map(|at| Trigger::new(machine.kind, at)),
        (_, _) => Some(Trigger::new(machine.kind, dice.roll(machine.triggers.len()) as u8)),
    };
    let actor = match row {
        Some(row) if dice.roll(4) > 0 => dice.pick(&row.actors.classes().collect::<Vec<_>>()),
        Some(_) | None => actor,
    };
    let mut data = Facts::none();
    for fact in machine.required_facts(to.position()) {
        if dice.roll(10) > 0 {
            data.set(*fact, 1);
        }
    }
    if row.is_some_and(|row| row.guards.contains(&Guard::RetriesLeft)) && dice.roll(10) > 0 {
        data.set("retries", belief.retries + i64::from(dice.roll(10) > 0));
    }
    if let Some((name, value)) = next_move(to.name()).filter(|_| dice.roll(4) > 0) {
        data.set(name, value);
    }
    if row.is_some_and(|row| row.guards.contains(&Guard::AnswerOffered)) && dice.roll(10) > 0 {
        data.set("answer", "yes");
    }
    let reasons = if dice.roll(12) == 0 { vec![] } else { vec![some_reason(dice, machine, row)] };
    let to = (dice.roll(6) > 0).then_some(to);
    (Order::Transition(Transition { to, trigger, reasons, data }), actor)
}

/// What is recorded of an entity that comes to be.
fn birth(machine: &Machine) -> Facts {
    if machine.kind != callboard_lifecycle::Kind::Question {
        return Facts::none();
    }
    let expired = Moment::from_micros(0).to_string();
    Facts::none().with("asked_by", "model").with("on_expiry", "deny").with("expires_at", expired)
}

/// The lease of whatever walks here.
fn held() -> HeldLease {
    HeldLease { holder: "model".to_owned(), epoch: 1, until: Moment::from_micros(i64::MAX) }
}

fn some_testimony(dice: &mut Dice) -> Testimony {
    let supervisor = match dice.roll(10) {
        0 => None,
        1 => Some(SupervisorSeen::Alive { pid: 7 }),
        _ => Some(SupervisorSeen::Absent),
    };
    let subtasks = (dice.roll(4) > 0).then(|| SubtasksSeen { closed: dice.roll(3) as u32, all: 2 });
    Testimony { supervisor, subtasks }
}

/// Walks one machine; gives back how many commands were taken.
fn walk(machine: &'static Machine, seed: u64) -> u32 {
    let mut dice = Dice(seed ^ machine.kind as u64);
    let (mut taken, mut births) = (0, 0);
    let (mut belief, held) = (Belief::default(), held());
    let mut entity = Entity::unborn(EntityId::new(machine.kind, uuid::Uuid::from_u128(0)));
    for step in 0..STEPS {
        let ended = belief.state.is_some_and(|name| machine.state(name).is_some_and(|s| machine.ends.has(s)));
        if ended && dice.roll(4) == 0 {
            births += 1;
            belief = Belief::default();
            entity = Entity::unborn(EntityId::new(machine.kind, uuid::Uuid::from_u128(births)));
        }
        let (order, class) = some_order(&mut dice, machine, &belief);
        let key = (dice.roll(4) == 0).then(|| format!("k{}", dice.roll(6)));
        let if_version = (dice.roll(10) == 0).then(|| belief.version.saturating_sub(dice.roll(2) as u64));
        let actor = Actor::new(class, "model");
        let mut context = Context::new(&actor, Moment::from_micros(i64::from(step)));
        let earlier = key.as_ref().and_then(|key| belief.keys.get(key)).cloned();
        context.earlier = earlier.as_ref();
        context.lease = LeaseState::Held(&held);
        let testimony = some_testimony(&mut dice);
        let asked = Command::new(entity.state.id, order.clone());
        let command = Command { key: key.clone(), if_version, testimony, ..asked };
        let was = belief.state;
        let at =
            || format!("{} step {step} of seed {seed:#x}: {:?} by {class} at {:?}", machine.kind, order, was);

        let decision = decide(&entity, command.clone(), &context);
        assert_eq!(decision, decide(&entity, command, &context), "not pure: {}", at());
        match (decision, &earlier) {
            (Ok(Decision::Repeat { version }), Some(earlier)) => {
                assert_eq!(version, earlier.version, "{}", at());
                assert!(says_the_same(earlier, &order), "{}", at());
            }
            (Err(refusal), Some(earlier)) => {
                assert!(!says_the_same(earlier, &order), "{}", at());
                assert_eq!(refusal.code.name(), "key_reused", "{}", at());
            }
            (Ok(Decision::Record(event)), None) => {
                assert!(if_version.is_none_or(|wanted| wanted == belief.version), "{}", at());
                let said = allowed(machine, &belief, (&order, &testimony), class);
                assert_eq!(Some(event.to.name()), said, "{}", at());
                let was_end =
                    belief.state.and_then(|name| machine.state(name)).is_some_and(|s| machine.ends.has(s));
                let leaves = belief.state != Some(event.to.name());
                assert!(!was_end || !leaves || class == ActorClass::Operator, "left an end: {}", at());
                entity.apply(&event).unwrap_or_else(|misfit| panic!("{misfit}: {}", at()));
                belief.learn(&event);
                assert!(machine.state_names().any(|name| Some(name) == belief.state), "{}", at());
                assert_eq!(
                    (entity.state.version, entity.state.lifecycle.map(Lifecycle::name)),
                    (belief.version, belief.state),
                    "{}",
                    at()
                );
                if let Some(key) = key {
                    belief.keys.insert(key, event);
                }
                taken += 1;
            }
            (Err(_), None) => {
                let stale = if_version.is_some_and(|wanted| wanted != belief.version);
                let said = allowed(machine, &belief, (&order, &testimony), class);
                assert!(stale || said.is_none(), "refused: {}", at());
            }
            (decision, earlier) => panic!("{decision:?} with {earlier:?}: {}", at()),
        }
    }
    taken
}

fn says_the_same(event: &Event, order: &Order) -> bool {
    let (kind, to, trigger, reasons, data) = match order {
        Order::Create(o) => ("created", Some(o.at), None, &o.reasons, &o.data),
        Order::Transition(o) => ("transitioned", o.to, o.trigger, &o.reasons, &o.data),
        Order::Observe(o) => ("observed", None, None, &o.reasons, &o.data),
        Order::Entry(_) => unreachable!("entries have tests of their own"),
    };
    event.kind.name() == kind
        && to.is_none_or(|to| to == event.to)
        && trigger.is_none_or(|trigger| Some(trigger) == event.trigger)
        && *reasons == event.reasons
        && *data == event.data
}

#[test]
fn a_hundred_thousand_random_commands_a_machine_find_no_difference() {
    println!("seed {SEED:#x}");
    for machine in MACHINES {
        let taken = walk(machine, SEED);
        assert!(
            taken > STEPS / 20,
            "{}: only {taken} of {STEPS} commands were taken, the walk says little",
            machine.kind
        );
    }
}

#[test]
fn the_walk_takes_every_row_of_every_machine() {
    for machine in MACHINES {
        let mut dice = Dice(SEED);
        for row in machine.rows {
            let id = EntityId::new(machine.kind, uuid::Uuid::from_u128(1));
            let from = Lifecycle::new(machine.kind, row.from);
            let mut entity = Entity::known_by(State { id, version: 1, lifecycle: Some(from) });
            entity.facts = birth(machine);
            let class = row.actors.classes().next().unwrap();
            let actor = Actor::new(class, "model");
            let mut data = Facts::none();
            for fact in machine.required_facts(row.to) {
                data.set(*fact, 1);
            }
            if row.guards.contains(&Guard::RetriesLeft) {
                data.set("retries", 1);
            }
            if row.guards.contains(&Guard::AnswerOffered) {
                data.set("answer", "yes");
            }
            if row.guards.contains(&Guard::HasNextMove)
                && let Some((name, value)) = next_move(machine.state_name(row.to))
            {
                data.set(name, value);
            }
            let mut why = some_reason(&mut dice, machine, Some(row));
            while !explains(machine, row, why.code.def())
                || (!row.evidence.is_empty() && why.evidence.is_empty())
            {
                why = some_reason(&mut dice, machine, Some(row));
            }
            let to = Lifecycle::new(machine.kind, row.to);
            let order =
                Order::Transition(Transition { to: Some(to), trigger: None, reasons: vec![why], data });
            let mut context = Context::new(&actor, Moment::from_micros(1));
            let held = held();
            context.lease = if row.guards.contains(&Guard::LeaseExpired) {
                LeaseState::Free
            } else {
                LeaseState::Held(&held)
            };
            let subtasks = Some(SubtasksSeen { closed: 1, all: 1 });
            let testimony = Testimony { supervisor: Some(SupervisorSeen::Absent), subtasks };
            match decide(&entity, Command { testimony, ..Command::new(id, order) }, &context) {
                Ok(Decision::Record(event)) => entity.apply(&event).unwrap(),
                other => panic!("{from} to {to}: {other:?}"),
            }
            assert_eq!(entity.state.lifecycle, Some(to));
        }
    }
}
