//! What a tool answers: a document, or why it was not done and what to do next.
//!
//! Invariant: an answer has the same document as text and as structured content, since clients show one or the other; a refusal of
//! the kernel is carried along unchanged under `refused`.

use callboard_engine::tasks::{ActError, TaskError};
use callboard_kernel::Refusal;
use callboard_ledger::{ReadError, error_chain};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Value, json};

/// Why a tool did not do what was asked.
#[derive(Debug)]
pub(crate) struct ToolError {
    code: &'static str,
    message: String,
    help: String,
    refused: Option<Box<Refusal>>,
}

impl ToolError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: help.into(), refused: None }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new("internal", message, "this is a fault of callboard; report it to a person")
    }

    /// The document of something, if it can be written.
    pub(crate) fn written(document: &impl Serialize) -> Result<Value, Self> {
        serde_json::to_value(document)
            .map_err(|error| Self::internal(format!("an answer cannot be written: {error}")))
    }

    /// What went wrong and what to do, in words.
    pub(crate) fn told(&self) -> String {
        format!("{}. What to do: {}.", sentence(&self.message), sentence(&self.help))
    }

    /// As the answer of a tool.
    pub(crate) fn result(self) -> CallToolResult {
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.told())]);
        let mut document =
            json!({ "error": { "code": self.code, "message": self.message, "help": self.help } });
        if let Some(refusal) = &self.refused {
            document["refused"] = serde_json::to_value(refusal).unwrap_or_default();
        }
        result.structured_content = Some(document);
        result
    }
}

/// The text without the stop that the frame adds.
fn sentence(text: &str) -> &str {
    text.trim_end_matches(['.', ' '])
}

/// A document as the answer of a tool.
pub(crate) fn done(document: Value) -> CallToolResult {
    CallToolResult::structured(document)
}

impl From<ActError> for ToolError {
    fn from(error: ActError) -> Self {
        match error {
            ActError::NotAllowed { problem, help } => Self::new("not_allowed", problem, help),
            ActError::NotHeld { problem, help } => Self::new("not_held", problem, help),
            ActError::KeyReused => Self::internal(error.to_string()),
            ActError::Task(error) => error.into(),
        }
    }
}

impl From<TaskError> for ToolError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Unfit { problem, help } => Self::new("unfit", problem, help),
            TaskError::NotFound { id } => {
                Self::new("not_found", format!("there is no task {id}"), "list the tasks with list_tasks")
            }
            TaskError::Refused(refusal) => {
                let (message, help) = (refusal.message.clone(), refusal.help.clone());
                Self { code: "refused", message, help, refused: Some(refusal) }
            }
            TaskError::Store(_) | TaskError::Read(_) => {
                Self::new("store", error_chain(&error), "try again; tell a person if it stays so")
            }
        }
    }
}

impl From<ReadError> for ToolError {
    fn from(error: ReadError) -> Self {
        TaskError::from(error).into()
    }
}
