//! Real programs inside of `--sandbox`: what people work with does its work there, to the end.
//!
//! Invariant: a program that works is in the sandbox for sure: the run records the walls, and what the same command
//! tries outside of its directory has no effect.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::model::Act;
use crate::program::Program;
use crate::stage::{CALLBOARD, Stage, begin};

/// Not in `/tmp`, which is another one inside.
const PLACE: &str = "/var/tmp";

/// What the model has the program do: write beside its own directory, which must not work, and in it.
const CALL: &str = "echo x > ../escaped; ln -s .. up; echo x > up/escaped; echo hello > review.md";

/// One test for each agent program.
macro_rules! agents {
    ($($name:ident = $program:ident),+) => {
        $(#[test]
        fn $name() {
            writes_a_file(Program::$program);
        })+
    };
}

agents! {
    claude_works_in_a_sandbox = Claude, codex_works_in_a_sandbox = Codex, opencode_works_in_a_sandbox = Opencode,
    gemini_works_in_a_sandbox = Gemini, qwen_works_in_a_sandbox = Qwen
}

/// The program asks its model, runs the command that it is told to, and ends well.
fn writes_a_file(program: Program) {
    if !has_walls() {
        return;
    }
    let Some(stage) = Stage::set_in(program, Act::Calls(CALL), Path::new(PLACE)) else { return };
    let output = tempfile::tempdir_in(PLACE).unwrap_or_else(|error| panic!("{error}"));
    let mut line = stage.command_line();
    if program == Program::Codex {
        // Its own sandbox needs namespaces, which are not made in ours.
        let bypass = OsString::from("--dangerously-bypass-approvals-and-sandbox");
        let instead = ["--sandbox", "danger-full-access"].map(OsString::from);
        let at = line.iter().position(|word| *word == bypass).unwrap_or_else(|| panic!("{line:?}"));
        line.splice(at..=at, instead);
    }
    let reach = reach(&stage.place);
    let reach: Vec<&str> = reach.iter().map(String::as_str).collect();
    let options = [&["--timeout", "100s", "--expect", "review.md", "--sandbox"], &reach[..]].concat();
    let mut command = stage.run(&[], &options, &line);
    let ended = begin(&mut command, output.path()).wait().unwrap_or_else(|error| panic!("{error}"));
    let read = |name: &str| std::fs::read_to_string(output.path().join(name)).unwrap_or_default();
    let view = stage.view();
    let said = format!("{view:#}\n{}\n{}\n{:?}", read("stdout"), read("stderr"), stage.model.requests());
    assert!(ended.success(), "{ended}: {said}");
    assert_eq!(view["state"]["reasons"][0]["code"], "run.completed.ok", "{said}");
    assert!(view["facts"]["agent"]["vendor_session"].is_string(), "{said}");
    walls(&view);
    let written = std::fs::read_to_string(stage.work().join("review.md")).unwrap_or_default();
    assert_eq!(written, "hello\n", "{said}");
    assert!(!stage.work().join("../escaped").exists(), "{said}");
}

/// Does this host have every wall? Said aloud if not.
fn has_walls() -> bool {
    let place = Place::new();
    let ran = place.run(&[], "true");
    if ran.code == Some(125) {
        eprintln!("skipped: {}", ran.said);
    }
    ran.code != Some(125)
}

/// What lies in `/tmp` is there in a sandbox only if it is asked for.
fn reach(program: &Path) -> Vec<String> {
    let package = program.ancestors().find(|above| above.parent().is_some_and(|it| it.ends_with("agents")));
    let package = package.or(program.parent().and_then(Path::parent)).unwrap_or(program);
    if !package.starts_with("/tmp") {
        return Vec::new();
    }
    vec!["--sandbox-write".to_owned(), package.display().to_string()]
}

fn walls(view: &Value) {
    let sandbox = &view["facts"]["sandbox"];
    assert_eq!((&sandbox["profile"], &sandbox["missing"]), (&json!("workspace"), &json!({})), "{view}");
    assert!(sandbox["walls"]["files"].is_string(), "{view}");
}

/// A home that was never used, a directory to work in, and a store.
struct Place(tempfile::TempDir);

struct Ran {
    code: Option<i32>,
    /// Everything it wrote.
    said: String,
}

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir_in(PLACE).unwrap_or_else(|error| panic!("{error}"));
        for name in ["home", "work", "state"] {
            std::fs::create_dir(place.path().join(name)).unwrap_or_else(|error| panic!("{error}"));
        }
        Self(place)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap_or_else(|error| panic!("{error}"));
    }

    /// A script of a shell, in the sandbox and in the working directory.
    fn run(&self, options: &[String], script: &str) -> Ran {
        let mut command = Command::new(CALLBOARD);
        command.env_clear().current_dir(self.0.path().join("work")).stdin(Stdio::null());
        command.env("HOME", self.0.path().join("home")).env("PATH", path());
        command.args(["run", "--quiet", "--timeout", "300s", "--sandbox"]).args(options);
        command
            .args(["--", "sh", "-ec", script])
            .env("CALLBOARD_STORE", self.0.path().join("state/store.db"));
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = [output.stdout, output.stderr].concat();
        Ran { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() }
    }

    /// The script ends well, or the host has not all of the walls.
    fn works(&self, options: &[String], script: &str) {
        let script = format!("{script}\n! (echo x > ../escaped) 2> /dev/null\n");
        let ran = self.run(options, &script);
        if ran.code == Some(125) {
            eprintln!("skipped: {}", ran.said);
            return;
        }
        assert_eq!(ran.code, Some(0), "{}", ran.said);
        assert!(!self.0.path().join("escaped").exists());
    }
}

/// The programs of the tests: the compiler that made them, and what the host has.
fn path() -> OsString {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).filter(|cargo| cargo.is_absolute());
    let own = cargo.as_deref().and_then(Path::parent).map(Path::to_owned);
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = own.into_iter().chain(std::env::split_paths(&rest));
    std::env::join_paths(all).unwrap_or_else(|error| panic!("{error}"))
}

fn is_there(program: &str) -> bool {
    let is_there = std::env::split_paths(&path()).any(|place| place.join(program).is_file());
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

const GIT: &str = "
echo one > a; git add a; git commit -qm one
git worktree add -q wt -b other; (cd wt; echo two > b; git add b; git commit -qm two)
git merge -q other; git worktree remove wt; git branch -q -d other
git tag v1; git checkout -q -b topic; echo three >> a; git stash -q; git stash pop -q; git commit -qam three
git rebase -q v1; git gc -q; git fsck --strict
git clone -q . copy; test \"$(git -C copy log --oneline | wc -l)\" = 3; rm -rf copy
test -z \"$(git status --porcelain)\"";

#[test]
fn git_works_in_a_sandbox() {
    let place = Place::new();
    place.write("home/.gitconfig", "[user]\nname = a\nemail = a@example.org\n[init]\ndefaultBranch = main\n");
    // Once in a repository that the command makes, and once more in one that was there, whose configuration is protected.
    let again = "! git config core.fsmonitor x; ! (echo x > .git/hooks/post-commit)";
    place.works(&[], &format!("git init -q .\n{GIT}"));
    place.works(&[], &format!("git checkout -q main\ngit branch -q -D topic\ngit tag -d v1\n{again}"));
    let other = Place::new();
    other.write("home/.gitconfig", "[user]\nname = a\nemail = a@example.org\n[init]\ndefaultBranch = main\n");
    let mut init = Command::new("git");
    init.args(["init", "-q", "-b", "main"]).current_dir(other.0.path().join("work"));
    assert!(init.status().is_ok_and(|status| status.success()));
    other.works(&[], &format!("{GIT}\n{again}"));
}

#[test]
fn cargo_works_in_a_sandbox() {
    let script = "cargo init -q --vcs none --name tiny\ncargo build -q --offline\ntest \"$(target/debug/tiny)\" = 'Hello, world!'
cargo test -q --offline\ntest -w \"$HOME/.cargo/registry\"";
    Place::new().works(&[], script);
}

#[test]
fn npm_works_in_a_sandbox() {
    if !is_there("npm") {
        return;
    }
    let script = "npm init -y > /dev/null\nmkdir dep\necho '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json
echo 'module.exports = 42' > dep/index.js\nnpm pack ./dep\nnpm install --offline --no-audit --no-fund ./dep-1.0.0.tgz
test \"$(node -e 'console.log(require(\"dep\"))')\" = 42\nnpm test 2>&1 | grep -q 'no test specified'";
    Place::new().works(&[], script);
}

/// With the pytest that the checks install for another reason; without it, with the unit tests of python itself.
#[test]
fn pytest_works_in_a_sandbox() {
    let place = Place::new();
    let test = "import multiprocessing, tempfile, unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        \
                with tempfile.NamedTemporaryFile() as file, multiprocessing.Pool(2) as pool:\n            \
                file.write(b'x')\n            self.assertEqual(pool.map(abs, [-1]), [1])\n";
    place.write("work/test_it.py", test);
    let python =
        std::env::var_os("CALLBOARD_SCHEMATHESIS").map(|it| PathBuf::from(it).with_file_name("python"));
    let Some(python) = python.filter(|python| python.with_file_name("pytest").is_file()) else {
        eprintln!("skipped: no pytest is installed; python's own unittest runs instead");
        if is_there("python3") {
            place.works(&[], "python3 -m unittest -q");
        }
        return;
    };
    place.works(&reach(&python), &format!("{} -m pytest -q\ntest -d .pytest_cache", python.display()));
}
