//! Rebases and merges in the object store.

use callboard_crew::git::{CommitId, MergeStyle, Replay};

use crate::place::{Place, commit_file, git};

fn clean(replay: Replay) -> CommitId {
    match replay {
        Replay::Clean(commit) => commit,
        Replay::Conflict { files, at } => panic!("conflicts in {files:?} at {at}"),
    }
}

#[test]
fn commits_are_replayed_with_author_and_message() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    std::fs::write(worktree.path().join("c.txt"), "c\n").expect("it is written");
    git(worktree.path(), &["add", "."]);
    let author =
        ["commit", "-q", "--author=Ünï <u@x>", "--date=2001-02-03T04:05:06+0200", "-m", "first\n\nBody: x"];
    git(worktree.path(), &author);
    let tip = commit_file(worktree.path(), "a.txt", "ONE\ntwo\nthree\nfour\nfive\n", "second");
    let onto = place.commit_file("a.txt", "one\ntwo\nthree\nfour\nFIVE\n", "meanwhile");
    place.write("a.txt", "the user is typing\n");
    let new = clean(repository.rebase(&tip, &base, &onto).expect("an answer"));
    let log = place.git(&["log", "--format=%an <%ae> %ad|%cn|%B", "--date=iso", &format!("{onto}..{new}")]);
    assert!(log.contains("Ünï <u@x> 2001-02-03 04:05:06 +0200|Callboard|first\n\nBody: x"), "{log}");
    assert_eq!(place.git(&["rev-list", "--count", &format!("{onto}..{new}")]), "2");
    assert_eq!(place.git(&["show", &format!("{new}:a.txt")]), "ONE\ntwo\nthree\nfour\nFIVE");
    assert_eq!(place.read("a.txt"), "the user is typing\n");
    assert_eq!(place.commit("main"), onto);
    place.git(&["fsck", "--strict"]);
}

#[test]
fn a_conflict_names_the_files_and_changes_nothing() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "fine.txt", "fine", "fine");
    let tip = commit_file(worktree.path(), "a.txt", "mine\n", "mine");
    let onto = place.commit_file("a.txt", "theirs\n", "theirs");
    let refs = place.git(&["for-each-ref"]);
    let conflict = Replay::Conflict { files: vec!["a.txt".to_owned()], at: tip.clone() };
    assert_eq!(repository.rebase(&tip, &base, &onto).expect("an answer"), conflict);
    for style in [MergeStyle::Merge, MergeStyle::Squash] {
        assert_eq!(repository.merge_commit(&onto, &tip, "m", style).expect("an answer"), conflict);
    }
    assert_eq!(place.git(&["for-each-ref"]), refs);
    assert_eq!(place.status(), "");
}

#[test]
fn what_is_there_already_is_left_out() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "one.txt", "1", "one");
    let tip = commit_file(worktree.path(), "two.txt", "2", "two");
    let onto = place.commit_file("one.txt", "1", "somebody else's one");
    let new = clean(repository.rebase(&tip, &base, &onto).expect("an answer"));
    assert_eq!(place.git(&["log", "--format=%s", &format!("{onto}..{new}")]), "two");
    assert_eq!(clean(repository.rebase(&tip, &base, &base).expect("an answer")), tip);
    assert_eq!(clean(repository.rebase(&base, &base, &onto).expect("an answer")), onto);
}

#[test]
fn a_branch_with_merges_is_merged_and_keeps_its_resolution() {
    let place = Place::new();
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "own.txt", "own", "own");
    place.commit_file("meanwhile.txt", "m", "meanwhile");
    git(worktree.path(), &["merge", "-q", "--no-commit", "main"]);
    let tip = commit_file(worktree.path(), "in-the-merge.txt", "x", "merge");
    let onto = place.commit_file("later.txt", "l", "later");
    let new = clean(repository.rebase(&tip, &base, &onto).expect("an answer"));
    let files = place.git(&["ls-tree", "--name-only", new.as_str()]);
    for name in ["own.txt", "meanwhile.txt", "in-the-merge.txt", "later.txt"] {
        assert!(files.contains(name), "{name} in {files}");
    }
    assert!(repository.is_ancestor(&onto, &new).expect("an answer"));
}

#[test]
fn a_merge_has_two_parents_and_a_squash_one() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "one.txt", "1", "one");
    let tip = commit_file(worktree.path(), "two.txt", "2", "two");
    let onto = place.commit_file("b.txt", "B\n", "meanwhile");
    let merge =
        clean(repository.merge_commit(&onto, &tip, "Merge t1", MergeStyle::Merge).expect("an answer"));
    let squash =
        clean(repository.merge_commit(&onto, &tip, "Squash t1", MergeStyle::Squash).expect("an answer"));
    let parents = |commit: &CommitId| place.git(&["show", "-s", "--format=%P|%an|%s", commit.as_str()]);
    assert_eq!(parents(&merge), format!("{onto} {tip}|Callboard|Merge t1"));
    assert_eq!(parents(&squash), format!("{onto}|Tess|Squash t1"));
    assert!(!repository.is_changed(&merge, &squash).expect("an answer"));
    let again = repository.merge_commit(&squash, &tip, "again", MergeStyle::Squash).expect("an answer");
    assert_eq!(clean(again), squash);
    let again = repository.merge_commit(&merge, &tip, "again", MergeStyle::Merge).expect("an answer");
    assert_eq!(clean(again), merge);
}
