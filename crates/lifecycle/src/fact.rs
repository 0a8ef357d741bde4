//! The registry of facts: what a transition can be required to record beside its reasons.
//!
//! Invariant: a machine can only require a fact that is listed here, so a presenter knows every name it may meet.
//! Deliberately absent: values and their types; the kernel checks presence, the writers know the shape.

/// One fact that a transition can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactDef {
    /// The key under which it stands in a record's data.
    pub name: &'static str,
    /// One sentence that says what it holds.
    pub meaning: &'static str,
}

/// Every fact a machine may require.
pub static FACTS: &[FactDef] = &[
    fact("assistant_message", "The id of the clean, whole answer."),
    fact("child_session", "The id of the child session."),
    fact("elapsed_ms", "How long it took."),
    fact("elapsed_s", "How long it ran until the bound was enforced."),
    fact("error_kind", "The class of the error."),
    fact("exit_code", "The exit code of the process."),
    fact("next_actions", "What can be done about it, most useful first."),
    fact("partial_message", "The id of the text that came before the failure."),
    fact("pid", "The process id, together with its start time and host."),
    fact("steps", "Every step with its state and its checkpoint."),
    fact("summary", "What was done, or the checkpoint that holds it."),
    fact("terminal_status", "What ended the turn, as the provider or the loop saw it."),
    fact("timeout_ms", "The configured bound."),
    fact("timeout_s", "The configured bound."),
    fact("tools_paired", "Every tool call has its result, by itself or by repair."),
];

const fn fact(name: &'static str, meaning: &'static str) -> FactDef {
    FactDef { name, meaning }
}
