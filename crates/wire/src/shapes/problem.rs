//! Why a request was not answered, and the refusal of the kernel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::EntityRefShape;

/// Why a request was not answered as it wished (RFC 9457).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemShape {
    /// A URI that names the sort of problem.
    pub r#type: String,
    /// The sort of problem in words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong.
    pub detail: String,
    /// What to do next.
    pub help: String,
    /// The kernel's refusal, where it was the kernel that said no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusalShape>,
}

/// The kernel's no.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Refusal)]
pub struct RefusalShape {
    /// Why, as a code.
    pub code: String,
    /// Why, in words.
    pub message: String,
    /// The entity.
    pub entity: EntityRefShape,
    /// The state it is in.
    pub from: Option<String>,
    /// The state that was asked for.
    pub to: Option<String>,
    /// The states that are allowed from here.
    pub allowed: Vec<String>,
    /// The guard that stands in the way, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// What to do next.
    pub help: String,
}
