//! Repositories whose configuration names programs: none of them runs, and the verdict is right all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callboard_delivery::{Agreement, Found};

use crate::place::{Place, git, looked};

const PROMISE: &str = "artifacts: [{id: change, git_diff: true}]";

/// Settings whose value git runs as a program, for one or another of its commands.
const PROGRAMS: &[(&str, &str)] = &[
    ("core", "fsmonitor"),
    ("core", "sshCommand"),
    ("core", "pager"),
    ("core", "editor"),
    ("core", "askPass"),
    ("core", "gitProxy"),
    ("core", "alternateRefsCommand"),
    ("filter \"planted\"", "clean"),
    ("filter \"planted\"", "smudge"),
    ("filter \"planted-process\"", "process"),
    ("diff \"planted\"", "textconv"),
    ("diff \"planted\"", "command"),
    ("merge \"planted\"", "driver"),
    ("diff", "external"),
    ("interactive", "diffFilter"),
    ("pager", "status"),
    ("pager", "config"),
    ("gpg", "program"),
    ("sequence", "editor"),
    ("uploadpack", "packObjectsHook"),
    ("remote \"planted\"", "uploadpack"),
    ("remote \"planted\"", "receivepack"),
    ("trailer \"planted\"", "command"),
    ("submodule \"sub\"", "update"),
];
/// The same, where a shell's text is marked.
const SHELL_PROGRAMS: &[(&str, &str)] =
    &[("credential", "helper"), ("alias", "status"), ("alias", "rev-parse"), ("alias", "ls-files")];
const HOOKS: &[&str] = &[
    "post-index-change",
    "pre-auto-gc",
    "post-checkout",
    "reference-transaction",
    "fsmonitor-watchman",
    "query-watchman",
    "pre-commit",
];

/// One for each filter; git gives up at the last one, whose filter does not answer.
const FILES: [&str; 3] = ["a.txt", "b.two", "z.process"];

/// A place where whoever runs leaves a file.
struct Canaries(PathBuf);

impl Canaries {
    fn new(place: &Place) -> Self {
        let dir = place.outside().join("canaries");
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{error}"));
        Self(dir)
    }

    fn command(&self, name: &str) -> String {
        format!("touch {}/{}; false", self.0.display(), name.replace([' ', '"'], "-"))
    }

    fn take(&self) -> Vec<String> {
        let entries: Vec<_> = fs::read_dir(&self.0).into_iter().flatten().flatten().collect();
        let mut names = Vec::new();
        for entry in entries {
            fs::remove_file(entry.path()).unwrap_or_else(|error| panic!("{error}"));
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        names
    }
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, before + text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Plants every setting and every hook in a git directory; `part` tells its canaries from those of others.
fn plant(git_dir: &Path, canaries: &Canaries, part: &str) {
    let settings = |keys: &[(&str, &str)], mark: &str, section_suffix: &str| -> String {
        let one = |(section, key): &(&str, &str)| {
            let section = section.replace("planted", &format!("planted{section_suffix}"));
            let command = canaries.command(&format!("{part}-{section}.{key}"));
            format!("[{section}]\n\t{key} = \"{mark}{command}\"\n")
        };
        keys.iter().map(one).collect()
    };
    let included = git_dir.join("included");
    append(&included, &settings(&[("filter \"planted\"", "clean")], "", "2"));
    let mut text = settings(PROGRAMS, "", "") + &settings(SHELL_PROGRAMS, "!", "");
    text +=
        &format!("[include]\n\tpath = {0}\n[includeIf \"gitdir:**\"]\n\tpath = {0}\n", included.display());
    text += "[status]\n\tsubmoduleSummary = true\n";
    let hooks = git_dir.join("planted-hooks");
    text += &format!("[core]\n\thooksPath = {}\n\tuntrackedCache = true\n", hooks.display());
    append(&git_dir.join("config"), &text);
    for dir in [hooks, git_dir.join("hooks")] {
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{error}"));
        for hook in HOOKS {
            let path = dir.join(hook);
            let script = format!("#!/bin/sh\n{}\n", canaries.command(&format!("{part}-hook-{hook}")));
            fs::write(&path, script).unwrap_or_else(|error| panic!("{error}"));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
    let attributes = "*.two filter=planted2\n*.process filter=planted-process\n\
        *.txt filter=planted diff=planted merge=planted\n";
    append(&git_dir.join("info/attributes"), attributes);
}

/// A repository with a submodule, both with tracked files.
fn repository(place: &Place) -> PathBuf {
    let (top, sub) = (place.dir(), place.dir().join("sub"));
    fs::create_dir_all(&sub).unwrap_or_else(|error| panic!("{error}"));
    let done = |dir: &Path, arguments: &[&str]| {
        git(dir, arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    };
    for dir in [&sub, &top] {
        done(dir, &["init", "-q"]);
        for name in FILES {
            fs::write(dir.join(name), "one\n").unwrap_or_else(|error| panic!("{error}"));
        }
        append(&top.join(".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n");
        done(dir, &["add", "."]);
        done(dir, &["commit", "-qm", "first"]);
    }
    sub
}

/// Makes git doubt every tracked file, so that it reads them again.
fn touch(dir: &Path) {
    for name in FILES {
        fs::write(dir.join(name), "one\n").unwrap_or_else(|error| panic!("{error}"));
    }
}

fn found(agreement: &Agreement) -> (Found, String) {
    let item = looked(agreement).items.remove(0);
    (item.found, item.because.unwrap_or_default())
}

#[test]
fn no_program_that_a_repository_names_runs_when_its_diff_is_looked_at() {
    let place = Place::new().unwrap();
    let sub = repository(&place);
    let canaries = Canaries::new(&place);
    plant(&place.dir().join(".git"), &canaries, "top");
    plant(&sub.join(".git"), &canaries, "sub");
    touch(&place.dir());
    touch(&sub);
    // What git itself does there shows that the canaries sing.
    for dir in [&place.dir(), &sub] {
        drop(Command::new("git").arg("status").current_dir(dir).output());
    }
    let sang = canaries.take();
    let filters = ["planted-.clean", "planted2-.clean", "planted-process-.process"];
    let filters = filters.map(|filter| format!("top-filter--{filter}"));
    for part in ["top-core.fsmonitor", "sub-"].into_iter().chain(filters.iter().map(String::as_str)) {
        assert!(sang.iter().any(|name| name.starts_with(part)), "{part}: {sang:?}");
    }
    let agreement = place.agree(PROMISE).unwrap();
    assert_eq!(canaries.take(), [] as [String; 0], "at the start");
    touch(&place.dir());
    touch(&sub);
    let (seen, because) = found(&agreement);
    assert_eq!((seen, canaries.take()), (Found::Missing, vec![]), "{because}");
    place.write("a.txt", "two\n").unwrap();
    assert_eq!((found(&agreement).0, canaries.take()), (Found::Produced, vec![]));
    touch(&place.dir());
    assert_eq!(found(&agreement).0, Found::Missing);
    place.write("sub/a.txt", "two\n").unwrap();
    assert_eq!((found(&agreement).0, canaries.take()), (Found::Produced, vec![]));
    let left = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut ours = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("callboard-git-"));
    // Another test may be at it at this moment.
    assert!(ours.all(|entry| entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 == 0)));
}

#[test]
fn an_object_that_is_missing_is_not_fetched() {
    let place = Place::new().unwrap();
    repository(&place);
    let canaries = Canaries::new(&place);
    let output =
        Command::new("git").args(["rev-parse", "HEAD^{tree}"]).current_dir(place.dir()).output().unwrap();
    let tree = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let (dir, name) = tree.split_at(2);
    fs::remove_file(place.dir().join(".git/objects").join(dir).join(name)).unwrap();
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = planted\n[remote \"planted\"]\n\turl = {}\n\
         \tpromisor = true\n\tuploadpack = \"{}\"\n",
        place.dir().display(),
        canaries.command("uploadpack")
    );
    append(&place.dir().join(".git/config"), &config);
    drop(Command::new("git").arg("status").current_dir(place.dir()).output());
    assert_eq!(canaries.take(), ["uploadpack"], "git itself fetches");
    assert!(place.agree(PROMISE).is_err());
    assert_eq!(canaries.take(), [] as [String; 0]);
}

/// Without its filter git takes a touched file for a changed one.
#[test]
fn a_file_with_a_filter_is_compared_with_what_it_was() {
    let place = Place::new().unwrap();
    let dir = place.dir();
    git(&dir, &["init", "-q"]).unwrap();
    git(&dir, &["config", "filter.large.clean", "sed s/large/pointer/"]).unwrap();
    place.write(".gitattributes", "*.bin filter=large\n").unwrap();
    place.write("a.bin", "large\n").unwrap();
    git(&dir, &["add", "."]).unwrap();
    git(&dir, &["commit", "-qm", "first"]).unwrap();
    let agreement = place.agree(PROMISE).unwrap();
    let later = |seconds| {
        let file = fs::File::options().write(true).open(dir.join("a.bin")).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now + std::time::Duration::from_secs(seconds)).unwrap();
    };
    later(10);
    assert_eq!(found(&agreement).0, Found::Missing, "touched");
    place.write("a.bin", "LARGE\n").unwrap();
    later(10);
    assert_eq!(found(&agreement).0, Found::Produced, "edited");
    place.write("a.bin", "large\n").unwrap();
    assert_eq!(found(&agreement).0, Found::Missing, "edited back");
}

/// The ways in which a repository may lie on the disk.
#[test]
fn every_shape_of_a_repository_is_read() {
    type Shape = fn(&Place) -> std::io::Result<PathBuf>;
    fn first(place: &Place, arguments: &[&str]) -> std::io::Result<PathBuf> {
        let dir = place.dir();
        git(&dir, arguments)?;
        place.write("a.txt", "one")?;
        place.write(".gitignore", "*.log")?;
        git(&dir, &["add", "."])?;
        git(&dir, &["commit", "-qm", "first"])?;
        Ok(dir)
    }
    let shapes: &[(&str, Shape)] = &[
        ("plain", |place| first(place, &["init", "-q"])),
        ("sha256", |place| first(place, &["init", "-q", "--object-format=sha256"])),
        ("reftable", |place| first(place, &["init", "-q", "--ref-format=reftable"])),
        ("packed", |place| {
            let dir = first(place, &["init", "-q"])?;
            git(&dir, &["pack-refs", "--all"])?;
            git(&dir, &["gc", "-q"])?;
            Ok(dir)
        }),
        ("detached", |place| {
            let dir = first(place, &["init", "-q"])?;
            git(&dir, &["checkout", "-q", "--detach"])?;
            Ok(dir)
        }),
        ("split index", |place| {
            let dir = first(place, &["init", "-q"])?;
            git(&dir, &["update-index", "--split-index"])?;
            Ok(dir)
        }),
        ("separate git directory", |place| {
            let elsewhere = place.outside().join("separate");
            first(place, &["init", "-q", "--separate-git-dir", &elsewhere.to_string_lossy()])
        }),
        ("work tree", |place| {
            let dir = first(place, &["init", "-q"])?;
            let tree = place.outside().join("tree");
            git(&dir, &["worktree", "add", "-q", &tree.to_string_lossy()])?;
            Ok(tree)
        }),
    ];
    for (what, shape) in shapes {
        let place = Place::new().unwrap();
        let dir = shape(&place).unwrap_or_else(|error| panic!("{what}: {error}"));
        let contract = callboard_delivery::Contract::parse(PROMISE, None).unwrap();
        let agreement =
            contract.agree(&dir, &crate::place::Real).unwrap_or_else(|error| panic!("{what}: {error}"));
        fs::write(dir.join("a.txt"), "one").unwrap();
        fs::write(dir.join("x.log"), "x").unwrap();
        assert_eq!(found(&agreement).0, Found::Missing, "{what}");
        fs::write(dir.join("a.txt"), "two").unwrap();
        assert_eq!(found(&agreement).0, Found::Produced, "{what}");
        git(&dir, &["commit", "-qam", "second"]).unwrap();
        let (seen, because) = found(&agreement);
        assert!(seen == Found::Produced && because.starts_with("HEAD went from"), "{what}: {because}");
    }
}
