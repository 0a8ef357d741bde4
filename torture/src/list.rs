//! Every torture, in the order they run.

use crate::harness::driver::Torture;

pub(crate) const TORTURES: &[Torture] = &[
    // Before those that supervise in this process: from then on a thread takes in children that nobody waits for.
    crate::runs::truth::TORTURE,
    crate::ledger::model::TORTURE,
    crate::ledger::pg_model::TORTURE,
    crate::ledger::leases::TORTURE,
    crate::ledger::crash::TORTURE,
    crate::ledger::crashpoints::TORTURE,
    crate::ledger::migrate::TORTURE,
    crate::ledger::processes::TORTURE,
    crate::ledger::tamper::TORTURE,
    crate::ledger::ioerr::TORTURE,
    crate::ledger::powerloss::TORTURE,
    crate::ledger::nemesis::TORTURE,
    crate::runs::paths::TORTURE,
    crate::ledger::archive::TORTURE,
    crate::runs::trees::TORTURE,
    crate::runs::pidreuse::TORTURE,
    crate::runs::flood::TORTURE,
    crate::runs::kills::TORTURE,
    crate::runs::orphans::TORTURE,
    crate::server::sse::TORTURE,
    crate::server::authz::TORTURE,
    crate::server::origin::TORTURE,
    crate::server::idem::TORTURE,
    crate::server::secrets::TORTURE,
    crate::server::services::TORTURE,
    crate::server::hostile_agent::TORTURE,
    crate::server::silence::TORTURE,
];
