//! What every path of the server is for, written down once more and compared with what the server says it has.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// Who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Everybody; there is no data in the answer.
    Nobody,
    /// Operators and viewers.
    Look,
    /// They, and the agent of the run.
    LookOwn,
    /// Operators, and the agent of the run.
    SpeakOwn,
    /// Operators and viewers, and the agent that works on the task. No agent here works on one.
    LookTask,
    /// Operators, and the agent that works on the task.
    SpeakTask,
    /// Operators and viewers, and every agent for what it asked itself.
    LookAsked,
    /// Operators, and every agent for itself.
    Ask,
    /// Operators.
    Act,
}

use Needs::{Act, Ask, Look, LookAsked, LookOwn, LookTask, Nobody, SpeakOwn, SpeakTask};

/// One method of one path.
pub(super) struct Row {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) needs: Needs,
}

/// Below `/api/v1`, and described.
const DESCRIBED: &[(&str, &str, Needs)] = &[
    ("GET", "/entities", Look),
    ("GET", "/entities/{id}", LookOwn),
    ("GET", "/entities/{id}/records", LookOwn),
    ("GET", "/entities/{id}/children", Look),
    ("GET", "/entities/{id}/output", LookOwn),
    ("GET", "/entities/{id}/output/{stream}", LookOwn),
    ("GET", "/entities/{id}/artifacts", Look),
    ("GET", "/entities/{id}/artifacts/{path}", Look),
    ("GET", "/entities/{id}/events", LookOwn),
    ("POST", "/entities/{id}/transition", Act),
    ("POST", "/entities/{id}/stop", Act),
    ("POST", "/entities/{id}/abort", Act),
    ("POST", "/entities/{id}/retry", Act),
    ("POST", "/entities/{id}/snooze", Act),
    ("POST", "/entities/{id}/dismiss", Act),
    ("POST", "/entities/{id}/undo", Act),
    ("POST", "/entities/{id}/notes", SpeakOwn),
    ("POST", "/entities/{id}/heartbeat", SpeakOwn),
    ("POST", "/runs", Act),
    ("GET", "/board", Look),
    ("GET", "/workers", Look),
    ("POST", "/tasks", Act),
    ("POST", "/tasks/claim", Act),
    ("PATCH", "/tasks/{id}", Act),
    ("GET", "/tasks/{id}/story", LookTask),
    ("GET", "/tasks/{id}/diff", LookTask),
    ("POST", "/tasks/{id}/claim", Act),
    ("POST", "/tasks/{id}/start", SpeakTask),
    ("POST", "/tasks/{id}/heartbeat", SpeakTask),
    ("POST", "/tasks/{id}/progress", SpeakTask),
    ("POST", "/tasks/{id}/done", SpeakTask),
    ("POST", "/tasks/{id}/fail", SpeakTask),
    ("POST", "/tasks/{id}/block", SpeakTask),
    ("POST", "/tasks/{id}/split", SpeakTask),
    ("POST", "/tasks/{id}/release", SpeakTask),
    ("POST", "/tasks/{id}/unblock", Act),
    ("POST", "/tasks/{id}/cancel", Act),
    ("POST", "/tasks/{id}/retry", Act),
    ("POST", "/tasks/{id}/approve", Act),
    ("POST", "/tasks/{id}/reject", Act),
    ("GET", "/questions", Look),
    ("POST", "/questions", Ask),
    ("GET", "/questions/{id}", LookAsked),
    ("POST", "/questions/{id}/answer", Act),
    ("POST", "/questions/{id}/withdraw", Ask),
    ("GET", "/rules", Look),
    ("POST", "/rules/{id}/revoke", Act),
    ("GET", "/attention", Look),
    ("GET", "/machines", Look),
    ("GET", "/reasons", Look),
    ("GET", "/vocabulary", Look),
    ("GET", "/counts", Look),
    ("GET", "/trends", Look),
    ("GET", "/events", Look),
    ("GET", "/health", Look),
    ("GET", "/services", Look),
    ("GET", "/admin/info", Look),
    ("GET", "/admin/export", Look),
    ("POST", "/admin/reap", Act),
    ("POST", "/admin/verify", Act),
    ("POST", "/admin/vacuum", Act),
    ("POST", "/admin/checkpoint", Act),
    ("POST", "/admin/import-legacy", Act),
];

/// Beside the API.
const BESIDE: &[(&str, Needs)] = &[
    ("/api/v1/openapi.json", Look),
    ("/metrics", Look),
    ("/livez", Nobody),
    ("/readyz", Nobody),
    ("/docs", Nobody),
    ("/", Nobody),
    ("/login", Nobody),
];

/// Every method of every path that the server describes; one without a row is an error.
pub(super) fn rows(document: &Value) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (path, methods) in document["paths"].as_object().context("a document without paths")? {
        for method in methods.as_object().context("a path without methods")?.keys() {
            let short = path.strip_prefix("/api/v1").unwrap_or(path);
            let known = DESCRIBED
                .iter()
                .find(|(its, pattern, _)| its.eq_ignore_ascii_case(method) && *pattern == short);
            let Some((method, _, needs)) = known else { bail!("{method} {path} has no row in the table") };
            rows.push(Row { method, path: path.clone(), needs: *needs });
        }
    }
    ensure!(rows.len() == DESCRIBED.len(), "the table has rows that the server does not");
    rows.extend(BESIDE.iter().map(|(path, needs)| Row {
        method: "GET",
        path: (*path).to_owned(),
        needs: *needs,
    }));
    Ok(rows)
}

impl Row {
    /// A body with which the command would work.
    pub(super) fn works(&self, run: &str) -> String {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        match (self.method, last) {
            ("POST", "transition") => {
                json!({"to": "cancelled", "reason": "run.cancelled.operator", "message": "by nobody"})
                    .to_string()
            }
            ("POST", "abort") => json!({"scope": "session", "because": "by nobody"}).to_string(),
            ("POST", "stop") => json!({"reason": "by nobody", "now": true}).to_string(),
            ("POST", "snooze") => json!({"for_s": 60}).to_string(),
            ("POST", "notes") => json!({"text": "by nobody"}).to_string(),
            ("POST", "heartbeat") => json!({"status": "by nobody", "progress": true}).to_string(),
            ("POST", "runs") => json!({"argv": ["true"], "cwd": "/", "parent": run}).to_string(),
            ("POST", "reap") => json!({"dry_run": false}).to_string(),
            ("POST", _) => "{}".to_owned(),
            (_, _) => String::new(),
        }
    }
}
