//! Verbs of a person who decides about tasks: approving, rejecting, cancelling, trying again, unblocking.
//!
//! Invariant: all of them are refused inside a run.

mod approve;
mod cancel;
mod reject;
mod retry;
mod subject;
mod unblock;

pub(super) use self::approve::ApproveArgs;
pub(in crate::commands) use self::approve::finish_approved;
pub(super) use self::cancel::CancelArgs;
pub(super) use self::reject::RejectArgs;
pub(super) use self::retry::RetryArgs;
pub(super) use self::unblock::UnblockArgs;
