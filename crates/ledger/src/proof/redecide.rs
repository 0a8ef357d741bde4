//! Records decided anew: would the kernel have recorded this?
//!
//! Invariant: a record that this program can read is sound only if the kernel takes the command it tells of, from the
//! actor it names, with its reasons and its evidence, where the entity stood. A record of an unknown type along a known
//! edge is unproved, and so is one whose reasons have another name by now; everything else is wrong. Guards are not asked: they
//! were when the record was written, and `guarded` says which of them can be asked again. Deliberately absent: hashes and
//! versions; whoever walks through the log compares those.

use callboard_kernel::{
    Actor, Channel, Command, Context, Create, Decision, Entity, EntityId, Entry, EventType, Facts, Guarding,
    Observe, Order, RefusalCode, State, StateReason, Transition, decide,
};
use callboard_lifecycle::{ActorClass, GuardSet, Kind, Lifecycle, Trigger, Words};

use crate::error::chain;
use crate::reading::borrowed::Borrowed;
use crate::record::Unreadable;
use crate::writing::body::Body;

/// What deciding a record anew gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Sound,
    /// It took a row with guards, which were asked when it was written.
    Guarded {
        id: EntityId,
        asked: GuardSet,
        named: GuardSet,
    },
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
    let channel = Channel::parse(line.channel)?;
    let Carried { reasons, data, guards: Some(named) } = carried(event, line)? else {
        return Ok(Judgement::Unproved);
    };
    let (is_moved, trigger) = (event == EventType::Transitioned, line.via);
    let trigger = if is_moved { Some(Trigger::parse(kind, trigger)?) } else { None };
    if !is_moved && line.via != line.event_type {
        return Ok(Judgement::Wrong(format!("{} is not caused by {}", line.event_type, line.via)));
    }
    if matches!(event, EventType::Observed | EventType::Entry) && from != Some(to) {
        return Ok(Judgement::Wrong(no_edge(line)));
    }
    let order = match event {
        EventType::Created => Order::Create(Create { at: to, reasons, data }),
        EventType::Observed => Order::Observe(Observe { reasons, data }),
        EventType::Entry => match Entry::of_data(data) {
            Some(entry) => Order::Entry(entry),
            // Only a newer program knows this piece of a conversation.
            None => return Ok(Judgement::Unproved),
        },
        EventType::Transitioned => Order::Transition(Transition { to: Some(to), trigger, reasons, data }),
    };
    let id = EntityId::new(kind, line.entity);
    let state = State { id, version: line.version.wrapping_sub(1), lifecycle: from };
    let mut context = Context::new(&actor, line.at);
    context.guarding = Guarding::Recorded;
    let command = Command { key: line.key.map(str::to_owned), ..Command::new(id, order) };
    Ok(match decide(&Entity::known_by(state), command, &context) {
        Ok(Decision::Record(decided)) if decided.channel != channel => {
            Judgement::Wrong(format!("its channel is {channel}, and should be {}", decided.channel))
        }
        Ok(Decision::Record(decided)) => judge_guards(id, decided.guards, named),
        Ok(Decision::Repeat { .. }) => unreachable!("BUG: a repeat without an earlier record"),
        // A limit is for what comes, and may have been higher.
        Err(refusal) if refusal.code == RefusalCode::TooLarge => Judgement::Sound,
        Err(_) if is_renamed(line) => Judgement::Unproved,
        Err(refusal) => Judgement::Wrong(format!("it would be refused: {}", refusal.message)),
    })
}

/// A record that names other guards than its row has was decided by another table than this program's.
fn judge_guards(id: EntityId, asked: GuardSet, named: GuardSet) -> Judgement {
    if named.guards().any(|guard| !asked.has(guard)) {
        Judgement::Unproved
    } else if asked.is_empty() {
        Judgement::Sound
    } else {
        Judgement::Guarded { id, asked, named }
    }
}

/// What of a record a decision depends on.
#[derive(Default)]
struct Carried {
    reasons: Vec<StateReason>,
    data: Facts,
    /// The guards it names; nothing if only a newer program knows one of them.
    guards: Option<GuardSet>,
}

/// The reasons and the facts of a record, read only where a decision depends on them.
fn carried(event: EventType, line: &Borrowed<'_>) -> Result<Carried, Unreadable> {
    let has = |word: &str| line.body.contains(word) || line.body.contains('\\');
    let depends_on_data = matches!(event, EventType::Transitioned | EventType::Entry);
    if line.body.is_empty() || !depends_on_data && has("\"data\"") && !has("\"reasons\"") {
        // Facts are read where the log is folded.
        return Ok(Carried { guards: Some(GuardSet::NONE), ..Carried::default() });
    }
    let body = Body::parse(line.body)?;
    let data = if depends_on_data { body.data()? } else { Facts::none() };
    let guards = match body.guards() {
        Err(Unreadable::Word(_)) => None,
        named => Some(named?),
    };
    Ok(Carried { reasons: body.reasons()?, data, guards })
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
    fn a_record_says_which_guards_held_and_an_older_one_says_nothing() {
        let told = |guards: &str| {
            format!(
                r#"{{"reasons":[{{"code":"system.health.orphaned","message":"m","evidence":[{{"kind":"tool_result","detail":"x"}}]}}]{guards}}}"#
            )
        };
        let reaped = |body: &str| judge(&line("transitioned", "reaped", "aborted", "system", body));
        let asked = GuardSet::of(&[callboard_lifecycle::Guard::NoLivingSupervisor]);
        let id = EntityId::new(Kind::Session, Uuid::from_u128(7));
        let named = reaped(&told(r#","guards":["no_living_supervisor"]"#));
        assert_eq!(named, Judgement::Guarded { id, asked, named: asked });
        assert_eq!(reaped(&told("")), Judgement::Guarded { id, asked, named: GuardSet::NONE });
        assert_eq!(reaped(&told(r#","guards":["sunshine"]"#)), Judgement::Unproved);
        assert_eq!(reaped(&told(r#","guards":["retries_left"]"#)), Judgement::Unproved, "not of this row");
        assert!(matches!(reaped(&told(r#","guards":7"#)), Judgement::Wrong(_)));
    }

    #[test]
    fn a_body_that_is_none_is_wrong() {
        let judged = judge(&line("observed", "observed", "running", "agent", "nonsense"));
        assert!(matches!(judged, Judgement::Wrong(_)), "{judged:?}");
    }
}
