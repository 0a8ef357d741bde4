//! Observation: something was seen that does not move the state. It may still explain it: notes, heartbeats, exits
//! of children, what was found after the end.

use crate::command::Observe;
use crate::event::{Event, EventType};
use crate::refusal::Refusal;

use super::gate::Draft;

pub(super) fn decide(draft: &Draft<'_>, order: Observe, key: Option<String>) -> Result<Event, Box<Refusal>> {
    let standing = draft.standing()?;
    draft.check_reasons(&order.reasons)?;
    Ok(draft.event(EventType::Observed, standing, order.reasons, order.data, key))
}
