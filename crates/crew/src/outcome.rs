//! What the end of a run means for its task: done, failed with the canonical reasons, or held until a limit is over.
//!
//! Invariant: it is read from what the supervisor recorded of the run: its state, its reasons, what the agent's stream said. A number such as
//! 137 alone is never called out of memory. Deliberately absent: verifying the work.

use callboard_engine::tasks::TaskFailure;
use callboard_kernel::timeout::SampleEnd;
use callboard_kernel::{Entity, Facts, Moment, fact};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::task::TransitionReason;
use callboard_lifecycle::worker::AbortReason;
use callboard_lifecycle::{Kind, ReasonCode, Words};

/// What an attempt led to.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The agent ended well and says this.
    Done(String),
    /// It failed.
    Failed(Box<TaskFailure>),
    /// The provider's limit is reached until this moment.
    Limited(Moment, String),
}

impl Outcome {
    /// How the attempt counts for the bounds of later ones; not at all if it failed or was silent, which says nothing of how long the work
    /// takes.
    pub(crate) fn sample(&self, run: &Entity) -> Option<SampleEnd> {
        const DEADLINE: ReasonCode = ReasonCode::of("run.timed_out.deadline");
        let is_late = run.reasons.first().is_some_and(|reason| reason.code == DEADLINE);
        match self {
            Self::Done(_) => Some(SampleEnd::Finished),
            Self::Failed(_) => is_late.then_some(SampleEnd::TimedOut),
            Self::Limited(..) => None,
        }
    }
}

/// The state of a run, if it is one that has ended.
pub(crate) fn ended(run: &Entity) -> Option<SessionState> {
    let state = run.state.lifecycle.filter(|state| state.kind() == Kind::Session && state.is_terminal())?;
    Some(SessionState::ALL[usize::from(state.position())])
}

/// What the end of a run means for its task.
pub(crate) fn outcome(run: &Entity, state: SessionState, now: Moment) -> Outcome {
    let reason = run.reasons.first();
    let code = reason.map_or("", |reason| reason.code.as_str());
    let message =
        reason.map_or_else(|| "it ended without a reason".to_owned(), |reason| reason.message.clone());
    let limit = run.facts.read(fact::LIMITED_UNTIL).filter(|until| *until > now);
    if let (Some(until), true) = (limit, state == SessionState::Failed) {
        return Outcome::Limited(until, format!("the provider's limit is reached until {until}"));
    }
    if state == SessionState::Completed {
        return Outcome::Done(summary(run));
    }
    let told = format!("{}: {message}", state.name());
    let Sorted { task, canonical, abort, is_final } = sorted(code, &message);
    let evidence = format!("{} ended: {code}: {message}", run.state.id);
    let data = Facts::none();
    Outcome::Failed(Box::new(TaskFailure {
        code: task,
        message: told,
        evidence,
        canonical,
        abort,
        is_final,
        data,
    }))
}

/// What the agent said last, or that its command ended well.
fn summary(run: &Entity) -> String {
    let said = run.facts.read(fact::AGENT).and_then(|agent| agent.read(fact::LAST_MESSAGE)).map(str::trim);
    let said = said.filter(|said| !said.is_empty()).map(|said| said.chars().take(2000).collect());
    said.unwrap_or_else(|| "its command exited with 0".to_owned())
}

struct Sorted {
    task: ReasonCode,
    canonical: Option<TransitionReason>,
    abort: Option<AbortReason>,
    is_final: bool,
}

fn sorted(code: &str, message: &str) -> Sorted {
    by_words(message).unwrap_or_else(|| by_code(code, message))
}

const fn sort(
    task: ReasonCode,
    canonical: Option<TransitionReason>,
    abort: Option<AbortReason>,
    is_final: bool,
) -> Sorted {
    Sorted { task, canonical, abort, is_final }
}

fn has(message: &str, part: &str) -> bool {
    message.to_ascii_lowercase().contains(part)
}

/// What the agent itself said of its end.
fn by_words(message: &str) -> Option<Sorted> {
    use TransitionReason as Canonical;
    if has(message, "its turns were used up") {
        return Some(sort(
            const { ReasonCode::of("task.failed.max_turns") },
            Some(Canonical::MaxTurns),
            None,
            false,
        ));
    }
    if has(message, "prompt is too long") {
        let task = const { ReasonCode::of("task.failed.prompt_too_long") };
        return Some(sort(task, Some(Canonical::PromptTooLong), None, false));
    }
    (has(message, "compact") && has(message, "fail")).then(|| {
        let task = const { ReasonCode::of("task.failed.compaction_failed") };
        sort(task, Some(Canonical::CompactionFailed), Some(AbortReason::CompactFailure), false)
    })
}

fn by_code(code: &str, message: &str) -> Sorted {
    use AbortReason as Abort;
    use TransitionReason as Canonical;
    const REPORTED: ReasonCode = ReasonCode::of("task.failed.reported");
    const ABORTED: ReasonCode = ReasonCode::of("task.failed.aborted");
    match code {
        "run.failed.output_limit" => {
            let task = const { ReasonCode::of("task.failed.max_output_tokens") };
            sort(task, Some(Canonical::MaxOutputTokens), None, false)
        }
        "run.failed.provider_retryable" | "run.failed.provider_nonretryable" if has(message, "413") => {
            let task = const { ReasonCode::of("task.failed.provider_413") };
            sort(task, Some(Canonical::Provider413), Some(Abort::ProviderError), false)
        }
        "run.failed.provider_retryable" if has(message, "529") || has(message, "overloaded") => {
            let task = const { ReasonCode::of("task.failed.provider_529") };
            sort(task, Some(Canonical::Provider529), Some(Abort::ProviderError), false)
        }
        "run.failed.provider_retryable" => sort(REPORTED, None, Some(Abort::ProviderError), false),
        "run.failed.provider_nonretryable" => sort(
            const { ReasonCode::of("task.failed.provider_error") },
            None,
            Some(Abort::ProviderError),
            true,
        ),
        "run.failed.oom" => sort(REPORTED, None, Some(Abort::Oom), false),
        "run.failed.not_executable" => {
            let task = const { ReasonCode::of("task.failed.permission_denied") };
            sort(task, Some(Canonical::PermissionDenied), Some(Abort::PermissionDenied), true)
        }
        "run.failed.not_found"
        | "run.failed.interpreter"
        | "run.failed.spawn"
        | "run.failed.sandbox"
        | "run.failed.missing_cwd"
        | "run.failed.never_dispatched" => {
            sort(const { ReasonCode::of("task.failed.spawn") }, None, Some(Abort::Unknown), true)
        }
        "run.failed.exception" if has(message, "a tool broke it") => {
            sort(REPORTED, None, Some(Abort::BashError), false)
        }
        "run.failed.signal" | "run.failed.core_dump" => sort(REPORTED, None, Some(Abort::Unknown), false),
        "run.aborted.sigint" | "run.aborted.sigquit" => {
            sort(ABORTED, Some(Canonical::Aborted), Some(Abort::UserInterrupt), true)
        }
        "run.cancelled.sibling" => {
            let task = const { ReasonCode::of("task.failed.sibling_aborted") };
            sort(task, Some(Canonical::SiblingAborted), Some(Abort::SiblingAborted), true)
        }
        "run.cancelled.parent" => sort(ABORTED, Some(Canonical::Aborted), Some(Abort::ParentAborted), true),
        _ if code.starts_with("run.timed_out.") => {
            sort(const { ReasonCode::of("task.failed.timeout") }, None, Some(Abort::Timeout), false)
        }
        _ if code.starts_with("run.cancelled.") || code.starts_with("run.aborted.") => {
            sort(ABORTED, Some(Canonical::Aborted), Some(Abort::ShutdownSignal), true)
        }
        _ => sort(REPORTED, None, None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_reasons_follow_from_what_was_read() {
        let canonical = |code: &str, message: &str| sorted(code, message).canonical;
        assert_eq!(
            canonical("run.failed.escalated", "its turns were used up"),
            Some(TransitionReason::MaxTurns)
        );
        assert_eq!(
            canonical("run.failed.provider_nonretryable", "the prompt is too long for the model"),
            Some(TransitionReason::PromptTooLong)
        );
        let overloaded = "the provider failed, and a later try may work: 529 overloaded_error";
        assert_eq!(
            canonical("run.failed.provider_retryable", overloaded),
            Some(TransitionReason::Provider529)
        );
        let abort = |code: &str, message: &str| sorted(code, message).abort;
        assert_eq!(
            abort("run.failed.exit_nonzero", "exited with 137"),
            None,
            "137 alone says nothing of memory"
        );
        assert_eq!(abort("run.failed.oom", "killed"), Some(AbortReason::Oom));
        assert_eq!(abort("run.timed_out.silence", "silent for 1m"), Some(AbortReason::Timeout));
        assert!(sorted("run.failed.not_found", "").is_final);
    }
}
