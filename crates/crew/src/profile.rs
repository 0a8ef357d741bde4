//! An agent profile: the command that does a task, and what it is given.
//!
//! Invariant: a placeholder is one argument, or a part of one, as it is; no shell reads what a title or a prompt holds. Deliberately absent:
//! reading settings; the program does that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::mcp::McpClient;

/// Stands for a file that tells any program how to reach the task board.
const MCP_CONFIG: &str = "{mcp_config}";

/// How an agent program is run for a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// What it is called, if it has a name.
    pub name: Option<String>,
    /// The command and its arguments, with placeholders: {prompt}, {title}, {worktree}, {task}, {session},
    /// {mcp_config}.
    pub command: Vec<String>,
    /// The command that goes on in the program's own session; the same as `command` unless given.
    pub resume: Vec<String>,
    /// Variables beside those that a run inherits.
    pub env: BTreeMap<String, String>,
    /// Which tasks it takes.
    pub role: Option<String>,
    /// How long an attempt may be silent.
    pub idle_timeout: Option<Duration>,
    /// How much memory an attempt may use.
    pub memory_bytes: Option<u64>,
    /// The sandbox profile around it.
    pub sandbox: Option<String>,
    /// Which agent program is told how to reach the task board.
    pub mcp: McpClient,
}

/// What stands for the placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    /// What the agent is told to do.
    pub prompt: &'a str,
    /// What the task is called.
    pub title: &'a str,
    /// Where it is worked on.
    pub worktree: &'a Path,
    /// The id of the task.
    pub task: &'a str,
    /// The id of the program's own session, if it goes on in one.
    pub session: Option<&'a str>,
    /// The file that tells how to reach the task board.
    pub mcp_config: &'a Path,
}

impl Profile {
    /// Is a file handed to the agent that tells how to reach the task board?
    pub fn takes_mcp_config(&self) -> bool {
        self.command.iter().chain(&self.resume).any(|word| word.contains(MCP_CONFIG))
    }

    /// A variable as the agent will see it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned().or_else(|| std::env::var(name).ok())
    }

    /// The command line of an attempt. A command without {prompt} gets none: what to do stands in its own arguments.
    pub fn argv(&self, filling: &Filling<'_>) -> Vec<String> {
        let template = match filling.session {
            Some(_) if !self.resume.is_empty() => &self.resume,
            Some(_) | None => &self.command,
        };
        let (worktree, mcp_config) =
            (filling.worktree.to_string_lossy(), filling.mcp_config.to_string_lossy());
        let values = [
            ("{prompt}", filling.prompt),
            ("{title}", filling.title),
            ("{worktree}", worktree.as_ref()),
            ("{task}", filling.task),
            ("{session}", filling.session.unwrap_or_default()),
            (MCP_CONFIG, mcp_config.as_ref()),
        ];
        template.iter().map(|word| fill(word, &values)).collect()
    }
}

/// One pass from left to right, so that a title which holds a placeholder stays a title.
pub(crate) fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let (mut filled, mut rest) = (String::with_capacity(word.len()), word);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_filled_once_and_stays_one_argument() {
        let profile = Profile {
            command: ["agent", "-p", "{prompt}", "--dir={worktree}", "{unknown}", "{title}", "{mcp_config}"]
                .map(str::to_owned)
                .into(),
            ..Profile::default()
        };
        let filling = Filling {
            prompt: "do {title}; rm -rf $(x)",
            title: "{prompt}",
            worktree: Path::new("/w t"),
            task: "tsk_1",
            session: None,
            mcp_config: Path::new("/a/mcp.json"),
        };
        assert!(profile.takes_mcp_config());
        assert_eq!(
            profile.argv(&filling),
            ["agent", "-p", "do {title}; rm -rf $(x)", "--dir=/w t", "{unknown}", "{prompt}", "/a/mcp.json"]
        );
    }
}
