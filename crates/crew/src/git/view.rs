//! A private git directory through which git sees a repository: its objects and refs, and none of its configuration.
//!
//! Invariant: the configuration that git reads is written here. Of the repository's own only settings are taken over that are a
//! word from a list (is a file mode kept, which hash, which line ends), and of the user's only line ends and ignored names.
//! So there are no hooks, filters, merge drivers, watchers, helpers, aliases, remotes or includes, whatever an agent wrote,
//! and nothing of the caller's environment reaches git but the `PATH`. HEAD of the private directory leads nowhere: every
//! operation names its commits. `delivery::repository::asking` does the same for looking only.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use callboard_supervisor::on_path;
use callboard_supervisor::private_files::keep_private;

use super::error::GitError;
use super::location::small_file;
use super::runner::{Answer, Conversation, Process, run};

/// How long one git command may take; hashing a large worktree for the first time takes minutes.
const LIMIT: Duration = Duration::from_secs(300);
/// Bytes of an answer; about half a million paths.
const ANSWER_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a configuration or of a list of ignored names.
const SETTINGS_MAX: u64 = 1024 * 1024;
/// How long a lock of another git process is waited for, and between two looks.
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The settings that are taken over from the repository, and the values they may have.
const SETTINGS: &[(&str, &[&str])] = &[
    ("core.repositoryformatversion", &["0", "1"]),
    ("extensions.objectformat", &["sha1", "sha256"]),
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

/// The rest of the configuration. Objects and refs are synced, so that no ref leads to a commit that a power failure took.
const FIXED: &str = "\
[core]
\tbare = false
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\tsplitIndex = false
\tuntrackedCache = false
\tfsync = added,reference
\tfsyncMethod = batch
\tfilesRefLockTimeout = 3000
\tpackedRefsTimeout = 3000
\teditor = false
[sequence]
\teditor = false
[commit]
\tgpgSign = false
[protocol]
\tallow = never
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
[diff]
\tignoreSubmodules = all
[advice]
\taddEmbeddedRepo = false
";

/// What git is told about itself: no configuration but ours, nothing is fetched, nobody is asked.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_AUTHOR_NAME", "Callboard"),
    ("GIT_AUTHOR_EMAIL", "callboard@localhost"),
    ("GIT_COMMITTER_NAME", "Callboard"),
    ("GIT_COMMITTER_EMAIL", "callboard@localhost"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Is the sparse checkout of a git directory part of the view?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sparse {
    /// The view is of a checkout of the user, in which files may be left out.
    Kept,
    /// The view is of the repository or of a worktree of ours, which has all files.
    Ignored,
}

/// A repository as git sees it.
#[derive(Debug)]
pub(super) struct View {
    program: PathBuf,
    dir: PrivateDir,
    /// An empty directory, for commands that need no files.
    nowhere: PathBuf,
    environment: Vec<(OsString, OsString)>,
    scratches: AtomicU64,
}

impl View {
    /// A view of what the checkouts share, and of what belongs to one of them.
    pub(super) fn new(common: &Path, git_dir: &Path, sparse: Sparse) -> Result<Self, GitError> {
        // Not one that lies in the worktree, should the path have a place there.
        let program = on_path("git").ok_or(GitError::NoGit)?;
        let dir = PrivateDir::new().map_err(GitError::io("no temporary directory"))?;
        let nowhere = dir.0.join("nowhere");
        let place = [
            ("GIT_DIR", dir.0.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", common.join("objects").as_os_str()),
            ("HOME", dir.0.as_os_str()),
            ("XDG_CONFIG_HOME", dir.0.as_os_str()),
        ]
        .map(|(name, path)| (OsString::from(name), path.to_owned()));
        let fixed = ENVIRONMENT.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut environment: Vec<(OsString, OsString)> = fixed.chain(place).collect();
        // A `git` that is a script of a version manager needs it.
        environment.extend(std::env::var_os("PATH").map(|path| (OsString::from("PATH"), path)));
        let view = Self { program, dir, nowhere, environment, scratches: AtomicU64::new(0) };
        view.borrow(common, git_dir, sparse)
            .map_err(GitError::io("the repository cannot be borrowed from"))?;
        let settings = view.settings(common, git_dir, sparse)?;
        view.write("config", settings.as_bytes())
            .map_err(GitError::io("a private file cannot be written"))?;
        Ok(view)
    }

    /// A git command.
    pub(super) fn git<'a>(&'a self, arguments: &[&str]) -> Call<'a> {
        Call {
            view: self,
            arguments: arguments.iter().map(OsString::from).collect(),
            index: None,
            work_tree: None,
            stdin: None,
            answer_max: ANSWER_MAX,
        }
    }

    /// The path of a private file that is not there yet.
    pub(super) fn scratch(&self) -> PathBuf {
        let number = self.scratches.fetch_add(1, Ordering::Relaxed);
        self.dir.0.join(format!("scratch-{number}"))
    }

    /// Puts what git needs of the repository into our directory: links to data, and copies of lists.
    fn borrow(&self, common: &Path, git_dir: &Path, sparse: Sparse) -> std::io::Result<()> {
        self.write("HEAD", b"ref: refs/callboard/nowhere\n")?;
        // A link to what is not there yet is followed by git when it makes it.
        for name in ["refs", "packed-refs", "shallow"] {
            symlink(common.join(name), self.dir.0.join(name))?;
        }
        if common.join("logs").is_dir() {
            symlink(common.join("logs"), self.dir.0.join("logs"))?;
        }
        for name in ["info", "nowhere"] {
            DirBuilder::new().mode(0o700).create(self.dir.0.join(name))?;
        }
        let lists = [
            ("exclude", common, true),
            ("attributes", common, true),
            ("sparse-checkout", git_dir, sparse == Sparse::Kept),
        ];
        for (name, dir, is_wanted) in lists {
            let name = format!("info/{name}");
            if let Some(bytes) = small_file(&dir.join(&name), SETTINGS_MAX).filter(|_| is_wanted) {
                self.write(&name, &bytes)?;
            }
        }
        if let Some(ignored) = self.ignored_by_the_user() {
            self.write(IGNORED, &ignored)?;
        }
        // An index that is split has its larger part in such a file.
        let entries = std::fs::read_dir(git_dir)?.flatten();
        let shared = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."));
        for entry in shared.take(SHARED_INDEXES_MAX) {
            symlink(entry.path(), self.dir.0.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// The configuration: ours, and the words of the repository's and of the user's that are on the list.
    fn settings(&self, common: &Path, git_dir: &Path, sparse: Sparse) -> Result<String, GitError> {
        let mut settings = self.listed(&config_of_the_user(), |name| OF_THE_USER.contains(&name))?;
        let is_wanted = |name: &str| sparse == Sparse::Kept || !name.contains("sparse");
        for path in [common.join("config"), git_dir.join("config.worktree")] {
            settings.extend(self.listed(&path, is_wanted)?);
        }
        let mut text = String::new();
        for (name, value) in settings {
            let (section, key) = name.split_once('.').unwrap_or((name, ""));
            text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        }
        let ignored = self.dir.0.join(IGNORED);
        let ignored = if ignored.exists() { ignored } else { PathBuf::from("/dev/null") };
        let ignored = ignored.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let logs = self.dir.0.join("logs").exists();
        text.push_str(FIXED);
        text.push_str(&format!("[core]\n\texcludesFile = \"{ignored}\"\n\tlogAllRefUpdates = {logs}\n"));
        Ok(text)
    }

    /// The settings of a file that are on the list. Git reads a copy, alone and without what it includes.
    fn listed(
        &self,
        path: &Path,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<(&'static str, &'static str)>, GitError> {
        let Some(bytes) = small_file(path, SETTINGS_MAX) else { return Ok(Vec::new()) };
        let answer = self.copied_config(&bytes, &["--null", "--list"])?;
        let mut listed = Vec::new();
        for entry in answer.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(entry).to_lowercase();
            // A name without a value is a yes.
            let (name, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let known = SETTINGS.iter().find(|(known, _)| *known == name && is_wanted(name));
            listed.extend(known.and_then(|(name, values)| Some((*name, one_of(values, value)?))));
        }
        Ok(listed)
    }

    fn copied_config(&self, bytes: &[u8], question: &[&str]) -> Result<Vec<u8>, GitError> {
        let copy = self.scratch();
        keep_private(&copy, bytes).map_err(GitError::io("a private file cannot be written"))?;
        let fixed = ["config", "--no-includes", "--file"];
        let mut call = self.git(&fixed).path(&copy);
        call.arguments.extend(question.iter().map(OsString::from));
        call.ok()
    }

    /// What the user wants to be ignored in all repositories.
    fn ignored_by_the_user(&self) -> Option<Vec<u8>> {
        let config = small_file(&config_of_the_user(), SETTINGS_MAX);
        let named = config.and_then(|bytes| self.copied_config(&bytes, &["--get", "core.excludesFile"]).ok());
        let named = named.and_then(|answer| String::from_utf8(answer).ok()).map(|path| {
            match path.trim_end().strip_prefix("~/") {
                Some(rest) => home().join(rest),
                None => PathBuf::from(path.trim_end()),
            }
        });
        let named = named.filter(|path| path.is_absolute());
        small_file(&named.unwrap_or_else(|| config_home().join("git/ignore")), SETTINGS_MAX)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        keep_private(&self.dir.0.join(name), bytes)
    }
}

/// A git command that has not been run.
pub(super) struct Call<'a> {
    view: &'a View,
    arguments: Vec<OsString>,
    index: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    stdin: Option<Vec<u8>>,
    answer_max: usize,
}

impl Call<'_> {
    /// With this index.
    pub(super) fn index(mut self, path: &Path) -> Self {
        self.index = Some(path.to_owned());
        self
    }

    /// In this directory of files.
    pub(super) fn work_tree(mut self, path: &Path) -> Self {
        self.work_tree = Some(path.to_owned());
        self
    }

    /// With this to read.
    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// With one more argument, which is a path.
    pub(super) fn path(mut self, path: &Path) -> Self {
        self.arguments.push(path.as_os_str().to_owned());
        self
    }

    /// Reads so many bytes of the answer at most.
    pub(super) fn answer_max(mut self, bytes: usize) -> Self {
        self.answer_max = bytes;
        self
    }

    /// Runs it, whatever its exit code. A lock that another process holds is waited for, for a while.
    pub(super) fn run(self) -> Result<Answer, GitError> {
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            let answer = self.once()?;
            match locked(&answer) {
                Some(_) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
                Some(lock) => return Err(GitError::Locked { lock }),
                None => return Ok(answer),
            }
        }
    }

    /// Runs it; it must succeed, and its answer be whole.
    pub(super) fn ok(self) -> Result<Vec<u8>, GitError> {
        let (command, bytes) = (self.name(), self.answer_max);
        let answer = self.run()?;
        match answer.code {
            Some(0) if !answer.is_cut => Ok(answer.stdout),
            Some(_) | None if answer.is_cut => Err(GitError::TooLong { command, bytes }),
            Some(_) | None => Err(failed(command, &answer)),
        }
    }

    /// Runs it; its answer is one line.
    pub(super) fn line(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.ok()?).trim_end().to_owned())
    }

    /// Runs it; it answers yes with the exit code 0 and no with 1.
    pub(super) fn answers_yes(self) -> Result<bool, GitError> {
        let command = self.name();
        let answer = self.run()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => Err(failed(command, &answer)),
        }
    }

    /// Starts it, to be talked to.
    pub(super) fn converse(self) -> Result<Conversation, GitError> {
        let environment = self.environment();
        let process = self.process(&environment, None);
        Conversation::start(&process).map_err(GitError::io("git could not be started"))
    }

    fn name(&self) -> String {
        self.arguments.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn once(&self) -> Result<Answer, GitError> {
        let stdin = match &self.stdin {
            Some(bytes) => {
                Some(self.view.unlinked(bytes).map_err(GitError::io("a private file cannot be written"))?)
            }
            None => None,
        };
        let environment = self.environment();
        let process = self.process(&environment, stdin);
        let answer = run(process).map_err(GitError::io("git could not be started"))?;
        match answer.is_too_slow {
            true => Err(GitError::TooSlow { command: self.name(), limit_s: LIMIT.as_secs() }),
            false => Ok(answer),
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.view.environment.clone();
        let nowhere = self.view.nowhere.join("index");
        let index = self.index.as_deref().unwrap_or(&nowhere);
        let place = [("GIT_WORK_TREE", self.dir()), ("GIT_INDEX_FILE", index)];
        environment.extend(place.map(|(name, path)| (OsString::from(name), path.as_os_str().to_owned())));
        environment
    }

    fn dir(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.view.nowhere)
    }

    fn process<'b>(&'b self, environment: &'b [(OsString, OsString)], stdin: Option<File>) -> Process<'b> {
        Process {
            program: &self.view.program,
            arguments: &self.arguments,
            environment,
            dir: self.dir(),
            stdin,
            output_max: self.answer_max,
            limit: LIMIT,
        }
    }
}

impl View {
    /// A file with this content that nobody else finds.
    fn unlinked(&self, bytes: &[u8]) -> std::io::Result<File> {
        let path = self.scratch();
        keep_private(&path, bytes)?;
        let file = File::open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    }
}

/// Why a command failed, in git's words.
pub(super) fn failed(command: String, answer: &Answer) -> GitError {
    let said: Vec<&str> =
        answer.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    let said = match answer.code {
        None => "killed by a signal".to_owned(),
        Some(code) if said.is_empty() => format!("exit code {code}"),
        Some(_) => said.join("; "),
    };
    GitError::Failed { command, said }
}

/// The lock file that was in the way of a command.
fn locked(answer: &Answer) -> Option<PathBuf> {
    (answer.code != Some(0)).then(|| lock_in(&answer.stderr)).flatten()
}

/// The lock file that a message of git is about.
pub(super) fn lock_in(message: &str) -> Option<PathBuf> {
    let (before, _) = message.split_once("': File exists")?;
    let (_, path) = before.rsplit_once("Unable to create '")?;
    Some(PathBuf::from(path))
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
/// Files of a split index.
const SHARED_INDEXES_MAX: usize = 64;

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

fn config_of_the_user() -> PathBuf {
    let first = home().join(".gitconfig");
    if first.exists() { first } else { config_home().join("git/config") }
}

/// A directory that only we can enter, and that goes with us.
#[derive(Debug)]
struct PrivateDir(PathBuf);

impl PrivateDir {
    fn new() -> std::io::Result<Self> {
        let name = random_name()?;
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

/// A name that nobody else has.
pub(super) fn random_name() -> std::io::Result<String> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(std::io::Error::other)?;
    Ok(name.iter().map(|byte| format!("{byte:02x}")).collect())
}
