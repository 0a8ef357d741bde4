//! Snapshots, commits of what an agent left, and parked work.

use std::os::unix::fs::PermissionsExt;

use callboard_crew::git::{ChangeKind, GitError};

use crate::place::{Place, commit_file, git, try_git, write};

#[test]
fn a_snapshot_has_untracked_files_and_touches_nothing() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let base = place.commit("main");
    let start = repository.snapshot(&worktree, "refs/callboard/t1/1/start").expect("a snapshot");
    assert_eq!(start.commit, base);
    write(worktree.path(), "a.txt", "changed\n");
    write(worktree.path(), "new/file.txt", "new\n");
    write(worktree.path(), "x.ignored", "secret\n");
    write(worktree.path(), "staged.txt", "staged\n");
    std::fs::remove_file(worktree.path().join("b.txt")).expect("it is there");
    git(worktree.path(), &["add", "staged.txt"]);
    let index = std::fs::read(worktree.git_dir().join("index")).expect("an index");
    let status = git(worktree.path(), &["--no-optional-locks", "status", "--porcelain"]);
    let end = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert!(end.left_out.is_empty());
    assert_eq!(std::fs::read(worktree.git_dir().join("index")).expect("an index"), index);
    assert_eq!(git(worktree.path(), &["--no-optional-locks", "status", "--porcelain"]), status);
    assert_eq!(git(worktree.path(), &["rev-parse", "HEAD"]), base.as_str());
    assert_eq!(place.commit("refs/callboard/t1/1/end"), end.commit);
    let changed = repository.changed_files(&start.commit, &end.commit).expect("a difference");
    let changed: Vec<(&str, &ChangeKind)> =
        changed.iter().map(|file| (file.path.as_str(), &file.kind)).collect();
    assert_eq!(
        changed,
        [
            ("a.txt", &ChangeKind::Modified),
            ("b.txt", &ChangeKind::Deleted),
            ("new/file.txt", &ChangeKind::Added),
            ("staged.txt", &ChangeKind::Added),
        ]
    );
    assert!(repository.is_changed(&base, &end.commit).expect("an answer"));
    assert!(!repository.is_changed(&base, &start.commit).expect("an answer"));
}

#[test]
fn a_difference_is_bounded() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let next = place.commit_file("a.txt", "one\nTWO\nthree\nfour\nfive\n", "change");
    let whole = repository.diff(&base, &next, 10_000).expect("a difference");
    assert!(whole.text.contains("-two\n+TWO\n") && !whole.is_cut, "{}", whole.text);
    let cut = repository.diff(&base, &next, 20).expect("a difference");
    assert_eq!((cut.text.len(), cut.is_cut), (20, true));
    let missing = callboard_crew::git::CommitId::parse(&"1".repeat(40)).expect("digits");
    assert!(repository.diff(&base, &missing, 100).is_err());
}

#[test]
fn a_rename_is_one_change() {
    let place = Place::new();
    let base = place.commit("main");
    place.git(&["mv", "a.txt", "moved.txt"]);
    place.git(&["commit", "-q", "-m", "move"]);
    let changed = place.open().changed_files(&base, &place.commit("main")).expect("a difference");
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].kind, ChangeKind::Renamed { from: "a.txt".to_owned() });
}

#[test]
fn a_snapshot_needs_no_index_lock_and_no_honest_index() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "a.txt", "hidden change\n");
    git(worktree.path(), &["update-index", "--assume-unchanged", "a.txt"]);
    git(worktree.path(), &["update-index", "--skip-worktree", "b.txt"]);
    write(worktree.path(), "b.txt", "hidden, too\n");
    std::fs::write(worktree.git_dir().join("index.lock"), "").expect("a lock");
    let snapshot = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert_eq!(place.git(&["show", &format!("{}:a.txt", snapshot.commit)]), "hidden change");
    assert_eq!(place.git(&["show", &format!("{}:b.txt", snapshot.commit)]), "hidden, too");
    std::fs::write(worktree.git_dir().join("index"), "garbage").expect("it is written");
    let again = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert!(!repository.is_changed(&snapshot.commit, &again.commit).expect("an answer"));
}

#[test]
fn a_snapshot_goes_to_a_hidden_ref_only() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    for name in ["refs/heads/main", "main", "refs/callboard/../heads/main", "-d"] {
        assert!(matches!(repository.snapshot(&worktree, name), Err(GitError::Name { .. })), "{name}");
    }
}

#[test]
fn what_was_left_is_committed_on_the_branch() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let own = commit_file(worktree.path(), "own.txt", "x", "the agent's");
    write(worktree.path(), "left.txt", "left\n");
    let committed = repository.commit_all(&worktree, "what was left\n\nbody").expect("a commit");
    assert!(committed.is_new);
    assert_eq!(place.commit("callboard/t1"), committed.tip);
    let shown = place.git(&["show", "-s", "--format=%an <%ae>|%cn|%P|%B", committed.tip.as_str()]);
    assert_eq!(
        shown.trim_end(),
        format!("Callboard <callboard@localhost>|Callboard|{own}|what was left\n\nbody")
    );
    assert_eq!(git(worktree.path(), &["status", "--porcelain"]), "");
    let again = repository.commit_all(&worktree, "nothing").expect("an answer");
    assert_eq!((again.tip, again.is_new), (committed.tip, false));
    place.git(&["fsck", "--strict"]);
}

#[test]
fn a_commit_follows_a_head_that_left_the_branch() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    git(worktree.path(), &["checkout", "-q", "-b", "feature"]);
    commit_file(worktree.path(), "f.txt", "f", "on another branch");
    write(worktree.path(), "g.txt", "g");
    let committed = repository.commit_all(&worktree, "rest").expect("a commit");
    assert_eq!(place.commit("callboard/t1"), committed.tip);
    assert_eq!(
        place.git(&["ls-tree", "--name-only", "callboard/t1"]).lines().filter(|name| name.len() == 5).count(),
        4
    );
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## callboard/t1");
    git(worktree.path(), &["checkout", "-q", "--detach", "main"]);
    let refused = repository.commit_all(&worktree, "rest");
    assert!(matches!(refused, Err(GitError::OffBranch { .. })), "{refused:?}");
    assert_eq!(place.commit("callboard/t1"), committed.tip);
}

#[test]
fn a_branch_that_stands_for_another_does_not_move_it() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let main = place.commit("main");
    place.git(&["symbolic-ref", "refs/heads/callboard/t1", "refs/heads/main"]);
    write(worktree.path(), "evil.txt", "x");
    repository.commit_all(&worktree, "work").expect("a commit");
    assert_eq!(place.commit("main"), main);
    place.git(&["symbolic-ref", "refs/callboard/t1/1/end", "refs/heads/main"]);
    repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert_eq!(place.commit("main"), main);
}

#[test]
fn a_lock_that_was_left_ends_in_a_clear_error() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "left.txt", "left\n");
    let lock = worktree.git_dir().join("index.lock");
    std::fs::write(&lock, "").expect("a lock");
    let refused = repository.commit_all(&worktree, "work").expect_err("it is locked");
    assert!(matches!(&refused, GitError::Locked { lock: named } if *named == lock), "{refused:?}");
    assert!(refused.help().contains("remove the lock file"));
    std::fs::remove_file(&lock).expect("it is there");
    let committed = repository.commit_all(&worktree, "work").expect("it goes on");
    assert_eq!(place.git(&["show", &format!("{}:left.txt", committed.tip)]), "left");
    assert_eq!(git(worktree.path(), &["status", "--porcelain"]), "");
}

#[test]
fn parked_work_survives_the_worktree() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    write(worktree.path(), "half.txt", "half\n");
    let parked = repository.park(&worktree, "parked/t1").expect("it is parked");
    assert_eq!(repository.park(&worktree, "parked/t1").expect("it is parked"), parked);
    write(worktree.path(), "half.txt", "more\n");
    let refused = repository.park(&worktree, "parked/t1");
    assert!(matches!(refused, Err(GitError::BranchTaken { .. })), "{refused:?}");
    assert!(matches!(repository.park(&worktree, "-x"), Err(GitError::Name { .. })));
    std::fs::remove_dir_all(worktree.path()).expect("it is there");
    place.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(place.git(&["show", "parked/t1:half.txt"]), "half");
}

#[test]
fn work_in_the_middle_of_a_merge_is_parked() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "a.txt", "mine\n", "mine");
    place.commit_file("a.txt", "theirs\n", "theirs");
    assert!(!try_git(worktree.path(), &["merge", "-q", "main"]).status.success(), "there is a conflict");
    let parked = repository.park(&worktree, "parked/t1").expect("it is parked");
    assert!(place.git(&["show", &format!("{}:a.txt", parked.commit)]).contains("<<<<<<<"));
}

#[test]
fn repositories_in_a_worktree_are_named_and_left_out() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let nested = worktree.path().join("vendor/lib");
    std::fs::create_dir_all(&nested).expect("a directory");
    git(&nested, &["init", "-q"]);
    commit_file(&nested, "n.txt", "n", "nested");
    write(worktree.path(), "vendor/own.txt", "own");
    let snapshot = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert_eq!(snapshot.left_out, ["vendor/lib"]);
    assert_eq!(
        place.git(&["ls-tree", "-r", "--name-only", snapshot.commit.as_str(), "vendor"]),
        "vendor/own.txt"
    );
    git(worktree.path(), &["add", "-A"]);
    git(worktree.path(), &["commit", "-q", "-m", "with a submodule by mistake"]);
    let snapshot = repository.snapshot(&worktree, "refs/callboard/t1/2/end").expect("a snapshot");
    assert_eq!(snapshot.left_out, ["vendor/lib"]);
}

#[test]
fn odd_names_and_modes_are_kept() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let names = ["-rf", "with space", "new\nline", "qu\"ote", "ünï", ":(exclude)x", "*.glob", "[x]"];
    for name in names {
        write(worktree.path(), name, name);
    }
    std::os::unix::fs::symlink("/etc/passwd", worktree.path().join("link")).expect("a link");
    let script = worktree.path().join("run.sh");
    std::fs::write(&script, "#!/bin/sh\n").expect("it is written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let committed = repository.commit_all(&worktree, "odd").expect("a commit");
    let tree = place.git(&["ls-tree", "-r", "-z", committed.tip.as_str()]);
    for name in names {
        assert!(tree.split('\0').any(|entry| entry.ends_with(&format!("\t{name}"))), "{name:?} in {tree:?}");
    }
    assert!(tree.contains("120000 blob") && tree.contains("100755 blob"), "{tree:?}");
}
