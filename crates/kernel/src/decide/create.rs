//! Creation: an entity comes to be in one of its start states, once.

use callboard_lifecycle::Words;

use crate::command::Create;
use crate::event::{Event, EventType};
use crate::refusal::{Refusal, RefusalCode};

use super::gate::Draft;

pub(super) fn decide(draft: &Draft<'_>, order: Create, key: Option<String>) -> Result<Event, Box<Refusal>> {
    let kind = draft.entity.state.id.kind();
    if let Some(standing) = draft.entity.state.lifecycle {
        let help = "use the entity that is there, or make another id".to_owned();
        return Err(draft.refuse(RefusalCode::Exists, format!("it exists already, as {standing}"), help));
    }
    if order.at.kind() != kind || !kind.machine().start.has(order.at.position()) {
        let help = format!("see where a {} begins: callboard machines {kind}", kind.machine().noun);
        let problem = format!("a {} cannot begin as {:?}", kind.machine().noun, order.at);
        return Err(draft.refuse_move(RefusalCode::BadStart, Some(order.at), problem, help));
    }
    let (actor, makers) = (draft.context.actor.class, kind.machine().makers);
    if !makers.is_empty() && !makers.contains(&actor) {
        let names: Vec<&str> = makers.iter().map(|maker| maker.name()).collect();
        let problem = format!("a {} is made by {}, not by {actor}", kind.machine().noun, names.join(" or "));
        let help = "ask a person to make it".to_owned();
        return Err(draft.refuse_move(RefusalCode::NotPermitted, Some(order.at), problem, help));
    }
    draft.check_reasons(&order.reasons)?;
    Ok(draft.event(EventType::Created, order.at, order.reasons, order.data, key))
}
