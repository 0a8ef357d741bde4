//! Verbs about one run: start it, stop it, wait for it, read its output, report from inside it.

pub(crate) mod abort;
pub(crate) mod heartbeat;
pub(crate) mod logs;
pub(crate) mod note;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod shim;
pub(crate) mod stop;
pub(crate) mod wait;
