//! After `done`: verifying, and merging.

mod checks;
mod looking_back;
mod merging;
mod requests;
mod service;
mod sweeping;

pub(crate) use checks::Site;
pub use requests::RequestCommands;
pub use service::JanitorService;
