//! The list of tools, each with when to use it.

use std::sync::Arc;

use callboard_engine::tasks::Caller;
use callboard_wire::{
    AttentionRequest, BlockRequest, ClaimRequest, DoneReport, FailReport, LeaseRenewal, ProgressReport,
    QuestionRequest, ReleaseRequest, SplitRequest, StartReport, TaskListing, TaskOnly, TaskRequest,
    ToolUseRequest,
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::schema::{About, schema};

/// Whom a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// Everybody who may look.
    Looking,
    /// Everybody but agents, who may look.
    LookingOutside,
    /// People, and agents for the task of their run.
    Working,
    /// People alone.
    People,
}

impl For {
    fn admits(self, caller: &Caller) -> bool {
        match (self, caller) {
            (Self::Looking, _) | (_, Caller::Person(_)) => true,
            (Self::LookingOutside, Caller::Viewer) | (Self::Working, Caller::Agent(_)) => true,
            (Self::LookingOutside | Self::People, Caller::Agent(_))
            | (Self::Working | Self::People, Caller::Viewer) => false,
        }
    }
}

/// One tool.
struct Entry {
    name: &'static str,
    audience: For,
    schema: fn() -> JsonObject,
    description: &'static str,
}

const TOOLS: &[Entry] = &[
    Entry {
        name: "list_tasks",
        audience: For::Looking,
        schema: || schema::<TaskListing>(About::Board),
        description: "List the tasks on the board by state, with who holds each, what it waits for and who moves it on. Use it \
                      to find out what there is to do, what others are working on, and whether a task exists already.",
    },
    Entry {
        name: "show_task",
        audience: For::Looking,
        schema: || schema::<TaskOnly>(About::Task),
        description: "Show one task with its whole story: what is asked for, its claims, turns, runs, checks and merge. Use it \
                      before you work on a task, and after a failed attempt to see what went wrong.",
    },
    Entry {
        name: "add_task",
        audience: For::People,
        schema: || schema::<TaskRequest>(About::Board),
        description: "Add a task to the board, open for any worker to claim. Use it for work that is to be done separately; use \
                      split_task for parts of the task that you hold.",
    },
    Entry {
        name: "claim_task",
        audience: For::People,
        schema: || schema::<ClaimRequest>(About::Task),
        description: "Claim the next task that fits, or the one that `task` names, so that nobody else works on it. Use it \
                      before you begin any work. The answer has the task and an epoch; the claim ends by itself unless you call \
                      heartbeat_task in time. `hold` is null if there is nothing to claim.",
    },
    Entry {
        name: "start_task",
        audience: For::Working,
        schema: || schema::<StartReport>(About::Task),
        description: "Say that you begin to work on a task that you claimed. Use it once, right after claim_task.",
    },
    Entry {
        name: "heartbeat_task",
        audience: For::Working,
        schema: || schema::<LeaseRenewal>(About::Task),
        description: "Say that you still work on the task, so that your claim goes on. Use it before the time `until` of your \
                      claim is over. If it is refused, stop: the task is somebody else's.",
    },
    Entry {
        name: "report_progress",
        audience: For::Working,
        schema: || schema::<ProgressReport>(About::Task),
        description: "Say in a sentence how far the work is. Use it after each larger step; people see it on the board.",
    },
    Entry {
        name: "complete_task",
        audience: For::Working,
        schema: || schema::<DoneReport>(About::Task),
        description: "Say that the task is done, with a summary and what shows it. Use it only when everything that was asked \
                      for is there: it is verified next, and your claim ends.",
    },
    Entry {
        name: "fail_task",
        audience: For::Working,
        schema: || schema::<FailReport>(About::Task),
        description: "Say that the attempt failed and why. Use it when you cannot finish the task and another attempt may. Set \
                      is_final if every attempt would fail the same way. Your claim ends.",
    },
    Entry {
        name: "block_task",
        audience: For::Working,
        schema: || schema::<BlockRequest>(About::Task),
        description: "Say that the task cannot go on without something that is not there: another task, a moment, or something \
                      that a person has to bring. Use it instead of waiting. Your claim ends, so stop working on the task.",
    },
    Entry {
        name: "split_task",
        audience: For::Working,
        schema: || schema::<SplitRequest>(About::Task),
        description: "Split the task into parts that other workers do. Use it when the task is too large for one attempt. The \
                      task waits for its parts and your claim ends, so stop working on it.",
    },
    Entry {
        name: "release_task",
        audience: For::Working,
        schema: || schema::<ReleaseRequest>(About::Task),
        description: "Give the task back to the board as it is. Use it when somebody else should do it. Your claim ends.",
    },
    Entry {
        name: "ask",
        audience: For::Working,
        schema: || schema::<QuestionRequest>(About::Task),
        description: "Ask a person a question that the task cannot go on without. Use it instead of guessing. Give wait_s to wait \
                      for the answer and go on. Without it the task waits for the answer and your claim ends, so stop \
                      working on it; the next attempt is told the answer.",
    },
    Entry {
        name: "permission",
        audience: For::Working,
        schema: || schema::<ToolUseRequest>(About::Board),
        description: "Ask a person whether a tool may be used, and wait for the answer. Use it as the permission prompt tool of \
                      Claude Code: --permission-prompt-tool mcp__callboard__permission.",
    },
    Entry {
        name: "attention",
        audience: For::LookingOutside,
        schema: || schema::<AttentionRequest>(About::Board),
        description: "List what needs a person now, the most urgent first, with the reason and what can be done about it.",
    },
];

impl Entry {
    fn tool(&self) -> Tool {
        let is_look = matches!(self.audience, For::Looking | For::LookingOutside);
        let hints = ToolAnnotations::new().read_only(is_look).destructive(false).open_world(false);
        Tool::new(self.name, self.description, Arc::new((self.schema)())).with_annotations(hints)
    }
}

/// The tools that a caller can use.
pub(crate) fn offered(caller: &Caller) -> Vec<Tool> {
    TOOLS.iter().filter(|entry| entry.audience.admits(caller)).map(Entry::tool).collect()
}

/// One tool by its name.
pub(crate) fn tool(name: &str) -> Option<Tool> {
    TOOLS.iter().find(|entry| entry.name == name).map(Entry::tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_an_object_without_references_and_a_description_says_when() {
        for entry in TOOLS {
            let schema = (entry.schema)();
            let text = serde_json::to_string(&schema).unwrap();
            assert!(!text.contains("$ref"), "{}: {text}", entry.name);
            assert_eq!(schema["type"], "object", "{}", entry.name);
            assert!(schema["properties"].is_object(), "{}", entry.name);
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{} {name}", entry.name);
            }
            assert!(entry.description.contains("Use it") || entry.name == "attention", "{}", entry.name);
        }
    }
}
