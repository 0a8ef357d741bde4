//! The shapes of answers: what `--json` and the HTTP API show, field by field, and what the OpenAPI document and the types of the
//! page are made from.
//!
//! Invariant: an answer is read into its shape without a field that is unknown, and written from it as it was; a test asks the
//! real router. Times are RFC 3339 in UTC; unknown is null. Deliberately absent: judging, and values of vocabularies, which are
//! plain strings here.

mod attention;
mod problem;
mod record;
mod story;
mod view;

pub use attention::{ActionShape, AttentionItemShape, AttentionShape, CauseShape, SubjectShape};
pub use problem::{ProblemShape, RefusalShape};
pub use record::{ActorRefShape, EntityRefShape, GroupMemberShape, RecordShape};
pub use story::{TaskClaimShape, TaskMergeShape, TaskRunShape, TaskStoryShape, TaskTurnShape};
pub use view::{
    ArtifactsShape, ExitShape, NormalizedStateShape, OneViewShape, PhaseShape, ReasonShape, TimeoutShape,
    ViewShape,
};
