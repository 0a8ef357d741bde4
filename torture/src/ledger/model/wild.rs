//! Random commands of random legality, about entities of every kind.
//!
//! Invariant: the same dice and the same state give the same command. Most commands are nearly right, because a
//! command that is wrong in five ways tests one refusal. Deliberately absent: what should come of them; `model` says.

use callboard_kernel::{
    Actor, Command, Confidence, Create, EvidenceRef, Facts, Moment, Observe, Order, State, StateReason,
    SupervisorSeen, Transition, Value,
};
use callboard_ledger::Request;
use callboard_lifecycle::{
    ActorClass, Evidence, Guard, Kind, Lifecycle, MACHINES, Machine, REASONS, ReasonCode, Row, Trigger,
    Words, reason,
};

use crate::harness::dice::Dice;

/// Everything that can be chosen from, looked up once.
pub(crate) struct Wild {
    kinds: Vec<Choices>,
}

/// What a kind offers.
struct Choices {
    machine: &'static Machine,
    start: Vec<u8>,
    /// The rows that leave each state.
    ways: Vec<Vec<Way>>,
    reasons: Vec<ReasonCode>,
}

/// One row, with what fits it.
struct Way {
    row: &'static Row,
    actors: Vec<ActorClass>,
    reasons: Vec<ReasonCode>,
    evidence: Vec<Evidence>,
}

/// Texts that have upset a store somewhere before.
const TEXTS: &[&str] = &[
    "it happened",
    "a \"quoted\" \\ text",
    "zwölf Boxkämpfer 🥊",
    "two\nlines\tand a tab",
    "a\0nul",
    "",
    "'; --",
];

impl Wild {
    pub(crate) fn new() -> Self {
        Self { kinds: MACHINES.iter().map(|machine| Choices::of(machine)).collect() }
    }

    pub(crate) fn kind(&self, dice: &mut Dice) -> Kind {
        dice.pick(&self.kinds).machine.kind
    }

    /// A command about an entity that stands here.
    pub(crate) fn request(&self, dice: &mut Dice, state: &State) -> Request {
        let (order, class) = self.order(dice, state);
        let mut command = Command::new(state.id, order);
        command.key = match dice.roll(400) {
            0 => Some("k".repeat(300)),
            1..100 => Some(format!("k{}", dice.roll(6))),
            _ => None,
        };
        if dice.roll(10) == 0 {
            command.if_version = Some(state.version.saturating_sub(dice.roll(2)));
        }
        command.testimony.supervisor = match dice.roll(10) {
            0 => None,
            1 => Some(SupervisorSeen::Alive { pid: 7 }),
            _ => Some(SupervisorSeen::Absent),
        };
        Request {
            command,
            actor: Actor::new(class, *dice.pick(TEXTS)),
            // The clock jumps about; the ledger's time must not.
            now: Moment::from_micros(1_800_000_000_000_000 + dice.roll(1_000_000_000) as i64),
            cause: (dice.roll(8) == 0).then(|| (*dice.pick(TEXTS)).to_owned()),
        }
    }

    fn order(&self, dice: &mut Dice, state: &State) -> (Order, ActorClass) {
        let Some(choices) = self.kinds.iter().find(|choices| choices.machine.kind == state.id.kind()) else {
            unreachable!("BUG: every kind has its machine")
        };
        let actor = *dice.pick(ActorClass::ALL);
        match state.lifecycle {
            Some(from) if dice.roll(50) > 0 => match dice.roll(6) {
                0 => {
                    let reasons = if dice.roll(3) == 0 { choices.some_reasons(dice, None) } else { vec![] };
                    (Order::Observe(Observe { reasons, data: some_facts(dice) }), actor)
                }
                _ => choices.transition(dice, from, actor),
            },
            Some(_) | None if dice.roll(30) > 0 => (choices.create(dice), actor),
            Some(_) | None => self.order_about_another_kind(dice, actor),
        }
    }
}

impl Wild {
    /// A move that some other kind may know.
    fn order_about_another_kind(&self, dice: &mut Dice, actor: ActorClass) -> (Order, ActorClass) {
        let choices = dice.pick(&self.kinds);
        let from = choices.some_state(dice);
        choices.transition(dice, from, actor)
    }
}

impl Choices {
    fn of(machine: &'static Machine) -> Self {
        let codes = |fits: &dyn Fn(&callboard_lifecycle::ReasonDef) -> bool| -> Vec<ReasonCode> {
            REASONS.iter().filter(|def| fits(def)).filter_map(|def| reason(def.code).ok()).collect()
        };
        let way = |row: &'static Row| Way {
            row,
            actors: row.actors.classes().collect(),
            reasons: codes(&|def| {
                def.fits(machine.kind)
                    && if row.because.is_empty() {
                        def.is_in_family(machine.entity, machine.state_name(row.to))
                    } else {
                        def.is_among(row.because)
                    }
            }),
            evidence: row.evidence.kinds().collect(),
        };
        let ways = (0..machine.states.len() as u8).map(|from| machine.rows_from(from).map(way).collect());
        Self {
            machine,
            start: machine.start.iter().collect(),
            ways: ways.collect(),
            reasons: codes(&|def| def.fits(machine.kind)),
        }
    }

    fn some_state(&self, dice: &mut Dice) -> Lifecycle {
        Lifecycle::new(self.machine.kind, dice.roll(self.machine.states.len() as u64) as u8)
    }

    fn create(&self, dice: &mut Dice) -> Order {
        let at = match dice.roll(12) {
            0 => self.some_state(dice),
            _ => Lifecycle::new(self.machine.kind, *dice.pick(&self.start)),
        };
        let reasons = if dice.roll(6) == 0 { self.some_reasons(dice, None) } else { vec![] };
        Order::Create(Create { at, reasons, data: some_facts(dice) })
    }

    fn transition(&self, dice: &mut Dice, from: Lifecycle, actor: ActorClass) -> (Order, ActorClass) {
        let ways = &self.ways[from.position() as usize];
        let way = if ways.is_empty() || dice.roll(8) == 0 { None } else { Some(dice.pick(ways)) };
        let to = match way {
            Some(way) => Lifecycle::new(self.machine.kind, way.row.to),
            None => self.some_state(dice),
        };
        let trigger = match (way, dice.roll(6)) {
            (_, 0..4) => None,
            (Some(way), 4) => way.row.trigger_list().next().map(|at| Trigger::new(self.machine.kind, at)),
            (_, _) => {
                let at = dice.roll(self.machine.triggers.len() as u64) as u8;
                Some(Trigger::new(self.machine.kind, at))
            }
        };
        let actor = match way {
            Some(way) if dice.roll(10) > 0 => *dice.pick(&way.actors),
            Some(_) | None => actor,
        };
        let mut data = if dice.roll(4) == 0 { some_facts(dice) } else { Facts::none() };
        for fact in self.machine.required_facts(to.position()) {
            if dice.roll(20) > 0 {
                data.set(*fact, some_value(dice));
            }
        }
        if way.is_some_and(|way| way.row.guards.contains(&Guard::RetriesLeft)) {
            data.set("retries", 1 + dice.roll(4) as i64);
        }
        let reasons = if dice.roll(16) == 0 { vec![] } else { self.some_reasons(dice, way) };
        let to = (trigger.is_none() || dice.roll(6) > 0).then_some(to);
        (Order::Transition(Transition { to, trigger, reasons, data }), actor)
    }

    /// One to three reasons; the first mostly fits the row, and its evidence is mostly there.
    fn some_reasons(&self, dice: &mut Dice, way: Option<&Way>) -> Vec<StateReason> {
        let count = if dice.roll(8) == 0 { 1 + dice.roll(3) } else { 1 };
        (0..count).map(|_| self.some_reason(dice, way)).collect()
    }

    fn some_reason(&self, dice: &mut Dice, way: Option<&Way>) -> StateReason {
        let code = match way {
            Some(way) if !way.reasons.is_empty() && dice.roll(20) > 0 => *dice.pick(&way.reasons),
            Some(_) | None => *dice.pick(&self.reasons),
        };
        let mut why = StateReason::new(code, *dice.pick(TEXTS));
        why.confidence = Confidence::new(dice.roll(1001) as f64 / 1000.0);
        if dice.roll(12) > 0 {
            let kind = match way {
                Some(way) if !way.evidence.is_empty() => *dice.pick(&way.evidence),
                Some(_) | None => *dice.pick(Evidence::ALL),
            };
            let filled = |dice: &mut Dice| Some(format!("{}{}", dice.pick(TEXTS), dice.roll(10)));
            why = why.shown_by(EvidenceRef {
                detail: filled(dice),
                path: filled(dice),
                url: filled(dice),
                message_id: filled(dice),
                ..EvidenceRef::bare(kind)
            });
        }
        why
    }
}

fn some_facts(dice: &mut Dice) -> Facts {
    let names = ["title", "delivery", "parent", "seen", "beats", "äöü"];
    let mut facts = Facts::none();
    for _ in 0..dice.roll(4) {
        facts.set(*dice.pick(&names), some_value(dice));
    }
    facts
}

fn some_value(dice: &mut Dice) -> Value {
    match dice.roll(12) {
        0 => Value::Null,
        1 => Value::Bool(dice.roll(2) == 0),
        2 => Value::Float(dice.next() as f64 / 1e17),
        3 => Value::Int(dice.next() as i64),
        4 => Value::List(vec![Value::Int(dice.roll(9) as i64), Value::Text("x".to_owned())]),
        5 => Value::Map(Facts::none().with("inner", dice.roll(9) as i64)),
        6 => Value::Text("passed".to_owned()),
        7 => Value::Text("missing".to_owned()),
        8..10 => Value::Int(dice.roll(4) as i64),
        _ => Value::Text((*dice.pick(TEXTS)).to_owned()),
    }
}
