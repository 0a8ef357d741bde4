//! Asking git about a repository without its configuration, so that no program runs that the repository names.
//!
//! Invariant: git gets a git directory of our own. It borrows objects, refs and the index of the repository; its configuration
//! is written here, and of the repository's own only settings are taken over that are a word from a list (is a file mode
//! kept, which hash, which line ends). So there are no hooks, filters, watchers, helpers, aliases, remotes or includes to
//! run, whatever the agent wrote. Submodules, in which git would start itself with their configuration, are left to
//! the caller.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_supervisor::on_path;
use callboard_supervisor::private_files::keep_private;

use super::location::{Location, small_file};
use crate::check::{Check, CheckProgram, ProgramEnd};

const LIMIT: Duration = Duration::from_secs(30);
/// Bytes of an answer; about a hundred thousand paths of `git status`.
const ANSWER_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a configuration or of a list of ignored names.
const SETTINGS_MAX: u64 = 1024 * 1024;
/// Files of a split index.
const SHARED_INDEXES_MAX: usize = 64;

/// The settings that are taken over from the repository, and the values they may have.
const SETTINGS: &[(&str, &[&str])] = &[
    ("core.repositoryformatversion", &["0", "1"]),
    ("extensions.objectformat", &["sha1", "sha256"]),
    ("extensions.refstorage", &["files", "reftable"]),
    ("core.filemode", BOOLEAN),
    ("core.symlinks", BOOLEAN),
    ("core.ignorecase", BOOLEAN),
    ("core.precomposeunicode", BOOLEAN),
    ("core.trustctime", BOOLEAN),
    ("core.checkstat", &["default", "minimal"]),
    ("core.autocrlf", &["true", "false", "input"]),
    ("core.eol", &["lf", "crlf", "native"]),
    ("core.sparsecheckout", BOOLEAN),
    ("core.sparsecheckoutcone", BOOLEAN),
    ("index.sparse", BOOLEAN),
];
const BOOLEAN: &[&str] = &["true", "false"];
/// Those of them that people set for all of their repositories.
const OF_THE_USER: &[&str] = &["core.autocrlf", "core.eol"];

/// A repository that can be asked.
pub(super) struct Asking<'a> {
    checks: &'a dyn Check,
    top: &'a Path,
    private: PrivateDir,
    index: PathBuf,
    objects: PathBuf,
    /// Git's own variables, and what else it must not see.
    without: Vec<String>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(location: &'a Location, checks: &'a dyn Check) -> Result<Self, String> {
        let private = PrivateDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
        let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let asking = Self {
            checks,
            top: &location.top,
            index: location.git_dir.join("index"),
            objects: location.common.join("objects"),
            without: own.filter(|name| name.starts_with("GIT_")).collect(),
            private,
        };
        asking
            .borrow(location)
            .map_err(|error| format!("the repository cannot be borrowed from: {error}"))?;
        let settings = asking.settings(location)?;
        asking.write("config", settings.as_bytes()).map_err(|error| error.to_string())?;
        Ok(asking)
    }

    /// Asks git, in the root of the work tree.
    pub(super) fn ask(&self, question: &[&str]) -> Result<Vec<u8>, String> {
        let fixed = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let place = [
            ("GIT_DIR", self.private.0.as_os_str()),
            ("GIT_WORK_TREE", self.top.as_os_str()),
            ("GIT_INDEX_FILE", self.index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", self.objects.as_os_str()),
        ];
        let place = place.map(|(name, path)| (OsString::from(name), path.to_owned()));
        self.run(&[&fixed[..], question].concat(), self.top, &place)
    }

    fn run(&self, arguments: &[&str], dir: &Path, place: &[(OsString, OsString)]) -> Result<Vec<u8>, String> {
        // Not one that lies in the work tree, should the path have a place there.
        let git = on_path("git").ok_or("git is not installed")?;
        let argv: Vec<String> = std::iter::once(git.to_string_lossy().into_owned())
            .chain(arguments.iter().map(|word| (*word).to_owned()))
            .collect();
        let home = self.private.0.clone().into_os_string();
        let mut with: Vec<(OsString, OsString)> =
            ALWAYS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        with.extend([("HOME".into(), home.clone()), ("XDG_CONFIG_HOME".into(), home)]);
        with.extend_from_slice(place);
        // What is taken out wins over what is put in.
        let is_ours = |name: &&str| with.iter().all(|(given, _)| given != name);
        let without: Vec<&str> = self.without.iter().map(String::as_str).filter(is_ours).collect();
        let program = CheckProgram {
            is_promised: false,
            argv: &argv,
            dir,
            limit: LIMIT,
            output_max: ANSWER_MAX,
            without: &without,
            with: &with,
        };
        let ran = self.checks.run(&program).map_err(|error| format!("git could not be started: {error}"))?;
        match ran.end {
            ProgramEnd::Code(0) if ran.cut => Err(format!("git said more than {ANSWER_MAX} bytes")),
            ProgramEnd::Code(0) => Ok(ran.stdout),
            ProgramEnd::Code(_) => Err(match ran.last_words() {
                said if said.is_empty() => "git refused and did not say why".to_owned(),
                said => said,
            }),
            ProgramEnd::Signal(signal) => Err(format!("git was ended by signal {signal}")),
            ProgramEnd::Limit => Err(format!("git took longer than {} s", LIMIT.as_secs())),
        }
    }

    /// Puts what git needs of the repository into our git directory: links to data, and a copy of HEAD.
    fn borrow(&self, location: &Location) -> std::io::Result<()> {
        let head = location.head().ok_or_else(|| std::io::Error::other("HEAD cannot be read"))?;
        self.write("HEAD", format!("{head}\n").as_bytes())?;
        for name in ["refs", "packed-refs", "reftable", "shallow"] {
            let source = location.common.join(name);
            if source.exists() {
                symlink(source, self.private.0.join(name))?;
            }
        }
        DirBuilder::new().mode(0o700).create(self.private.0.join("info"))?;
        let information = [
            ("exclude", &location.common),
            ("attributes", &location.common),
            ("sparse-checkout", &location.git_dir),
        ];
        for (name, dir) in information {
            let name = format!("info/{name}");
            if let Some(bytes) = small_file(&dir.join(&name), SETTINGS_MAX) {
                self.write(&name, &bytes)?;
            }
        }
        if let Some(ignored) = self.ignored_by_the_user() {
            self.write(IGNORED, &ignored)?;
        }
        let entries = std::fs::read_dir(&location.git_dir)?.flatten();
        let shared = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."));
        for entry in shared.take(SHARED_INDEXES_MAX) {
            symlink(entry.path(), self.private.0.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// The configuration: ours, and the words of the repository's and of the user's that are on the list.
    fn settings(&self, location: &Location) -> Result<String, String> {
        let mut settings = self.listed(&self.config_of_the_user(), OF_THE_USER)?;
        let all: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
        for path in [location.common.join("config"), location.git_dir.join("config.worktree")] {
            settings.extend(self.listed(&path, &all)?);
        }
        let mut text = String::new();
        for (name, value) in settings {
            let (section, key) = name.split_once('.').unwrap_or((name, ""));
            text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
        let ignored = self.private.0.join(IGNORED);
        let ignored = if ignored.exists() { ignored } else { PathBuf::from("/dev/null") };
        let ignored = ignored.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!("[core]\n\tbare = false\n\texcludesFile = \"{ignored}\"\n"));
        Ok(text)
    }

    /// The settings of a file that are on the list. Git reads a copy, alone and without what it includes.
    fn listed(&self, path: &Path, names: &[&str]) -> Result<Vec<(&'static str, &'static str)>, String> {
        let Some(bytes) = small_file(path, SETTINGS_MAX) else { return Ok(Vec::new()) };
        let copy = "config.copy";
        self.write(copy, &bytes).map_err(|error| error.to_string())?;
        let copy = self.private.0.join(copy);
        let question = ["config", "--file", &copy.to_string_lossy(), "--no-includes", "--null", "--list"];
        let answer = self.run(&question, &self.private.0, &[]);
        let answer = answer.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let mut listed = Vec::new();
        for entry in answer.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(entry).to_lowercase();
            // A name without a value is a yes.
            let (name, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let known = SETTINGS.iter().find(|(known, _)| *known == name && names.contains(&name));
            listed.extend(known.and_then(|(name, values)| Some((*name, one_of(values, value)?))));
        }
        Ok(listed)
    }

    fn config_of_the_user(&self) -> PathBuf {
        let home = home();
        let first = home.join(".gitconfig");
        if first.exists() { first } else { config_home().join("git/config") }
    }

    /// What the user wants to be ignored in all repositories.
    fn ignored_by_the_user(&self) -> Option<Vec<u8>> {
        let config = small_file(&self.config_of_the_user(), SETTINGS_MAX).and_then(|bytes| {
            self.write("config.copy", &bytes).ok()?;
            let copy = self.private.0.join("config.copy");
            let copy = copy.to_string_lossy();
            let question = ["config", "--file", &copy, "--no-includes", "--get", "core.excludesFile"];
            let answer = self.run(&question, &self.private.0, &[]).ok()?;
            String::from_utf8(answer).ok()
        });
        let named = config.map(|path| match path.trim_end().strip_prefix("~/") {
            Some(rest) => home().join(rest),
            None => PathBuf::from(path.trim_end()),
        });
        let named = named.filter(|path| path.is_absolute());
        small_file(&named.unwrap_or_else(|| config_home().join("git/ignore")), SETTINGS_MAX)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        keep_private(&self.private.0.join(name), bytes)
    }
}

/// The value as it stands on the list.
fn one_of(values: &[&'static str], value: &str) -> Option<&'static str> {
    let listed = |wanted: &str| values.iter().copied().find(|one| *one == wanted);
    listed(value).or_else(|| match value {
        "yes" | "on" | "1" => listed("true"),
        "no" | "off" | "0" | "" => listed("false"),
        _ => None,
    })
}

/// The copy of what the user wants to be ignored.
const IGNORED: &str = "ignored-by-the-user";

/// What git is told about itself: no configuration but ours, nothing is fetched, nothing is written.
const ALWAYS: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

fn home() -> PathBuf {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| "/".into())
}

fn config_home() -> PathBuf {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| home().join(".config"))
}

/// A directory that only we can enter, and that goes with us.
struct PrivateDir(PathBuf);

impl PrivateDir {
    fn new() -> std::io::Result<Self> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(std::io::Error::other)?;
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::path::absolute(std::env::temp_dir())?.join(format!("callboard-git-{name}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Links in it are removed, not what they lead to.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
