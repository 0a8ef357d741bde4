//! The command line as one declaration: parser, help, man pages and completions come from it.
//!
//! Invariant: a verb is declared once, in the file of its command. Deliberately absent: what the verbs do.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::board::attention::AttentionArgs;
use crate::commands::board::events::EventsArgs;
use crate::commands::board::inspect::InspectArgs;
use crate::commands::board::ps::PsArgs;
use crate::commands::board::why::WhyArgs;
use crate::commands::crew::timeouts::TimeoutsArgs;
use crate::commands::crew::work::WorkArgs;
use crate::commands::crew::workers::WorkersArgs;
use crate::commands::desk::answer::AnswerArgs;
use crate::commands::desk::ask::AskArgs;
use crate::commands::desk::inbox::InboxArgs;
use crate::commands::desk::rules::RulesArgs;
use crate::commands::host::demo::DemoArgs;
use crate::commands::host::doctor::DoctorArgs;
use crate::commands::host::mcp::McpArgs;
use crate::commands::host::serve::ServeArgs;
use crate::commands::host::token::TokenArgs;
use crate::commands::records::create::CreateArgs;
use crate::commands::records::export::ExportArgs;
use crate::commands::records::import::ImportArgs;
use crate::commands::records::reap::ReapArgs;
use crate::commands::records::store::StoreArgs;
use crate::commands::records::transition::TransitionArgs;
use crate::commands::records::verify::VerifyArgs;
use crate::commands::reference::completions::CompletionsArgs;
use crate::commands::reference::derive::DeriveArgs;
use crate::commands::reference::machines::MachinesArgs;
use crate::commands::reference::man::ManArgs;
use crate::commands::reference::reasons::ReasonsArgs;
use crate::commands::runs::abort::AbortArgs;
use crate::commands::runs::heartbeat::HeartbeatArgs;
use crate::commands::runs::logs::{AttachArgs, LogsArgs};
use crate::commands::runs::note::NoteArgs;
use crate::commands::runs::retry::RetryArgs;
use crate::commands::runs::run::RunArgs;
use crate::commands::runs::shim::ShimArgs;
use crate::commands::runs::stop::StopArgs;
use crate::commands::runs::wait::WaitArgs;
use crate::commands::tasks::board::BoardArgs;
use crate::commands::tasks::task::TaskArgs;
use crate::error::{Error, Exit};
use crate::launch::shim_input;
use crate::show::screen::Screen;
use crate::store::Store;

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
    /// Where the store is; CALLBOARD_STORE unless given, and a file in your state directory if that is not set.
    #[arg(long, global = true, value_name = "PATH", help_heading = GLOBAL)]
    store: Option<OsString>,
    /// Where the key lies that seals the store; CALLBOARD_KEY unless given, and beside a store that is a file if that is not set.
    #[arg(long, global = true, value_name = "PATH", help_heading = GLOBAL)]
    key_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<RunArgs>),
    Ps(PsArgs),
    Inspect(InspectArgs),
    Why(WhyArgs),
    Logs(LogsArgs),
    Attach(AttachArgs),
    Events(EventsArgs),
    Attention(AttentionArgs),
    Inbox(InboxArgs),
    Answer(AnswerArgs),
    Ask(AskArgs),
    Rules(RulesArgs),
    Task(TaskArgs),
    Board(BoardArgs),
    Workers(WorkersArgs),
    Stop(StopArgs),
    Abort(AbortArgs),
    Retry(RetryArgs),
    Wait(WaitArgs),
    Reap(ReapArgs),
    Heartbeat(HeartbeatArgs),
    Note(NoteArgs),
    Work(WorkArgs),
    Timeouts(TimeoutsArgs),
    Doctor(DoctorArgs),
    Serve(ServeArgs),
    Mcp(McpArgs),
    #[command(hide = true)]
    Shim(ShimArgs),
    Token(TokenArgs),
    Demo(DemoArgs),
    Verify(VerifyArgs),
    Store(StoreArgs),
    Create(CreateArgs),
    Transition(TransitionArgs),
    Export(ExportArgs),
    Import(ImportArgs),
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
        if matches!(self.command, Command::Shim(_)) {
            shim_input::take_in().map_err(Error::Shim)?;
        }
        let store = Store::new(self.store.as_ref(), self.key_file.as_deref());
        match &self.command {
            Command::Run(args) => args.run(&screen, &store),
            Command::Ps(args) => args.run(&screen, &store),
            Command::Inspect(args) => args.run(&screen, &store),
            Command::Why(args) => args.run(&screen, &store),
            Command::Logs(args) => args.run(&screen, &store),
            Command::Attach(args) => args.run(&screen, &store),
            Command::Events(args) => args.run(&screen, &store),
            Command::Attention(args) => args.run(&screen, &store),
            Command::Inbox(args) => args.run(&screen, &store),
            Command::Answer(args) => args.run(&screen, &store),
            Command::Ask(args) => args.run(&screen, &store),
            Command::Rules(args) => args.run(&screen, &store),
            Command::Task(args) => args.run(&screen, &store),
            Command::Board(args) => args.run(&screen, &store),
            Command::Workers(args) => args.run(&screen, &store),
            Command::Stop(args) => args.run(&screen, &store),
            Command::Abort(args) => args.run(&screen, &store),
            Command::Retry(args) => args.run(&screen, &store),
            Command::Wait(args) => args.run(&screen, &store),
            Command::Reap(args) => args.run(&screen, &store),
            Command::Heartbeat(args) => args.run(&screen, &store),
            Command::Note(args) => args.run(&screen, &store),
            Command::Work(args) => args.run(&screen, &store),
            Command::Timeouts(args) => args.run(&screen, &store),
            Command::Doctor(args) => args.run(&screen, &store),
            Command::Serve(args) => args.run(&screen, &store),
            Command::Mcp(args) => args.run(&store),
            Command::Shim(args) => args.run(&store),
            Command::Token(args) => args.run(&screen, &store),
            Command::Demo(args) => args.run(&screen),
            Command::Verify(args) => args.run(&screen, &store),
            Command::Store(args) => args.run(&screen, &store),
            Command::Create(args) => args.run(&screen, &store),
            Command::Transition(args) => args.run(&screen, &store),
            Command::Export(args) => args.run(&screen, &store),
            Command::Import(args) => args.run(&screen, &store),
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
