//! `callboard`: the command line.
//!
//! Invariant: a command decides what to say and how it ended; only here does the process end. A reader that closes
//! the pipe early has what it wanted, so that is no failure. Deliberately absent: anything a command does.

mod args;
mod clock;
mod commands;
mod demo;
mod doctor;
mod error;
mod input;
mod launch;
mod show;
mod store;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::Exit;

fn main() -> ExitCode {
    // What a supervisor or a server knows is none of the business of the agents that run as the same user. Where the
    // kernel does not hide it, the program does its work all the same.
    callboard_supervisor::process::hide_this().ok();
    let ended = match Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(refusal) => error::show_help_or_refuse(&refusal),
    };
    let exit = ended.unwrap_or_else(|error| {
        if error.is_closed_pipe() {
            return Exit::DONE;
        }
        error.tell();
        error.exit()
    });
    ExitCode::from(exit.code)
}
