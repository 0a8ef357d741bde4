//! The eight kinds of evidence and the fields that make each one worth keeping.
//!
//! Invariant: a reference that lacks a field its kind requires is refused, so every reason can be walked to its
//! bytes or its witness. Deliberately absent: the references themselves (kernel) and fetching what they point to.

use crate::vocabulary;
use crate::words;

vocabulary! {
    /// What a piece of evidence is.
    pub enum Evidence is "evidence kind" in "evidence" {
        /// A chat message in a session.
        Message = "message" ("Message", Neutral, Activity),
        /// An explicit statement of a user.
        UserStatement = "user_statement" ("User statement", Review, Hand),
        /// The output of a tool call, or what the supervisor read from the system.
        ToolResult = "tool_result" ("Tool result", Neutral, Check),
        /// A file or report that was produced.
        Artifact = "artifact" ("Artifact", Neutral, Archive),
        /// A resource on the web.
        Url = "url" ("URL", Neutral, Merge),
        /// A local file.
        File = "file" ("File", Neutral, Half),
        /// A step of an agent's reasoning; the weakest kind.
        ModelInference = "model_inference" ("Model inference", Neutral, Question),
        /// Something a person verified outside the system.
        HumanAssertion = "human_assertion" ("Human assertion", Review, Stop),
    }
}

words! {
    /// A field of an evidence reference that a kind can require.
    pub enum EvidenceField is "evidence field" {
        /// The message it is.
        MessageId = "message_id",
        /// The artifact it is.
        ArtifactId = "artifact_id",
        /// Where the file is.
        Path = "path",
        /// Where the resource is.
        Url = "url",
        /// What it says, in words.
        Detail = "detail",
    }
}

impl Evidence {
    /// The fields a reference of this kind must have. Each inner list is a choice: one of its fields is enough.
    pub const fn requires(self) -> &'static [&'static [EvidenceField]] {
        use EvidenceField::{ArtifactId, Detail, MessageId, Path, Url};
        match self {
            Self::Message => &[&[MessageId]],
            Self::ToolResult | Self::UserStatement | Self::ModelInference | Self::HumanAssertion => {
                &[&[Detail]]
            }
            Self::Artifact => &[&[ArtifactId, Path]],
            Self::Url => &[&[Url]],
            Self::File => &[&[Path]],
        }
    }
}

/// A set of evidence kinds, one of which a row needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceSet(u8);

impl EvidenceSet {
    /// The set of the listed kinds.
    pub const fn of(kinds: &[Evidence]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// Is the kind in the set?
    pub const fn has(self, kind: Evidence) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Is no evidence asked for?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set, in declaration order.
    pub fn kinds(self) -> impl Iterator<Item = Evidence> {
        <Evidence as crate::Words>::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}
