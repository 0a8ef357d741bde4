//! What happens by itself: services, each a name, when it is due, and one step.
//!
//! Invariant: a service follows the log from a position that it has recorded, so a crash repeats a step and never skips one; steps are
//! safe to repeat. One process at a time makes them, the one that holds the lease. Deliberately absent: what is sent and how,
//! which the crate `callboard-notify` knows.

mod daily_root;
mod failure;
mod host;
mod notification;
mod notifier;
mod reaping;
mod service;
mod standing_claim;
mod status;
mod telling;
mod tenure;

pub use host::{HostedServices, ServiceHost};
pub use notifier::{Notifier, TellError, Told, notification_due};
pub use reaping::ReaperService;
pub use service::{Duty, Service, Stepped};
pub use standing_claim::StandingClaim;
pub use status::{
    JANITOR_ON, RECOVERY_ON, STORE_LEASE, ServiceStanding, ServiceStatus, TASKS_LEASE, TRACES, crew_lease,
    host_lease, service_holder, services, services_of_kinds,
};
pub(crate) use status::{TASKS, host_of_crew};
pub use telling::NotifierService;
