//! The list of worktrees, and their removal.

use std::os::unix::fs::PermissionsExt;

use callboard_crew::git::{GitError, Leftovers, MergedBy};

use crate::place::{Place, commit_file, git, write};

#[test]
fn worktrees_are_listed_with_what_is_in_them() {
    let place = Place::new();
    let repository = place.open();
    let [clean, dirty, ahead, gone] = ["t1", "t2", "t3", "t4"].map(|task| place.worktree(&repository, task));
    write(dirty.path(), "new.txt", "x");
    commit_file(ahead.path(), "ahead.txt", "x", "ahead");
    std::fs::remove_dir_all(gone.path()).expect("it is there");
    let users = place.path("users");
    place.git(&["worktree", "add", "-q", "-b", "users", users.to_str().expect("text")]);
    std::fs::remove_dir_all(&users).expect("it is there");
    let listed = repository.worktrees(&place.root(), "main").expect("a list");
    let listed: Vec<_> =
        listed.iter().map(|status| (&status.worktree, status.is_dirty, status.merged.clone())).collect();
    let merged = Some(MergedBy::Ancestor);
    assert_eq!(listed, [(&clean, false, merged.clone()), (&dirty, true, merged), (&ahead, false, None)]);
    assert!(!gone.git_dir().exists());
    assert!(place.top().join(".git/worktrees/users").exists(), "the user's record is not ours to prune");
    assert!(matches!(repository.worktrees(&place.root(), "none"), Err(GitError::NoBranch { .. })));
}

#[test]
fn what_no_ref_holds_is_not_removed() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "half.txt", "x");
    let refused = repository.remove(&worktree, Leftovers::Refuse);
    assert!(
        matches!(&refused, Err(GitError::Unsaved { files, .. }) if files == &["half.txt"]),
        "{refused:?}"
    );
    assert!(worktree.path().join("half.txt").exists());
    git(worktree.path(), &["checkout", "-q", "--detach"]);
    let lonely = commit_file(worktree.path(), "half.txt", "x", "on no branch");
    let refused = repository.remove(&worktree, Leftovers::Refuse);
    assert!(
        matches!(&refused, Err(GitError::Unsaved { files, .. }) if files == &[format!("commit {lonely}")]),
        "{refused:?}"
    );
    repository.park(&worktree, "parked/t1").expect("it is parked");
    repository.remove(&worktree, Leftovers::Refuse).expect("a branch holds it");
    assert!(!worktree.path().exists() && !worktree.git_dir().exists());
    assert_eq!(place.git(&["show", "parked/t1:half.txt"]), "x");
    repository.remove(&worktree, Leftovers::Refuse).expect("it is gone already");
}

#[test]
fn a_snapshot_of_the_same_files_is_enough() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "half.txt", "x");
    repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    write(worktree.path(), "half.txt", "y");
    assert!(repository.remove(&worktree, Leftovers::Refuse).is_err());
    write(worktree.path(), "half.txt", "x");
    repository.remove(&worktree, Leftovers::Refuse).expect("the ref holds it");
    assert_eq!(place.git(&["show", "refs/callboard/t1/1/end:half.txt"]), "x");
}

#[test]
fn a_repository_inside_is_removed_only_when_asked_for() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let nested = worktree.path().join("clone");
    std::fs::create_dir(&nested).expect("a directory");
    git(&nested, &["init", "-q"]);
    commit_file(&nested, "n.txt", "n", "nested");
    let refused = repository.remove(&worktree, Leftovers::Refuse);
    assert!(matches!(&refused, Err(GitError::Unsaved { files, .. }) if files == &["clone"]), "{refused:?}");
    let closed = worktree.path().join("closed/inner");
    write(&closed, "x.ignored", "x");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).expect("it is ours");
    repository.remove(&worktree, Leftovers::Discard).expect("it was asked for");
    assert!(!worktree.path().exists());
}

#[test]
fn an_interrupted_removal_is_finished() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    // As after a death behind the rename.
    std::fs::rename(worktree.path(), place.root().join(".callboard-trash-0123")).expect("it is ours");
    repository.prune(&place.root()).expect("it is pruned");
    assert!(!worktree.git_dir().exists());
    assert_eq!(std::fs::read_dir(place.root()).expect("it is there").count(), 0);
    place.worktree(&repository, "t1");
}

#[test]
fn a_task_is_forgotten_when_its_worktree_is_gone() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let other = place.worktree(&repository, "t1x");
    repository.snapshot(&worktree, "refs/callboard/t1/1/start").expect("a snapshot");
    repository.snapshot(&other, "refs/callboard/t1x/1/start").expect("a snapshot");
    let tip = place.commit("callboard/t1");
    assert!(matches!(repository.forget("t1", &tip), Err(GitError::InTheWay { .. })));
    let moved = commit_file(worktree.path(), "x.txt", "x", "x");
    repository.remove(&worktree, Leftovers::Refuse).expect("the branch holds it");
    assert!(matches!(repository.forget("t1", &tip), Err(GitError::Moved { .. })));
    repository.forget("t1", &moved).expect("it is forgotten");
    let left = place.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(left, "refs/callboard/t1x/1/start\nrefs/heads/callboard/t1x\nrefs/heads/main");
}
