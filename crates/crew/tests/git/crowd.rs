//! Several at once on one repository.

use std::thread;

use callboard_crew::git::{Attempt, GitError, GitRepository, Leftovers, MergeStyle, Replay};

use crate::place::{Place, git, write};

#[test]
fn tasks_side_by_side_do_not_disturb_each_other() {
    const TASKS: usize = 4;
    let place = Place::new();
    let base = place.commit("main");
    thread::scope(|scope| {
        for number in 0..TASKS {
            let (place, base) = (&place, &base);
            scope.spawn(move || {
                let repository = place.open();
                let task = format!("t{number}");
                let worktree =
                    repository.worktree(&task, base, &place.root(), Attempt::Continue).expect("a worktree");
                write(worktree.path(), &format!("{task}.txt"), &task);
                repository.snapshot(&worktree, &format!("refs/callboard/{task}/1/end")).expect("a snapshot");
                let tip = repository.commit_all(&worktree, &task).expect("a commit").tip;
                merge(&repository, &tip);
                repository.remove(&worktree, Leftovers::Refuse).expect("it is removed");
            });
        }
    });
    let files = place.git(&["ls-tree", "--name-only", "main"]);
    for number in 0..TASKS {
        assert!(files.contains(&format!("t{number}.txt")), "{files}");
    }
    assert_eq!(place.status(), "");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    place.git(&["fsck", "--strict"]);
}

/// Merges and publishes, and again from the start if somebody else was faster.
fn merge(repository: &GitRepository, tip: &callboard_crew::git::CommitId) {
    for _ in 0..50 {
        let target = repository.base(Some("main")).expect("a base");
        let merged =
            repository.merge_commit(&target.commit, tip, "merge", MergeStyle::Squash).expect("an answer");
        let Replay::Clean(new) = merged else { panic!("{merged:?}") };
        match repository.publish("main", &target.commit, &new) {
            Ok(_) => return,
            Err(GitError::Moved { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it was never its turn");
}

#[test]
fn two_who_make_the_same_worktree_get_one() {
    let place = Place::new();
    let base = place.commit("main");
    let made: Vec<_> = thread::scope(|scope| {
        let make =
            || place.open().worktree("t1", &base, &place.root(), Attempt::Continue).expect("a worktree");
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(git(made[0].path(), &["status", "--porcelain", "--branch"]), "## callboard/t1");
}

#[test]
fn a_user_who_commits_meanwhile_loses_nothing() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "task.txt", "task");
    let tip = repository.commit_all(&worktree, "task").expect("a commit").tip;
    thread::scope(|scope| {
        scope.spawn(|| merge(&repository, &tip));
        for number in 0..10 {
            write(&place.top(), &format!("user{number}.txt"), "user");
            // Git of the user may find the index or the branch locked, and is run again as a user would.
            let is_done = (0..100).any(|_| {
                let run =
                    |arguments: &[&str]| crate::place::try_git(&place.top(), arguments).status.success();
                run(&["add", "-A"]) && run(&["commit", "-q", "-m", "user"])
            });
            assert!(is_done);
        }
    });
    let files = place.git(&["ls-tree", "--name-only", "main"]);
    assert!(files.contains("task.txt"), "{files}");
    assert!((0..10).all(|number| files.contains(&format!("user{number}.txt"))), "{files}");
    assert_eq!(place.status(), "");
}
