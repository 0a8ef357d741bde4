//! What an abort will stop: read from the records before anybody is asked.
//!
//! A child is whatever names another one as its parent: a run that was started with `--parent` or from inside of a run, the turn and the run
//! of a task, a task that another one was split into. Runs for a turn stand as deep as its task.
//!
//! Invariant: the deepest come first, and of those that stand equally deep the tasks before their runs, so that a worker learns that its
//! task is gone before its run is. What has ended is no target; what is below it is.

use std::collections::{BTreeMap, HashSet};

use callboard_kernel::abort::AbortScope;
use callboard_kernel::{Actor, EntityId, Facts, RefusalCode, fact, task};
use callboard_ledger::{AppendError, Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::{ActorClass, Kind};

use crate::tasks::{TaskError, refused};

/// How many entities of a tree are looked at.
const LOOKED_AT: usize = 100_000;
const PIECE: usize = 500;

/// Why something is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortRole {
    /// It was named.
    Named,
    /// It has the same parent.
    Sibling,
    /// It is below one that is stopped.
    Descendant,
    /// Something that it started failed, and its policy stops it for that.
    FailedChild,
}

impl AbortRole {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Sibling => "sibling",
            Self::Descendant => "descendant",
            Self::FailedChild => "failed child",
        }
    }
}

/// Something that will be stopped.
#[derive(Clone, Debug)]
pub struct AbortTarget {
    /// As it is recorded.
    pub stored: Stored,
    /// Why it is stopped.
    pub role: AbortRole,
    /// How far it is below the one that the walk began at.
    pub depth: usize,
}

/// What an abort will stop.
#[derive(Clone, Debug)]
pub struct AbortPlan {
    /// How far it reaches.
    pub scope: AbortScope,
    /// The one that was named.
    pub named: Stored,
    /// The tool call that is open, for an abort of it.
    pub tool: Option<String>,
    /// Those that will be stopped, the deepest first; nobody for an abort of a tool call.
    pub targets: Vec<AbortTarget>,
}

/// Why an abort was not done.
#[derive(Debug, thiserror::Error)]
pub enum AbortError {
    /// The store could not be read.
    #[error("the store could not be read")]
    Read(#[from] ReadError),
    /// A run was not asked.
    #[error(transparent)]
    Run(#[from] AppendError),
    /// It cannot be, or not by this caller, or a task was not called off.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl From<AbortError> for TaskError {
    fn from(error: AbortError) -> Self {
        match error {
            AbortError::Read(error) => error.into(),
            AbortError::Run(error) => error.into(),
            AbortError::Task(error) => error,
        }
    }
}

fn unfit(named: &Stored, problem: &str, help: impl Into<String>) -> AbortError {
    refused(named, RefusalCode::NotPermitted, problem, help.into()).into()
}

impl AbortTarget {
    /// Which one.
    pub const fn id(&self) -> EntityId {
        self.stored.entity.state.id
    }

    /// The host it is on, if one is recorded.
    pub fn host(&self) -> Option<&str> {
        self.stored.entity.facts.read(fact::HOST)
    }
}

impl AbortPlan {
    /// Reads what will be stopped.
    pub fn read(ledger: &Ledger, named: Stored, scope: AbortScope) -> Result<Self, AbortError> {
        let (mut targets, mut tool) = (Vec::new(), None);
        match scope {
            AbortScope::Tool => tool = Some(open_tool(&named)?),
            AbortScope::Sibling => targets = siblings(ledger, &named)?,
            AbortScope::Session => {
                if is_target(&named) {
                    targets.push(AbortTarget { stored: named.clone(), role: AbortRole::Named, depth: 0 });
                }
                descend(ledger, &named, &mut targets)?;
            }
        }
        let is_run = |target: &AbortTarget| target.id().kind() == Kind::Session;
        targets.sort_by_key(|target| (std::cmp::Reverse(target.depth), is_run(target), target.id()));
        Ok(Self { scope, named, tool, targets })
    }

    /// Refuses an agent that would stop anything but what is below its own run.
    pub fn permit(&self, ledger: &Ledger, actor: &Actor) -> Result<(), AbortError> {
        if actor.class != ActorClass::Agent {
            return Ok(());
        }
        let own = actor.id.parse::<EntityId>().ok();
        let named = (self.scope == AbortScope::Tool).then_some(self.named.entity.state.id);
        for id in self.targets.iter().map(AbortTarget::id).chain(named) {
            if !own.map_or(Ok(false), |own| is_below(ledger, id, own))? {
                let help = "an agent aborts only what its own run started; ask a person for the rest";
                return Err(unfit(&self.named, &format!("{id} is not below the run of this agent"), help));
            }
        }
        Ok(())
    }

    /// The targets by how deep they are, the deepest first.
    pub fn levels(&self) -> Vec<Vec<&AbortTarget>> {
        let mut levels: BTreeMap<usize, Vec<&AbortTarget>> = BTreeMap::new();
        for target in &self.targets {
            levels.entry(target.depth).or_default().push(target);
        }
        levels.into_values().rev().collect()
    }
}

/// The tool call that the agent of a run waits for.
fn open_tool(named: &Stored) -> Result<String, AbortError> {
    let (id, facts) = (named.entity.state.id, &named.entity.facts);
    if id.kind() != Kind::Session || named.entity.ended_at.is_some() {
        return Err(unfit(named, &format!("{id} is no run that is alive"), "name a run: callboard ps"));
    }
    let open = facts.read(fact::OPEN_TOOL).and_then(|tool| tool.read(fact::NAME).map(str::to_owned));
    open.ok_or_else(|| {
        let problem = format!("no tool call of {id} is open, as far as its stream tells");
        unfit(named, &problem, format!("wait for one, or stop the run: callboard stop {id}"))
    })
}

fn siblings(ledger: &Ledger, named: &Stored) -> Result<Vec<AbortTarget>, AbortError> {
    let id = named.entity.state.id;
    let Some(parent) = parent_of(&named.entity.facts) else {
        let help = format!("stop it alone: callboard stop {id}");
        return Err(unfit(named, &format!("{id} has no parent, so it has no siblings"), help));
    };
    let mut targets = Vec::new();
    for stored in children(ledger, parent)? {
        if stored.entity.state.id == id {
            continue;
        }
        let (is_live, kind) = (is_target(&stored), stored.entity.state.id.kind());
        if !matches!(kind, Kind::Session | Kind::Task) {
            continue;
        }
        descend(ledger, &stored, &mut targets)?;
        if is_live {
            targets.push(AbortTarget { stored, role: AbortRole::Sibling, depth: 0 });
        }
    }
    Ok(targets)
}

/// Adds everything below an entity that can be stopped.
fn descend(ledger: &Ledger, from: &Stored, targets: &mut Vec<AbortTarget>) -> Result<(), AbortError> {
    let mut seen = HashSet::from([from.entity.state.id]);
    let mut waiting = vec![(from.entity.state.id, 0)];
    while let Some((parent, depth)) = waiting.pop() {
        for stored in children(ledger, parent)? {
            let id = stored.entity.state.id;
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > LOOKED_AT {
                let help = "abort its parts one by one: callboard abort ID --scope session --because TEXT";
                return Err(unfit(from, &format!("more than {LOOKED_AT} entities are below it"), help));
            }
            let is_of_task = id.kind() == Kind::TaskTurn || parent.kind() == Kind::TaskTurn;
            let depth = if is_of_task { depth } else { depth + 1 };
            waiting.push((id, depth));
            if is_target(&stored) {
                targets.push(AbortTarget { stored, role: AbortRole::Descendant, depth });
            }
        }
    }
    Ok(())
}

/// Can it be stopped?
fn is_target(stored: &Stored) -> bool {
    let is_live_run = stored.entity.state.id.kind() == Kind::Session && stored.entity.ended_at.is_none();
    is_live_run || task::can_be_called_off(&stored.entity)
}

fn parent_of(facts: &Facts) -> Option<EntityId> {
    facts.read(fact::PARENT)?.parse().ok()
}

fn children(ledger: &Ledger, parent: EntityId) -> Result<Vec<Stored>, ReadError> {
    let (mut all, mut beyond) = (Vec::new(), None);
    loop {
        let order = Sequence::Oldest;
        let slice = Slice { parent: Some(parent), order, beyond, limit: PIECE, ..Slice::default() };
        let piece = ledger.slice(slice)?;
        beyond = piece.last().map(|last| last.entity.state.id);
        let is_last = piece.len() < PIECE;
        all.extend(piece);
        if is_last {
            return Ok(all);
        }
    }
}

/// Is an entity below another one?
fn is_below(ledger: &Ledger, id: EntityId, above: EntityId) -> Result<bool, ReadError> {
    let (mut at, mut seen) = (id, HashSet::new());
    while seen.insert(at) {
        let stored = ledger.entity(at)?;
        match stored.and_then(|stored| parent_of(&stored.entity.facts)) {
            Some(parent) if parent == above => return Ok(true),
            Some(parent) => at = parent,
            None => return Ok(false),
        }
    }
    Ok(false)
}
