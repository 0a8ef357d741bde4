//! The running system behind every surface: what is recorded, judged and acted upon in one place.
//!
//! Invariant: a surface asks here and shows what it is told; nothing here decides a state, which is the kernel's, or
//! keeps one, which is the ledger's.

mod around;
mod attention;
mod case;
pub mod delivery;
mod filter;
mod host;
mod judge;
mod kept;
mod live;
pub mod mutant;
pub mod notify;
mod outlived;
mod owner;
mod programs;
mod project;
mod read;
mod read_end;
mod reaper;
mod redact;
mod restored;
mod run;
mod seen;
mod sight;
mod stop;
mod sweep;
mod view;

pub use callboard_supervisor::{Stream, output};

pub use around::{Around, run_around};
pub use attention::{
    Action, Attention, Cause, Choice, Item, Subject, Triage, attention, fingerprint, needs_somebody,
    set_aside, taken_back, triage,
};
pub use case::{Case, Verdict};
pub use filter::{Filter, StateWord};
pub use host::{Host, descriptor};
pub use kept::{keep_private, read_plain};
pub use outlived::outlived;
pub use programs::on_path;
pub use project::project_of;
pub use reaper::{Act, ReapError, Reaped, Reaper};
pub use restored::{MarkError, mark_as_restored};
pub use run::{Clock, Desk, Ended, Order as RunOrder, RecordError, RunError, Unrecorded, agree, perform};
pub use seen::{Seen, read_again};
pub use sight::{Look, ProcessTable, Sight};
pub use stop::{Asked, StopFor, StopWish, ask_to_stop, supervisor_seen, wish_to_stop};
pub use sweep::{RECIPE, Sweep, Swept, YOUNG, discard, sign};
pub use view::{Artifacts, Exit, Rest, Timeout, View, evaluate, evaluate_as, exit_code};
