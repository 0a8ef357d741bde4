//! What the pure model believes of one sequence of commands, without a store.
//!
//! Invariant: nothing but the kernel's `decide` and `apply` and a map of keys. It decides before the ledger answers
//! and learns only one thing from the answer: the moment the ledger chose.

use std::collections::HashMap;

use callboard_kernel::{
    Context, Decision, Entity, EntityId, Event, LeaseState, Moment, Refusal, RefusalCode, decide,
};
use callboard_ledger::{AppendError, Group, GroupError, Receipt, Request};
use uuid::Uuid;

use crate::harness::dice::Dice;
use crate::ledger::model::lease::{self, BelievedLease};
use crate::ledger::model::wild::Wild;

/// Entities in one sequence.
const ENTITIES: u64 = 3;

/// One sequence: its entities, and the dice that make its commands.
pub(crate) struct Sequence {
    pub(crate) number: u64,
    pub(crate) sent: u64,
    pub(crate) dice: Dice,
    pub(crate) entities: Vec<Believed>,
    groups: Vec<Planned>,
}

/// A group that was sent, to be sent again.
#[derive(Clone)]
struct Planned {
    key: Option<String>,
    parts: Vec<(usize, Request)>,
}

/// What is believed of one entity.
pub(crate) struct Believed {
    /// Where it stands once everything that was sent is answered.
    decided: Entity,
    lease: BelievedLease,
    keys: HashMap<String, Event>,
    keyed: Vec<Request>,
    /// What the answers so far say.
    pub(crate) entity: Entity,
    pub(crate) events: Vec<Event>,
}

/// What the model expects of one command.
pub(crate) struct Expected {
    pub(crate) entity: usize,
    pub(crate) request: Request,
    decision: Result<Decision, Box<Refusal>>,
}

/// What the model expects of a group.
pub(crate) struct ExpectedGroup {
    pub(crate) group: Group,
    pub(crate) parts: Vec<Expected>,
    /// Which command is refused, and how.
    refused: Option<(usize, Box<Refusal>)>,
}

impl Sequence {
    pub(crate) fn new(number: u64, seed: u64, wild: &Wild) -> Self {
        let mut dice = Dice::of(seed, number);
        let entities = (0..ENTITIES)
            .map(|at| {
                let bits = u128::from(number) << 8 | u128::from(at) | 1 << 100;
                let id = EntityId::new(wild.kind(&mut dice), Uuid::from_u128(bits));
                Believed {
                    decided: Entity::unborn(id),
                    lease: BelievedLease::default(),
                    keys: HashMap::new(),
                    keyed: Vec::new(),
                    entity: Entity::unborn(id),
                    events: Vec::new(),
                }
            })
            .collect();
        Self { number, sent: 0, dice, entities, groups: Vec::new() }
    }

    /// Makes the next command and decides about it; what it does is believed at once.
    pub(crate) fn next(&mut self, wild: &Wild) -> Expected {
        self.sent += 1;
        let at = self.dice.roll(ENTITIES) as usize;
        let believed = &mut self.entities[at];
        let request = if !believed.keyed.is_empty() && self.dice.roll(8) == 0 {
            self.dice.pick(&believed.keyed).clone()
        } else {
            believed.request(&mut self.dice, wild)
        };
        let decision = believed.decide(&request);
        if request.command.key.is_some() {
            believed.keyed.push(request.clone());
        }
        Expected { entity: at, decision, request }
    }

    /// Makes a group and decides about it: all of it is believed, or nothing.
    pub(crate) fn next_group(&mut self, wild: &Wild) -> ExpectedGroup {
        let before: Vec<_> = self.entities.iter().map(Believed::so_far).collect();
        let planned = match self.groups.len() as u64 {
            0 => None,
            many => (self.dice.roll(3) == 0).then(|| self.groups[self.dice.roll(many) as usize].clone()),
        };
        let key = match &planned {
            Some(planned) => planned.key.clone(),
            None => (self.dice.roll(2) == 0).then(|| format!("group {}", self.groups.len())),
        };
        let size = planned.as_ref().map_or_else(|| 2 + self.dice.roll(3), |one| one.parts.len() as u64);
        let (mut parts, mut refused): (Vec<Expected>, _) = (Vec::new(), None);
        for nth in 0..size as usize {
            let (at, mut request) = match &planned {
                Some(planned) => planned.parts[nth].clone(),
                None => {
                    let at = self.dice.roll(ENTITIES) as usize;
                    (at, self.entities[at].request(&mut self.dice, wild))
                }
            };
            // The first command about an entity has the key of the group, and each further one a key of its own.
            let earlier = parts.iter().filter(|part| part.entity == at).count();
            let own =
                |key: &String| if earlier == 0 { key.clone() } else { format!("{key}#{}", earlier + 1) };
            request.command.key = key.as_ref().map(own);
            let decision = match &refused {
                None => self.entities[at].decide(&request),
                Some((_, refusal)) => Err(Box::clone(refusal)),
            };
            if let (None, Err(refusal)) = (&refused, &decision) {
                refused = Some((nth, refusal.clone()));
            }
            parts.push(Expected { entity: at, request, decision });
        }
        self.sent += size;
        if refused.is_some() {
            for (one, before) in self.entities.iter_mut().zip(before) {
                (one.decided, one.lease, one.keys) = before;
            }
        }
        if planned.is_none() {
            let parts = parts.iter().map(|part| (part.entity, part.request.clone())).collect();
            self.groups.push(Planned { key: key.clone(), parts });
        }
        ExpectedGroup { group: group_of(&parts, key), parts, refused }
    }

    /// Takes the answer to a group in; what differs is told.
    pub(crate) fn hear_group(
        &mut self,
        expected: &ExpectedGroup,
        answer: Result<Vec<Receipt>, GroupError>,
    ) -> Result<(), String> {
        match (&expected.refused, answer) {
            (Some((at, refusal)), Err(GroupError::Refused { at: given_at, refusal: given }))
                if *at == given_at && lease::agrees(refusal, &given) =>
            {
                Ok(())
            }
            (None, Ok(receipts)) if receipts.len() == expected.parts.len() => {
                let mut heard = expected.parts.iter().zip(receipts);
                heard.try_for_each(|(part, receipt)| self.entities[part.entity].hear(part, &Ok(receipt)))
            }
            (refused, answer) => {
                Err(format!("another answer to a group: expected {refused:?}, got {answer:?}"))
            }
        }
    }
}

fn group_of(parts: &[Expected], key: Option<String>) -> Group {
    let mut requests = parts.iter().map(|part| part.request.clone());
    let Some(mut first) = requests.next() else { unreachable!("BUG: a group without a command") };
    first.command.key = key;
    requests.fold(Group::new(first), Group::and)
}

impl Believed {
    /// The next command about it.
    fn request(&self, dice: &mut Dice, wild: &Wild) -> Request {
        let mut request = wild.request(dice, &self.decided.state);
        self.lease.add_terms(dice, &mut request);
        request
    }

    /// What a group that is refused goes back to.
    fn so_far(&self) -> (Entity, BelievedLease, HashMap<String, Event>) {
        (self.decided.clone(), self.lease.clone(), self.keys.clone())
    }

    fn decide(&mut self, request: &Request) -> Result<Decision, Box<Refusal>> {
        let mut context = Context::new(&request.actor, request.now);
        context.cause = request.cause.as_deref();
        context.earlier = request.command.key.as_ref().and_then(|key| self.keys.get(key));
        let changed = self
            .lease
            .judge(request, &self.decided.state, context.earlier)
            .map_err(|code| lease::refusal(&self.decided.state, code))?;
        let held = self.lease.held();
        context.lease = held.as_ref().map_or(LeaseState::Free, LeaseState::Held);
        let mut command = request.command.clone().recordable();
        if let Some(changed) = &changed {
            changed.add_to(&mut command.order);
        }
        let decision = decide(&self.decided, command, &context);
        if let Ok(Decision::Record(event)) = &decision {
            self.lease.follow(changed);
            if let Err(misfit) = self.decided.apply(event) {
                unreachable!("BUG: decided and does not apply: {misfit}")
            }
            if let Some(key) = &event.key {
                self.keys.insert(key.clone(), event.clone());
            }
        }
        decision
    }

    /// Takes the answer in; what differs is told.
    pub(crate) fn hear(
        &mut self,
        expected: &Expected,
        answer: &Result<Receipt, AppendError>,
    ) -> Result<(), String> {
        let differs = |what: &str| Err(format!("{what}: expected {:?}, got {answer:?}", expected.decision));
        match (&expected.decision, answer) {
            (Ok(Decision::Record(event)), Ok(receipt)) if !receipt.repeated => {
                let record = &receipt.record;
                if record.version != event.version || record.to_state != event.to.name() {
                    return differs("another record");
                }
                if record.at < event.at {
                    return differs("a moment before the command's own");
                }
                self.learn(event, record.at);
                Ok(())
            }
            (Ok(Decision::Repeat { version }), Ok(receipt)) if receipt.repeated => {
                if receipt.record.version == *version { Ok(()) } else { differs("another repeat") }
            }
            (Err(refusal), Err(AppendError::Refused(given))) => {
                if lease::agrees(refusal, given) {
                    Ok(())
                } else {
                    differs("another refusal")
                }
            }
            (_, _) => differs("another answer"),
        }
    }

    /// No more commands will be sent: what is only needed to decide can go.
    pub(crate) fn close(mut self) -> Self {
        self.keys = HashMap::new();
        self.keyed = Vec::new();
        self
    }

    fn learn(&mut self, event: &Event, at: Moment) {
        let event = Event { at, ..event.clone() };
        if let Err(misfit) = self.entity.apply(&event) {
            unreachable!("BUG: decided and does not fold: {misfit}")
        }
        self.events.push(event);
    }
}

/// What the answers were, by sort.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) recorded: u64,
    pub(crate) repeated: u64,
    pub(crate) refused: u64,
    pub(crate) groups: u64,
    pub(crate) groups_refused: u64,
    /// One bit for each refusal code that was seen.
    codes: u32,
}

impl Answers {
    pub(crate) fn count(&mut self, expected: &Expected) {
        match &expected.decision {
            Ok(Decision::Record(_)) => self.recorded += 1,
            Ok(Decision::Repeat { .. }) => self.repeated += 1,
            Err(refusal) => {
                self.refused += 1;
                self.codes |= 1 << refusal.code as u32;
            }
        }
    }

    pub(crate) fn count_group(&mut self, expected: &ExpectedGroup) {
        self.groups += 1;
        match &expected.refused {
            Some((at, _)) => {
                self.groups_refused += 1;
                self.count(&expected.parts[*at]);
            }
            None => expected.parts.iter().for_each(|part| self.count(part)),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.recorded += other.recorded;
        self.repeated += other.repeated;
        self.refused += other.refused;
        self.groups += other.groups;
        self.groups_refused += other.groups_refused;
        self.codes |= other.codes;
    }
}

impl std::fmt::Display for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { recorded, repeated, refused, groups, groups_refused, codes } = self;
        let all = <RefusalCode as callboard_lifecycle::Words>::ALL.len();
        let codes = codes.count_ones();
        write!(
            f,
            "{recorded} recorded, {repeated} repeated by key, {refused} refused ({codes} of {all} codes seen); {groups} \
             groups, {groups_refused} of them refused"
        )
    }
}
