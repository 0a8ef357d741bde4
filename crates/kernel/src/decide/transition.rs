//! Transition: find the row that allows the move, or the rule that stands in the way.
//!
//! Rows of one edge differ in trigger, actor, reasons and evidence. The first row that fits is taken; if none fits,
//! the refusal speaks of the row that came closest, because that is what the caller can mend.

use callboard_lifecycle::{ActorClass, Guard, GuardSet, Lifecycle, Machine, Row, Trigger};

use crate::command::Transition;
use crate::context::Guarding;
use crate::event::{Event, EventType};
use crate::guard::{self, GuardAnswer, Testimony};
use crate::reason::StateReason;
use crate::refusal::{Refusal, RefusalCode};

use super::gate::Draft;

pub(super) fn decide(
    draft: &Draft<'_>,
    order: Transition,
    testimony: &Testimony,
    key: Option<String>,
) -> Result<Event, Box<Refusal>> {
    let from = draft.standing()?;
    let to = target(draft, from, &order)?;
    // A guard asks where the move leads, also if only its trigger was named.
    let order = Transition { to: Some(to), ..order };
    draft.check_reasons(&order.reasons)?;
    let row = row(draft, from, to, &order)?;
    check_facts(draft, to, &order)?;
    check_guards(draft, to, row, &order, testimony)?;
    // The row fits, so it has at least one trigger; the caller's own choice is among them.
    let trigger = order.trigger.or_else(|| row.trigger_list().next().map(|at| Trigger::new(to.kind(), at)));
    let event = draft.event(EventType::Transitioned, to, order.reasons, order.data, key);
    Ok(Event { trigger, guards: GuardSet::of(row.guards), ..event })
}

/// The state that is asked for, by name or by trigger.
fn target(draft: &Draft<'_>, from: Lifecycle, order: &Transition) -> Result<Lifecycle, Box<Refusal>> {
    let kind = draft.entity.state.id.kind();
    let stranger = order.to.is_some_and(|to| to.kind() != kind)
        || order.trigger.is_some_and(|trigger| trigger.kind() != kind);
    if stranger {
        let problem = format!("the command speaks of another kind than {kind}");
        let help = format!("see the states and triggers of this kind: callboard machines {kind}");
        return Err(draft.refuse_move(RefusalCode::WrongKind, order.to, problem, help));
    }
    if let Some(to) = order.to {
        return Ok(to);
    }
    let Some(trigger) = order.trigger else {
        let help = "name the state to move to, or the trigger to follow".to_owned();
        return Err(draft.refuse(
            RefusalCode::WrongTrigger,
            "neither a target nor a trigger is named".to_owned(),
            help,
        ));
    };
    match kind.machine().after(from.position(), trigger.position()) {
        Some(to) => Ok(Lifecycle::new(kind, to)),
        None => {
            let problem = format!("{trigger} leads to no single state from {from}");
            let help = format!("see the rows of this kind: callboard machines {kind}");
            Err(draft.refuse(RefusalCode::WrongTrigger, problem, help))
        }
    }
}

/// How far a row got before it did not fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Trigger,
    Actor,
    Reason,
    Evidence,
    Whole,
}

fn row(
    draft: &Draft<'_>,
    from: Lifecycle,
    to: Lifecycle,
    order: &Transition,
) -> Result<&'static Row, Box<Refusal>> {
    let machine = from.kind().machine();
    let mut closest: Option<(Fit, &'static Row)> = None;
    for row in machine.rows {
        if row.from != from.position() || row.to != to.position() {
            continue;
        }
        let fit = fit(machine, row, draft.context.actor.class, order);
        if fit == Fit::Whole {
            return Ok(row);
        }
        if closest.is_none_or(|(best, _)| fit > best) {
            closest = Some((fit, row));
        }
    }
    match closest {
        None => Err(no_edge(draft, from, to)),
        Some((fit, row)) => Err(misfit(draft, from, to, order, (fit, row))),
    }
}

fn fit(machine: &Machine, row: &Row, actor: ActorClass, order: &Transition) -> Fit {
    if order.trigger.is_some_and(|trigger| !row.fires_on(trigger.position())) {
        Fit::Trigger
    } else if !row.actors.has(actor) {
        Fit::Actor
    } else if !order.reasons.first().is_some_and(|reason| explains(machine, row, reason)) {
        Fit::Reason
    } else if !row.evidence.is_empty() && !order.reasons.iter().any(|reason| shows(row, reason)) {
        Fit::Evidence
    } else {
        Fit::Whole
    }
}

/// A row without reasons of its own takes the family of its target: `task.claimed.*` for a row to `claimed`.
fn explains(machine: &Machine, row: &Row, reason: &StateReason) -> bool {
    let def = reason.code.def();
    if row.because.is_empty() {
        def.is_in_family(machine.entity, machine.state_name(row.to))
    } else {
        def.is_among(row.because)
    }
}

fn shows(row: &Row, reason: &StateReason) -> bool {
    reason.evidence.iter().any(|evidence| row.evidence.has(evidence.kind))
}

fn check_facts(draft: &Draft<'_>, to: Lifecycle, order: &Transition) -> Result<(), Box<Refusal>> {
    let required = to.kind().machine().required_facts(to.position());
    if required.iter().all(|fact| order.data.has(fact)) {
        return Ok(());
    }
    let missing: Vec<&str> = required.iter().copied().filter(|fact| !order.data.has(fact)).collect();
    let problem = format!("{to} requires {} to be recorded", missing.join(", "));
    let help = "send the missing facts in the command's data".to_owned();
    Err(draft.refuse_move(RefusalCode::FactRequired, Some(to), problem, help))
}

/// The row is the one the caller means; what is asked last is what the caller cannot mend by sending another command.
fn check_guards(
    draft: &Draft<'_>,
    to: Lifecycle,
    row: &Row,
    order: &Transition,
    testimony: &Testimony,
) -> Result<(), Box<Refusal>> {
    match draft.context.guarding {
        Guarding::Recorded => Ok(()),
        Guarding::Asked => row.guards.iter().try_for_each(|guard| {
            check_guard(draft, to, *guard, guard::ask(*guard, draft.entity, order, testimony, draft.context))
        }),
    }
}

fn check_guard(
    draft: &Draft<'_>,
    to: Lifecycle,
    guard: Guard,
    answer: GuardAnswer,
) -> Result<(), Box<Refusal>> {
    let refusal = match answer {
        GuardAnswer::Holds => return Ok(()),
        GuardAnswer::Fails { because, help } => {
            draft.refuse_move(RefusalCode::GuardFailed, Some(to), format!("{because} (guard {guard})"), help)
        }
        GuardAnswer::Unanswered { help } => {
            let problem = format!("nothing answers the guard {guard} of a move to {to}");
            draft.refuse_move(RefusalCode::GuardUnanswered, Some(to), problem, help.to_owned())
        }
    };
    Err(Box::new(Refusal { guard: Some(guard), ..*refusal }))
}

fn no_edge(draft: &Draft<'_>, from: Lifecycle, to: Lifecycle) -> Box<Refusal> {
    let kind = from.kind();
    if from.is_end() {
        let problem = format!("it has ended as {from}, and ends are final");
        let help = format!("start another {} instead", kind.machine().noun);
        return draft.refuse_move(RefusalCode::Ended, Some(to), problem, help);
    }
    let problem = format!("no row leads from {from} to {to}");
    let targets: Vec<&str> = kind
        .machine()
        .targets(from.position())
        .into_iter()
        .map(|state| kind.machine().state_name(state))
        .collect();
    let help = format!("from {from} it can go to {}", targets.join(", "));
    draft.refuse_move(RefusalCode::IllegalEdge, Some(to), problem, help)
}

fn misfit(
    draft: &Draft<'_>,
    from: Lifecycle,
    to: Lifecycle,
    order: &Transition,
    (fit, row): (Fit, &Row),
) -> Box<Refusal> {
    let machine = to.kind().machine();
    let actor = draft.context.actor.class;
    let (code, problem, help) = match fit {
        Fit::Trigger => {
            let triggers: Vec<&str> =
                row.trigger_list().map(|at| machine.triggers[at as usize].name).collect();
            let problem = format!("that trigger does not lead from {from} to {to}");
            (RefusalCode::WrongTrigger, problem, format!("this move is caused by {}", triggers.join(", ")))
        }
        Fit::Actor if from.is_end() => {
            let problem = format!("it has ended as {from}; only a person leads out of it, not {actor}");
            (RefusalCode::Ended, problem, "let an operator decide".to_owned())
        }
        Fit::Actor => {
            let classes: Vec<String> = row.actors.classes().map(|class| class.to_string()).collect();
            let problem = format!("{actor} may not move it from {from} to {to}");
            (RefusalCode::NotPermitted, problem, format!("this move is for {}", classes.join(", ")))
        }
        Fit::Reason => {
            let reasons = allowed_reasons(machine, row);
            match order.reasons.first() {
                None => (RefusalCode::ReasonRequired, "a transition needs a reason".to_owned(), reasons),
                Some(reason) => {
                    let problem = format!("{} does not explain a move from {from} to {to}", reason.code);
                    (RefusalCode::ReasonNotAllowed, problem, reasons)
                }
            }
        }
        Fit::Evidence | Fit::Whole => {
            let kinds: Vec<String> = row.evidence.kinds().map(|kind| kind.to_string()).collect();
            let problem = format!("a move from {from} to {to} needs evidence");
            (RefusalCode::EvidenceRequired, problem, format!("add evidence of kind {}", kinds.join(" or ")))
        }
    };
    draft.refuse_move(code, Some(to), problem, help)
}

fn allowed_reasons(machine: &Machine, row: &Row) -> String {
    if row.because.is_empty() {
        format!("give a reason {}.{}.*", machine.entity, machine.state_name(row.to))
    } else {
        format!("give a reason {}", row.because.join(" or "))
    }
}
