//! The command line as one declaration: parser, help, man pages and completions come from it.
//!
//! Invariant: a verb is declared once, in the file of its command. Deliberately absent: what the verbs do.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::completions::CompletionsArgs;
use crate::commands::derive::DeriveArgs;
use crate::commands::machines::MachinesArgs;
use crate::commands::man::ManArgs;
use crate::commands::reasons::ReasonsArgs;
use crate::error::{Error, Exit};
use crate::screen::Screen;

const GLOBAL: &str = "Global options";

/// Runs AI agents, knows what each one is doing, can prove why, and tells you what needs you.
#[derive(Debug, Parser)]
#[command(name = "callboard", version, max_term_width = 100, after_help = Exit::list())]
pub(crate) struct Cli {
    /// When to use colour. `auto` is on a terminal, and obeys NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t, help_heading = GLOBAL)]
    color: Colour,
    /// How wide a table may be; as wide as the terminal unless given, and unlimited when piped.
    #[arg(long, global = true, value_name = "COLUMNS", help_heading = GLOBAL)]
    width: Option<u16>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Machines(MachinesArgs),
    Reasons(ReasonsArgs),
    Derive(DeriveArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Colour {
    #[default]
    Auto,
    Always,
    Never,
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(&self) -> Result<Exit, Error> {
        let screen = Screen::new(self.color, self.width.map(usize::from));
        match &self.command {
            Command::Machines(args) => args.run(&screen),
            Command::Reasons(args) => args.run(&screen),
            Command::Derive(args) => args.run(&screen),
            Command::Completions(args) => args.run(&screen),
            Command::Man(args) => args.run(&screen),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_says_what_it_is_for() {
        for verb in Cli::command().get_subcommands() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.len() > 10 && !about.ends_with('.'), "{}: {about:?}", verb.get_name());
        }
    }
}
