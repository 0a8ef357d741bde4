//! Who asks: a class, which the rows speak of, and a name, which the record keeps.

use callboard_lifecycle::ActorClass;
use serde::{Deserialize, Serialize};

/// Whoever asks for a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Its class; decides which rows it may take.
    #[serde(rename = "type")]
    pub class: ActorClass,
    /// Its name: a user, a host and process, the id of a run.
    pub id: String,
}

impl Actor {
    /// The actor of this class and name.
    pub fn new(class: ActorClass, id: impl Into<String>) -> Self {
        Self { class, id: id.into() }
    }
}
