//! The running system behind every surface: what is recorded, judged and acted upon in one place.
//!
//! Invariant: a surface asks here and shows what it is told; nothing here decides a state, which is the kernel's, or
//! keeps one, which is the ledger's.

mod abort;
pub mod board;
mod host;
mod ids;
mod judging;
mod kinds;
pub mod questions;
mod recovery;
mod redact;
mod run;
mod services;
mod stop;
pub mod tasks;
mod world;

pub use callboard_delivery as delivery;
pub use callboard_notify as notify;
pub use callboard_supervisor::private_files::{keep_private, read_plain};
pub use callboard_supervisor::{Stream, mutant, on_path, output};

pub use abort::{AbortError, AbortOrder, AbortPlan, AbortRole, AbortTarget, AbortedTool, aborted_tool};
pub use host::{EnclosingRun, Host, descriptor, is_inside, project_of, run_around};
pub use ids::{id_of_key, id_of_roots, new_id};
pub use judging::{
    Action, Artifacts, Attention, AttentionCause, AttentionItem, AttentionSubject, Choice, Exit, Observed,
    ProcessReading, ProcessTable, Rest, Timeout, Triage, TriageInput, TriageVerdict, View, Viewpoint,
    attention, evaluate, evaluate_as, exit_code, fingerprint, needs_somebody, outlived, process_is_gone,
    read_again, set_aside, taken_back, triage,
};
pub use recovery::{
    MarkError, RECIPE, ReapAct, ReapError, Reaped, Reaper, Sweep, Swept, YOUNG, discard, mark_as_restored,
    sign,
};
pub use run::{Clock, Desk, EndedRun, RecordError, RunError, RunOrder, Unrecorded, agree, perform};
pub use services::{
    Duty, HostedServices, JANITOR_ON, Notifier, NotifierService, RECOVERY_ON, ReaperService, STORE_LEASE,
    Service, ServiceHost, ServiceStanding, ServiceStatus, StandingClaim, Stepped, TASKS_LEASE, TRACES,
    TellError, Told, crew_lease, host_lease, notification_due, service_holder, services, services_of_kinds,
};
pub use stop::{StopFor, StopOutcome, StopWish, ask_to_stop, supervisor_seen, wish_to_stop};
pub use world::{Job, PreparedCommand, Room, RunningCommand, World};
