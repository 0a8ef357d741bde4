//! How the services of a store stand: who runs them, how far they have come, what went wrong.
//!
//! Invariant: it is read from the store and says nothing that is not recorded there. Deliberately absent: words for people, which
//! the surfaces have.

use callboard_kernel::Moment;
use callboard_ledger::{LeaseSeen, Ledger, ReadError, ServiceStep};
use callboard_lifecycle::{Kind, Words};
use serde::Serialize;

use super::service::Service;
use crate::judging::viewpoint::ProcessTable;
use crate::kinds::{KindService, rules};

/// The lease of the services that one process runs for the whole store.
pub const STORE_LEASE: &str = "services";
/// What the lease of the services begins with that one process on each host runs.
const HOST_LEASE: &str = "services@";
/// The lease of the service that moves tasks on; every server and every worker is ready to run it.
pub const TASKS_LEASE: &str = "tasks";
/// What the lease of the services begins with that one worker process on each host runs.
const CREW_LEASE: &str = "crew@";
/// Moves tasks on.
pub(crate) const TASKS: &str = "tasks";
/// What the name of a janitor begins with; the name of its host follows.
pub const JANITOR_ON: &str = "janitor@";
/// What the name of a recovery begins with; the name of its host follows.
pub const RECOVERY_ON: &str = "recovery@";
/// Tells what needs somebody.
pub(super) const NOTIFIER: &str = "notifier";
/// Sends the spans of runs that ended.
pub const TRACES: &str = "traces";
/// What the name of a reaper begins with; the name of its host follows.
pub(super) const REAPER_ON: &str = "reaper@";

/// One service of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceStatus {
    /// Its name.
    pub name: String,
    /// What it does.
    pub does: &'static str,
    /// How it stands.
    pub standing: ServiceStanding,
    /// The process that runs it; nothing if none does.
    pub holder: Option<String>,
    /// The last record that it has dealt with; nothing if it never ran, or does not follow the log.
    pub position: Option<u64>,
    /// How many records there are behind that one.
    pub lag: Option<u64>,
    /// When its last step was recorded.
    pub last_step_at: Option<Moment>,
    /// What went wrong in its last step.
    pub error: Option<String>,
}

/// How a service stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceStanding {
    /// A process runs it, and its last step went well.
    Working,
    /// A process runs it, and its last step failed.
    Failing,
    /// No process runs it.
    Unattended,
}

/// The lease of the services of the host that is seen from here. Two containers of one name are two hosts.
pub fn host_lease(table: &dyn ProcessTable) -> String {
    on_host(HOST_LEASE, table)
}

/// The lease of the janitor and the recovery of the host that is seen from here.
pub fn crew_lease(table: &dyn ProcessTable) -> String {
    on_host(CREW_LEASE, table)
}

/// The host whose janitor and recovery a lease is for, if it is such a lease.
pub(crate) fn host_of_crew(lease: &str) -> Option<&str> {
    lease.strip_prefix(CREW_LEASE)?.rsplit_once('#').map(|(host, _)| host)
}

fn on_host(lease: &str, table: &dyn ProcessTable) -> String {
    let here = table.here();
    let place = format!("{:?}\0{:?}", here.machine, here.pid_ns);
    format!("{lease}{}#{}", here.host, &blake3::hash(place.as_bytes()).to_hex()[..8])
}

/// This process, as the holder of a lease.
pub fn service_holder(table: &dyn ProcessTable) -> String {
    format!("process {} on {}", std::process::id(), table.here().host)
}

/// The services that kinds bring along, to be run under the lease of the store.
pub fn services_of_kinds() -> Vec<Box<dyn Service>> {
    brought_along().map(|brought| brought.service).collect()
}

fn brought_along() -> impl Iterator<Item = KindService> {
    Kind::ALL.iter().flat_map(|kind| rules(*kind).services())
}

/// Lists the services of a store: those that have run, and those that would if somebody ran them.
pub fn services(ledger: &Ledger) -> Result<Vec<ServiceStatus>, ReadError> {
    let (leases, head) = (ledger.leases()?, ledger.head()?);
    let mut steps = ledger.service_steps()?;
    let of_kinds = services_of_kinds();
    let wanted = [NOTIFIER].into_iter().chain(of_kinds.iter().map(|service| service.name()));
    let is_known = |name: &str| steps.iter().any(|step| step.service == name);
    let mut all: Vec<ServiceStatus> =
        wanted.filter(|name| !is_known(name)).map(|name| status(None, name, &leases, head)).collect();
    steps.sort_by(|one, other| one.service.cmp(&other.service));
    all.extend(steps.iter().map(|step| status(Some(step), &step.service, &leases, head)));
    Ok(all)
}

fn status(step: Option<&ServiceStep>, name: &str, leases: &[LeaseSeen], head: u64) -> ServiceStatus {
    let of_hosts = [(REAPER_ON, HOST_LEASE), (JANITOR_ON, CREW_LEASE), (RECOVERY_ON, CREW_LEASE)];
    let on = of_hosts.into_iter().find_map(|(on, lease)| Some((name.strip_prefix(on)?, lease)));
    let is_its = |lease: &str| match on {
        Some((host, prefix)) => lease
            .strip_prefix(prefix)
            .and_then(|rest| rest.rsplit_once('#'))
            .is_some_and(|(its, _)| its == host),
        None if name == TASKS => lease == TASKS_LEASE,
        None => lease == STORE_LEASE,
    };
    let held = leases.iter().find(|seen| !seen.left.is_zero() && is_its(&seen.lease.name));
    let error = step.and_then(|step| step.error.clone());
    let standing = match (held, &error) {
        (None, _) => ServiceStanding::Unattended,
        (Some(_), Some(_)) => ServiceStanding::Failing,
        (Some(_), None) => ServiceStanding::Working,
    };
    // What is done for a host looks at everything that is there, whatever was recorded since.
    let position = step.filter(|_| on.is_none()).map(|step| step.position);
    ServiceStatus {
        name: name.to_owned(),
        does: does(name),
        standing,
        holder: held.map(|seen| seen.lease.holder.clone()),
        position,
        lag: position.map(|position| head.saturating_sub(position)),
        last_step_at: step.map(|step| step.at),
        error,
    }
}

fn does(name: &str) -> &'static str {
    match name {
        NOTIFIER => "tells you what needs you, by the notifications that are turned on",
        TRACES => "sends a span of every run that ended to the OpenTelemetry collector",
        TASKS => {
            "ends leases of tasks, resolves what tasks wait for, and lets parents go on after their subtasks"
        }
        _ if name.starts_with(JANITOR_ON) => "verifies and merges the tasks that were done on its host",
        _ if name.starts_with(RECOVERY_ON) => {
            "keeps what crashed workers of its host left, and puts their tasks back"
        }
        _ if name.starts_with(REAPER_ON) => "ends runs of its host whose supervisor died",
        _ => brought_along()
            .find(|brought| brought.service.name() == name)
            .map_or("a service of another version of callboard", |brought| brought.does),
    }
}
