//! One attempt at a task: the worktree is made, the agent runs in it under its own supervisor, and what became of it is reported.
//!
//! Invariant: the task begins when its process is alive and was heard of, not before. Whoever lost the lease stops the agent and reports
//! nothing. What the agent left is held by a ref before anything is reported. An end that the agent reported itself is not reported again. A
//! worktree has one agent at a time. Deliberately absent: verifying and merging.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use callboard_engine::tasks::{Asking, Done, Hold, TaskError, TaskFailure, sample_facts, timeout_for};
use callboard_engine::{StopFor, ask_to_stop, new_id, output};
use callboard_kernel::task;
use callboard_kernel::timeout::SampleEnd;
use callboard_kernel::{EntityId, Facts, TurnGoal, Value, fact};
use callboard_ledger::{Page, RecordScope, Sequence, Slice, Stored, error_chain};
use callboard_lifecycle::{Kind, ReasonCode, Words};
use callboard_wire::{RunRequest, SandboxRequest};

use crate::crew::Crew;
use crate::git::{Attempt as Begin, CommitId, GitRepository, TaskWorktree};
use crate::mcp::Equipment;
use crate::outcome::{Outcome, ended, outcome};
use crate::profile::Filling;
use crate::prompt::{answers, prompt};

/// How long anything is waited for before a look at the lease and the run.
const LOOK: Duration = Duration::from_millis(150);
/// How long an agent that reported its end itself may take to go.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);

/// Where a task is worked on.
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    /// Nothing if the task has no repository.
    pub(crate) git: Option<InGit>,
}

/// The part of a place that git knows.
pub(crate) struct InGit {
    pub(crate) repository: GitRepository,
    pub(crate) worktree: TaskWorktree,
    pub(crate) base: String,
    pub(crate) base_commit: CommitId,
}

/// Why an attempt ended without a report of its own.
enum Stopped {
    /// The lease is lost, or somebody took the task away.
    Lost,
    /// The agent itself reported the end, or a person did in the name of the worker; where its turn is left by that.
    Reported(TurnGoal),
    /// This process is to stop now.
    Leaving,
}

impl Crew {
    /// Does a task that was claimed.
    pub(crate) fn attempt(&self, hold: &Hold) {
        let asking = self.worker_asking(hold.worker);
        let tried = asking.task(hold.task).and_then(|stored| self.try_once(&asking, hold, &stored));
        if let Err(error) = tried {
            // Refused means that the task is somebody else's by now; a store that is away lets the lease end.
            self.tell(&format!("{}: {}", hold.task, error_chain(&error)));
        }
    }

    fn try_once(&self, asking: &Asking<'_>, hold: &Hold, stored: &Stored) -> Result<(), TaskError> {
        if !self.is_alone(asking, hold, stored)? {
            let later = self.now().plus(FAREWELL);
            let because = "an earlier agent is still at work in its worktree";
            return self.fresh(asking).release(hold, because, Some(later));
        }
        let place = match self.place(stored, hold) {
            Ok(place) => place,
            Err(failure) => return asking.report_failed(hold, &failure),
        };
        let run = new_id(Kind::Session, self.now());
        let equipment = self.equipment(run);
        let told = answers(&self.ledger, hold.task)?;
        let bound = timeout_for(&self.ledger, &stored.entity.facts, self.profile.name.as_deref())?;
        let mut request = self.request(stored, &place, hold, &equipment, &told);
        request.timeout_s = Some(bound.timeout.bound.as_secs_f64());
        let mut facts = self.place_facts(&place, hold);
        facts.merge(&bound.bound_facts());
        self.fresh(asking).launched(hold, Some(run), facts, &bound.turn_facts())?;
        if let Err(problem) = self.launch.start(run, &format!("task {}", hold.task), &request) {
            // A command that is not there is the end of a run. Without one the supervisor could not begin, which may work later.
            if let Some(run) = self.ledger.entity(run)?.filter(|run| ended(&run.entity).is_some()) {
                return self.report(asking, hold, &place, &run);
            }
            let failure = TaskFailure::new(const { ReasonCode::of("task.failed.spawn") }, problem);
            return self.fresh(asking).report_failed(hold, &failure);
        }
        match self.watch(asking, hold, run) {
            Ok(run) => self.report(asking, hold, &place, &run),
            Err(Stopped::Lost) => self.stop_run(run),
            Err(Stopped::Reported(rest)) => {
                // The janitor waits until the agent is gone, so until then the turn shows what it does.
                let show = |goal| drop(self.fresh(asking).turn_to(hold, goal, &told_by(run)));
                self.see_off(run, None, &|seen| {
                    let goal = goal_of(seen, rest);
                    show(goal);
                    goal == TurnGoal::Compacting
                });
                show(rest);
                self.note_end(&place, hold, run, rest);
                Ok(())
            }
            Err(Stopped::Leaving) => {
                self.stop_run(run)?;
                self.see_off(run, None, &|_| false);
                self.keep(&place, hold);
                self.fresh(asking).release(hold, "its worker was told to stop", None)
            }
        }
    }

    /// Prepares where the task is worked on.
    fn place(&self, stored: &Stored, hold: &Hold) -> Result<Place, TaskFailure> {
        let facts = &stored.entity.facts;
        let setup =
            |message: String| TaskFailure::new(const { ReasonCode::of("task.failed.reported") }, message);
        let task = hold.task.to_string();
        let Some(repo) = facts.read(fact::REPO).map(PathBuf::from).or_else(|| self.repo.clone()) else {
            let dir = self.scratch_dir().join(&task);
            std::fs::create_dir_all(&dir)
                .map_err(|error| setup(format!("{} cannot be made: {error}", dir.display())))?;
            return Ok(Place { dir, git: None });
        };
        let told = |error: crate::git::GitError| {
            let mut failure = setup(format!("{}; {}", error_chain(&error), error.help()));
            failure.is_final = true;
            failure
        };
        let repository = GitRepository::open(&repo).map_err(told)?;
        let base = repository.base(facts.read(fact::BASE)).map_err(told)?;
        // After a conflict, going on with the old branch would conflict again.
        let is_conflict = facts.read(fact::ERROR) == Some("conflict");
        let begin = if is_conflict { Begin::Fresh } else { Begin::Continue };
        let worktree =
            repository.worktree(&task, &base.commit, &self.worktrees_dir(), begin).map_err(told)?;
        // An attempt that goes on keeps the commit that the first one began from.
        let kept = facts
            .read(fact::BASE_COMMIT)
            .filter(|_| !is_conflict)
            .and_then(|text| CommitId::parse(text).ok());
        let base_commit = kept.unwrap_or(base.commit);
        Ok(Place {
            dir: worktree.path().to_owned(),
            git: Some(InGit { repository, worktree, base: base.branch, base_commit }),
        })
    }

    /// What is recorded of the place, with the files as they are now held by a ref.
    fn place_facts(&self, place: &Place, hold: &Hold) -> Facts {
        let mut facts = Facts::none()
            .and(fact::WORKTREE, place.dir.to_string_lossy().into_owned())
            .and(fact::HOST, self.host.name());
        if let Some(git) = &place.git {
            let name = turn_ref(hold, "start");
            // Evidence is worth having, and its absence is no reason not to work.
            if git.repository.snapshot(&git.worktree, &name).is_ok() {
                facts.record(fact::START_REF, name);
            }
            facts.record(fact::BRANCH, git.worktree.branch());
            facts.record(fact::BASE, git.base.as_str());
            facts.record(fact::BASE_COMMIT, git.base_commit.as_str());
            facts.record(fact::REPO, git.repository.common_dir().to_string_lossy().into_owned());
            if let Some(top) = git.repository.top() {
                facts.record(fact::REPO, top.to_string_lossy().into_owned());
            }
        }
        facts
    }

    fn request(
        &self,
        stored: &Stored,
        place: &Place,
        hold: &Hold,
        equipment: &Equipment,
        answers: &[String],
    ) -> RunRequest {
        let facts = &stored.entity.facts;
        let (task, text) = (hold.task.to_string(), prompt(facts, answers));
        let title = facts.read(fact::TITLE).unwrap_or("a task");
        let goes_on = facts.read(fact::RETRIES).unwrap_or(0) > 0 || !answers.is_empty();
        let session = facts.read(fact::VENDOR_SESSION).filter(|_| goes_on);
        let config = equipment.config();
        let filling =
            Filling { prompt: &text, title, worktree: &place.dir, task: &task, session, mcp_config: &config };
        let argv = self.profile.argv(&filling);
        let mut request = RunRequest::new(Vec::new(), place.dir.to_string_lossy().as_ref().into());
        request.title = Some(title.to_owned());
        request.parent = Some(hold.turn.to_string());
        request.labels = [("task".to_owned(), task.clone())].into();
        let variables = [("CALLBOARD_TASK", task), ("CALLBOARD_TASK_EPOCH", hold.epoch.to_string())];
        request.env = variables.map(|(name, value)| (name.to_owned(), Some(value))).into();
        request.env.extend(self.profile.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
        self.equip(&mut request, argv, equipment);
        request.idle_timeout_s = self.profile.idle_timeout.map(|span| span.as_secs_f64());
        request.memory_bytes = self.profile.memory_bytes;
        request.sandbox = self.profile.sandbox.clone().map(|profile| SandboxRequest {
            profile,
            network: None,
            write: Vec::new(),
            best_effort: false,
        });
        request
    }

    /// Watches the run until it ends, and leads the turn along with what its agent does.
    fn watch(&self, asking: &Asking<'_>, hold: &Hold, run: EntityId) -> Result<Stored, Stopped> {
        let (mut begun, mut goal) = (false, TurnGoal::Running);
        let mut beaten = Instant::now();
        loop {
            let head = self.ledger.head().unwrap_or_default();
            let seen = self.ledger.entity(run);
            // Asked after the run was: an agent reports before it ends.
            let held = self.fresh(asking).held(hold.task);
            if held.is_ok_and(|held| held.as_ref() != Some(hold)) {
                return Err(self.lost(hold, run, "somebody else moved it on"));
            }
            if let Ok(Some(seen)) = seen {
                let is_over = ended(&seen.entity).is_some();
                if !begun && let Some(heard) = heard(&seen) {
                    self.begin(asking, hold, &heard)
                        .map_err(|error| self.lost(hold, run, &error.to_string()))?;
                    begun = true;
                }
                let wanted = goal_of(&seen, TurnGoal::Running);
                if begun && !is_over && wanted != goal {
                    // The turn is told for people who look; the task does not depend on it.
                    drop(self.fresh(asking).turn_to(hold, wanted, &told_by(run)));
                    goal = wanted;
                }
                if is_over {
                    return Ok(seen);
                }
            }
            if self.is_leaving() {
                return Err(Stopped::Leaving);
            }
            if beaten.elapsed() >= self.lease / 4 {
                beaten = Instant::now();
                match self.fresh(asking).heartbeat(hold, self.lease) {
                    Ok(_) | Err(TaskError::Read(_) | TaskError::Store(_)) => {}
                    Err(error) => return Err(self.lost(hold, run, &error.to_string())),
                }
            }
            if self.ledger.wait_beyond(head, LOOK).is_err() {
                std::thread::sleep(LOOK);
            }
        }
    }

    /// Says that the work has begun, unless the agent has said so.
    fn begin(&self, asking: &Asking<'_>, hold: &Hold, heard: &str) -> Result<(), TaskError> {
        match self.fresh(asking).begin(hold, heard) {
            Err(TaskError::Refused(_)) if asking.is_begun(hold)? => Ok(()),
            begun => begun,
        }
    }

    /// Who moved the task on, now that the worker does not hold it any more.
    fn lost(&self, hold: &Hold, run: EntityId, because: &str) -> Stopped {
        match self.reported(hold, run) {
            Ok(Some(rest)) => Stopped::Reported(rest),
            Ok(None) | Err(_) => {
                self.tell(&format!("{} is lost: {because}", hold.task));
                Stopped::Lost
            }
        }
    }

    /// Where the turn is left, if a report of the agent, or of a person in the name of the worker, ended the hold.
    fn reported(&self, hold: &Hold, run: EntityId) -> Result<Option<TurnGoal>, TaskError> {
        let reporters = [run.to_string(), hold.worker.to_string()];
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(hold.task) };
        let last = self.ledger.records(page)?.into_iter().rev().find_map(|record| {
            let event = record.event().ok()?;
            let is_end = event.data.value(fact::LEASE_HOLDER).is_some_and(|holder| *holder == Value::Null);
            is_end.then_some((event.actor.id, event.to))
        });
        Ok(last.filter(|(by, _)| reporters.contains(by)).map(|(_, to)| task::turn_rest(to)))
    }

    /// Records how the files and the session of an attempt were when it ended, after a report that was not the worker's.
    fn note_end(&self, place: &Place, hold: &Hold, run: EntityId, rest: TurnGoal) {
        let mut data = Facts::none();
        if let Some(git) = &place.git {
            let name = turn_ref(hold, "end");
            // Nothing is committed: a task that is done is the janitor's by now.
            if git.repository.snapshot(&git.worktree, &name).is_ok() {
                data.record(fact::END_REF, name);
            }
        }
        if let Ok(Some(run)) = self.ledger.entity(run) {
            data.merge(&session_of(&run));
            if rest == TurnGoal::Verifying {
                data.merge(&took(&run, SampleEnd::Finished));
            }
        }
        // Evidence is worth having; the task goes on without it.
        drop(self.asking(self.system_actor()).note_turn(hold.turn, data));
    }

    /// Waits until no agent of an earlier turn is left in the worktree of a task, and ends those that stay.
    fn is_alone(&self, asking: &Asking<'_>, hold: &Hold, stored: &Stored) -> Result<bool, TaskError> {
        if stored.entity.facts.known(fact::WORKTREE).is_none() {
            return Ok(true);
        }
        let slice = Slice {
            kind: Some(Kind::Session),
            live: true,
            order: Sequence::Newest,
            limit: 1000,
            ..Slice::default()
        };
        let task = hold.task.to_string();
        for run in self.ledger.slice(slice)? {
            let parent = run.entity.facts.read(fact::PARENT).and_then(|text| text.parse::<EntityId>().ok());
            let Some(turn) = parent.filter(|id| id.kind() == Kind::TaskTurn) else { continue };
            let turn = self.ledger.entity(turn)?;
            if turn.is_some_and(|turn| turn.entity.facts.read(fact::TASK) == Some(task.as_str()))
                && !self.see_off(run.entity.state.id, Some((asking, hold)), &|_| false)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn report(&self, asking: &Asking<'_>, hold: &Hold, place: &Place, run: &Stored) -> Result<(), TaskError> {
        let mut data = self.keep(place, hold);
        data.merge(&session_of(run));
        let Some(state) = ended(&run.entity) else { return Ok(()) };
        let asking = self.fresh(asking);
        let outcome = outcome(&run.entity, state, self.now());
        if let Some(end) = outcome.sample(&run.entity) {
            // Later bounds follow from it; the task goes on without it.
            drop(asking.note_turn(hold.turn, took(run, end)));
        }
        match outcome {
            Outcome::Done(summary) => {
                let evidence = format!("{} {}", run.entity.state.id, state.name());
                asking.report_done(hold, &Done { summary, evidence, data })
            }
            Outcome::Limited(until, because) => asking.release(hold, &because, Some(until)),
            Outcome::Failed(mut failure) => {
                failure.data = data;
                asking.report_failed(hold, &failure)
            }
        }
    }

    /// Holds what the agent left by its branch and a ref; what is recorded of it.
    pub(crate) fn keep(&self, place: &Place, hold: &Hold) -> Facts {
        let mut facts = Facts::none();
        let Some(git) = &place.git else { return facts };
        let name = turn_ref(hold, "end");
        if git.repository.snapshot(&git.worktree, &name).is_ok() {
            facts.record(fact::END_REF, name);
        }
        match git.repository.commit_all(&git.worktree, &format!("callboard: work on {}", hold.task)) {
            Ok(committed) => facts.record(fact::TIP, committed.tip.as_str()),
            Err(error) => self.tell(&format!("{}: {}", hold.task, error_chain(&error))),
        }
        facts
    }

    /// Asks the supervisor of a run to end it.
    pub(crate) fn stop_run(&self, run: EntityId) -> Result<(), TaskError> {
        let Some(stored) = self.ledger.entity(run)? else { return Ok(()) };
        if ended(&stored.entity).is_none() {
            ask_to_stop(&self.ledger, &stored, self.system_actor(), StopFor::Parent, self.now())?;
        }
        Ok(())
    }

    /// Waits until a run has ended, and ends it if it does not; whether it has. It has more time as long as it is seen to be busy, and a
    /// hold that is given goes on meanwhile.
    fn see_off(
        &self,
        run: EntityId,
        hold: Option<(&Asking<'_>, &Hold)>,
        is_busy: &dyn Fn(&Stored) -> bool,
    ) -> bool {
        let (mut since, mut beaten) = (Instant::now(), Instant::now());
        let mut is_asked = false;
        while since.elapsed() < FAREWELL * 2 {
            match self.ledger.entity(run) {
                Ok(Some(stored)) if ended(&stored.entity).is_none() => {
                    if is_busy(&stored) {
                        since = Instant::now();
                    }
                }
                _ => return true,
            }
            if (since.elapsed() >= FAREWELL || self.is_leaving()) && !is_asked {
                is_asked = true;
                drop(self.stop_run(run));
            }
            if let Some((asking, hold)) = hold.filter(|_| beaten.elapsed() >= self.lease / 4) {
                beaten = Instant::now();
                drop(self.fresh(asking).heartbeat(hold, self.lease));
            }
            let head = self.ledger.head().unwrap_or_default();
            drop(self.ledger.wait_beyond(head, LOOK));
        }
        false
    }
}

/// The session of the agent program, in which it can go on.
fn session_of(run: &Stored) -> Facts {
    let agent = run.entity.facts.read(fact::AGENT);
    let session = agent.and_then(|agent| agent.read(fact::VENDOR_SESSION));
    session.map_or_else(Facts::none, |session| Facts::none().and(fact::VENDOR_SESSION, session))
}

/// How long an attempt took, as its supervisor measured it.
fn took(run: &Stored, end: SampleEnd) -> Facts {
    let elapsed = run.entity.facts.read(fact::ELAPSED_S);
    elapsed.map_or_else(Facts::none, |seconds| sample_facts(seconds, end))
}

/// The hidden ref of the files at the beginning or the end of a turn.
fn turn_ref(hold: &Hold, which: &str) -> String {
    format!("refs/callboard/{}/{}/{which}", hold.task, hold.turn)
}

/// What was heard of a run: its output, its agent, or its end. Nothing while its process is silent.
fn heard(run: &Stored) -> Option<String> {
    let (id, facts) = (run.entity.state.id, &run.entity.facts);
    let pid = facts.read(fact::PID)?;
    if let Some(state) = ended(&run.entity) {
        return Some(format!("{id} ran as pid {pid} and is {}", state.name()));
    }
    let has_output = || {
        let reader = facts.read(fact::DIR).and_then(|dir| output::Log::open(dir).ok());
        reader.and_then(|reader| reader.end().ok()).is_some_and(|bytes| bytes > 0)
    };
    (facts.known(fact::AGENT).is_some() || has_output())
        .then(|| format!("{id} is alive as pid {pid} and was heard of"))
}

fn told_by(run: EntityId) -> String {
    format!("the stream of {run}")
}

/// What the agent is doing, as its stream tells; where its turn is while it does nothing of note.
fn goal_of(run: &Stored, rest: TurnGoal) -> TurnGoal {
    let facts = &run.entity.facts;
    if facts.read(fact::COMPACTING) == Some(true) {
        TurnGoal::Compacting
    } else if facts.known(fact::OPEN_TOOL).is_some() {
        TurnGoal::ToolUse
    } else {
        rest
    }
}
