//! Every torture, in the order they run.

use crate::driver::Torture;

/// Tortures that run only when they are named. `truth` wants a terminal's signals, which a program in the background does
/// not have, and a machine that is not busy: it is no part of `all` and of the mutants until neither spoils it.
pub(crate) const ONLY_BY_NAME: &[&str] = &["truth"];

pub(crate) const TORTURES: &[Torture] = &[
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
    crate::truth::TORTURE,
];
