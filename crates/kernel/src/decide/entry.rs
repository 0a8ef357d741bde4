//! Entry: one more piece of an agent's conversation, in the turn that is open.
//!
//! The open turn is a fact of the agent, recorded with the move that begins it, so that a piece can be refused from the log alone.

use crate::context::Guarding;
use crate::entry::{Entry, has_conversation};
use crate::event::{Event, EventType};
use crate::fact;
use crate::refusal::{Refusal, RefusalCode};

use super::gate::Draft;

pub(super) fn decide(draft: &Draft<'_>, entry: Entry, key: Option<String>) -> Result<Event, Box<Refusal>> {
    let kind = draft.entity.state.id.kind();
    if !has_conversation(kind) {
        let problem = format!("a {} has no conversation", kind.machine().noun);
        let help = "send the entry to the agent whose conversation it belongs to".to_owned();
        return Err(draft.refuse(RefusalCode::WrongKind, problem, help));
    }
    let standing = draft.standing()?;
    if standing.is_terminal() {
        let problem = format!("it has ended as {standing}, and its conversation with it");
        let help = "restart it, and begin another turn".to_owned();
        return Err(draft.refuse(RefusalCode::Ended, problem, help));
    }
    let writers = entry.kind().writers();
    if !writers.has(draft.context.actor.class) {
        let classes: Vec<String> = writers.classes().map(|class| class.to_string()).collect();
        let problem = format!("{} may not record a {}", draft.context.actor.class, entry.kind().name());
        let help = format!("this entry is for {}", classes.join(", "));
        return Err(draft.refuse(RefusalCode::NotPermitted, problem, help));
    }
    // A record that is decided anew stands alone, without what was recorded before it.
    if draft.context.guarding == Guarding::Asked {
        check_turn(draft, &entry)?;
    }
    let channel = entry.kind().channel();
    let event = draft.event(EventType::Entry, standing, Vec::new(), entry.into_data(), key);
    Ok(Event { channel, ..event })
}

/// Is the turn of the entry the one that the agent is in?
fn check_turn(draft: &Draft<'_>, entry: &Entry) -> Result<(), Box<Refusal>> {
    let turn = entry.turn().to_string();
    let (problem, help) = match draft.entity.facts.read(fact::TURN) {
        Some(open) if open == turn => return Ok(()),
        Some(open) => (
            format!("it is in the turn {open}, and the entry is of {turn}"),
            format!("send the entry with the turn {open}, or end that turn first"),
        ),
        None => (
            "it is in no turn".to_owned(),
            "begin a turn: record the fact `turn` of the agent with the move that begins it".to_owned(),
        ),
    };
    Err(draft.refuse(RefusalCode::WrongTurn, problem, help))
}
