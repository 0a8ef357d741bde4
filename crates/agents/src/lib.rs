//! Reads the structured stream of a known agent program while it passes through: bytes in, facts out.
//!
//! Invariant: nothing here reads a clock, a file or a socket, memory is bounded whatever the agent prints, and no input
//! is an error: a line that is no event is text, an event nobody knows is counted. Unknown is `None`, never 0. What is
//! not here: starting the program, keeping its output, and deciding what became of the run. An agent's own end is one
//! claim beside the exit code; [`verdict`] sets the two against each other and says which to believe.

mod daemon;
mod detect;
mod dialect;
mod end;
mod lines;
mod loops;
mod noise;
mod program;
mod reader;
mod signal;
mod summary;
mod tally;
mod terminal;
mod usd;
mod verdict;

pub use daemon::{Home, SharedDaemon, SharedServer, shared_daemon, shared_server};
pub use detect::{Launch, detect};
pub use end::{AgentEnd, Cause, Failure};
pub use noise::is_noise;
pub use program::{ExitCode, Program, UnknownProgram};
pub use reader::Reader;
pub use signal::{KnownBy, Signal, Waiting, WaitingFor};
pub use summary::{
    Child, KilledTool, LimitStatus, ModelBy, Note, OpenTool, RateLimit, Retrying, Summary, Tokens,
    UnknownKind,
};
pub use terminal::without_controls;
pub use usd::Usd;
pub use verdict::{Standing, Verdict, verdict};
