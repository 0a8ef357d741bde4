//! Worktrees of tasks: made, found again, started afresh, and made by a process that died.

use callboard_crew::git::{Attempt, GitError};

use crate::place::{Place, commit_file, git, write};

#[test]
fn a_worktree_is_one_for_git() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    assert_eq!(worktree.path(), place.root().join("t1"));
    assert_eq!(worktree.branch(), "callboard/t1");
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## callboard/t1");
    assert_eq!(git(worktree.path(), &["rev-parse", "HEAD"]), place.commit("main").as_str());
    let listed = place.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains(&format!("worktree {}", worktree.path().display())), "{listed}");
    assert!(!listed.contains("locked") && !listed.contains("prunable"), "{listed}");
    place.git(&["worktree", "prune"]);
    place.git(&["fsck", "--strict"]);
    commit_file(worktree.path(), "new.txt", "x", "the agent's own commit");
    assert_eq!(place.git(&["show", "callboard/t1:new.txt"]), "x");
    assert_eq!(place.status(), "");
}

#[test]
fn going_on_keeps_what_is_there() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let first = place.worktree(&repository, "t1");
    write(first.path(), "unfinished.txt", "x");
    let again = repository.worktree("t1", &base, &place.root(), Attempt::Continue).expect("it is there");
    assert_eq!(again, first);
    assert!(first.path().join("unfinished.txt").exists());
    assert_eq!(repository.find_worktree("t1", &place.root()).expect("it fits"), Some(first));
    assert_eq!(repository.find_worktree("t2", &place.root()).expect("it fits"), None);
}

#[test]
fn going_on_without_the_directory_starts_from_the_branch() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let tip = commit_file(worktree.path(), "done.txt", "x", "done");
    std::fs::remove_dir_all(worktree.path()).expect("it is there");
    let again = place.worktree(&repository, "t1");
    assert_eq!(git(again.path(), &["rev-parse", "HEAD"]), tip.as_str());
    assert_eq!(git(again.path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_fresh_start_is_at_the_base_and_holds_what_was_there() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "done.txt", "committed", "done");
    write(worktree.path(), "half.txt", "uncommitted");
    let fresh = repository.worktree("t1", &base, &place.root(), Attempt::Fresh).expect("a fresh one");
    assert_eq!(git(fresh.path(), &["rev-parse", "HEAD"]), base.as_str());
    assert!(!fresh.path().join("done.txt").exists() && !fresh.path().join("half.txt").exists());
    let left = place.git(&["for-each-ref", "--format=%(refname)", "refs/callboard/t1/left/"]);
    let held: Vec<String> = left.lines().map(|name| place.git(&["ls-tree", "--name-only", name])).collect();
    assert!(held.iter().any(|files| files.contains("half.txt") && files.contains("done.txt")), "{held:?}");
}

#[test]
fn what_a_process_left_that_died_is_made_anew() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    // As after a death while files were written.
    std::fs::write(worktree.git_dir().join("locked"), "callboard: being made\n").expect("it is written");
    std::fs::remove_file(worktree.git_dir().join("index")).expect("it is there");
    std::fs::remove_file(worktree.path().join("a.txt")).expect("it is there");
    place.git(&["worktree", "prune"]);
    assert_eq!(repository.find_worktree("t1", &place.root()).expect("it fits"), None);
    let again = place.worktree(&repository, "t1");
    assert_eq!(git(again.path(), &["status", "--porcelain"]), "");
    assert!(again.path().join("a.txt").exists());
    // As after a death between the branch and the directory, and between the record and its content.
    place.git(&["branch", "callboard/t2", "main"]);
    std::fs::create_dir(place.top().join(".git/worktrees/callboard-t2")).expect("a directory");
    let second = place.worktree(&repository, "t2");
    assert_eq!(git(second.path(), &["status", "--porcelain", "--branch"]), "## callboard/t2");
}

#[test]
fn worktrees_are_outside_of_the_repository() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    for root in [place.top().join("inside"), place.top().join(".git/callboard")] {
        let made = repository.worktree("t1", &base, &root, Attempt::Continue);
        assert!(matches!(made, Err(GitError::RootInside { .. })), "{made:?}");
    }
    let made = repository.worktree("../t1", &base, &place.root(), Attempt::Continue);
    assert!(matches!(made, Err(GitError::Name { .. })), "{made:?}");
}

#[test]
fn something_in_the_way_is_not_touched() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    write(&place.root(), "t1/precious.txt", "mine");
    let made = repository.worktree("t1", &base, &place.root(), Attempt::Fresh);
    assert!(matches!(made, Err(GitError::InTheWay { .. })), "{made:?}");
    assert!(place.root().join("t1/precious.txt").exists());
    let elsewhere = place.path("elsewhere");
    place.git(&["worktree", "add", "-q", "-b", "callboard/t2", elsewhere.to_str().expect("text")]);
    let made = repository.worktree("t2", &base, &place.root(), Attempt::Fresh);
    assert!(matches!(made, Err(GitError::InTheWay { .. })), "{made:?}");
    let missing = callboard_crew::git::CommitId::parse(&"1".repeat(40)).expect("digits");
    let made = repository.worktree("t3", &missing, &place.root(), Attempt::Fresh);
    assert!(matches!(made, Err(GitError::NoSuchCommit { .. })), "{made:?}");
}
