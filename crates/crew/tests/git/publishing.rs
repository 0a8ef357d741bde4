//! Moving a branch, with and without checkouts, over local changes, and after a crash between two steps.

use callboard_crew::git::{CommitId, GitError, GitRepository};

use crate::place::{Place, git, try_git, write};

/// A commit on top of `main` that changes a file, adds one and deletes one.
fn work(place: &Place) -> CommitId {
    let main = place.commit("main");
    place.side_commit(
        &main,
        &[
            ("a.txt", Some("new\n")),
            ("dir/added.txt", Some("added\n")),
            ("b.txt", None),
            ("x.ignored", Some("i\n")),
        ],
    )
}

fn publish(place: &Place, old: &CommitId, new: &CommitId) -> Result<usize, GitError> {
    place.open().publish("main", old, new).map(|published| published.checkouts.len())
}

/// Files, index, refs and locks of the checkout.
fn picture(place: &Place) -> String {
    let parts = [
        place.git(&["for-each-ref", "refs/heads"]),
        place.git(&["ls-files", "-s"]),
        place.git(&["--no-optional-locks", "status", "--porcelain", "--ignored"]),
        place.git(&["--no-optional-locks", "diff"]),
        place.read("a.txt"),
        place.read("dir/added.txt"),
        place.read("x.ignored"),
    ];
    assert!(
        !place.top().join(".git/index.lock").exists()
            && !place.top().join(".git/refs/heads/main.lock").exists()
    );
    parts.join("\n---\n")
}

#[test]
fn a_clean_checkout_is_brought_along() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let published = place.open().publish("main", &old, &new).expect("it is published");
    assert_eq!(published.checkouts, [place.top()]);
    assert_eq!(place.commit("main"), new);
    assert_eq!(place.status(), "");
    assert_eq!((place.read("a.txt").as_str(), place.read("dir/added.txt").as_str()), ("new\n", "added\n"));
    assert!(!place.top().join("b.txt").exists());
    assert_eq!(place.git(&["log", "-1", "-g", "--format=%gs", "main"]), "callboard: publish");
    assert_eq!(publish(&place, &old, &new).expect("again is fine"), 0);
    place.git(&["fsck", "--strict"]);
}

#[test]
fn unrelated_changes_are_kept() {
    let place = Place::new();
    place.commit_file("own.txt", "own\n", "own");
    place.commit_file("staged.txt", "own\n", "staged");
    let (old, new) = (place.commit("main"), work(&place));
    place.write("own.txt", "unstaged\n");
    place.write("staged.txt", "staged\n");
    place.git(&["add", "staged.txt"]);
    place.write("untracked.txt", "untracked\n");
    place.write("new-and-staged.txt", "x\n");
    place.git(&["add", "new-and-staged.txt"]);
    let before = place.status();
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 1);
    assert_eq!(place.status(), before);
    assert!(
        before.contains("M  staged.txt")
            && before.contains(" M own.txt")
            && before.contains("A  new-and-staged.txt")
    );
    assert_eq!(place.read("own.txt"), "unstaged\n");
    assert_eq!(place.read("a.txt"), "new\n");
}

#[test]
fn overlapping_changes_refuse_everything() {
    let cases: [(&str, &str, &[&str]); 9] = [
        ("unstaged", "a.txt", &[]),
        ("staged", "a.txt", &["add", "a.txt"]),
        ("deleted by the change", "b.txt", &[]),
        ("untracked", "dir/added.txt", &[]),
        ("untracked and staged", "dir/added.txt", &["add", "dir/added.txt"]),
        ("announced", "dir/added.txt", &["add", "-N", "dir/added.txt"]),
        ("ignored", "x.ignored", &[]),
        ("a file for a directory", "dir", &[]),
        ("a directory for a file", "x.ignored/inner.ignored", &[]),
    ];
    for (what, name, staged) in cases {
        let place = Place::new();
        let (old, new) = (place.commit("main"), work(&place));
        place.write(name, "mine\n");
        if !staged.is_empty() {
            place.git(staged);
        }
        let before = picture(&place);
        let refused = publish(&place, &old, &new);
        let Err(GitError::Overlap { checkout, files: named }) = refused else {
            panic!("{what}: {refused:?}")
        };
        assert_eq!(named, [name], "{what}");
        assert_eq!(checkout, place.top());
        assert_eq!(picture(&place), before, "{what}");
        assert_eq!(std::fs::read_to_string(place.top().join(name)).expect("it is there"), "mine\n", "{what}");
    }
}

#[test]
fn a_change_that_is_staged_and_taken_back_in_the_file_overlaps() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let original = place.read("a.txt");
    place.write("a.txt", "only in the index\n");
    place.git(&["add", "a.txt"]);
    place.write("a.txt", &original);
    let before = picture(&place);
    assert!(matches!(publish(&place, &old, &new), Err(GitError::Overlap { .. })));
    place.write("a.txt", "new\n");
    assert!(
        matches!(publish(&place, &old, &new), Err(GitError::Overlap { .. })),
        "the index has what nobody else has"
    );
    place.write("a.txt", &original);
    assert_eq!(picture(&place), before);
}

#[test]
fn a_crash_in_the_middle_is_finished_by_publishing_again() {
    // Files were written and the index was not.
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.write("a.txt", "new\n");
    place.write("dir/added.txt", "added\n");
    std::fs::remove_file(place.top().join("b.txt")).expect("it is there");
    place.write("mine.txt", "mine\n");
    assert_eq!(publish(&place, &old, &new).expect("it is finished"), 1);
    assert_eq!((place.status().as_str(), place.commit("main")), ("?? mine.txt", new));
    // Files and index were written and the branch was not moved.
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.git(&["read-tree", "-m", "-u", old.as_str(), new.as_str()]);
    place.write("mine.txt", "mine\n");
    assert_eq!(publish(&place, &old, &new).expect("it is finished"), 1);
    assert_eq!((place.status().as_str(), place.commit("main")), ("?? mine.txt", new));
}

#[test]
fn a_branch_that_moved_is_left_alone() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let now = place.commit_file("user.txt", "x", "the user was faster");
    let before = picture(&place);
    let refused = publish(&place, &old, &new);
    assert!(
        matches!(&refused, Err(GitError::Moved { found: Some(found), .. }) if *found == now),
        "{refused:?}"
    );
    let refused = publish(&place, &now, &new);
    assert!(matches!(refused, Err(GitError::NotForward { .. })), "{refused:?}");
    assert_eq!(picture(&place), before);
    let repository = place.open();
    assert!(matches!(repository.publish("none", &old, &new), Err(GitError::NoBranch { .. })));
    assert!(matches!(repository.publish("-f", &old, &new), Err(GitError::Name { .. })));
    place.git(&["branch", "callboard/t9", old.as_str()]);
    assert!(matches!(repository.publish("callboard/t9", &old, &new), Err(GitError::Name { .. })));
}

#[test]
fn a_locked_branch_or_index_changes_nothing() {
    for lock in ["refs/heads/main.lock", "index.lock"] {
        let place = Place::new();
        let (old, new) = (place.commit("main"), work(&place));
        let before = picture(&place);
        let path = place.top().join(".git").join(lock);
        std::fs::write(&path, "").expect("a lock");
        let refused = publish(&place, &old, &new);
        assert!(
            matches!(&refused, Err(GitError::Locked { lock }) if *lock == path || lock.ends_with("main.lock")),
            "{refused:?}"
        );
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(picture(&place), before);
        assert_eq!(publish(&place, &old, &new).expect("it goes on"), 1);
    }
}

#[test]
fn a_branch_that_nobody_has_checked_out_is_just_moved() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.git(&["checkout", "-q", "-b", "elsewhere"]);
    place.write("a.txt", "mine\n");
    let before = place.status();
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 0);
    assert_eq!((place.commit("main"), place.commit("elsewhere")), (new, old));
    assert_eq!((place.status(), place.read("a.txt").as_str()), (before, "mine\n"));
}

#[test]
fn bare_repositories_and_linked_checkouts() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.git(&["branch", "work", new.as_str()]);
    let bare = place.path("bare.git");
    git(&place.top(), &["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    let repository = GitRepository::open(&bare).expect("it opens");
    let published = repository.publish("main", &old, &new).expect("it is published");
    assert!(published.checkouts.is_empty());
    assert_eq!(git(&bare, &["rev-parse", "main"]), new.as_str());

    place.git(&["checkout", "-q", "-b", "elsewhere"]);
    let linked = place.path("linked");
    place.git(&["worktree", "add", "-q", linked.to_str().expect("text"), "main"]);
    let published = place.open().publish("main", &old, &new).expect("it is published");
    assert_eq!(published.checkouts, std::slice::from_ref(&linked));
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
}

#[test]
fn all_checkouts_are_brought_along_or_none() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let linked = place.path("linked");
    place.git(&["worktree", "add", "-q", "--force", linked.to_str().expect("text"), "main"]);
    write(&linked, "a.txt", "mine\n");
    let before = picture(&place);
    assert!(matches!(publish(&place, &old, &new), Err(GitError::Overlap { .. })));
    assert_eq!(picture(&place), before);
    write(&linked, "a.txt", "one\ntwo\nthree\nfour\nfive\n");
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 2);
    assert_eq!((place.status(), git(&linked, &["status", "--porcelain"])), (String::new(), String::new()));
}

#[test]
fn a_checkout_that_fails_half_way_takes_the_others_back() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let linked = place.path("linked");
    place.git(&["worktree", "add", "-q", "--force", linked.to_str().expect("text"), "main"]);
    let before = picture(&place);
    // The linked checkout is brought along first; then the index of the main one is found to be locked.
    let lock = place.top().join(".git/index.lock");
    std::fs::write(&lock, "").expect("a lock");
    assert!(matches!(publish(&place, &old, &new), Err(GitError::Locked { .. })));
    std::fs::remove_file(&lock).expect("it is there");
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read_to_string(linked.join("b.txt")).expect("it is back"), "b\n");
    assert_eq!(picture(&place), before);
}

#[test]
fn an_operation_in_progress_refuses() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.git(&["checkout", "-q", "-b", "other", "main"]);
    place.commit_file("a.txt", "other\n", "other");
    place.git(&["checkout", "-q", "main"]);
    let mine = place.commit_file("a.txt", "mine\n", "mine");
    let next = place.side_commit(&mine, &[("n.txt", Some("n"))]);
    assert!(!try_git(&place.top(), &["merge", "-q", "other"]).status.success());
    let refused = publish(&place, &mine, &next);
    assert!(matches!(refused, Err(GitError::InProgress { operation: "merge", .. })), "{refused:?}");
    place.git(&["merge", "--abort"]);
    assert!(!try_git(&place.top(), &["rebase", "-q", "other"]).status.success());
    let refused = publish(&place, &mine, &next);
    assert!(matches!(refused, Err(GitError::InProgress { operation: "rebase", .. })), "{refused:?}");
    place.git(&["rebase", "--abort"]);
    assert_eq!(publish(&place, &mine, &next).expect("it is published"), 1);
    assert_ne!(old, new);
}

#[test]
fn sparse_checkouts_stay_sparse() {
    let place = Place::new();
    place.commit_file("in/x.txt", "1\n", "in");
    place.commit_file("out/y.txt", "1\n", "out");
    let old = place.commit("main");
    let new = place.side_commit(
        &old,
        &[("in/x.txt", Some("2\n")), ("out/y.txt", Some("2\n")), ("out/z.txt", Some("z\n"))],
    );
    place.git(&["sparse-checkout", "set", "--cone", "in"]);
    assert!(!place.top().join("out").exists());
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 1);
    assert_eq!((place.status().as_str(), place.read("in/x.txt").as_str()), ("", "2\n"));
    assert!(!place.top().join("out").exists());
}

#[test]
fn new_submodules_and_filters_are_not_published() {
    let place = Place::new();
    let old = place.commit("main");
    let new = place.side_commit(&old, &[(".gitattributes", Some("*.txt filter=evil\n"))]);
    assert!(matches!(publish(&place, &old, &new), Err(GitError::Filter { .. })));
    assert_eq!(place.commit("main"), old);
}

#[test]
fn a_touched_file_is_no_local_change() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    let text = place.read("a.txt");
    std::fs::remove_file(place.top().join("a.txt")).expect("it is there");
    place.write("a.txt", &text);
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 1);
    assert_eq!(place.status(), "");
}

#[test]
fn a_split_index_is_understood() {
    let place = Place::new();
    let (old, new) = (place.commit("main"), work(&place));
    place.git(&["update-index", "--split-index"]);
    place.write("mine.txt", "mine\n");
    place.git(&["add", "mine.txt"]);
    assert_eq!(publish(&place, &old, &new).expect("it is published"), 1);
    assert_eq!(place.status(), "A  mine.txt");
}
