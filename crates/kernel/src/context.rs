//! The context of a decision: who asks, when, under which policy, and what the store already holds for the key.
//!
//! Invariant: everything `decide` may depend on beside state and command is here, so a decision can be repeated.

use callboard_lifecycle::PolicyVersion;

use crate::actor::Actor;
use crate::event::Event;
use crate::id::EntityId;
use crate::lease::LeaseState;
use crate::moment::Moment;

/// What a decision depends on beside the state and the command.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Who asks.
    pub actor: &'a Actor,
    /// When.
    pub now: Moment,
    /// Under which rules.
    pub policy: Policy,
    /// The event that the store holds for the command's key, if it has one.
    pub earlier: Option<&'a Event>,
    /// What led to the command.
    pub cause: Option<&'a str>,
    /// Whether the guards of a row are asked.
    pub guarding: Guarding,
    /// What the store says about the lease of the entity.
    pub lease: LeaseState<'a>,
    /// The files that tasks under way hold, if the store was asked.
    pub files: FilesInUse<'a>,
}

/// The files that tasks under way hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilesInUse<'a> {
    /// Nobody asked the store.
    #[default]
    NotAsked,
    /// Each with the task that holds it.
    Held(&'a [(EntityId, String)]),
}

/// Whether the guards of a row are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarding {
    /// Each of them must hold.
    #[default]
    Asked,
    /// A record is decided anew: they were asked when it was written, and whoever reads it says which of them can be
    /// asked again.
    Recorded,
}

impl<'a> Context<'a> {
    /// The context of a fresh command under the default policy.
    pub const fn new(actor: &'a Actor, now: Moment) -> Self {
        let (policy, guarding, lease) = (Policy::DEFAULT, Guarding::Asked, LeaseState::NotAsked);
        Self { actor, now, policy, earlier: None, cause: None, guarding, lease, files: FilesInUse::NotAsked }
    }
}

/// The rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How severity is derived.
    pub version: PolicyVersion,
    /// How large a command may be.
    pub limits: Limits,
}

impl Policy {
    /// What holds unless somebody chose otherwise.
    pub const DEFAULT: Self = Self { version: PolicyVersion::V2, limits: Limits::DEFAULT };
}

/// How large a command may be; the ledger keeps everything for ever, so everything has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Reasons in one command.
    pub reasons_max: usize,
    /// Pieces of evidence behind one reason.
    pub evidence_max: usize,
    /// Bytes of one reason's message.
    pub message_bytes_max: usize,
    /// Bytes of an idempotency key.
    pub key_bytes_max: usize,
    /// Labels of one entity.
    pub labels_max: usize,
    /// Bytes of the name of a label.
    pub label_name_bytes_max: usize,
    /// Bytes of the value of a label.
    pub label_bytes_max: usize,
    /// Bytes of a title.
    pub title_bytes_max: usize,
    /// Bytes of text in an entry.
    pub entry_bytes_max: usize,
}

impl Limits {
    /// What holds unless somebody chose otherwise.
    pub const DEFAULT: Self = Self {
        reasons_max: 32,
        evidence_max: 64,
        message_bytes_max: 16 * 1024,
        key_bytes_max: 256,
        labels_max: 64,
        label_name_bytes_max: 128,
        label_bytes_max: 1024,
        title_bytes_max: 4 * 1024,
        entry_bytes_max: 4 * 1024 * 1024,
    };
}
