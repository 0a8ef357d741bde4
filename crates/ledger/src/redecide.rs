//! Records decided anew: would the kernel have recorded this?
//!
//! Invariant: a record that this program can read is sound only if the kernel takes the command it tells of, from the
//! actor it names, with its reasons and its evidence, where the entity stood. A record of an unknown type along a known
//! edge is unproved, and so is one whose reasons have another name by now; everything else is wrong. Deliberately absent:
//! hashes and versions; whoever walks through the log compares those.

use callboard_kernel::{
    Actor, Channel, Command, Context, Create, Decision, EntityId, EventType, Facts, Observe, Order,
    RefusalCode, State, StateReason, Transition, decide,
};
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, Trigger, Words};

use crate::body::Body;
use crate::borrowed::Borrowed;
use crate::error::chain;
use crate::record::Unreadable;

/// What deciding a record anew gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Sound,
    /// This program cannot tell.
    Unproved,
    Wrong(String),
}

/// Decides a record anew.
pub(crate) fn judge(line: &Borrowed<'_>) -> Judgement {
    let Ok(kind) = Kind::parse(line.kind) else { return Judgement::Unproved };
    let Ok(event) = EventType::parse(line.event_type) else { return of_newer(kind, line) };
    match again(kind, event, line) {
        Ok(judgement) => judgement,
        Err(unreadable) => Judgement::Wrong(format!("it cannot be decided anew: {}", chain(&unreadable))),
    }
}

/// A type that only a newer program knows may stay where it is, or follow an edge that is known.
fn of_newer(kind: Kind, line: &Borrowed<'_>) -> Judgement {
    let machine = kind.machine();
    let may = match (machine.state(line.from_state), machine.state(line.to_state)) {
        (_, None) => false,
        (None, Some(to)) => line.from_state.is_empty() && machine.start.has(to),
        (Some(from), Some(to)) => from == to || machine.can_transition(from, to),
    };
    if may { Judgement::Unproved } else { Judgement::Wrong(no_edge(line)) }
}

fn no_edge(line: &Borrowed<'_>) -> String {
    format!("{} -> {} is not a legal edge", line.from_state, line.to_state)
}

fn again(kind: Kind, event: EventType, line: &Borrowed<'_>) -> Result<Judgement, Unreadable> {
    let to = Lifecycle::parse(kind, line.to_state)?;
    let from = match line.from_state {
        "" => None,
        name => Some(Lifecycle::parse(kind, name)?),
    };
    let actor = Actor::new(ActorClass::parse(line.actor_type)?, line.actor_id);
    Channel::parse(line.channel)?;
    let (reasons, data) = carried(event, line)?;
    let (is_moved, trigger) = (event == EventType::Transitioned, line.via);
    let trigger = if is_moved { Some(Trigger::parse(kind, trigger)?) } else { None };
    if !is_moved && line.via != line.event_type {
        return Ok(Judgement::Wrong(format!("{} is not caused by {}", line.event_type, line.via)));
    }
    if event == EventType::Observed && from != Some(to) {
        return Ok(Judgement::Wrong(no_edge(line)));
    }
    let order = match event {
        EventType::Created => Order::Create(Create { at: to, reasons, data }),
        EventType::Observed => Order::Observe(Observe { reasons, data }),
        EventType::Transitioned => Order::Transition(Transition { to: Some(to), trigger, reasons, data }),
    };
    let id = EntityId::new(kind, line.entity);
    let state = State { id, version: line.version.wrapping_sub(1), lifecycle: from };
    let command = Command { key: line.key.map(str::to_owned), ..Command::new(id, order) };
    Ok(match decide(&state, command, &Context::new(&actor, line.at)) {
        Ok(Decision::Record(_)) => Judgement::Sound,
        Ok(Decision::Repeat { .. }) => unreachable!("BUG: a repeat without an earlier record"),
        // A limit is for what comes, and may have been higher.
        Err(refusal) if refusal.code == RefusalCode::TooLarge => Judgement::Sound,
        Err(_) if is_renamed(line) => Judgement::Unproved,
        Err(refusal) => Judgement::Wrong(format!("it would be refused: {}", refusal.message)),
    })
}

/// The reasons and the facts of a record, read only where a decision depends on them.
fn carried(event: EventType, line: &Borrowed<'_>) -> Result<(Vec<StateReason>, Facts), Unreadable> {
    let has = |word: &str| line.body.contains(word) || line.body.contains('\\');
    if line.body.is_empty() || event != EventType::Transitioned && has("\"data\"") && !has("\"reasons\"") {
        // Facts are read where the log is folded.
        return Ok((Vec::new(), Facts::none()));
    }
    let body = Body::parse(line.body)?;
    let data = if event == EventType::Transitioned { body.data()? } else { Facts::none() };
    Ok((body.reasons()?, data))
}

/// Does it give a reason by a name that the reason no longer has?
fn is_renamed(line: &Borrowed<'_>) -> bool {
    let Ok(body) = Body::parse(line.body) else { return false };
    let (Ok(reasons), Some(raw)) = (body.reasons(), body.reasons) else { return false };
    reasons.iter().any(|reason| !raw.get().contains(&reason.code.to_string()))
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Moment;
    use uuid::Uuid;

    use super::*;
    use crate::record::Hash;

    const WHY: &str = r#"{"reasons":[{"code":"run.completed.ok","message":"m","evidence":[{"kind":"tool_result","detail":"x"}]}]}"#;

    fn line<'a>(
        event_type: &'a str,
        via: &'a str,
        to: &'a str,
        actor: &'a str,
        body: &'a str,
    ) -> Borrowed<'a> {
        Borrowed {
            seq: 3,
            entity: Uuid::from_u128(7),
            version: 3,
            at: Moment::from_micros(1),
            kind: "session",
            event_type,
            channel: "audit",
            from_state: "running",
            via,
            to_state: to,
            actor_type: actor,
            actor_id: "a",
            key: None,
            body,
            hash: Hash::GENESIS,
        }
    }

    #[test]
    fn a_move_is_sound_only_by_its_actor_with_its_reason_and_its_evidence() {
        let end = |actor, body| judge(&line("transitioned", "exited_clean", "completed", actor, body));
        assert_eq!(end("supervisor", WHY), Judgement::Sound);
        let bare = r#"{"reasons":[{"code":"run.completed.ok","message":"m"}]}"#;
        let wrong = [end("agent", WHY), end("supervisor", ""), end("supervisor", bare), end("eve", WHY)];
        assert!(wrong.iter().all(|judged| matches!(judged, Judgement::Wrong(_))), "{wrong:?}");
        let undeclared = judge(&line("transitioned", "wished", "completed", "supervisor", WHY));
        assert!(matches!(undeclared, Judgement::Wrong(_)), "{undeclared:?}");
    }

    #[test]
    fn what_only_a_newer_program_knows_is_unproved_along_a_known_edge_and_wrong_elsewhere() {
        assert_eq!(judge(&line("weighed", "observed", "running", "agent", "{}")), Judgement::Unproved);
        assert_eq!(judge(&line("ended", "ended", "completed", "agent", "")), Judgement::Unproved);
        let back = judge(&line("revived", "revived", "pending", "agent", ""));
        assert!(matches!(back, Judgement::Wrong(_)), "{back:?}");
        let kind = Borrowed { kind: "galley", ..line("observed", "observed", "running", "agent", "") };
        assert_eq!(judge(&kind), Judgement::Unproved);
    }

    #[test]
    fn a_body_that_is_none_is_wrong() {
        let judged = judge(&line("observed", "observed", "running", "agent", "nonsense"));
        assert!(matches!(judged, Judgement::Wrong(_)), "{judged:?}");
    }
}
