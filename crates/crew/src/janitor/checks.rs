//! Verifying: each completion signal of a task, checked in its worktree after its agent has gone.
//!
//! Invariant: a command is run only if a person wrote it down, and as a run of its own under a supervisor. Contracts and schemas are read from the
//! commit that the task began from, because the agent can change the files. A command that fails is run once more: a check that passes the
//! second time is flaky, and says so. Deliberately absent: deciding what is checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use callboard_engine::tasks::{Rejection, Signal, TaskError, TaskFailure};
use callboard_engine::{new_id, read_plain};
use callboard_kernel::{EntityId, Facts, fact};
use callboard_ledger::{Page, RecordScope, Stored, error_chain};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};
use callboard_wire::{ContractSource, RunRequest};

use super::service::{Verified, verdict};
use crate::crew::Crew;
use crate::git::{Attempt, CommitId, GitRepository, TaskWorktree};
use crate::outcome::ended;

/// How long one check may take.
const CHECK_MAX: Duration = Duration::from_secs(1800);
/// The largest file that is searched for a text.
const SEARCHED_MAX: u64 = 16 * 1024 * 1024;

/// Where checks are made.
pub(crate) struct Site<'a> {
    pub(crate) task: EntityId,
    /// What the runs of the checks belong to: a turn of the task, or the task itself.
    pub(crate) parent: EntityId,
    pub(crate) dir: &'a Path,
    pub(crate) git: Option<(&'a GitRepository, &'a CommitId, &'a CommitId)>,
}

/// What one check found.
pub(crate) struct Found {
    pub(crate) passed: bool,
    pub(crate) detail: String,
}

impl Found {
    fn yes(detail: impl Into<String>) -> Self {
        Self { passed: true, detail: detail.into() }
    }

    fn no(detail: impl Into<String>) -> Self {
        Self { passed: false, detail: detail.into() }
    }
}

impl Crew {
    /// Verifies a task that is done. Nothing if it was rejected.
    pub(super) fn verify(&self, stored: &Stored) -> Result<Option<Verified>, TaskError> {
        let id = stored.entity.state.id;
        let facts = &stored.entity.facts;
        let parent = parent_of(stored);
        let asking = self.asking(self.system_actor());
        asking.take_up(stored)?;
        let signals = match Signal::all(facts) {
            Ok(signals) => signals,
            Err(problem) => {
                return self.reject(stored, &problem, vec![verdict("its checks", false, &problem)]);
            }
        };
        let opened = facts.read(fact::REPO).map(|repo| self.worktree_of(stored, Path::new(repo)));
        let (repository, worktree, base, tip) = match opened {
            None => {
                let dir = facts.read(fact::WORKTREE).map(Path::new).unwrap_or(Path::new("/"));
                let site = Site { task: id, parent, dir, git: None };
                return self.judge(stored, &signals, &site);
            }
            Some(Ok(opened)) => opened,
            Some(Err(problem)) => {
                return self.reject(stored, &problem, vec![verdict("its worktree", false, &problem)]);
            }
        };
        if facts.read(fact::TIP) != Some(tip.as_str()) {
            let data = Facts::none().and(fact::TIP, tip.as_str()).and(fact::BRANCH, worktree.branch());
            let data = data.and(fact::BASE_COMMIT, base.as_str());
            asking.note_task(stored, data)?;
        }
        let stored = asking.task(id)?;
        let site = Site { task: id, parent, dir: worktree.path(), git: Some((&repository, &base, &tip)) };
        self.judge(&stored, &signals, &site)
    }

    fn judge(
        &self,
        stored: &Stored,
        signals: &[Signal],
        site: &Site<'_>,
    ) -> Result<Option<Verified>, TaskError> {
        let by_person = self.is_by_person(site.task)?;
        let (mut verdicts, mut failed) = (Vec::new(), Vec::new());
        for signal in signals {
            let found = match signal.runs_command() && !by_person {
                true => Found::no("its command was not written down by a person, so it is not run"),
                false => self.check(signal, site)?,
            };
            verdicts.push(verdict(&signal.told(), found.passed, &found.detail));
            if !found.passed {
                failed.push(format!("{}: {}", signal.told(), found.detail));
                break;
            }
        }
        if !failed.is_empty() {
            return self.reject(stored, &format!("not passed: {}", failed.join("; ")), verdicts);
        }
        let asking = self.asking(self.system_actor());
        asking.verified(stored, verdicts)?;
        Ok(Some(Verified { stored: asking.task(site.task)? }))
    }

    /// Does what is in a worktree pass every check?
    pub(crate) fn signals_pass(
        &self,
        stored: &Stored,
        worktree: &TaskWorktree,
        git: (&GitRepository, &CommitId, &CommitId),
    ) -> Result<bool, TaskError> {
        let task = stored.entity.state.id;
        let site = Site { task, parent: parent_of(stored), dir: worktree.path(), git: Some(git) };
        let by_person = self.is_by_person(task)?;
        let Ok(signals) = Signal::all(&stored.entity.facts) else { return Ok(false) };
        for signal in &signals {
            if (signal.runs_command() && !by_person) || !self.check(signal, &site)?.passed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn reject(
        &self,
        stored: &Stored,
        because: &str,
        verdicts: Vec<Facts>,
    ) -> Result<Option<Verified>, TaskError> {
        let failure = TaskFailure::new(const { ReasonCode::of("task.failed.verification") }, because);
        let canonical = Some(callboard_lifecycle::task::TransitionReason::Retry);
        let rejection = Rejection { failure: TaskFailure { canonical, ..failure }, verdicts };
        self.asking(self.system_actor()).reject(stored, &rejection)?;
        self.tell(&format!("{} is rejected: {because}", stored.entity.state.id));
        Ok(None)
    }

    /// The worktree of a task with everything in it committed, the commit it began from, and its tip.
    pub(crate) fn worktree_of(
        &self,
        stored: &Stored,
        repo: &Path,
    ) -> Result<(GitRepository, TaskWorktree, CommitId, CommitId), String> {
        let facts = &stored.entity.facts;
        let told = |error: crate::git::GitError| format!("{}; {}", error_chain(&error), error.help());
        let repository = GitRepository::open(repo).map_err(told)?;
        let now = repository.base(facts.read(fact::BASE)).map_err(told)?;
        let base =
            facts.read(fact::BASE_COMMIT).and_then(|text| CommitId::parse(text).ok()).unwrap_or(now.commit);
        let task = stored.entity.state.id.to_string();
        let worktree =
            repository.worktree(&task, &base, &self.worktrees_dir(), Attempt::Continue).map_err(told)?;
        let committed =
            repository.commit_all(&worktree, &format!("callboard: work on {task}")).map_err(told)?;
        Ok((repository, worktree, base, committed.tip))
    }

    /// Did a person add the task?
    pub(crate) fn is_by_person(&self, id: EntityId) -> Result<bool, TaskError> {
        let first = self.ledger.records(Page { after: 0, limit: 1, scope: RecordScope::Entity(id) })?;
        let event = first.first().map(|record| record.event()).transpose();
        let event = event.map_err(|error| TaskError::Read(error.into()))?;
        Ok(event.is_some_and(|event| event.actor.class == ActorClass::Operator))
    }

    fn check(&self, signal: &Signal, site: &Site<'_>) -> Result<Found, TaskError> {
        Ok(match signal {
            Signal::Diff => match site.git {
                Some((repository, base, tip)) => match repository.is_changed(base, tip) {
                    Ok(true) => Found::yes("something changed"),
                    Ok(false) => Found::no("nothing changed"),
                    Err(error) => Found::no(error_chain(&error)),
                },
                None => Found::no("it has no repository"),
            },
            Signal::Contains { path, text } => match read_plain(&site.dir.join(path), SEARCHED_MAX) {
                Ok(bytes) if bytes.windows(text.len()).any(|part| part == text.as_bytes()) => {
                    Found::yes("found")
                }
                Ok(_) => Found::no("the text is not in the file"),
                Err(error) => Found::no(error.to_string()),
            },
            Signal::Exists(path) => self.promised(site, contract_of(path, None))?,
            Signal::Schema { path, schema } => match from_base(site, schema) {
                Ok(text) => match serde_json::from_str(&text) {
                    Ok(schema) => self.promised(site, contract_of(path, Some(schema)))?,
                    Err(error) => Found::no(format!("{schema} is no JSON: {error}")),
                },
                Err(problem) => Found::no(problem),
            },
            Signal::Contract(path) => match from_base(site, path).and_then(|text| {
                serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&text)
                    .map_err(|error| format!("{path} is no contract in JSON: {error}"))
            }) {
                Ok(contract) => self.promised(site, contract)?,
                Err(problem) => Found::no(problem),
            },
            Signal::Test(command) | Signal::Review(command) => self.twice(site, command)?,
        })
    }

    /// A contract, checked by the supervisor of a command that does nothing.
    fn promised(
        &self,
        site: &Site<'_>,
        contract: BTreeMap<String, serde_json::Value>,
    ) -> Result<Found, TaskError> {
        let mut request = RunRequest::new(vec!["true".into()], site.dir.to_string_lossy().as_ref().into());
        request.contract = Some(ContractSource::Inline(contract));
        self.run_check(site, "check of the files", request)
    }

    /// A command that must succeed; once more if it fails.
    pub(super) fn twice(&self, site: &Site<'_>, command: &str) -> Result<Found, TaskError> {
        let title = format!("check: {command}");
        let first = self.once(site, &title, command)?;
        if first.passed {
            return Ok(first);
        }
        let second = self.once(site, &title, command)?;
        Ok(match second.passed {
            true => Found::yes(format!("flaky: {}, then it passed: {}", first.detail, second.detail)),
            false => Found::no(format!("twice: {}", second.detail)),
        })
    }

    /// A command, read by a shell where the check is made.
    pub(crate) fn once(&self, site: &Site<'_>, title: &str, command: &str) -> Result<Found, TaskError> {
        let argv = ["/bin/sh", "-c", command].map(|word| word.into()).into();
        self.run_check(site, title, RunRequest::new(argv, site.dir.to_string_lossy().as_ref().into()))
    }

    fn run_check(&self, site: &Site<'_>, title: &str, request: RunRequest) -> Result<Found, TaskError> {
        let ran = match self.run_to_end(site, title, request)? {
            Ok(ran) => ran,
            Err(problem) => return Ok(Found::no(problem)),
        };
        let why = ran.entity.reasons.first().map_or("", |reason| reason.message.as_str());
        let detail = format!("{why} ({})", ran.entity.state.id);
        Ok(Found { passed: ended(&ran.entity) == Some(SessionState::Completed), detail })
    }

    /// A run on behalf of a task, once it has ended; a problem in words if it could not begin.
    pub(super) fn run_to_end(
        &self,
        site: &Site<'_>,
        title: &str,
        mut request: RunRequest,
    ) -> Result<Result<Stored, String>, TaskError> {
        let run = new_id(Kind::Session, self.now());
        request.title = Some(title.to_owned());
        request.parent = Some(site.parent.to_string());
        request.labels = [("check".to_owned(), site.task.to_string())].into();
        request.timeout_s = Some(CHECK_MAX.as_secs_f64());
        if let Err(problem) = self.launch.start(run, &format!("verification of {}", site.task), &request) {
            return Ok(Err(problem));
        }
        let since = Instant::now();
        loop {
            let head = self.ledger.head()?;
            if let Some(seen) = self.ledger.entity(run)?
                && ended(&seen.entity).is_some()
            {
                self.launch.tidy();
                return Ok(Ok(seen));
            }
            if self.is_leaving() || since.elapsed() > CHECK_MAX * 2 {
                self.stop_run(run)?;
                return Err(TaskError::Unfit {
                    problem: format!("the check {run} was broken off"),
                    help: "it is made again by the next janitor".to_owned(),
                });
            }
            self.ledger.wait_beyond(head, Duration::from_millis(100))?;
        }
    }
}

/// What the checks of a task belong to: its newest turn, or the task itself if it never had one.
pub(super) fn parent_of(stored: &Stored) -> EntityId {
    let turn = stored.entity.facts.read(fact::TASK_TURN).and_then(|text| text.parse().ok());
    turn.unwrap_or(stored.entity.state.id)
}

/// A file as it was when the task began.
fn from_base(site: &Site<'_>, path: &str) -> Result<String, String> {
    let Some((repository, base, _)) = site.git else { return Err("it has no repository".to_owned()) };
    let told = |error: crate::git::GitError| {
        format!("{path} cannot be read as it was when the task began: {}", error_chain(&error))
    };
    repository.read_file(base, path, SEARCHED_MAX as usize).map_err(told)
}

fn contract_of(path: &str, schema: Option<serde_json::Value>) -> BTreeMap<String, serde_json::Value> {
    let is_glob = path.contains(['*', '?', '[']);
    let mut promise = serde_json::Map::new();
    promise.insert(if is_glob { "glob" } else { "path" }.to_owned(), path.into());
    promise.insert("existing".to_owned(), true.into());
    if let Some(schema) = schema {
        promise.insert("json_schema".to_owned(), schema);
    }
    [("artifacts".to_owned(), serde_json::Value::Array(vec![promise.into()]))].into()
}
