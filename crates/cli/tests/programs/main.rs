//! Real agent programs under `callboard run`, from their registries, against a model on loopback: each is brought to every
//! ending of the table, and what is recorded is what was done.
//!
//! Invariant: nothing here reaches anything but loopback, and no ending depends on how fast the machine is. A program that
//! was not installed is skipped aloud; `cargo xtask test nextest` installs them.

mod board;
mod endings;
mod model;
mod program;
mod sandboxed;
mod screen;
mod shared;
mod stage;
mod truth;

use endings::Ending;
use program::Program;

/// One test for each program and each ending that it can come to.
macro_rules! endings {
    ($($module:ident = $program:ident: $($name:ident = $ending:ident),+;)+) => {
        $(mod $module {
            $(#[test]
            fn $name() {
                crate::endings::play(crate::Program::$program, crate::Ending::$ending);
            })+
        })+

        /// Every program comes to at least twelve.
        #[test]
        fn every_program_comes_to_a_dozen_endings() {
            let table: &[(Program, &[Ending])] =
                &[$((Program::$program, &[$(Ending::$ending),+])),+];
            for (program, endings) in table {
                assert!(endings.len() >= 12, "{program:?} comes to {} endings", endings.len());
            }
        }
    };
}

endings! {
    codex = Codex: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, broken_stream = BrokenStream, output_limit = OutputLimit,
        garbled_event = GarbledEvent, plain_text = PlainText, deadline = Deadline, silence = Silence,
        operator_stop = OperatorStop, ctrl_c = CtrlC, program_killed = ProgramKilled,
        supervisor_killed = SupervisorKilled, tool_killed = ToolKilled;
    claude = Claude: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, broken_stream = BrokenStream, output_limit = OutputLimit,
        garbled_event = GarbledEvent, plain_text = PlainText, deadline = Deadline, silence = Silence,
        operator_stop = OperatorStop, ctrl_c = CtrlC, program_killed = ProgramKilled,
        supervisor_killed = SupervisorKilled, tool_killed = ToolKilled;
    opencode = Opencode: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, lasting_rate_limit = LastingRateLimit,
        lasting_server_error = LastingServerError, lasting_break = LastingBreak,
        broken_stream = BrokenStream, output_limit = OutputLimit,
        garbled_event = GarbledEvent, plain_text = PlainText, deadline = Deadline, silence = Silence,
        operator_stop = OperatorStop, ctrl_c = CtrlC, program_killed = ProgramKilled,
        supervisor_killed = SupervisorKilled, tool_killed = ToolKilled;
    gemini = Gemini: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, broken_stream = BrokenStream, output_limit = OutputLimit,
        garbled_event = GarbledEvent, plain_text = PlainText, deadline = Deadline, silence = Silence,
        operator_stop = OperatorStop, ctrl_c = CtrlC, program_killed = ProgramKilled,
        supervisor_killed = SupervisorKilled, tool_killed = ToolKilled;
    qwen = Qwen: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, lasting_rate_limit = LastingRateLimit,
        lasting_server_error = LastingServerError, lasting_break = LastingBreak,
        broken_stream = BrokenStream, output_limit = OutputLimit,
        garbled_event = GarbledEvent, deadline = Deadline, silence = Silence,
        operator_stop = OperatorStop, ctrl_c = CtrlC, program_killed = ProgramKilled,
        supervisor_killed = SupervisorKilled, tool_killed = ToolKilled;
    aider = Aider: clean = Clean, file_written = FileWritten, claimed_file = ClaimedFile,
        unauthorized = Unauthorized, rate_limited = RateLimited, server_error = ServerError,
        wrong_model = WrongModel, lasting_rate_limit = LastingRateLimit,
        lasting_server_error = LastingServerError, lasting_break = LastingBreak,
        broken_stream = BrokenStream, output_limit = OutputLimit,
        deadline = Deadline, silence = Silence, operator_stop = OperatorStop, ctrl_c = CtrlC,
        program_killed = ProgramKilled, supervisor_killed = SupervisorKilled;
}
