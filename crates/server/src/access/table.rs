//! Which scope opens which path: one row for each method and path of the server.
//!
//! Invariant: what has no row is refused, and a test fails for a path without one. Deliberately absent: which run an
//! agent's token is bound to; the gate compares that with the path.

use axum::http::Method;

/// What a path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nobody in particular; the answer has no data in it.
    Nobody,
    /// Somebody who may look at everything.
    Look,
    /// The same, or the agent whose run the path names.
    LookOwn,
    /// A person who may change things, or the agent whose run the path names.
    SpeakOwn,
    /// Somebody who may look at everything, or the agent whose run works on the task that the path names.
    LookTask,
    /// A person who may change things, or the agent whose run works on the task that the path names.
    SpeakTask,
    /// Anybody with a token; what is asked for says for whom it is.
    Tools,
    /// A person who may change things, or any agent; what is asked for says what the agent may.
    Ask,
    /// A person who may change things.
    Act,
}

impl Needs {
    /// Whom it is open to, as the description of the API says it.
    pub(crate) const fn scope(self) -> &'static str {
        match self {
            Self::Nobody => "anybody",
            Self::Look => "viewer",
            Self::LookOwn => "viewer, or the agent of this run",
            Self::SpeakOwn => "operator, or the agent of this run",
            Self::LookTask => "viewer, or the agent of this task",
            Self::SpeakTask => "operator, or the agent of this task",
            Self::Tools => "viewer or agent, as what is asked for says",
            Self::Ask => "operator or agent",
            Self::Act => "operator",
        }
    }
}

use Needs::{Act, Ask, Look, LookOwn, LookTask, Nobody, SpeakOwn, SpeakTask, Tools};

const GET: &str = "GET";
const POST: &str = "POST";
const PATCH: &str = "PATCH";

const TABLE: &[(&str, &str, Needs)] = &[
    (GET, "/livez", Nobody),
    (GET, "/readyz", Nobody),
    (GET, "/login", Nobody),
    (GET, "/docs", Nobody),
    (GET, "/", Nobody),
    (GET, "/{*path}", Nobody),
    (GET, "/metrics", Look),
    (POST, "/mcp", Tools),
    (GET, "/api/v1/entities", Look),
    (GET, "/api/v1/entities/{id}", LookOwn),
    (GET, "/api/v1/entities/{id}/records", LookOwn),
    (GET, "/api/v1/entities/{id}/children", Look),
    (GET, "/api/v1/entities/{id}/output", LookOwn),
    (GET, "/api/v1/entities/{id}/output/{stream}", LookOwn),
    (GET, "/api/v1/entities/{id}/artifacts", Look),
    (GET, "/api/v1/entities/{id}/artifacts/{*path}", Look),
    (GET, "/api/v1/entities/{id}/events", LookOwn),
    (POST, "/api/v1/entities/{id}/transition", Act),
    (POST, "/api/v1/entities/{id}/stop", Act),
    (POST, "/api/v1/entities/{id}/abort", Act),
    (POST, "/api/v1/entities/{id}/retry", Act),
    (POST, "/api/v1/entities/{id}/snooze", Act),
    (POST, "/api/v1/entities/{id}/dismiss", Act),
    (POST, "/api/v1/entities/{id}/undo", Act),
    (POST, "/api/v1/entities/{id}/notes", SpeakOwn),
    (POST, "/api/v1/entities/{id}/heartbeat", SpeakOwn),
    (POST, "/api/v1/runs", Act),
    (POST, "/api/v1/tasks", Act),
    (POST, "/api/v1/tasks/claim", Act),
    (PATCH, "/api/v1/tasks/{id}", Act),
    (GET, "/api/v1/tasks/{id}/story", LookTask),
    (GET, "/api/v1/tasks/{id}/diff", LookTask),
    (POST, "/api/v1/tasks/{id}/claim", Act),
    (POST, "/api/v1/tasks/{id}/start", SpeakTask),
    (POST, "/api/v1/tasks/{id}/heartbeat", SpeakTask),
    (POST, "/api/v1/tasks/{id}/progress", SpeakTask),
    (POST, "/api/v1/tasks/{id}/done", SpeakTask),
    (POST, "/api/v1/tasks/{id}/fail", SpeakTask),
    (POST, "/api/v1/tasks/{id}/block", SpeakTask),
    (POST, "/api/v1/tasks/{id}/split", SpeakTask),
    (POST, "/api/v1/tasks/{id}/release", SpeakTask),
    (POST, "/api/v1/tasks/{id}/unblock", Act),
    (POST, "/api/v1/tasks/{id}/cancel", Act),
    (POST, "/api/v1/tasks/{id}/retry", Act),
    (POST, "/api/v1/tasks/{id}/approve", Act),
    (POST, "/api/v1/tasks/{id}/reject", Act),
    (GET, "/api/v1/questions", Look),
    (POST, "/api/v1/questions", Ask),
    (GET, "/api/v1/questions/{id}", Tools),
    (POST, "/api/v1/questions/{id}/answer", Act),
    (POST, "/api/v1/questions/{id}/withdraw", Ask),
    (GET, "/api/v1/rules", Look),
    (POST, "/api/v1/rules/{id}/revoke", Act),
    (GET, "/api/v1/board", Look),
    (GET, "/api/v1/workers", Look),
    (GET, "/api/v1/attention", Look),
    (GET, "/api/v1/machines", Look),
    (GET, "/api/v1/reasons", Look),
    (GET, "/api/v1/vocabulary", Look),
    (GET, "/api/v1/counts", Look),
    (GET, "/api/v1/trends", Look),
    (GET, "/api/v1/events", Look),
    (GET, "/api/v1/health", Look),
    (GET, "/api/v1/services", Look),
    (GET, "/api/v1/openapi.json", Look),
    (GET, "/api/v1/admin/info", Look),
    (GET, "/api/v1/admin/export", Look),
    (POST, "/api/v1/admin/reap", Act),
    (POST, "/api/v1/admin/verify", Act),
    (POST, "/api/v1/admin/vacuum", Act),
    (POST, "/api/v1/admin/checkpoint", Act),
    (POST, "/api/v1/admin/import-legacy", Act),
];

/// What a method on a path needs; nothing if there is no such row.
pub(crate) fn needs(method: &Method, path: &str) -> Option<Needs> {
    // Whoever may see an answer may see its head.
    let method = if method == Method::HEAD { GET } else { method.as_str() };
    TABLE.iter().find(|(its, pattern, _)| *its == method && *pattern == path).map(|(_, _, needs)| *needs)
}

/// Every row, for whoever checks that none is missing.
#[cfg(test)]
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|(method, path, _)| (*method, *path))
}
