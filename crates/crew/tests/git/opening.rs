//! What is opened, what is refused, and the base of a task.

use callboard_crew::git::{GitError, GitRepository};

use crate::place::{Place, git};

#[test]
fn a_repository_is_found_from_a_directory_in_it() {
    let place = Place::new();
    place.write("deep/er/x.txt", "x");
    let repository = GitRepository::open(&place.top().join("deep/er")).expect("it opens");
    assert_eq!(repository.top(), Some(place.top().as_path()));
    assert_eq!(repository.common_dir(), place.top().join(".git"));
    let base = repository.base(None).expect("a base");
    assert_eq!((base.branch.as_str(), base.commit), ("main", place.commit("main")));
}

#[test]
fn a_linked_worktree_leads_to_the_same_repository() {
    let place = Place::new();
    let linked = place.path("linked");
    place.git(&["worktree", "add", "-q", "-b", "other", linked.to_str().expect("text")]);
    let repository = GitRepository::open(&linked).expect("it opens");
    assert_eq!(repository.common_dir(), place.top().join(".git"));
    assert_eq!(repository.base(None).expect("a base").branch, "other");
}

#[test]
fn a_bare_repository_is_fine() {
    let place = Place::new();
    let bare = place.path("bare.git");
    git(&place.top(), &["clone", "-q", "--bare", ".", bare.to_str().expect("text")]);
    let repository = GitRepository::open(&bare).expect("it opens");
    assert_eq!(repository.top(), None);
    assert_eq!(repository.base(None).expect("a base").branch, "main");
}

#[test]
fn no_repository_and_no_commit_are_refused() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let error = GitRepository::open(outside.path()).expect_err("nothing is there");
    assert!(matches!(error, GitError::NotRepository { .. }), "{error:?}");
    assert!(error.help().contains("git init"));
    let error = GitRepository::open(&outside.path().join("none")).expect_err("nothing is there");
    assert!(matches!(error, GitError::NotRepository { .. }), "{error:?}");
    let error = GitRepository::open(&Place::empty().top()).expect_err("no commit");
    assert!(matches!(error, GitError::NoCommit), "{error:?}");
}

#[test]
fn submodules_are_refused() {
    let place = Place::new();
    let commit = place.commit("main");
    place.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/lib")]);
    place.git(&["commit", "-q", "-m", "submodule"]);
    let error = GitRepository::open(&place.top()).expect_err("it has a submodule");
    assert_eq!(error.to_string(), "the repository has submodules: vendor/lib");
}

#[test]
fn filters_are_refused_by_what_is_committed() {
    let place = Place::new();
    place.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    place.write("x.bin", "version https://git-lfs.github.com/spec/v1\n");
    place.open();
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "lfs"]);
    place.git(&["rm", "-q", "--cached", ".gitattributes"]);
    let error = GitRepository::open(&place.top()).expect_err("it has a filter");
    assert!(
        matches!(&error, GitError::Filter { filter, files } if filter == "lfs" && files == &["x.bin"]),
        "{error:?}"
    );
}

#[test]
fn a_filter_that_is_switched_off_is_none() {
    let place = Place::new();
    place.write(".gitattributes", "*.txt -filter\n");
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "attributes"]);
    place.open();
}

#[test]
fn the_base_must_be_a_branch_that_exists() {
    let place = Place::new();
    place.git(&["branch", "feature/x"]);
    place.git(&["tag", "v1"]);
    place.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let repository = place.open();
    assert_eq!(repository.base(Some("feature/x")).expect("a base").commit, place.commit("main"));
    let refused = |name| repository.base(Some(name)).expect_err("it is refused");
    assert!(matches!(refused("v1"), GitError::NoBranch { .. }));
    assert!(matches!(refused("feature"), GitError::NoBranch { .. }));
    assert!(matches!(refused("alias"), GitError::SymbolicBranch { .. }));
    for hostile in ["-x", "--output=/tmp/x", "a..b", "main@{0}", "main\n", "main^", ":/start"] {
        assert!(matches!(refused(hostile), GitError::Name { .. }), "{hostile:?}");
    }
}

#[test]
fn a_detached_head_needs_a_named_base() {
    let place = Place::new();
    place.git(&["checkout", "-q", "--detach"]);
    let repository = place.open();
    assert!(matches!(repository.base(None), Err(GitError::DetachedHead)));
    assert_eq!(repository.base(Some("main")).expect("a base").branch, "main");
}

#[test]
fn other_hashes_work() {
    let place = Place::empty();
    std::fs::remove_dir_all(place.top().join(".git")).expect("it is there");
    place.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    place.write("a", "a");
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "start"]);
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    crate::place::write(worktree.path(), "new", "x");
    let committed = repository.commit_all(&worktree, "work").expect("a commit");
    assert_eq!(committed.tip.as_str().len(), 64);
}
