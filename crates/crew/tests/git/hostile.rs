//! An agent that turned the repository against whoever uses it next.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use callboard_crew::git::{Attempt, GitError, GitRepository, Leftovers, MergeStyle, Replay};

use crate::place::{Place, commit_file, git, try_git, write};

/// A program that leaves a file behind when it runs.
fn canary(place: &Place) -> (PathBuf, PathBuf) {
    let (program, sung) = (place.path("canary"), place.path("sung"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", sung.display()))
        .expect("it is written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    (program, sung)
}

const HOOKS: &[&str] = &[
    "post-checkout",
    "pre-commit",
    "post-commit",
    "reference-transaction",
    "post-index-change",
    "post-merge",
    "pre-rebase",
    "post-rewrite",
    "prepare-commit-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "pre-auto-gc",
];

/// Plants the canary wherever git would run a program.
fn plant(common: &Path, program: &Path) {
    let program = program.display();
    for hooks in ["hooks", "planted-hooks"] {
        std::fs::create_dir_all(common.join(hooks)).expect("a directory");
        for name in HOOKS {
            let hook = common.join(hooks).join(name);
            std::fs::remove_file(&hook).ok();
            symlink(program.to_string(), hook).expect("a link");
        }
    }
    let planted = format!(
        "[core]\n\tfsmonitor = {program}\n\thooksPath = {}\n\tsshCommand = {program}\n\teditor = {program}\n\tpager = {program}\n\
         \tattributesFile = {}\n\tworktree = {}\n\
         [filter \"evil\"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n[filter \"evil2\"]\n\tprocess = {program}\n\
         [diff]\n\texternal = {program}\n[diff \"evil\"]\n\tcommand = {program}\n\ttextconv = {program}\n\
         [merge]\n\tdefault = evil\n[merge \"evil\"]\n\tdriver = {program} %O %A %B\n\
         [gpg]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = x\n\
         [credential]\n\thelper = {program}\n[sequence]\n\teditor = {program}\n\
         [alias]\n\tadd = !{program}\n\tread-tree = !{program}\n[uploadpack]\n\tpackObjectsHook = {program}\n\
         [include]\n\tpath = {}\n[extensions]\n\tworktreeConfig = true\n",
        common.join("planted-hooks").display(),
        common.join("planted-attributes").display(),
        common.join("planted-hooks").display(),
        common.join("planted-config").display(),
    );
    let config = std::fs::read_to_string(common.join("config")).expect("a configuration");
    std::fs::write(common.join("config"), format!("{config}\n{planted}")).expect("it is written");
    std::fs::write(common.join("config.worktree"), &planted).expect("it is written");
    std::fs::write(common.join("planted-config"), planted.replace("path =", "none ="))
        .expect("it is written");
    for name in ["planted-attributes", "info/attributes"] {
        std::fs::create_dir_all(common.join("info")).expect("a directory");
        std::fs::write(common.join(name), ATTRIBUTES).expect("it is written");
    }
}

const ATTRIBUTES: &str = "* filter=evil diff=evil merge=evil\nb.txt filter=evil2\n";

#[test]
fn the_trap_is_armed() {
    let place = Place::new();
    let (program, sung) = canary(&place);
    place.git(&["checkout", "-q", "-b", "other"]);
    place.commit_file("a.txt", "other\n", "other");
    place.git(&["checkout", "-q", "main"]);
    place.commit_file("a.txt", "mine\n", "mine");
    plant(&place.top().join(".git"), &program);
    let quiet = ["-c", "commit.gpgSign=false", "--work-tree=."];
    let sings = |arguments: &[&str], what: &str| {
        std::fs::remove_file(&sung).ok();
        place.write("new.txt", what);
        let output = try_git(&place.top(), &[&quiet[..], arguments].concat());
        let song = std::fs::read_to_string(&sung).unwrap_or_default();
        assert!(song.contains(what), "no {what:?} of {arguments:?} in {song:?}: {output:?}");
    };
    let filter = format!("{} \n", program.display());
    sings(&["-c", "core.fsmonitor=false", "add", "-A"], &filter);
    sings(&["status"], &format!("{} 2 ", program.display()));
    sings(&["diff", "--ext-diff", "HEAD"], "new.txt");
    sings(&["branch", "another"], "planted-hooks/reference-transaction");
    sings(&["merge-tree", "--write-tree", "main", "other"], ".merge_file");
}

#[test]
fn no_operation_runs_a_program_of_the_repository() {
    let place = Place::new();
    let (program, sung) = canary(&place);
    let repository = place.open();
    let base = place.commit("main");
    let worktree = place.worktree(&repository, "t1");
    commit_file(worktree.path(), "one.txt", "1\n", "one");
    let common = place.top().join(".git");
    plant(&common, &program);
    write(worktree.path(), ".gitattributes", ATTRIBUTES);
    write(worktree.path(), "a.txt", "one\ntwo\nthree\nfour\nMINE\n");

    let repository_again = GitRepository::open(&place.top());
    // Attributes beside the repository count, and a filter is refused, not run.
    assert!(matches!(repository_again, Err(GitError::Filter { .. })), "{repository_again:?}");
    repository.base(Some("main")).expect("a base");
    let start = repository.snapshot(&worktree, "refs/callboard/t1/1/start").expect("a snapshot");
    write(worktree.path(), "untracked.txt", "x\n");
    let end = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert!(repository.diff(&start.commit, &end.commit, 10_000).expect("a difference").text.contains("+x"));
    assert_eq!(repository.changed_files(&start.commit, &end.commit).expect("a difference").len(), 1);
    let tip = repository.commit_all(&worktree, "work").expect("a commit").tip;
    let onto = place.side_commit_quietly(&base, "a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    let Replay::Clean(rebased) = repository.rebase(&tip, &base, &onto).expect("an answer") else {
        panic!("conflict")
    };
    for style in [MergeStyle::Merge, MergeStyle::Squash] {
        assert!(matches!(repository.merge_commit(&onto, &tip, "m", style), Ok(Replay::Clean(_))));
    }
    assert!(repository.is_merged(&tip, &base, &rebased).expect("an answer").is_some());
    // A commit with attributes that name a filter does not reach a checkout of the user.
    assert!(matches!(repository.publish("main", &base, &rebased), Err(GitError::Filter { .. })));
    repository.publish("main", &base, &onto).expect("it is published");
    assert_eq!(place.read("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    repository.park(&worktree, "parked/t1").expect("it is parked");
    repository.worktrees(&place.root(), "main").expect("a list");
    let fresh = repository.worktree("t1", &tip, &place.root(), Attempt::Fresh).expect("a fresh one");
    repository.worktree("t2", &tip, &place.root(), Attempt::Fresh).expect("a second one");
    repository.remove(&fresh, Leftovers::Refuse).expect("it is removed");
    repository.forget("t1", &tip).expect("it is forgotten");
    assert!(!sung.exists(), "the canary sang: {}", std::fs::read_to_string(&sung).unwrap_or_default());
}

impl Place {
    /// A commit that changes one file, made without reading the configuration.
    fn side_commit_quietly(
        &self,
        parent: &callboard_crew::git::CommitId,
        name: &str,
        text: &str,
    ) -> callboard_crew::git::CommitId {
        let clone = self.path("clone");
        std::fs::create_dir(&clone).expect("a directory");
        git(&clone, &["init", "-q"]);
        std::fs::write(
            clone.join(".git/objects/info/alternates"),
            format!("{}\n", self.top().join(".git/objects").display()),
        )
        .expect("it is written");
        git(&clone, &["checkout", "-q", "--detach", parent.as_str()]);
        let commit = commit_file(&clone, name, text, "side");
        let objects = self.top().join(".git/objects");
        copy_objects(&clone.join(".git/objects"), &objects);
        commit
    }
}

fn copy_objects(from: &Path, to: &Path) {
    for dir in
        std::fs::read_dir(from).expect("it is there").flatten().filter(|dir| dir.file_name().len() == 2)
    {
        std::fs::create_dir_all(to.join(dir.file_name())).expect("a directory");
        for object in std::fs::read_dir(dir.path()).expect("it is there").flatten() {
            let target = to.join(dir.file_name()).join(object.file_name());
            if !target.exists() {
                std::fs::copy(object.path(), target).expect("it is copied");
            }
        }
    }
}

#[test]
fn nothing_runs_in_a_repository_inside_of_a_worktree() {
    let place = Place::new();
    let (program, sung) = canary(&place);
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let nested = worktree.path().join("nested");
    std::fs::create_dir(&nested).expect("a directory");
    git(&nested, &["init", "-q"]);
    commit_file(&nested, "n.txt", "n", "nested");
    git(worktree.path(), &["add", "-A"]);
    git(worktree.path(), &["commit", "-q", "-m", "with a submodule"]);
    write(&nested, ".gitattributes", ATTRIBUTES);
    write(&nested, "n.txt", "m");
    plant(&nested.join(".git"), &program);
    let snapshot = repository.snapshot(&worktree, "refs/callboard/t1/1/end").expect("a snapshot");
    assert_eq!(snapshot.left_out, ["nested"]);
    write(worktree.path(), "more.txt", "x");
    repository.commit_all(&worktree, "more").expect("a commit");
    repository.worktrees(&place.root(), "main").expect("a list");
    assert!(!sung.exists(), "the canary sang: {}", std::fs::read_to_string(&sung).unwrap_or_default());
    let main = place.commit("main");
    let refused = repository.publish("main", &main, &place.commit("callboard/t1"));
    assert!(matches!(refused, Err(GitError::Submodules { .. })), "{refused:?}");
}

#[test]
fn a_record_that_leads_elsewhere_is_not_followed() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let precious = place.path("precious");
    write(&precious, "file.txt", "mine");
    // Where the worktree is said to be.
    std::fs::write(worktree.git_dir().join("gitdir"), format!("{}\n", precious.join(".git").display()))
        .expect("it is written");
    assert!(repository.remove(&worktree, Leftovers::Discard).is_err());
    assert!(repository.worktrees(&place.root(), "main").expect("a list").is_empty());
    repository.prune(&place.root()).expect("it is pruned");
    assert!(precious.join("file.txt").exists());
    // A record of a worktree of the branch that is published, in a directory that knows nothing of it.
    let main = place.commit("main");
    let new = place.side_commit(&main, &[("planted.txt", Some("x"))]);
    let record = place.top().join(".git/worktrees/innocent");
    std::fs::create_dir(&record).expect("a directory");
    std::fs::write(record.join("gitdir"), format!("{}\n", precious.join(".git").display()))
        .expect("it is written");
    std::fs::write(record.join("commondir"), "../..\n").expect("it is written");
    std::fs::write(record.join("HEAD"), "ref: refs/heads/main\n").expect("it is written");
    std::fs::copy(place.top().join(".git/index"), record.join("index")).expect("it is copied");
    let published = repository.publish("main", &main, &new).expect("it is published");
    assert_eq!(published.checkouts, [place.top()]);
    assert!(!precious.join("planted.txt").exists());
}

#[test]
fn links_in_place_of_directories_are_not_followed() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let precious = place.path("precious");
    write(&precious, "file.txt", "mine");
    std::fs::remove_dir_all(worktree.path()).expect("it is there");
    symlink(&precious, worktree.path()).expect("a link");
    assert!(repository.remove(&worktree, Leftovers::Discard).is_err());
    assert!(repository.commit_all(&worktree, "x").is_err());
    let again = repository.worktree("t1", &place.commit("main"), &place.root(), Attempt::Fresh);
    assert!(matches!(again, Err(GitError::InTheWay { .. })), "{again:?}");
    assert_eq!(std::fs::read_dir(&precious).expect("it is there").count(), 1);

    let second = place.worktree(&repository, "t2");
    let victim = place.path("victim");
    std::fs::write(&victim, "mine").expect("it is written");
    std::fs::remove_file(second.git_dir().join("index")).expect("it is there");
    symlink(&victim, second.git_dir().join("index")).expect("a link");
    write(second.path(), "new.txt", "x");
    assert!(repository.commit_all(&second, "x").is_err());
    assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "mine");
    repository.snapshot(&second, "refs/callboard/t2/1/end").expect("a snapshot does not need it");
}

#[test]
fn an_agent_on_the_published_branch_does_not_stop_it() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let main = place.commit("main");
    let new = place.side_commit(&main, &[("a.txt", Some("new\n"))]);
    std::fs::write(worktree.git_dir().join("HEAD"), "ref: refs/heads/main\n").expect("it is written");
    write(worktree.path(), "a.txt", "in the way\n");
    repository.publish("main", &main, &new).expect("it is published");
    assert_eq!(place.read("a.txt"), "new\n");
}

#[test]
fn replaced_objects_are_not_believed() {
    let place = Place::new();
    let repository = place.open();
    let worktree = place.worktree(&repository, "t1");
    let main = place.commit("main");
    let evil = commit_file(worktree.path(), "a.txt", "evil\n", "evil");
    place.git(&["replace", "-f", main.as_str(), evil.as_str()]);
    assert!(repository.is_changed(&main, &evil).expect("an answer"));
}
