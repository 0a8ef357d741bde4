//! What a run's end is called: the wait status, whose clock or wish it was, what the agent said of itself and what it
//! delivered, turned into one transition with its reasons and its evidence.
//!
//! Invariant: first match wins, in the order of who knows best: a clock or a wish of ours, then the system, then the
//! agent, then the contract. A 124 or 143 of the command's own is a failure of the command. Deliberately absent: whether
//! the move is allowed, which the kernel decides.

use std::time::Duration;

use callboard_agents::{AgentEnd, Cause as AgentCause, Standing, Verdict};
use callboard_delivery::Effect;
use callboard_kernel::{EvidenceRef, StateReason};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_supervisor::{Cause, End, How, Passed, StopCause, Survivor, Timer};

use crate::mutant;

/// What a run's end is.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The state it ends in.
    pub(crate) to: SessionState,
    /// What caused the move.
    pub(crate) trigger: SessionTrigger,
    /// Why, the first one first.
    pub(crate) reasons: Vec<StateReason>,
    /// What a shell is told.
    pub(crate) exit_code: u8,
}

/// Whoever asked for a stop, as far as it is recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Who, or what.
    pub(crate) by: Option<String>,
    /// The signal that asked, and its sender.
    pub(crate) signal: Option<String>,
}

/// What the contract says of a clean exit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Delivered<'a> {
    /// It was kept, or nothing was promised.
    Kept,
    /// It was broken.
    Broken(&'a Effect),
    /// Nobody knows: somebody asked for a stop while it was checked.
    Unchecked(StopCause),
}

/// Names the end of a run.
pub(crate) fn ending(end: &End, asked: &Asked, verdict: &Verdict, delivery: Delivered<'_>) -> Ending {
    let cause = if mutant::removed("whose_doing") { Cause::OfItself } else { end.cause };
    let mut ending = match cause {
        Cause::Timer { timer, configured, elapsed } => timed_out(timer, configured, elapsed, end.began),
        Cause::Stopped(cause) => stopped(cause, asked),
        Cause::OfItself => of_itself(end, asked, verdict, delivery),
    };
    // The key was seen, and that the program exited because of it is concluded from the time between them.
    let is_concluded = matches!(cause, Cause::Stopped(StopCause::Interrupt | StopCause::Quit))
        && matches!(end.how, How::Exited { .. });
    if let Some(first) = ending.reasons.first_mut() {
        if is_concluded {
            first.claim_status = ClaimStatus::Inferred;
        }
        first.evidence.insert(0, EvidenceRef::tool_result(seen(end)));
        let own = (end.cause == Cause::OfItself).then_some(end.how);
        first.evidence.extend(of_agent(own, verdict).into_iter().map(EvidenceRef::tool_result));
        first.evidence.extend(of_output(end).into_iter().map(EvidenceRef::tool_result));
        if !end.began {
            let unseen = "its program was not seen to start: exec had not returned";
            first.evidence.push(EvidenceRef::tool_result(unseen));
        }
        first.evidence.extend(end.flaw.as_deref().map(EvidenceRef::tool_result));
        if let Some(kills) = end.oom_kills.filter(|kills| *kills > 0 && end.oom == Some(false)) {
            let children = format!("{kills} other processes of the run were killed because memory ran out");
            first.evidence.push(EvidenceRef::tool_result(children));
        }
        // Those who could not be ended are told as left.
        let many = end.escaped.saturating_sub(end.left);
        if many > 0 {
            first.evidence.push(EvidenceRef::tool_result(format!(
                "{many} of its processes outlived it and were ended"
            )));
        }
    }
    if let Some(unconfirmed) = unconfirmed(end) {
        if let Some(first) = ending.reasons.first_mut() {
            first.message = format!("{}: {}", unconfirmed.message, first.message);
        }
        ending.reasons.push(unconfirmed);
    }
    ending
}

/// What is known of the agent's own end. `own` is how the command ended if nobody ended it. Which of two words decides is
/// said here, beside the decision, and only where one of them does: a clock or a wish comes before both.
fn of_agent(own: Option<How>, verdict: &Verdict) -> Vec<String> {
    let mut told = Vec::new();
    let decides = match (verdict.standing, own) {
        (Standing::ExitHidesFailure, Some(_)) => "; the agent's report decides",
        (Standing::ExitDeniesSuccess, Some(How::Exited { .. })) => "; the exit code decides",
        (Standing::ExitDeniesSuccess, Some(How::Signaled { .. } | How::Unconfirmed)) => {
            "; the signal decides"
        }
        (Standing::ExitHidesFailure | Standing::ExitDeniesSuccess, None)
        | (
            Standing::Agrees | Standing::ExitCodeAlone | Standing::NoEndEvent | Standing::ExitCodeExplains,
            _,
        ) => "",
    };
    if verdict.standing != Standing::ExitCodeAlone {
        told.push(format!("{}{decides}", verdict.sentence));
    }
    if let Some(program) = verdict.exit_code_hides {
        told.push(format!("{program} may exit with 0 after a failure, and its output is only text"));
    }
    told.extend(
        verdict.killed_tools.iter().map(|killed| format!("its tool {}: {}", killed.tool, killed.how)),
    );
    told
}

fn timed_out(timer: Timer, configured: Duration, elapsed: Duration, began: bool) -> Ending {
    let (code, what) = match timer {
        Timer::Total if !began => (const { ReasonCode::of("run.timed_out.deadline") }, "not started"),
        Timer::Total => (const { ReasonCode::of("run.timed_out.deadline") }, "ran"),
        Timer::FirstOutput => (const { ReasonCode::of("run.timed_out.first_output") }, "not heard of"),
        Timer::Silence => (const { ReasonCode::of("run.timed_out.silence") }, "silent"),
        Timer::Waiting => (const { ReasonCode::of("run.timed_out.waiting") }, "waited for a person"),
        Timer::Tool => (const { ReasonCode::of("run.timed_out.tool") }, "waited for a tool"),
    };
    let message = format!("{what} for {}, the bound is {}", told(elapsed), told(configured));
    let reasons = vec![StateReason::new(code, message)];
    Ending { to: SessionState::TimedOut, trigger: SessionTrigger::DeadlineReached, reasons, exit_code: 124 }
}

fn stopped(cause: StopCause, asked: &Asked) -> Ending {
    let by = |who: &str| asked.by.as_ref().map_or_else(|| who.to_owned(), |by| format!("{who} ({by})"));
    let received = |name: &str| {
        let signal = asked.signal.as_ref().filter(|signal| signal.starts_with(name));
        format!("its supervisor received {}", signal.map_or(name, String::as_str))
    };
    let (to, trigger, code, message) = match cause {
        StopCause::Interrupt => (
            SessionState::Aborted,
            SessionTrigger::Interrupted,
            const { ReasonCode::of("run.aborted.sigint") },
            "a person pressed Ctrl-C".to_owned(),
        ),
        StopCause::Quit => (
            SessionState::Aborted,
            SessionTrigger::Interrupted,
            const { ReasonCode::of("run.aborted.sigquit") },
            "a person pressed Ctrl-\\".to_owned(),
        ),
        StopCause::Terminate => {
            cancelled(const { ReasonCode::of("run.cancelled.sigterm") }, received("SIGTERM"))
        }
        StopCause::Hangup => {
            cancelled(const { ReasonCode::of("run.cancelled.sighup") }, "its terminal was closed".to_owned())
        }
        StopCause::SentInterrupt => {
            cancelled(const { ReasonCode::of("run.cancelled.signal") }, received("SIGINT"))
        }
        StopCause::SentQuit => {
            cancelled(const { ReasonCode::of("run.cancelled.signal") }, received("SIGQUIT"))
        }
        StopCause::SentHangup => {
            cancelled(const { ReasonCode::of("run.cancelled.signal") }, received("SIGHUP"))
        }
        StopCause::Operator => cancelled(
            const { ReasonCode::of("run.cancelled.operator") },
            format!("stopped by {}", by("an operator")),
        ),
        StopCause::Parent => cancelled(
            const { ReasonCode::of("run.cancelled.parent") },
            format!("stopped with {}", by("the run that started it")),
        ),
        StopCause::Sibling => cancelled(
            const { ReasonCode::of("run.cancelled.sibling") },
            format!("stopped with a run beside it, by {}", by("an abort")),
        ),
        StopCause::Child => cancelled(
            const { ReasonCode::of("run.cancelled.child") },
            format!("stopped because a run that it started failed, by {}", by("its abort policy")),
        ),
        StopCause::Agent => cancelled(
            const { ReasonCode::of("run.cancelled.agent") },
            format!("stopped by the agent of {}", by("another run")),
        ),
        StopCause::Budget => {
            cancelled(const { ReasonCode::of("run.cancelled.budget") }, "its budget was used up".to_owned())
        }
        StopCause::Shutdown => {
            cancelled(const { ReasonCode::of("run.cancelled.system") }, "its owner was shut down".to_owned())
        }
    };
    let exit_code = to.exit_code().unwrap_or(1);
    Ending { to, trigger, reasons: vec![StateReason::new(code, message)], exit_code }
}

const fn cancelled(code: ReasonCode, message: String) -> (SessionState, SessionTrigger, ReasonCode, String) {
    (SessionState::Cancelled, SessionTrigger::StopAsked, code, message)
}

fn of_itself(end: &End, asked: &Asked, verdict: &Verdict, delivery: Delivered<'_>) -> Ending {
    match end.how {
        _ if out_of_memory(end) => failed(
            const { ReasonCode::of("run.failed.oom") },
            "memory ran out, and the kernel killed it".to_owned(),
            code_of(end.how),
        ),
        How::Signaled { signal: SIGPIPE, .. } if end.output.passed.closed => failed(
            const { ReasonCode::of("run.failed.closed_output") },
            "killed by SIGPIPE, because the reader of its output went away".to_owned(),
            code_of(end.how),
        ),
        How::Signaled { signal, core_dumped } => {
            let name = signal_name(signal);
            let (code, message) = match core_dumped {
                true => (
                    const { ReasonCode::of("run.failed.core_dump") },
                    format!("crashed with {name} and left a core dump"),
                ),
                false => (
                    const { ReasonCode::of("run.failed.signal") },
                    format!("ended by {name}, which nobody here sent"),
                ),
            };
            failed(code, message, code_of(end.how))
        }
        How::Unconfirmed => failed(
            const { ReasonCode::of("run.failed.signal") },
            "it does not go although KILL was sent".to_owned(),
            code_of(end.how),
        ),
        How::Exited { code: 0 } => clean(end.output.passed, asked, verdict, delivery),
        How::Exited { code } => dirty(code, verdict),
    }
}

/// An exit code of 0 is one claim; the agent's own account and the contract are two more.
fn clean(passed: Passed, asked: &Asked, verdict: &Verdict, delivery: Delivered<'_>) -> Ending {
    if verdict.is_clean() == Some(false) && !mutant::removed("agents_own_end") {
        let (code, message) = agents_own(verdict).unwrap_or_else(|| {
            let code = const { ReasonCode::of("run.failed.no_end_event") };
            (code, "it exited with 0 and its stream has no end".to_owned())
        });
        return failed(code, message, 1);
    }
    match delivery {
        Delivered::Broken(effect) => Ending {
            to: SessionState::Failed,
            trigger: SessionTrigger::ContractBroken,
            reasons: effect.reasons.clone(),
            exit_code: 1,
        },
        Delivered::Unchecked(cause) => {
            let mut ending = stopped(cause, asked);
            for reason in &mut ending.reasons {
                reason.message += " while its artifacts were checked; the command had exited with 0, and what it delivered is unknown";
            }
            ending
        }
        Delivered::Kept if passed.refused > 0 => failed(
            const { ReasonCode::of("run.failed.output_refused") },
            refused(passed),
            SessionState::Failed.exit_code().unwrap_or(1),
        ),
        Delivered::Kept => Ending {
            to: SessionState::Completed,
            trigger: SessionTrigger::ExitedClean,
            reasons: completed(verdict),
            exit_code: 0,
        },
    }
}

/// Why it is complete, and what somebody should know of it all the same.
fn completed(verdict: &Verdict) -> Vec<StateReason> {
    let mut reasons = Vec::new();
    if !verdict.denied.is_empty() {
        let message = format!("exited with 0, but was not allowed to use {}", verdict.denied.join(", "));
        reasons.push(StateReason::new(const { ReasonCode::of("run.completed.denied") }, message));
    }
    if verdict.end == Some(AgentEnd::Completed { truncated: true }) {
        let message = "exited with 0, but the model's output limit cut the answer";
        reasons.push(StateReason::new(const { ReasonCode::of("run.completed.truncated") }, message));
    }
    if reasons.is_empty() {
        reasons.push(StateReason::new(const { ReasonCode::of("run.completed.ok") }, "exited with 0"));
    }
    reasons
}

fn dirty(code: u8, verdict: &Verdict) -> Ending {
    let code = if mutant::removed("wait_status") { 1 } else { code };
    let of_code = || (const { ReasonCode::of("run.failed.exit_nonzero") }, format!("exited with {code}"));
    let (reason, message) = agents_own(verdict).unwrap_or_else(of_code);
    failed(reason, message, code)
}

/// What the agent says of its failure, if it says anything.
fn agents_own(verdict: &Verdict) -> Option<(ReasonCode, String)> {
    let end = verdict.end.as_ref()?;
    let failure = match end {
        AgentEnd::Completed { .. } => return None,
        AgentEnd::Interrupted { vendor } => {
            let code = const { ReasonCode::of("run.failed.exception") };
            return Some((code, format!("the agent was broken off ({vendor})")));
        }
        AgentEnd::PartialFailed(failure) | AgentEnd::Failed(failure) => failure,
    };
    let code = match failure.cause {
        AgentCause::Provider { retryable: true } | AgentCause::CutStream => {
            const { ReasonCode::of("run.failed.provider_retryable") }
        }
        AgentCause::OutputLimit => const { ReasonCode::of("run.failed.output_limit") },
        AgentCause::Provider { retryable: false }
        | AgentCause::Refusal
        | AgentCause::ContextLimit
        | AgentCause::Login => const { ReasonCode::of("run.failed.provider_nonretryable") },
        AgentCause::MaxTurns | AgentCause::Budget => const { ReasonCode::of("run.failed.escalated") },
        AgentCause::Startup | AgentCause::Tool | AgentCause::UnknownEnd | AgentCause::Other => {
            const { ReasonCode::of("run.failed.exception") }
        }
    };
    let said = failure.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
    Some((code, format!("{}{said}", failure.cause.words())))
}

fn failed(code: ReasonCode, message: String, exit_code: u8) -> Ending {
    let reasons = vec![StateReason::new(code, message)];
    Ending { to: SessionState::Failed, trigger: SessionTrigger::ExitedDirty, reasons, exit_code }
}

/// What became of the output that a reader wanted, where something is to be said.
fn of_output(end: &End) -> Vec<String> {
    let passed = end.output.passed;
    let closed = passed
        .closed
        .then(|| "the reader of its output went away, and its output was closed as in a pipeline".to_owned());
    let refused = (passed.refused > 0).then(|| refused(passed));
    let left = passed.dropped - passed.refused;
    let unread = (left > 0 && !passed.closed)
        .then(|| format!("{left} bytes of its output were not passed on, because a stop was asked for"));
    [closed, refused, unread].into_iter().flatten().collect()
}

/// How much output could not be passed on, and why.
fn refused(passed: Passed) -> String {
    let why = passed.errno.map_or_else(
        || "its reader is too slow and the backlog is full".to_owned(),
        |errno| {
            let said = std::io::Error::from_raw_os_error(errno).to_string();
            said.split(" (os error").next().unwrap_or_default().to_owned()
        },
    );
    format!("{} bytes of its output could not be passed on: {why}", passed.refused)
}

const SIGPIPE: i32 = 13;

/// Was the command itself killed because memory ran out? What happened to another process of the run is no answer.
fn out_of_memory(end: &End) -> bool {
    let anybody = mutant::removed("oom_of_the_command") && end.oom_kills.is_some_and(|kills| kills > 0);
    end.oom == Some(true) || anybody
}

/// What a shell would say of it.
fn code_of(how: How) -> u8 {
    if mutant::removed("wait_status") {
        return 1;
    }
    match how {
        How::Exited { code } => code,
        How::Signaled { signal, .. } => u8::try_from(128 + signal).unwrap_or(255),
        How::Unconfirmed => 137,
    }
}

/// From when on it is told that a supervisor did not run.
const STOOD_STILL: Duration = Duration::from_millis(100);

/// That not everybody is gone, and who is left.
fn unconfirmed(end: &End) -> Option<StateReason> {
    if (end.left == 0 && end.how != How::Unconfirmed) || mutant::removed("kill_is_confirmed") {
        return None;
    }
    let many = end.left.max(1);
    let message = format!("kill unconfirmed ({many} alive)");
    let code = const { ReasonCode::of("run.health.kill_unconfirmed") };
    let mut reason = StateReason::new(code, message);
    for Survivor { pid, name, uid, is_refused, .. } in &end.survivors {
        let user = uid.map_or_else(String::new, |uid| format!(", uid {uid}"));
        let why = if *is_refused { "may not be signalled by this user" } else { "does not go" };
        reason = reason.shown_by(EvidenceRef::tool_result(format!("pid {pid} ({name}{user}) {why}")));
    }
    if end.survivors.is_empty() {
        reason = reason.shown_by(EvidenceRef::tool_result("KILL was sent and the process is still there"));
    }
    Some(reason)
}

/// What was read, in words.
fn seen(end: &End) -> String {
    let how = match end.how {
        How::Exited { code } => format!("exit code {code}"),
        How::Signaled { signal, core_dumped } => {
            format!("{}{}", signal_name(signal), if core_dumped { ", core dumped" } else { "" })
        }
        How::Unconfirmed => "KILL was sent and the process is still there".to_owned(),
    };
    let raw = end.how.raw().map_or_else(String::new, |raw| format!(" (wait status {raw:#06x})"));
    let killed = if end.killed { ", KILL was needed" } else { "" };
    let oom = match (end.oom, end.oom_kills) {
        (Some(true), _) => ", killed because memory ran out".to_owned(),
        (None, Some(kills)) if kills > 0 => format!(", the control group counts {kills} kills for memory"),
        (None, _) => ", and whether memory ran out is not known".to_owned(),
        (Some(false), _) => String::new(),
    };
    let still = match end.stood_still {
        time if time < STOOD_STILL => String::new(),
        time => format!(" (and {} in which its supervisor did not run)", told(time)),
    };
    format!("{how}{raw} after {}{still}{killed}{oom}, {} of its processes left", told(end.elapsed), end.left)
}

/// A span as it is told in a sentence: `12m 4s`, `1.5s`.
pub(crate) fn told(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) if s < 10 => format!("{:.1}s", span.as_secs_f64()),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, _) => format!("{h}h {m}m"),
    }
}

/// The name of a signal, as people know it.
fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("signal {signal} ({name})"))
}

#[cfg(test)]
mod tests {
    use callboard_agents::{Program, Reader, verdict};

    use super::*;

    const COMPLETED: &str = "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"done\"}\n";
    const FAILED: &str = "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true}\n";

    fn judged(stream: &str, how: How) -> Verdict {
        let mut reader = Reader::new(Program::Claude);
        reader.stdout(stream.as_bytes());
        reader.finish();
        let code = match how {
            How::Exited { code } => Some(i32::from(code)),
            How::Signaled { .. } | How::Unconfirmed => None,
        };
        verdict(reader.summary(), code)
    }

    #[test]
    fn that_a_key_made_a_program_exit_is_inferred_and_that_a_signal_ended_it_is_not() {
        let claim = |cause, how| {
            let end = End {
                how,
                began: true,
                cause: Cause::Stopped(cause),
                oom: Some(false),
                oom_kills: Some(0),
                flaw: None,
                elapsed: Duration::from_secs(1),
                stood_still: Duration::ZERO,
                killed: false,
                left: 0,
                survivors: Vec::new(),
                escaped: 0,
                leak: false,
                output: Default::default(),
                usage: Default::default(),
            };
            let ending = ending(&end, &Asked::default(), &judged("", how), Delivered::Kept);
            ending.reasons.first().map(|reason| reason.claim_status)
        };
        let (exited, interrupted) =
            (How::Exited { code: 1 }, How::Signaled { signal: 2, core_dumped: false });
        assert_eq!(claim(StopCause::Interrupt, exited), Some(ClaimStatus::Inferred));
        assert_eq!(claim(StopCause::Quit, exited), Some(ClaimStatus::Inferred));
        assert_eq!(claim(StopCause::Interrupt, interrupted), Some(ClaimStatus::Observed));
        assert_eq!(claim(StopCause::Operator, exited), Some(ClaimStatus::Observed));
    }

    #[test]
    fn the_evidence_says_what_decided_and_never_the_opposite_of_the_state() {
        let exited = |code| How::Exited { code };
        let signaled = How::Signaled { signal: 9, core_dumped: false };
        let told = |stream, how, own| of_agent(own, &judged(stream, how)).join(" ");
        let by_code = told(COMPLETED, exited(3), Some(exited(3)));
        assert_eq!(
            by_code,
            "claude reported that it completed, but the exit code is 3; the exit code decides"
        );
        assert_eq!(dirty(3, &judged(COMPLETED, exited(3))).to, SessionState::Failed);
        let by_signal = told(COMPLETED, signaled, Some(signaled));
        assert_eq!(
            by_signal,
            "claude reported that it completed, but it was killed by a signal; the signal decides"
        );
        let by_report = told(FAILED, exited(0), Some(exited(0)));
        assert!(by_report.ends_with("but the exit code is 0; the agent's report decides"), "{by_report}");
        assert_eq!(
            clean(Passed::default(), &Asked::default(), &judged(FAILED, exited(0)), Delivered::Kept).to,
            SessionState::Failed
        );
        assert!(!told(COMPLETED, exited(0), Some(exited(0))).contains("decides"));
        assert!(!told(COMPLETED, signaled, None).contains("decides"), "a clock of ours decided");
    }

    #[test]
    fn what_was_denied_or_cut_is_said_beside_completed() {
        let denied = "{\"type\":\"result\",\"subtype\":\"success\",\"stop_reason\":\"max_tokens\",\
                      \"permission_denials\":[{\"tool_name\":\"Bash\"}]}\n";
        let ending = clean(
            Passed::default(),
            &Asked::default(),
            &judged(denied, How::Exited { code: 0 }),
            Delivered::Kept,
        );
        let codes: Vec<&str> = ending.reasons.iter().map(|reason| reason.code.as_str()).collect();
        assert_eq!(ending.to, SessionState::Completed);
        assert_eq!(codes, ["run.completed.denied", "run.completed.truncated"]);
        assert_eq!(ending.reasons[0].message, "exited with 0, but was not allowed to use Bash");
    }

    #[test]
    fn an_answer_that_was_cut_is_no_failure_of_the_provider() {
        let cut = "{\"type\":\"assistant\",\"error\":\"max_output_tokens\",\"message\":{\"content\":[]}}\n\
                   {\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"too long\"}\n";
        let ending = dirty(1, &judged(cut, How::Exited { code: 1 }));
        assert_eq!(ending.reasons[0].code.as_str(), "run.failed.output_limit");
        assert_eq!(ending.reasons[0].message, "the model's output limit cut the answer: too long");
    }
}
