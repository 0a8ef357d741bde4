//! Entries: the pieces of an agent's conversation, and what is only shown while it goes on.
//!
//! Invariant: the type of an entry fixes its channel, so nobody can choose it. What is ephemeral is another type, and there is
//! no way from it to an entry: recording one does not compile. An entry names its turn, and is never merged into the facts of
//! its agent. Deliberately absent: what a body holds, which the conversation decides, and where large ones are stored.

use callboard_lifecycle::{ActorClass, ActorSet, Kind, UnknownWord, Words, words};

use crate::event::{Channel, Event, EventType};
use crate::fact;
use crate::facts::Facts;
use crate::id::EntityId;

words! {
    /// A piece of a conversation that may reach a model again.
    pub enum ReplayEntry is "replay entry" {
        /// What the agent was asked.
        UserMessage = "user_message",
        /// A whole, clean answer.
        AssistantMessage = "assistant_message",
        /// A tool that the agent called.
        ToolCall = "tool_call",
        /// What the tool returned.
        ToolResult = "tool_result",
        /// Reasoning that the same model may read again.
        Reasoning = "reasoning",
        /// Earlier history, put into fewer words.
        HistoryCompaction = "history_compaction",
        /// What another branch of the conversation came to.
        BranchSummary = "branch_summary",
        /// How a subagent ended, for its parent to go on with.
        SubagentEvent = "subagent_event",
    }
}

words! {
    /// A piece of a conversation that is kept and never reaches a model.
    pub enum AuditEntry is "audit entry" {
        /// Text that came before a failure.
        PartialMessage = "partial_message",
        /// What the provider counted.
        ProviderUsage = "provider_usage",
        /// How a turn failed.
        TurnFailed = "turn_failed",
        /// Something that was noticed and explains what happened.
        Diagnostic = "diagnostic",
    }
}

words! {
    /// Something of a conversation that is shown while it happens and never kept.
    pub enum EphemeralEvent is "ephemeral event" {
        /// A piece of text of an answer that is not whole yet.
        TextDelta = "text_delta",
        /// A piece of reasoning.
        ReasoningDelta = "reasoning_delta",
        /// What the agent is doing.
        Status = "status",
        /// What the agent means to do.
        Plan = "plan",
        /// How full the model's window is.
        ContextPressure = "context_pressure",
    }
}

/// What sort of piece of a conversation an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// It may reach a model again.
    Replay(ReplayEntry),
    /// It is kept and never reaches a model.
    Audit(AuditEntry),
}

impl From<ReplayEntry> for EntryType {
    fn from(entry: ReplayEntry) -> Self {
        Self::Replay(entry)
    }
}

impl From<AuditEntry> for EntryType {
    fn from(entry: AuditEntry) -> Self {
        Self::Audit(entry)
    }
}

impl EntryType {
    /// Who gets to see it again.
    pub const fn channel(self) -> Channel {
        match self {
            Self::Replay(_) => Channel::Replay,
            Self::Audit(_) => Channel::Audit,
        }
    }

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replay(entry) => entry.name(),
            Self::Audit(entry) => entry.name(),
        }
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Result<Self, UnknownWord> {
        ReplayEntry::parse(name).map(Self::Replay).or_else(|_| AuditEntry::parse(name).map(Self::Audit))
    }

    /// Those who may record it: anybody may ask the agent something, but nobody else speaks for it.
    pub const fn writers(self) -> ActorSet {
        match self {
            Self::Replay(ReplayEntry::UserMessage) => ActorSet::of(&[
                ActorClass::Operator,
                ActorClass::System,
                ActorClass::Supervisor,
                ActorClass::Worker,
                ActorClass::Agent,
            ]),
            Self::Replay(
                ReplayEntry::AssistantMessage
                | ReplayEntry::ToolCall
                | ReplayEntry::ToolResult
                | ReplayEntry::Reasoning
                | ReplayEntry::HistoryCompaction
                | ReplayEntry::BranchSummary
                | ReplayEntry::SubagentEvent,
            )
            | Self::Audit(_) => {
                ActorSet::of(&[ActorClass::System, ActorClass::Supervisor, ActorClass::Agent])
            }
        }
    }
}

/// Stops the build where there is a way from what is ephemeral to an entry: with one, two implementations of `Stays` would fit.
const _: () = {
    trait Stays<Way> {
        const SHOWN: () = ();
    }
    struct Recorded;
    impl<T> Stays<()> for T {}
    impl<T: Into<EntryType>> Stays<Recorded> for T {}
    <EphemeralEvent as Stays<_>>::SHOWN
};

/// One piece of an agent's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    kind: EntryType,
    turn: EntityId,
    data: Facts,
}

impl Entry {
    /// An entry of the turn, with what it holds.
    pub fn new(kind: impl Into<EntryType>, turn: EntityId, body: Facts) -> Self {
        let kind = kind.into();
        let data = Facts::none()
            .and(fact::ENTRY, kind.name())
            .and(fact::TURN, turn.to_string())
            .and(fact::BODY, body);
        Self { kind, turn, data }
    }

    /// What sort of piece it is.
    pub const fn kind(&self) -> EntryType {
        self.kind
    }

    /// The turn it belongs to.
    pub const fn turn(&self) -> EntityId {
        self.turn
    }

    /// What it holds.
    pub fn body(&self) -> Option<&Facts> {
        self.data.read(fact::BODY)
    }

    /// The entry as it is recorded.
    pub const fn data(&self) -> &Facts {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut Facts {
        &mut self.data
    }

    pub(crate) fn into_data(self) -> Facts {
        self.data
    }

    /// Reads an entry back from what is recorded; nothing if only a newer program knows its type, or if it is none.
    pub fn of_data(data: Facts) -> Option<Self> {
        let kind = EntryType::parse(data.read(fact::ENTRY)?).ok()?;
        let turn: EntityId = data.read(fact::TURN)?.parse().ok()?;
        Some(Self { kind, turn, data })
    }
}

impl Event {
    /// The piece of the conversation that it is, if it is one that this program knows.
    pub fn entry(&self) -> Option<Entry> {
        (self.kind == EventType::Entry).then(|| Entry::of_data(self.data.clone())).flatten()
    }
}

/// Does an entity of this kind have a conversation?
pub const fn has_conversation(kind: Kind) -> bool {
    matches!(kind, Kind::Agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_channel() {
        for entry in ReplayEntry::ALL {
            assert!(AuditEntry::parse(entry.name()).is_err(), "{entry:?} has two channels");
            assert_eq!(EntryType::parse(entry.name()), Ok(EntryType::Replay(*entry)));
        }
        for entry in AuditEntry::ALL {
            assert_eq!(EntryType::parse(entry.name()).map(EntryType::channel), Ok(Channel::Audit));
        }
        for shown in EphemeralEvent::ALL {
            assert!(EntryType::parse(shown.name()).is_err(), "{shown:?} could be read as an entry");
        }
    }

    #[test]
    fn an_entry_reads_back_from_what_is_recorded() {
        let turn = EntityId::new(Kind::Turn, uuid::Uuid::from_u128(9));
        let body = Facts::none().with("text", "fix the bug");
        let entry = Entry::new(ReplayEntry::UserMessage, turn, body.clone());
        assert_eq!(Entry::of_data(entry.data().clone()), Some(entry.clone()));
        assert_eq!((entry.turn(), entry.body()), (turn, Some(&body)));
        assert_eq!(Entry::of_data(entry.data().clone().with("entry", "text_delta")), None);
    }
}
