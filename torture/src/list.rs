//! Every torture, in the order they run.

use crate::driver::Torture;
use crate::{crash, crashpoints, ioerr, migrate, model, nemesis, pg_model, powerloss, processes, tamper};

pub(crate) const TORTURES: &[Torture] = &[
    model::TORTURE,
    pg_model::TORTURE,
    crash::TORTURE,
    crashpoints::TORTURE,
    migrate::TORTURE,
    processes::TORTURE,
    tamper::TORTURE,
    ioerr::TORTURE,
    powerloss::TORTURE,
    nemesis::TORTURE,
];
