//! `callboard abort`: ends a tool call, the siblings of a run or task, or a whole tree, and tells first what it will stop.
//!
//! Invariant: what is stopped is listed before anybody is asked. The deepest are asked first, and the next level when they have ended or the
//! patience is over. What has not ended is told as pending, never as stopped.

use std::time::{Duration, Instant};

use callboard_engine::{AbortError, AbortOrder, AbortPlan, AbortTarget, StopOutcome, aborted_tool};
use callboard_kernel::abort::AbortScope;
use callboard_kernel::{EntityId, fact, one_line};
use callboard_ledger::{AppendError, Ledger, Stored};
use callboard_lifecycle::{Kind, Words};
use clap::Args;
use serde::Serialize;

use crate::clock;
use crate::commands::tasks::answer::in_words;
use crate::error::{Error, Exit};
use crate::input::ids;
use crate::input::moment::span;
use crate::input::word::{Reading, WordParser};
use crate::launch::waiting;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending;

/// Abort a tool call, the siblings of a run or task, or a whole tree.
///
/// tool ends the processes of the tool call that the agent of a run waits for; the agent goes on. sibling stops what belongs to the same
/// parent, with everything below it; the parent and the one that is named go on. session stops the one that is named and everything below it,
/// the deepest first. What will be stopped is listed before anybody is asked. docs/abort.md tells the whole of it.
#[derive(Args, Debug)]
pub(crate) struct AbortArgs {
    /// ID or unique prefix of a run or task.
    #[arg(value_name = "ID")]
    id: String,
    /// How far it reaches.
    #[arg(long, value_name = "SCOPE", value_parser = WordParser::<AbortScope>::new())]
    scope: AbortScope,
    /// Why; it is recorded of everything that is stopped.
    #[arg(long, value_name = "TEXT")]
    because: String,
    /// List what would be stopped, and ask nobody.
    #[arg(long)]
    dry_run: bool,
    /// Wait no longer than this for those that are equally deep.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = Reading(span))]
    timeout: Duration,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    id: EntityId,
    scope: &'static str,
    dry_run: bool,
    /// The tool call that is aborted.
    tool: Option<ToolShown<'a>>,
    /// Those that are stopped, in the order in which they are asked.
    targets: Vec<TargetShown<'a>>,
}

#[derive(Serialize)]
struct ToolShown<'a> {
    name: &'a str,
    /// How many processes were ended and are left; null until its supervisor recorded it.
    processes: Option<i64>,
    left: Option<i64>,
}

#[derive(Serialize)]
struct TargetShown<'a> {
    id: EntityId,
    title: Option<&'a str>,
    why: &'static str,
    depth: usize,
    host: Option<&'a str>,
    /// ended, pending, or planned for a dry run.
    outcome: &'static str,
}

impl AbortArgs {
    /// Aborts it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_existing()?;
        let named = find(&ledger, ids::find(&ledger, &self.id)?)?;
        if self.because.trim().is_empty() {
            return Err(Error::CommandLine {
                because: "--because is empty".to_owned(),
                instead: "say in a sentence why it is aborted".to_owned(),
            });
        }
        let actor = sending::actor(&ledger)?;
        let plan = AbortPlan::read(&ledger, named, self.scope).map_err(of_abort)?;
        plan.permit(&ledger, &actor).map_err(of_abort)?;
        if !self.json {
            screen.print(&screen.prose(&told(&plan)))?;
            plan.targets.iter().try_for_each(|target| screen.print(&line(target)))?;
        }
        if self.dry_run {
            return self.done(screen, &plan, &[], None);
        }
        let (because, cause, now) = (self.because.as_str(), None, clock::now());
        let order = AbortOrder { ledger: &ledger, actor, because, cause, now };
        if self.scope == AbortScope::Tool {
            return self.end_tool(screen, &plan, &order);
        }
        let mut ended = Vec::new();
        for level in plan.levels() {
            for target in &level {
                self.ask(screen, &order, target)?;
            }
            let until = Instant::now() + self.timeout;
            for target in level {
                let left = until.saturating_duration_since(Instant::now());
                if has_ended(&ledger, target, left)? {
                    ended.push(target.id());
                }
            }
        }
        self.done(screen, &plan, &ended, None)
    }

    fn ask(&self, screen: &Screen, order: &AbortOrder<'_>, target: &AbortTarget) -> Result<(), Error> {
        let problem = match order.ask(target) {
            Ok(None | Some(StopOutcome::Woken | StopOutcome::NobodyThere)) => return Ok(()),
            Ok(Some(StopOutcome::Elsewhere)) => "is on another host; its supervisor reads the wish there",
            Ok(Some(StopOutcome::OutOfReach(because))) => because,
            Err(error) => return is_over(order.ledger, target, error),
        };
        match self.json {
            true => Ok(()),
            false => screen.print(&format!("  {}: {problem}\n", target.id())),
        }
    }

    fn end_tool(&self, screen: &Screen, plan: &AbortPlan, order: &AbortOrder<'_>) -> Result<Exit, Error> {
        order.ask_tool(&plan.named).map_err(of_abort)?;
        let (id, until) = (plan.named.entity.state.id, Instant::now() + self.timeout);
        loop {
            let run = find(order.ledger, id)?;
            let aborted = aborted_tool(&run.entity.facts, order.now);
            if aborted.is_some() || run.entity.ended_at.is_some() || Instant::now() >= until {
                let counts = aborted.map(|aborted| (aborted.processes, aborted.left));
                return self.done(screen, plan, &[], counts);
            }
            let head = order.ledger.head().map_err(Error::Ask)?;
            // A look at the clock now and then, whoever writes.
            drop(order.ledger.wait_beyond(head, Duration::from_millis(200)));
        }
    }

    fn done(
        &self,
        screen: &Screen,
        plan: &AbortPlan,
        ended: &[EntityId],
        tool: Option<(i64, i64)>,
    ) -> Result<Exit, Error> {
        let pending: Vec<&AbortTarget> =
            plan.targets.iter().filter(|target| !ended.contains(&target.id())).collect();
        let is_tool_open = plan.tool.is_some() && tool.is_none_or(|(_, left)| left > 0);
        let is_done = self.dry_run || (pending.is_empty() && !is_tool_open);
        if self.json {
            screen.json(&self.document(plan, ended, tool))?;
        } else if !self.dry_run {
            let told = match tool {
                Some((processes, 0)) => format!("{processes} processes ended; the agent goes on."),
                Some((processes, left)) => format!("{left} of {processes} processes could not be ended."),
                None if plan.tool.is_some() => {
                    "Pending: its supervisor has not recorded what became of it.".to_owned()
                }
                None => format!("{} ended, {} pending.", ended.len(), pending.len()),
            };
            screen.print(&screen.prose(&told))?;
            for target in pending {
                screen.print(&format!("  {} has not ended yet\n", target.id()))?;
            }
        }
        Ok(if is_done { Exit::DONE } else { Exit::TIMED_OUT })
    }

    fn document<'a>(
        &self,
        plan: &'a AbortPlan,
        ended: &[EntityId],
        tool: Option<(i64, i64)>,
    ) -> Document<'a> {
        let outcome = |target: &AbortTarget| match ended.contains(&target.id()) {
            _ if self.dry_run => "planned",
            true => "ended",
            false => "pending",
        };
        let shown = |target: &'a AbortTarget| TargetShown {
            id: target.id(),
            title: target.stored.entity.facts.read(fact::TITLE),
            why: target.role.word(),
            depth: target.depth,
            host: target.host(),
            outcome: outcome(target),
        };
        let (processes, left) = tool.unzip();
        Document {
            id: plan.named.entity.state.id,
            scope: plan.scope.name(),
            dry_run: self.dry_run,
            tool: plan.tool.as_deref().map(|name| ToolShown { name, processes, left }),
            targets: plan.targets.iter().map(shown).collect(),
        }
    }
}

fn told(plan: &AbortPlan) -> String {
    let id = plan.named.entity.state.id;
    match (plan.scope, plan.tool.as_deref(), plan.targets.len()) {
        (AbortScope::Tool, tool, _) => {
            format!("Ends the processes of the tool call {} of {id}.", one_line(tool.unwrap_or("—")))
        }
        (_, _, 0) => "Nothing that is alive is meant, so nobody is asked.".to_owned(),
        (AbortScope::Sibling, _, count) => format!("Stops {count} beside {id}, which goes on:"),
        (AbortScope::Session, _, count) => format!("Stops {count}, the deepest first:"),
    }
}

fn line(target: &AbortTarget) -> String {
    let title = target.stored.entity.facts.read(fact::TITLE).map_or_else(String::new, one_line);
    let host = target.host().map_or_else(String::new, |host| format!(" on {}", one_line(host)));
    format!("  {}  {}  {title}{host}\n", target.id(), target.role.word())
}

/// Something that ended by itself before it was asked is no failure of the abort.
fn is_over(ledger: &Ledger, target: &AbortTarget, error: AbortError) -> Result<(), Error> {
    match find(ledger, target.id())?.entity.ended_at {
        Some(_) => Ok(()),
        None => Err(of_abort(error)),
    }
}

fn has_ended(ledger: &Ledger, target: &AbortTarget, patience: Duration) -> Result<bool, Error> {
    if target.id().kind() == Kind::Session {
        return Ok(waiting::until_ended(ledger, target.id(), Some(patience))?.is_some());
    }
    Ok(find(ledger, target.id())?.entity.ended_at.is_some())
}

fn find(ledger: &Ledger, id: EntityId) -> Result<Stored, Error> {
    ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))
}

fn of_abort(error: AbortError) -> Error {
    match error {
        AbortError::Read(error) => Error::Ask(error),
        AbortError::Run(AppendError::Refused(refusal)) => Error::Refused(refusal),
        AbortError::Run(AppendError::Fault(fault)) => Error::Append(fault),
        AbortError::Task(error) => in_words(error),
    }
}
