//! What every command passes first: its key, its version, its size; then the file of its order takes over.

use callboard_lifecycle::{GuardSet, Lifecycle};

use crate::command::{Command, Order};
use crate::context::{Context, Limits};
use crate::entity::Entity;
use crate::event::{Channel, Event, EventType};
use crate::fact;
use crate::facts::{Facts, Value};
use crate::reason::StateReason;
use crate::refusal::{Refusal, RefusalCode};

use super::{create, entry, observe, transition};

/// What became of a command that was not refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Record this event.
    Record(Event),
    /// The same command was recorded before, as this version.
    Repeat {
        /// The version the earlier event made.
        version: u64,
    },
}

/// Decides about one command.
pub fn decide(entity: &Entity, command: Command, context: &Context<'_>) -> Result<Decision, Box<Refusal>> {
    let draft = Draft { entity, context };
    // The key comes first: a repeated command finds its own earlier effect in the way, and that is not an error.
    if let (Some(_), Some(earlier)) = (&command.key, context.earlier) {
        return repeat(&draft, &command, earlier);
    }
    draft.check_size(&command)?;
    if let Some(wanted) = command.if_version
        && wanted != entity.state.version
    {
        return Err(draft.refuse(
            RefusalCode::VersionConflict,
            format!("it has version {}, not {wanted}", entity.state.version),
            "look at what changed, then send the command again with the version it has".to_owned(),
        ));
    }
    let event = match command.order {
        Order::Create(order) => create::decide(&draft, order, command.key),
        Order::Transition(order) => transition::decide(&draft, order, &command.testimony, command.key),
        Order::Observe(order) => observe::decide(&draft, order, command.key),
        Order::Entry(order) => entry::decide(&draft, order, command.key),
    }?;
    Ok(Decision::Record(event))
}

fn repeat(draft: &Draft<'_>, command: &Command, earlier: &Event) -> Result<Decision, Box<Refusal>> {
    let same = match &command.order {
        Order::Create(order) => {
            earlier.kind == EventType::Created
                && earlier.to == order.at
                && earlier.reasons == order.reasons
                && earlier.data == order.data
        }
        Order::Transition(order) => {
            earlier.kind == EventType::Transitioned
                && order.to.is_none_or(|to| earlier.to == to)
                && order.trigger.is_none_or(|trigger| earlier.trigger == Some(trigger))
                && earlier.reasons == order.reasons
                && earlier.data == order.data
        }
        Order::Observe(order) => {
            earlier.kind == EventType::Observed
                && earlier.reasons == order.reasons
                && earlier.data == order.data
        }
        Order::Entry(entry) => earlier.kind == EventType::Entry && earlier.data == *entry.data(),
    };
    if same {
        return Ok(Decision::Repeat { version: earlier.version });
    }
    Err(draft.refuse(
        RefusalCode::KeyReused,
        format!("its key was used for another command, which made version {}", earlier.version),
        "send the new command with a new key".to_owned(),
    ))
}

/// Whether what an entry holds is too large.
fn entry_too_large(order: &Order, limits: &Limits) -> Option<String> {
    let Order::Entry(entry) = order else { return None };
    let bytes = entry.body().map_or(0, Facts::text_bytes);
    let is_over = bytes > limits.entry_bytes_max;
    is_over.then(|| format!("its entry has {bytes} bytes of text, more than {}", limits.entry_bytes_max))
}

/// What is too large in the title and the labels, which every list shows and every search reads.
fn too_large(data: &Facts, limits: &Limits) -> Option<String> {
    if let Some(title) = data.read(fact::TITLE)
        && title.len() > limits.title_bytes_max
    {
        return Some(format!("its title has {} bytes, more than {}", title.len(), limits.title_bytes_max));
    }
    let labels = data.read(fact::LABELS)?;
    let count = labels.iter().len();
    if count > limits.labels_max {
        return Some(format!("it has {count} labels, more than {}", limits.labels_max));
    }
    labels.iter().find_map(|(name, value)| {
        if name.len() > limits.label_name_bytes_max {
            let (bytes, max) = (name.len(), limits.label_name_bytes_max);
            return Some(format!("the name of a label has {bytes} bytes, more than {max}"));
        }
        let Value::Text(text) = value else { return None };
        let (bytes, max) = (text.len(), limits.label_bytes_max);
        (bytes > max).then(|| format!("the label {name:?} has {bytes} bytes, more than {max}"))
    })
}

/// A decision in the making.
pub(super) struct Draft<'a> {
    pub(super) entity: &'a Entity,
    pub(super) context: &'a Context<'a>,
}

impl Draft<'_> {
    /// The event that records this decision.
    pub(super) fn event(
        &self,
        kind: EventType,
        to: Lifecycle,
        reasons: Vec<StateReason>,
        data: Facts,
        key: Option<String>,
    ) -> Event {
        Event {
            entity: self.entity.state.id,
            version: self.entity.state.version.saturating_add(1),
            at: self.context.now,
            kind,
            channel: Channel::Audit,
            from: self.entity.state.lifecycle,
            to,
            trigger: None,
            actor: self.context.actor.clone(),
            reasons,
            cause: self.context.cause.map(str::to_owned),
            key,
            data,
            guards: GuardSet::NONE,
        }
    }

    /// Where the entity stands, or the refusal of a command about nothing.
    pub(super) fn standing(&self) -> Result<Lifecycle, Box<Refusal>> {
        self.entity.state.lifecycle.ok_or_else(|| {
            let help = format!("list what there is: callboard ps {} --all", self.entity.state.id.kind());
            self.refuse(RefusalCode::NotFound, "it does not exist".to_owned(), help)
        })
    }

    /// Refuses the reasons that are flawed, or that belong to another kind.
    pub(super) fn check_reasons(&self, reasons: &[StateReason]) -> Result<(), Box<Refusal>> {
        let kind = self.entity.state.id.kind();
        for reason in reasons {
            if let Err(flaw) = reason.check() {
                let help = "correct the reason and send the command again".to_owned();
                return Err(self.refuse(RefusalCode::ReasonFlawed, flaw.to_string(), help));
            }
            if !reason.code.def().fits(kind) {
                let message = format!("the reason {} explains another kind than {kind}", reason.code);
                let help = format!("see the reasons of this kind: callboard reasons {kind}");
                return Err(self.refuse(RefusalCode::ReasonNotAllowed, message, help));
            }
        }
        Ok(())
    }

    fn check_size(&self, command: &Command) -> Result<(), Box<Refusal>> {
        let limits = self.context.policy.limits;
        let (reasons, data) = command.order.content();
        let key_len = command.key.as_deref().map_or(0, str::len);
        let problem = if key_len > limits.key_bytes_max {
            format!("its key has {key_len} bytes, more than {}", limits.key_bytes_max)
        } else if reasons.len() > limits.reasons_max {
            format!("it has {} reasons, more than {}", reasons.len(), limits.reasons_max)
        } else if let Some(reason) = reasons.iter().find(|reason| reason.evidence.len() > limits.evidence_max)
        {
            format!("{} has more than {} pieces of evidence", reason.code, limits.evidence_max)
        } else if let Some(reason) =
            reasons.iter().find(|reason| reason.message.len() > limits.message_bytes_max)
        {
            format!("the message of {} has more than {} bytes", reason.code, limits.message_bytes_max)
        } else if let Some(problem) = entry_too_large(&command.order, &limits) {
            problem
        } else if let Some(problem) = too_large(data, &limits) {
            let help = "use fewer and shorter labels, and a short title".to_owned();
            return Err(self.refuse(RefusalCode::TooLarge, problem, help));
        } else {
            return Ok(());
        };
        let help = "put the bulk into an artifact or a file, and refer to it as evidence".to_owned();
        Err(self.refuse(RefusalCode::TooLarge, problem, help))
    }

    /// A refusal of whatever was asked of the entity.
    pub(super) fn refuse(&self, code: RefusalCode, problem: String, help: String) -> Box<Refusal> {
        self.refuse_move(code, None, problem, help)
    }

    /// A refusal of a move to `to`.
    pub(super) fn refuse_move(
        &self,
        code: RefusalCode,
        to: Option<Lifecycle>,
        problem: String,
        help: String,
    ) -> Box<Refusal> {
        let machine = self.entity.state.id.kind().machine();
        let allowed = match self.entity.state.lifecycle {
            Some(from) => machine.targets(from.position()),
            None => machine.start.iter().collect(),
        };
        Box::new(Refusal {
            code,
            message: format!("{}: {problem}", self.entity.state.id),
            entity: self.entity.state.id.into(),
            from: self.entity.state.lifecycle,
            to,
            allowed: allowed.into_iter().map(|state| machine.state_name(state)).collect(),
            guard: None,
            help,
        })
    }
}
