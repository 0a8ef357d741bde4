//! Is the work of a task in a branch?

use callboard_crew::git::{CommitId, GitRepository, MergedBy, TaskWorktree};

use crate::place::{Place, commit_file, git};

/// A task with two commits, and a target that went on meanwhile.
fn task() -> (Place, GitRepository, TaskWorktree, CommitId, CommitId) {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "one.txt", "1\n", "one");
    let tip = commit_file(worktree.path(), "two.txt", "2\n", "two");
    place.commit_file("meanwhile.txt", "m\n", "meanwhile");
    (place, repository, worktree, base, tip)
}

fn judged(place: &Place, repository: &GitRepository, tip: &CommitId, base: &CommitId) -> Option<MergedBy> {
    repository.is_merged(tip, base, &place.commit("main")).expect("an answer")
}

#[test]
fn work_that_is_nowhere_is_not_merged() {
    let (place, repository, _, base, tip) = task();
    assert_eq!(judged(&place, &repository, &tip, &base), None);
    place.git(&["cherry-pick", &format!("{tip}~1")]);
    assert_eq!(judged(&place, &repository, &tip, &base), None, "one of two is not all");
}

#[test]
fn a_merge_is_found() {
    let (place, repository, _, base, tip) = task();
    place.git(&["merge", "-q", "--no-ff", "-m", "merge", tip.as_str()]);
    assert_eq!(judged(&place, &repository, &tip, &base), Some(MergedBy::Ancestor));
}

#[test]
fn a_rebase_is_found_by_its_patches_although_the_files_changed_since() {
    let (place, repository, _, base, tip) = task();
    place.git(&["cherry-pick", &format!("{tip}~1"), tip.as_str()]);
    let newest = place.commit("main");
    place.commit_file("two.txt", "changed since\n", "since");
    assert_eq!(judged(&place, &repository, &tip, &base), Some(MergedBy::Patches { newest }));
}

#[test]
fn a_squash_is_found_although_the_files_changed_since() {
    let (place, repository, _, base, tip) = task();
    place.git(&["merge", "-q", "--squash", tip.as_str()]);
    place.git(&["commit", "-q", "-m", "squash"]);
    let commit = place.commit("main");
    assert_eq!(judged(&place, &repository, &tip, &base), Some(MergedBy::Squash { commit: commit.clone() }));
    place.commit_file("two.txt", "changed since\n", "since");
    assert_eq!(judged(&place, &repository, &tip, &base), Some(MergedBy::Squash { commit }));
}

#[test]
fn the_same_content_by_other_commits_is_found() {
    let (place, repository, _, base, tip) = task();
    place.commit_file("two.txt", "2\n", "other two");
    place.write("three.txt", "3\n");
    place.commit_file("one.txt", "1\n", "other one, with more");
    assert_eq!(judged(&place, &repository, &tip, &base), Some(MergedBy::Content));
}

#[test]
fn a_merge_commit_with_work_of_its_own_is_not_overlooked() {
    let (place, repository, worktree, base, tip) = task();
    git(worktree.path(), &["merge", "-q", "--no-commit", "main"]);
    let merge = commit_file(worktree.path(), "in-the-merge.txt", "x\n", "merge");
    place.git(&["cherry-pick", &format!("{tip}~1"), tip.as_str()]);
    assert_eq!(judged(&place, &repository, &merge, &base), None);
}

#[test]
fn nothing_done_counts_as_merged() {
    let (place, repository, _, base, _) = task();
    assert_eq!(judged(&place, &repository, &base, &base), Some(MergedBy::Ancestor));
}
