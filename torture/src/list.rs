//! Every torture, in the order they run.

use crate::driver::Torture;

pub(crate) const TORTURES: &[Torture] = &[
    // Before those that supervise in this process: from then on a thread takes in children that nobody waits for.
    crate::truth::TORTURE,
    crate::model::TORTURE,
    crate::pg_model::TORTURE,
    crate::crash::TORTURE,
    crate::crashpoints::TORTURE,
    crate::migrate::TORTURE,
    crate::processes::TORTURE,
    crate::tamper::TORTURE,
    crate::ioerr::TORTURE,
    crate::powerloss::TORTURE,
    crate::nemesis::TORTURE,
    crate::paths::TORTURE,
    crate::archive::TORTURE,
    crate::trees::TORTURE,
    crate::pidreuse::TORTURE,
    crate::flood::TORTURE,
    crate::kills::TORTURE,
    crate::orphans::TORTURE,
    crate::sse::TORTURE,
    crate::authz::TORTURE,
    crate::origin::TORTURE,
    crate::idem::TORTURE,
    crate::secrets::TORTURE,
    crate::hostile_agent::TORTURE,
    crate::silence::TORTURE,
];
