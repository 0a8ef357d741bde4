//! What is recorded, judged at a moment from one viewpoint: views and the attention list.
//!
//! Invariant: health comes from the kernel's judge and severity from its policy, so two surfaces never disagree.
//! Deliberately absent: writing anything, except an end that a dead supervisor left beside its output.

pub(crate) mod attention;
pub(crate) mod judge;
pub(crate) mod observed;
mod outlived;
pub(crate) mod recorded;
pub(crate) mod triage_input;
pub(crate) mod view;
pub(crate) mod viewpoint;

pub use attention::{
    Action, Attention, AttentionCause, AttentionItem, AttentionSubject, Choice, Triage, attention,
    fingerprint, needs_somebody, set_aside, taken_back, triage,
};
pub use observed::{Observed, read_again};
pub use outlived::outlived;
pub use recorded::process_is_gone;
pub use triage_input::{TriageInput, TriageVerdict};
pub use view::{Artifacts, Exit, Rest, Timeout, View, evaluate, evaluate_as, exit_code};
pub use viewpoint::{ProcessReading, ProcessTable, Viewpoint};
