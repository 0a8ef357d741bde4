//! The table of truth: which words may be said of a run that came to an ending.

use crate::endings::{Ending, never_gives_up};
use crate::program::Program;

/// What is true of a run that ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Truth {
    /// The lifecycle that is recorded.
    pub(crate) state: &'static str,
    /// The code of its first reason.
    pub(crate) code: &'static str,
    /// The exit code of `callboard run`.
    pub(crate) exit: i32,
}

const fn truth(state: &'static str, code: &'static str, exit: i32) -> Truth {
    Truth { state, code, exit }
}

const COMPLETED: Truth = truth("completed", "run.completed.ok", 0);

const fn refused(exit: i32) -> Truth {
    truth("failed", "run.failed.provider_nonretryable", exit)
}

const fn unavailable(exit: i32) -> Truth {
    truth("failed", "run.failed.provider_retryable", exit)
}

/// What is true of this program after this ending. Where a program exits with 0 although it failed, `callboard run` exits
/// with 1; otherwise it passes on the program's own code.
pub(crate) const fn of(program: Program, ending: Ending) -> Truth {
    match ending {
        Ending::Clean | Ending::FileWritten => COMPLETED,
        Ending::ClaimedFile => truth("failed", "run.failed.missing_artifact", 1),
        Ending::Unauthorized | Ending::WrongModel => refused_by(program, ending),
        Ending::RateLimited | Ending::ServerError | Ending::BrokenStream => unavailable_to(program, ending),
        Ending::LastingRateLimit if never_gives_up(program, ending) => {
            truth("timed_out", "run.timed_out.deadline", 124)
        }
        Ending::LastingRateLimit | Ending::LastingServerError | Ending::LastingBreak => unavailable(1),
        Ending::OutputLimit => truncated(program),
        Ending::GarbledEvent => garbled(program),
        // Without its stream a program is known by its exit code and its last words.
        Ending::PlainText => truth("failed", "run.failed.exit_nonzero", 1),
        Ending::Deadline => truth("timed_out", "run.timed_out.deadline", 124),
        Ending::Silence => truth("timed_out", "run.timed_out.silence", 124),
        Ending::OperatorStop => truth("cancelled", "run.cancelled.operator", 143),
        Ending::CtrlC => truth("aborted", "run.aborted.sigint", 130),
        Ending::ProgramKilled => truth("failed", "run.failed.signal", 137),
        Ending::SupervisorKilled => truth("aborted", "system.health.process_dead_no_terminal", 137),
        // The program hears that its tool was killed, and goes on.
        Ending::ToolKilled => COMPLETED,
    }
}

/// Gemini CLI exits with the lower eight bits of the status.
const fn refused_by(program: Program, ending: Ending) -> Truth {
    match (program, ending) {
        (Program::Gemini, Ending::Unauthorized) => refused(401 & 0xff),
        (
            Program::Codex
            | Program::Claude
            | Program::Opencode
            | Program::Gemini
            | Program::Qwen
            | Program::Aider,
            _,
        ) => refused(1),
    }
}

/// Three of the programs retry for a minute or longer: they are refused once and then answered.
const fn unavailable_to(program: Program, ending: Ending) -> Truth {
    match (program, ending) {
        (Program::Opencode | Program::Qwen | Program::Aider, _) => COMPLETED,
        (Program::Gemini, Ending::RateLimited) => unavailable(429 & 0xff),
        (Program::Gemini, Ending::ServerError) => unavailable(500 & 0xff),
        (Program::Codex | Program::Claude | Program::Gemini, _) => unavailable(1),
    }
}

/// Gemini CLI and qwen-code say nothing about it, and opencode ends as if the answer were whole.
const fn truncated(program: Program) -> Truth {
    match program {
        Program::Codex | Program::Claude | Program::Aider => truth("failed", "run.failed.output_limit", 1),
        Program::Opencode => truth("completed", "run.completed.truncated", 0),
        Program::Gemini | Program::Qwen => COMPLETED,
    }
}

/// Some skip an event that they cannot read, and some give up.
const fn garbled(program: Program) -> Truth {
    match program {
        Program::Codex | Program::Claude | Program::Aider => COMPLETED,
        Program::Opencode => truth("failed", "run.failed.exception", 1),
        Program::Gemini | Program::Qwen => unavailable(1),
    }
}

/// Rows in which something false is still said; the test prints what, and does not fail.
pub(crate) const GAPS: &[(Program, Ending)] = &[];
