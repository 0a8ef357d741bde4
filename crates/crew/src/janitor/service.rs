//! The janitor: verifies what workers say is done, and merges it, one host's tasks at a time.
//!
//! Invariant: nothing is merged that was not verified, and nothing is closed that was not merged or delivered as asked. The merge is intended in
//! the log before it is published in git, and after a crash what git holds decides. Deliberately absent: doing the work.

use std::time::{Duration, Instant};

use callboard_engine::tasks::TaskError;
use callboard_engine::{Duty, JANITOR_ON, Service, Stepped};
use callboard_kernel::{Actor, EntityId, Facts, fact, task};
use callboard_ledger::{Page, RecordScope, Sequence, Slice, Stored, error_chain};
use callboard_lifecycle::{ActorClass, Kind};

use crate::crew::Crew;
use crate::outcome::ended;
use crate::pace::Pace;

/// How often it looks though nothing was recorded.
const EVERY: Duration = Duration::from_secs(1);
/// How often it looks whether what was merged is still there, and whether a worktree was left behind.
const LOOK_BACK: Duration = Duration::from_secs(600);
/// How many of those that need somebody are looked through for approved results.
const WAITING_MAX: usize = 10_000;
/// How many tasks are merged in one go at the most.
const BATCH: usize = 8;

/// The janitor of one host.
pub struct JanitorService {
    crew: Crew,
    name: String,
    pace: Pace,
    looked_back: Option<Instant>,
}

/// A task that was verified and waits to be merged.
pub(crate) struct Verified {
    pub(crate) stored: Stored,
}

impl JanitorService {
    /// A janitor that works with the means of a crew.
    pub fn new(crew: Crew) -> Self {
        let name = format!("{JANITOR_ON}{}", crew.host.name());
        Self { crew, name, pace: Pace::default(), looked_back: None }
    }

    fn look(&mut self, goes_on: &dyn Fn() -> bool) -> Result<(), TaskError> {
        if self.looked_back.is_none_or(|at| at.elapsed() >= LOOK_BACK) {
            self.crew.look_back(goes_on)?;
            self.crew.sweep_worktrees(goes_on)?;
            self.looked_back = Some(Instant::now());
        }
        let (live, approved) = (self.crew.live_tasks()?, self.crew.approved_here()?);
        self.pace.keep(live.iter().chain(approved.iter().map(|(stored, _)| stored)));
        let mut verified = Vec::new();
        for stored in self.crew.done_here(&live)? {
            if !goes_on() {
                return Ok(());
            }
            // What stays done though it was looked at has a problem that is not over in a moment; a new turn is new work.
            let turn = stored.entity.facts.read(fact::TASK_TURN).unwrap_or_default();
            if verified.len() >= BATCH || !self.pace.is_due(stored.entity.state.id, turn) {
                continue;
            }
            match self.crew.verify(&stored) {
                Ok(Some(one)) => verified.push(one),
                Ok(None) | Err(TaskError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if goes_on() {
            self.crew.merge_all(verified)?;
        }
        for (stored, person) in approved {
            if !goes_on() || !self.pace.is_due(stored.entity.state.id, "approved") {
                continue;
            }
            // A repository that is broken or gone holds up its own results only.
            match self.crew.merge_approved(&stored, &person) {
                Err(TaskError::Unfit { problem, .. }) => self.crew.note_problem(&stored, &problem)?,
                merged => merged?,
            }
        }
        self.crew.follow_requests(&live, &mut self.pace, goes_on)?;
        self.crew.ask_gates(&live, &mut self.pace, goes_on)
    }
}

impl Service for JanitorService {
    fn name(&self) -> &str {
        &self.name
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let head = duty.ledger.head();
        let signal = self.crew.signal.clone();
        match self.look(&|| duty.is_held() && !signal.is_leaving()) {
            Ok(()) => duty.done(head.unwrap_or(duty.position)),
            Err(error) => duty.failed(error_chain(&error)),
        }
    }
}

impl Crew {
    /// The tasks that are done and were worked on here, the oldest first. One whose agent is still there is left for later.
    fn done_here(&self, live: &[Stored]) -> Result<Vec<Stored>, TaskError> {
        let mut done = Vec::new();
        for stored in live {
            let is_done = task::is_moved_by(&stored.entity, task::JANITOR) && self.is_here(stored);
            if is_done && !self.has_living_run(stored)? {
                done.push(stored.clone());
            }
        }
        Ok(done)
    }

    /// The results of this host that a person approved elsewhere, and who that was. They wait among what needs somebody.
    pub(crate) fn approved_here(&self) -> Result<Vec<(Stored, Actor)>, TaskError> {
        let approved = |stored: Stored| {
            let is_queued = task::is_moved_by(&stored.entity, task::MERGE_QUEUE) && self.is_here(&stored);
            let person = stored.entity.facts.read(fact::APPROVED_BY).filter(|_| is_queued)?.to_owned();
            Some((stored, Actor::new(ActorClass::Operator, person)))
        };
        let mut found: Vec<(Stored, Actor)> =
            self.ledger.attention(WAITING_MAX)?.into_iter().filter_map(approved).collect();
        let mut by_people = Vec::new();
        for (stored, person) in found.drain(..) {
            if self.is_said_by_person(stored.entity.state.id)? {
                by_people.push((stored, person));
            }
        }
        Ok(by_people)
    }

    /// Was the approval of a task recorded by a person? A fact of that name that anybody else recorded is worth nothing.
    fn is_said_by_person(&self, id: EntityId) -> Result<bool, TaskError> {
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        let mut by_person = false;
        for record in self.ledger.records(page)? {
            let event = record.event().map_err(|error| TaskError::Read(error.into()))?;
            if event.data.value(fact::APPROVED_BY).is_some() {
                by_person = event.actor.class == ActorClass::Operator;
            }
        }
        Ok(by_person)
    }

    /// Was a task worked on here, or nowhere yet?
    pub(crate) fn is_here(&self, stored: &Stored) -> bool {
        stored.entity.facts.read(fact::HOST).is_none_or(|host| host == self.host.name())
    }

    /// Every task that has not ended.
    pub(crate) fn live_tasks(&self) -> Result<Vec<Stored>, TaskError> {
        let (mut all, mut beyond) = (Vec::new(), None);
        loop {
            let slice = Slice {
                kind: Some(Kind::Task),
                live: true,
                order: Sequence::Oldest,
                beyond,
                limit: 500,
                ..Slice::default()
            };
            let piece = self.ledger.slice(slice)?;
            let Some(last) = piece.last() else { return Ok(all) };
            beyond = Some(last.entity.state.id);
            all.extend(piece);
        }
    }

    pub(crate) fn has_living_run(&self, stored: &Stored) -> Result<bool, TaskError> {
        let Some(run) = stored.entity.facts.read(fact::RUN).and_then(|text| text.parse::<EntityId>().ok())
        else {
            return Ok(false);
        };
        Ok(self.ledger.entity(run)?.is_some_and(|run| ended(&run.entity).is_none()))
    }
}

/// What a check found, as it is recorded.
pub(crate) fn verdict(what: &str, passed: bool, detail: &str) -> Facts {
    Facts::none().and(fact::WHAT, what).and(fact::PASSED, passed).and(fact::DETAIL, detail)
}
