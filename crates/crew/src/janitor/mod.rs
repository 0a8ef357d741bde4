//! After `done`: verifying, and merging.

mod checks;
mod merging;
mod service;

pub use service::JanitorService;
