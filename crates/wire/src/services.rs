//! What happens by itself in a store, as surfaces show it.

use serde::Serialize;
use utoipa::ToSchema;

/// The services of a store.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ServicesAnswer {
    /// The newest record of the log.
    pub head: u64,
    /// The services, by name.
    pub items: Vec<ServiceShown>,
}

/// One service of a store.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ServiceShown {
    /// Its name.
    pub name: String,
    /// What it does.
    pub does: String,
    /// How it stands: working, failing, or unattended if no process runs it.
    pub standing: String,
    /// The process that runs it.
    pub holder: Option<String>,
    /// The last record that it has dealt with; null if it never ran, or does not follow the log.
    pub position: Option<u64>,
    /// How many records there are behind that one.
    pub lag: Option<u64>,
    /// When its last step was recorded.
    pub last_step_at: Option<String>,
    /// What went wrong in its last step.
    pub error: Option<String>,
}
