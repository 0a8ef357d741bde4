//! The merge queue: verified tasks are put on top of each other, the result is verified, and published in one move.
//!
//! Invariant: what is published was verified as it is published, unless nothing else was merged since the task itself was verified. If a batch
//! fails, its halves are tried, down to the task that breaks it; that one is rejected. What is merged is intended in the log first; after
//! a crash, what git holds decides. A conflict loses nothing: the branch is kept. Deliberately absent: remotes.

use std::path::{Path, PathBuf};

use callboard_engine::StandingClaim;
use callboard_engine::tasks::{Rejection, Signal, TaskError, TaskFailure};
use callboard_kernel::{EntityId, Facts, fact, task};
use callboard_ledger::{Stored, error_chain};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::task::TransitionReason;

use super::checks::{Site, parent_of};
use super::service::{Verified, verdict};
use crate::crew::Crew;
use crate::git::{Attempt, CommitId, GitError, GitRepository, Leftovers, MergeStyle, Replay};

/// How often a branch that others move is tried again.
const ROUNDS_MAX: u32 = 8;

/// A task on its way into a branch.
struct Candidate {
    stored: Stored,
    base_commit: CommitId,
    tip: CommitId,
}

/// A repository and a branch of it.
type Target = (PathBuf, String);

/// Candidates on top of a branch.
struct Stack {
    /// Each with the commit that brings it in.
    merged: Vec<(Candidate, CommitId)>,
    tip: CommitId,
}

impl Crew {
    /// Merges what was verified, or delivers it as asked.
    pub(super) fn merge_all(&self, verified: Vec<Verified>) -> Result<(), TaskError> {
        let mut queues: Vec<(Target, Vec<Candidate>)> = Vec::new();
        for Verified { stored } in verified {
            match self.queued(stored)? {
                None => {}
                Some((place, candidate)) => match queues.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, queue)) => queue.push(candidate),
                    None => queues.push((place, vec![candidate])),
                },
            }
        }
        for ((repo, branch), queue) in queues {
            self.merge_queue(&repo, &branch, queue)?;
        }
        Ok(())
    }

    /// Where a task is to be merged; nothing if it is closed or held in another way.
    fn queued(&self, stored: Stored) -> Result<Option<(Target, Candidate)>, TaskError> {
        let facts = stored.entity.facts.clone();
        let asking = self.asking(self.system_actor());
        if facts.read(fact::APPROVAL) != Some(true) {
            return self.candidate(stored, &facts);
        }
        if !asking.approved_by_rule(&stored)? {
            asking.ask_approval(&stored, "a person must approve it before it is merged")?;
            return Ok(None);
        }
        self.candidate(asking.task(stored.entity.state.id)?, &facts)
    }

    fn candidate(&self, stored: Stored, facts: &Facts) -> Result<Option<(Target, Candidate)>, TaskError> {
        let commit = |name| facts.read(name).and_then(|text: &str| CommitId::parse(text).ok());
        let place =
            (facts.read(fact::REPO), facts.read(fact::BASE), commit(fact::BASE_COMMIT), commit(fact::TIP));
        let (Some(repo), Some(base), Some(base_commit), Some(tip)) = place else {
            self.finish(&stored, &Facts::none(), "verified; there is nothing to merge")?;
            return Ok(None);
        };
        if facts.read(fact::DELIVER) == Some("branch") {
            let branch = facts.read(fact::BRANCH).unwrap_or_default();
            self.finish(&stored, &Facts::none(), &format!("verified and delivered as the branch {branch}"))?;
            return Ok(None);
        }
        if facts.read(fact::DELIVER) == Some("pr") {
            self.open_request(&stored)?;
            return Ok(None);
        }
        Ok(Some(((PathBuf::from(repo), base.to_owned()), Candidate { stored, base_commit, tip })))
    }

    /// Merges a result that a person approved, and closes its task in the name of that person.
    pub fn merge_approved(&self, stored: &Stored, by: &callboard_kernel::Actor) -> Result<(), TaskError> {
        let facts = stored.entity.facts.clone();
        let person = Self { closer: Some(by.clone()), ..self.clone() };
        if let Some(((repo, branch), candidate)) = person.candidate(stored.clone(), &facts)? {
            person.merge_queue(&repo, &branch, vec![candidate])?;
        }
        Ok(())
    }

    fn merge_queue(&self, repo: &Path, branch: &str, mut queue: Vec<Candidate>) -> Result<(), TaskError> {
        let failed = |error: GitError| TaskError::Unfit {
            problem: format!("{}: {}", repo.display(), error_chain(&error)),
            help: error.help().to_owned(),
        };
        let repository = GitRepository::open(repo).map_err(failed)?;
        for _ in 0..ROUNDS_MAX {
            if queue.is_empty() {
                return Ok(());
            }
            let base = repository.base(Some(branch)).map_err(failed)?;
            queue = self.reconcile(&repository, &base.commit, queue)?;
            let stack =
                self.stack(&repository, &base.commit, std::mem::take(&mut queue)).map_err(failed)??;
            let good = self.largest_good(&repository, &base.commit, stack)?;
            if good.merged.is_empty() {
                return Ok(());
            }
            for (candidate, commit) in &good.merged {
                let intent = Facts::none().and(fact::COMMIT, commit.as_str());
                self.asking(self.system_actor()).note_task_any(&candidate.stored, intent)?;
            }
            match repository.publish(branch, &base.commit, &good.tip) {
                Ok(_) => {
                    for (candidate, commit) in good.merged {
                        let told = format!("verified and merged into {branch} as {commit}");
                        self.finish(
                            &candidate.stored,
                            &Facts::none().and(fact::COMMIT, commit.as_str()),
                            &told,
                        )?;
                    }
                    return Ok(());
                }
                Err(GitError::Moved { .. }) => {
                    queue = good.merged.into_iter().map(|(candidate, _)| candidate).collect()
                }
                Err(error) => {
                    let problem = format!("{}; {}", error_chain(&error), error.help());
                    self.tell(&format!("{branch} is not moved: {problem}"));
                    for (candidate, _) in good.merged {
                        self.note_problem(&candidate.stored, &problem)?;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Closes what is in the branch already: an earlier janitor published it and did not come to say so, or somebody merged it.
    fn reconcile(
        &self,
        repository: &GitRepository,
        target: &CommitId,
        queue: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, TaskError> {
        let mut left = Vec::new();
        for candidate in queue {
            let Candidate { stored, base_commit, tip } = &candidate;
            let is_changed = repository.is_changed(base_commit, tip).unwrap_or(true);
            let found = match is_changed {
                true => repository.is_merged(tip, base_commit, target).unwrap_or(None),
                false => None,
            };
            let intended = stored.entity.facts.read(fact::COMMIT).and_then(|text| CommitId::parse(text).ok());
            let is_published = intended
                .as_ref()
                .is_some_and(|commit| repository.is_ancestor(commit, target).unwrap_or(false));
            if is_published || found.is_some() {
                let commit = intended.filter(|_| is_published).unwrap_or_else(|| target.clone());
                let told = format!("verified, and found merged in the branch ({commit})");
                self.finish(stored, &Facts::none().and(fact::COMMIT, commit.as_str()), &told)?;
            } else if !is_changed {
                self.finish(
                    stored,
                    &Facts::none(),
                    "verified; it changed nothing, so there is nothing to merge",
                )?;
            } else {
                left.push(candidate);
            }
        }
        Ok(left)
    }

    /// Puts the candidates on top of each other. One that conflicts is rejected.
    fn stack(
        &self,
        repository: &GitRepository,
        base: &CommitId,
        queue: Vec<Candidate>,
    ) -> Result<Result<Stack, TaskError>, GitError> {
        let mut stack = Stack { merged: Vec::new(), tip: base.clone() };
        for candidate in queue {
            match replayed(repository, &candidate, &stack.tip)? {
                Replay::Clean(commit) => {
                    stack.tip = commit.clone();
                    stack.merged.push((candidate, commit));
                }
                Replay::Conflict { files, .. } => {
                    if let Err(error) = self.reject_conflict(&candidate, &files) {
                        return Ok(Err(error));
                    }
                }
            }
        }
        Ok(Ok(stack))
    }

    /// The whole stack if it passes the checks of its tasks, or as many of them as do.
    fn largest_good(
        &self,
        repository: &GitRepository,
        base: &CommitId,
        stack: Stack,
    ) -> Result<Stack, TaskError> {
        let count = stack.merged.len();
        let is_alone_and_unmoved = count == 1 && stack.merged.iter().all(|(one, _)| one.base_commit == *base);
        if count == 0 || is_alone_and_unmoved {
            return Ok(stack);
        }
        let Err(problem) = self.check_tip(repository, &stack)? else { return Ok(stack) };
        let git = |error: GitError| TaskError::Unfit {
            problem: error_chain(&error),
            help: error.help().to_owned(),
        };
        let mut candidates: Vec<Candidate> =
            stack.merged.into_iter().map(|(candidate, _)| candidate).collect();
        if candidates.len() == 1 {
            if let Some(candidate) = candidates.pop() {
                let told = format!("not passed once it was merged: {problem}");
                self.reject(&candidate.stored, &told, vec![verdict("the merged result", false, &problem)])?;
            }
            return Ok(Stack { merged: Vec::new(), tip: base.clone() });
        }
        let second = candidates.split_off(candidates.len() / 2);
        let first = self.stack(repository, base, candidates).map_err(git)??;
        let mut good = self.largest_good(repository, base, first)?;
        let onto = good.tip.clone();
        let second = self.stack(repository, &onto, second).map_err(git)??;
        let more = self.largest_good(repository, &onto, second)?;
        good.merged.extend(more.merged);
        good.tip = more.tip;
        Ok(good)
    }

    /// Runs the test commands of all tasks of a stack on the merged result.
    fn check_tip(&self, repository: &GitRepository, stack: &Stack) -> Result<Result<(), String>, TaskError> {
        let mut commands: Vec<String> = Vec::new();
        for (candidate, _) in &stack.merged {
            for signal in Signal::all(&candidate.stored.entity.facts).unwrap_or_default() {
                if let Signal::Test(command) = signal
                    && !commands.contains(&command)
                {
                    commands.push(command);
                }
            }
        }
        let Some((last, _)) = stack.merged.last() else { return Ok(Ok(())) };
        if commands.is_empty() {
            return Ok(Ok(()));
        }
        let name = format!("merge-{}", last.stored.entity.state.id);
        let root = self.state_dir.join("merges");
        let told = |error: GitError| format!("{}; {}", error_chain(&error), error.help());
        let worktree = match repository.worktree(&name, &stack.tip, &root, Attempt::Fresh) {
            Ok(worktree) => worktree,
            Err(error) => return Ok(Err(told(error))),
        };
        let (task, parent) = (last.stored.entity.state.id, parent_of(&last.stored));
        let site = Site { task, parent, dir: worktree.path(), git: None };
        let mut result = Ok(());
        for command in commands {
            let found = self.twice(&site, &command)?;
            if !found.passed {
                result = Err(format!("`{command}`: {}", found.detail));
                break;
            }
        }
        drop(repository.remove(&worktree, Leftovers::Discard));
        drop(repository.forget(&name, &stack.tip));
        Ok(result)
    }

    fn reject_conflict(&self, candidate: &Candidate, files: &[String]) -> Result<(), TaskError> {
        let branch = candidate.stored.entity.facts.read(fact::BRANCH).unwrap_or("its branch");
        let told = format!("conflict in {}; the work is kept on {branch}", files.join(", "));
        let failure = TaskFailure::new(const { ReasonCode::of("task.failed.conflict") }, told.as_str());
        let data = Facts::none().and(fact::ERROR, "conflict");
        let canonical = Some(TransitionReason::Retry);
        let failure = TaskFailure {
            canonical,
            data,
            evidence: format!("{} {}", candidate.tip, files.join(", ")),
            ..failure
        };
        let rejection = Rejection { failure, verdicts: vec![verdict("it can be merged", false, &told)] };
        self.tell(&format!("{}: {told}", candidate.stored.entity.state.id));
        match self.asking(self.system_actor()).reject(&candidate.stored, &rejection) {
            Ok(()) => Ok(()),
            // What waits for a person is left to that person, with what stands in the way.
            Err(TaskError::Refused(_)) => self.note_problem(&candidate.stored, &told),
            Err(error) => Err(error),
        }
    }

    /// Closes a task and removes its worktree, whose content is merged or on its branch.
    pub(super) fn finish(&self, stored: &Stored, delivered: &Facts, told: &str) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let asking = self.asking(self.closer.clone().unwrap_or_else(|| self.system_actor()));
        let now = asking.task(id)?;
        match asking.close(&now, delivered, told) {
            Ok(()) => self.tell(&format!("{id}: {told}")),
            Err(TaskError::Refused(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.deliver_goes_on(id);
        self.remove_worktree(stored);
        self.retire_branch(&asking.task(id)?);
        Ok(())
    }

    /// Removes the branch of a task that is merged into its base; one that somebody moved stays.
    pub(super) fn retire_branch(&self, stored: &Stored) {
        let facts = &stored.entity.facts;
        let tip = facts.read(fact::TIP).and_then(|text| CommitId::parse(text).ok());
        let (Some(_), Some(repo), Some(tip)) = (task::merged_as(&stored.entity), facts.read(fact::REPO), tip)
        else {
            return;
        };
        let task = stored.entity.state.id.to_string();
        let retired =
            GitRepository::open(Path::new(repo)).and_then(|repository| repository.retire_branch(&task, &tip));
        if let Err(error) = retired {
            self.tell(&format!("the branch of {task} stays: {}", error_chain(&error)));
        }
    }

    /// Whatever stood in the way of a task is over.
    pub(super) fn deliver_goes_on(&self, id: EntityId) {
        deliverable(id).confirm(&self.ledger, "nothing stands in the way any more", self.now());
    }

    /// Removes the worktree of a task, if everything in it is held by a ref.
    pub(crate) fn remove_worktree(&self, stored: &Stored) {
        let Some(repo) = stored.entity.facts.read(fact::REPO) else { return };
        let Ok(repository) = GitRepository::open(Path::new(repo)) else { return };
        let task = stored.entity.state.id.to_string();
        if let Ok(Some(worktree)) = repository.find_worktree(&task, &self.worktrees_dir())
            && let Err(error) = repository.remove(&worktree, Leftovers::Refuse)
        {
            self.tell(&format!("the worktree of {task} stays: {}", error_chain(&error)));
        }
    }

    /// Says on a task that stays what keeps it from being merged, once.
    pub(super) fn note_problem(&self, stored: &Stored, problem: &str) -> Result<(), TaskError> {
        let asking = self.asking(self.system_actor());
        let now = asking.task(stored.entity.state.id)?;
        if now.entity.facts.read(fact::PROBLEM) == Some(problem) {
            return Ok(());
        }
        let message = format!("{} is done and cannot be delivered: {problem}", now.entity.state.id);
        deliverable(now.entity.state.id).dispute(&self.ledger, &message, problem, self.now());
        asking.note_task_any(&now, Facts::none().and(fact::PROBLEM, problem))
    }
}

/// The claim that a task which is done can be delivered; it is disputed while something stands in the way that a person has to mend.
fn deliverable(id: EntityId) -> StandingClaim {
    StandingClaim::new(&format!("{id} can be delivered"), format!("{id} can be delivered"))
}

/// A candidate on top of a commit: rebased, and brought in by a merge commit that names the task.
fn replayed(repository: &GitRepository, candidate: &Candidate, onto: &CommitId) -> Result<Replay, GitError> {
    let rebased = match repository.rebase(&candidate.tip, &candidate.base_commit, onto)? {
        Replay::Clean(tip) => tip,
        conflict @ Replay::Conflict { .. } => return Ok(conflict),
    };
    let facts = &candidate.stored.entity.facts;
    let title = facts.read(fact::TITLE).unwrap_or("a task");
    let message = format!("{title}\n\nTask: {}\n", candidate.stored.entity.state.id);
    repository.merge_commit(onto, &rebased, &message, MergeStyle::Merge)
}
