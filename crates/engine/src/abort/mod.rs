//! Aborting a tool call, siblings, or a whole tree: what will be stopped, asking for it, and the policy by which a failure spreads.
//!
//! Invariant: what is stopped is known before anybody is asked, the deepest are asked first, and each record says why. Processes are ended
//! by the supervisor of their run alone, on whichever host it is. Deliberately absent: waiting for the ends, which the surface does.

mod asking;
mod plan;
mod policy;

pub use asking::{AbortOrder, AbortedTool, aborted_tool};
pub use plan::{AbortError, AbortPlan, AbortRole, AbortTarget};
pub(crate) use policy::escalate;
