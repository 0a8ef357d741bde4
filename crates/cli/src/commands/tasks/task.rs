//! `callboard task`: everything about tasks, one verb each.

use clap::{Args, Subcommand};

use super::add::AddArgs;
use super::deciding::{ApproveArgs, CancelArgs, RejectArgs, RetryArgs, UnblockArgs};
use super::diff::DiffArgs;
use super::edit::EditArgs;
use super::holding::{
    BlockArgs, ClaimArgs, DoneArgs, FailArgs, HeartbeatArgs, ProgressArgs, ReleaseArgs, SplitArgs, StartArgs,
};
use super::import::ImportArgs;
use super::ls::LsArgs;
use super::show::ShowArgs;
use super::worktrees::WorktreesArgs;
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::store::Store;

/// Add tasks, claim and do them, and decide about them.
///
/// A task is claimed by one worker at a time, under a lease. What the worker reports as done is verified and merged by
/// callboard work. docs/tasks.md tells the whole way.
#[derive(Args, Debug)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    Add(Box<AddArgs>),
    Import(ImportArgs),
    Ls(LsArgs),
    Show(ShowArgs),
    Diff(DiffArgs),
    Worktrees(WorktreesArgs),
    Edit(EditArgs),
    Claim(ClaimArgs),
    Start(StartArgs),
    Heartbeat(HeartbeatArgs),
    Progress(ProgressArgs),
    Done(DoneArgs),
    Fail(FailArgs),
    Block(BlockArgs),
    Split(SplitArgs),
    Release(ReleaseArgs),
    Unblock(UnblockArgs),
    Cancel(CancelArgs),
    Retry(RetryArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
}

impl TaskArgs {
    /// Does what was asked.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        match &self.command {
            TaskCommand::Add(args) => args.run(screen, store),
            TaskCommand::Import(args) => args.run(screen, store),
            TaskCommand::Ls(args) => args.run(screen, store),
            TaskCommand::Show(args) => args.run(screen, store),
            TaskCommand::Diff(args) => args.run(screen, store),
            TaskCommand::Worktrees(args) => args.run(screen, store),
            TaskCommand::Edit(args) => args.run(screen, store),
            TaskCommand::Claim(args) => args.run(screen, store),
            TaskCommand::Start(args) => args.run(screen, store),
            TaskCommand::Heartbeat(args) => args.run(screen, store),
            TaskCommand::Progress(args) => args.run(screen, store),
            TaskCommand::Done(args) => args.run(screen, store),
            TaskCommand::Fail(args) => args.run(screen, store),
            TaskCommand::Block(args) => args.run(screen, store),
            TaskCommand::Split(args) => args.run(screen, store),
            TaskCommand::Release(args) => args.run(screen, store),
            TaskCommand::Unblock(args) => args.run(screen, store),
            TaskCommand::Cancel(args) => args.run(screen, store),
            TaskCommand::Retry(args) => args.run(screen, store),
            TaskCommand::Approve(args) => args.run(screen, store),
            TaskCommand::Reject(args) => args.run(screen, store),
        }
    }
}
