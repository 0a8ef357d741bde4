//! `callboard completions`: the words a shell may offer.
//!
//! Invariant: generated from the declaration of the command line, so a new verb is offered at once. Deliberately
//! absent: installing them; where they belong differs from shell to shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;

/// Print the completions of a shell.
///
/// For bash, in ~/.bashrc: source <(callboard completions bash)
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell that completes.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    /// Writes the script to standard output.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "callboard", &mut script);
        screen.print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::DONE)
    }
}
