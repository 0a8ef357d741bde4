//! Shapes that surfaces exchange, declared once.
//!
//! Invariant: what is read here can be written and read again without loss. Unknown fields are errors, so that a typo is
//! never taken for a wish. Deliberately absent: deciding whether a wish can be met, which the engine does.

mod board;
mod question;
mod run;
mod services;
mod shapes;
mod task;
mod task_act;
mod task_diff;
mod trends;
mod word;
mod workers;

pub use board::{BoardColumnShape, BoardShape, TaskCardShape};
pub use question::{
    AnswerRequest, AskRequest, InboxShape, QuestionShape, RuleScopeShape, RuleShape, RulesShape,
};
pub use run::{ContractSource, RunRequest, SandboxRequest};
pub use services::{ServiceShown, ServicesAnswer};
pub use shapes::{
    ActionShape, ActorRefShape, ArtifactsShape, AttentionItemShape, AttentionShape, CauseShape,
    EntityRefShape, ExitShape, GroupMemberShape, NormalizedStateShape, OneViewShape, PhaseShape,
    ProblemShape, ReasonShape, RecordShape, RefusalShape, SubjectShape, TaskClaimShape, TaskMergeShape,
    TaskRunShape, TaskStoryShape, TaskTurnShape, TimeoutShape, ViewShape,
};
pub use task::{TaskChange, TaskRequest};
pub use task_act::{
    ApprovalRequest, AttentionRequest, BlockRequest, ClaimOneRequest, ClaimRequest, DecisionRequest,
    DoneReport, FailReport, HoldShape, LeaseRenewal, ProgressReport, QuestionRequest, RejectionRequest,
    ReleaseRequest, RetryRequest, SplitRequest, StartReport, TaskListing, TaskOnly, ToolUseRequest,
};
pub use task_diff::{FileDiffShape, TaskDiffShape};
pub use trends::{BucketReport, ReasonCount, StateTime, TrendReport};
pub use word::Word;
pub use workers::{WorkerShape, WorkersShape};
