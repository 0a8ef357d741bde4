//! A run that somebody asks for: the body of `POST /runs`, what the supervisor of a background run is told, and what a retry
//! reads again.
//!
//! Invariant: whatever `callboard run` can be told about a run is a field here, so no surface can do less than another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::Word;

/// A run that is asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The command and its arguments; no shell reads them.
    #[schema(value_type = Vec<String>, min_items = 1)]
    pub argv: Vec<Word>,
    /// Where it runs: an absolute path.
    #[schema(value_type = String)]
    pub cwd: Word,
    /// Variables of its environment, beside those that it inherits. Their values are in no record and are not kept: a retry takes
    /// them from where it is called, for the server from `serve --env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub env: BTreeMap<String, Option<String>>,
    /// What it is called; its command line unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What somebody sorts it by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: BTreeMap<String, String>,
    /// The run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What becomes of its tree when a run that it started fails: contain, siblings or session; contain unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_child_failure: Option<String>,
    /// When it is ended, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// When it is ended if nothing is heard from it after its start, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_output_timeout_s: Option<f64>,
    /// When it is ended if nothing is heard from it, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_s: Option<f64>,
    /// When it is stopped if it waits for a person, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_timeout_s: Option<f64>,
    /// When it is stopped if one of its tool calls goes on, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_timeout_s: Option<f64>,
    /// How long it may take to go when it is told to, before it is killed, in seconds; 10 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_s: Option<f64>,
    /// Files it has to produce; with :optional behind one, the run is only partial without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<String>,
    /// What it has to produce: a contract. The path of a file with one is taken, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub contract: Option<ContractSource>,
    /// Where it has to produce it; `cwd` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub artifacts: Option<Word>,
    /// Whose stream it writes: auto, none, or the name of an agent program; auto unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// How much memory it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub memory_bytes: Option<u64>,
    /// How much of a core it may use, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub cpu_percent: Option<u32>,
    /// How many processes it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub processes: Option<u64>,
    /// The walls around it; none unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRequest>,
    /// Whether setuid programs work inside of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_privileges: bool,
    /// How much of its output is kept; 64 MiB unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub keep_bytes: Option<u64>,
}

/// The sandbox of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxRequest {
    /// read-only, workspace, open, or a profile of the settings.
    pub profile: String,
    /// What it reaches, as `--sandbox-network` takes it; what the profile says unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What it may write beside what the profile says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub write: Vec<Word>,
    /// Start it even if this host cannot give every wall.
    #[serde(default, skip_serializing_if = "is_false")]
    pub best_effort: bool,
}

/// Where a contract is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ContractSource {
    /// In this file.
    File(Word),
    /// Here.
    Inline(BTreeMap<String, Value>),
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl RunRequest {
    /// A command in a directory, and nothing else.
    pub fn new(argv: Vec<Word>, cwd: Word) -> Self {
        Self {
            argv,
            cwd,
            env: BTreeMap::new(),
            title: None,
            labels: BTreeMap::new(),
            parent: None,
            on_child_failure: None,
            timeout_s: None,
            first_output_timeout_s: None,
            idle_timeout_s: None,
            waiting_timeout_s: None,
            tool_timeout_s: None,
            grace_s: None,
            expect: Vec::new(),
            contract: None,
            artifacts: None,
            adapter: None,
            memory_bytes: None,
            cpu_percent: None,
            processes: None,
            sandbox: None,
            allow_privileges: false,
            keep_bytes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let mut request = RunRequest::new(vec!["sh".into(), "-c".into()], "/tmp".into());
        request.env = [("A".to_owned(), Some("1".to_owned())), ("B".to_owned(), None)].into();
        request.timeout_s = Some(0.2);
        request.contract = Some(ContractSource::File("contract.yaml".into()));
        let (profile, network) = ("workspace".to_owned(), Some("none".to_owned()));
        request.sandbox =
            Some(SandboxRequest { profile, network, write: vec!["/a".into()], best_effort: true });
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<RunRequest>(&text).unwrap(), request, "{text}");
        let inline = r#"{"argv":["true"],"cwd":"/","contract":{"artifacts":[{"path":"a"}]}}"#;
        let read: RunRequest = serde_json::from_str(inline).unwrap();
        assert!(matches!(read.contract, Some(ContractSource::Inline(_))));
    }

    #[test]
    fn a_typo_is_not_taken_for_a_wish() {
        let typo = serde_json::from_str::<RunRequest>(r#"{"argv":["true"],"cwd":"/","time_out":1}"#);
        assert!(typo.is_err_and(|error| error.to_string().contains("time_out")));
    }
}
