//! After `done`: verifying, and merging.

mod checks;
mod merging;
mod service;

pub(crate) use checks::Site;
pub use service::JanitorService;
