//! What the tests share: the binary, a store in a directory of its own, a made-up fleet, runs that go on, a web server.

pub(crate) mod driver;
pub(crate) mod fleet;
#[path = "../../../../supervisor/tests/supervisor/held_exec.rs"]
pub(crate) mod held_exec;
pub(crate) mod receiver;
pub(crate) mod runs;
pub(crate) mod shelf;
