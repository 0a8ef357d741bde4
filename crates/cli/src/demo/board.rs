//! The board of the demonstration: a repository, a backlog, and two crews of `callboard work`, the first of which is killed.
//!
//! Invariant: the crews are processes of this program, as anybody would start them, and none is left at the end. Deliberately absent:
//! the tasks themselves.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callboard_engine::tasks::{Asking, NewTask};
use callboard_engine::{Host, Viewpoint, evaluate};
use callboard_kernel::{EntityId, task};
use callboard_ledger::{Ledger, Listing};
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::TaskRequest;

use super::backlog::{BACKLOG, PARTS, Piece, SKILLS, SLOW};
use super::cast::TONGUE;
use super::stage::Stage;
use super::story::{Scene, entity};
use crate::clock;
use crate::error::Error;
use crate::store::sending;

/// How long the whole board may take.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(50);

/// The board as it is worked on.
pub(crate) struct Board {
    tasks: Vec<(EntityId, &'static Piece)>,
    crew: Option<Child>,
    dir: PathBuf,
    store: PathBuf,
}

impl Board {
    /// Makes the repository, fills the board and lets a crew begin.
    pub(crate) fn begin(stage: &Stage, ledger: &Ledger) -> Result<Self, Error> {
        let dir = stage.board();
        repository(&dir).map_err(Error::Shim)?;
        let mut board = Self { tasks: Vec::new(), crew: None, dir, store: stage.store() };
        for piece in BACKLOG {
            let id = board.add(ledger, piece)?;
            board.tasks.push((id, piece));
        }
        board.crew = Some(board.start_crew().map_err(Error::Shim)?);
        Ok(board)
    }

    fn add(&self, ledger: &Ledger, piece: &Piece) -> Result<EntityId, Error> {
        let after = self.tasks.iter().filter(|(_, known)| Some(known.title) == piece.after);
        let request = TaskRequest {
            title: piece.title.to_owned(),
            repo: Some(self.dir.join("website").to_string_lossy().into_owned()),
            verify: piece.verify.iter().map(|command| (*command).to_owned()).collect(),
            after: after.map(|(id, _)| id.to_string()).collect(),
            timeout_s: piece.timeout_s,
            max_retries: piece.max_retries,
            ..TaskRequest::default()
        };
        let asking = Asking::new(ledger, sending::operator(), clock::now());
        let added = NewTask::read(&request, ActorClass::Operator).and_then(|task| asking.add(task));
        added.map_err(|error| Error::Shim(io::Error::other(error.to_string())))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a crew is a process of this program; it is ended with the demonstration"
    )]
    fn start_crew(&self) -> io::Result<Child> {
        let agent = self.dir.join("claude");
        let mut crew = Command::new(std::env::current_exe()?);
        crew.args(["work", "--concurrency", "4", "--lease", "3s", "--retry-pause", "200ms", "--"])
            .arg(agent)
            .args(["-p", "{title}", "--output-format", "stream-json", "--verbose"])
            .env("CALLBOARD_STORE", &self.store)
            .env("CALLBOARD", std::env::current_exe()?)
            .env("BOARD", self.dir.join("tries"))
            .env_remove("CALLBOARD_KEY")
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }

    /// Kills the crew in the middle of a task, and lets another one go on.
    pub(crate) fn replace_crew(&mut self, ledger: &Ledger) -> Result<(), Error> {
        let slow = self.tasks.iter().find(|(_, piece)| piece.title == SLOW).map(|(id, _)| *id);
        let until = Instant::now() + PATIENCE;
        while let Some(slow) = slow
            && lifecycle(ledger, slow)? != "in_progress"
            && Instant::now() < until
        {
            std::thread::sleep(LOOK);
        }
        self.stop();
        self.crew = Some(self.start_crew().map_err(Error::Shim)?);
        Ok(())
    }

    /// Waits until every task has ended as it must, and looks at what main holds.
    pub(crate) fn settle(&self, ledger: &Ledger) -> Result<Vec<Scene>, Error> {
        let until = Instant::now() + PATIENCE;
        let host = Host::this();
        let mut scenes = Vec::new();
        for (id, piece) in &self.tasks {
            while lifecycle(ledger, *id)? != piece.state && Instant::now() < until {
                std::thread::sleep(LOOK);
            }
            let view = evaluate(&entity(ledger, *id)?, &Viewpoint::present(clock::now(), &host)).chain;
            let is_right = lifecycle(ledger, *id)? == piece.state;
            let title = piece.title.to_owned();
            scenes.push(Scene { title, expected: piece.state, chain: view, is_right });
        }
        scenes.push(self.merges(ledger)?);
        Ok(scenes)
    }

    /// Does main hold each merge that is recorded, once, and nothing else?
    fn merges(&self, ledger: &Ledger) -> Result<Scene, Error> {
        let log = git(&self.dir.join("website"), &["log", "--first-parent", "--format=%H", "main"]);
        let log = log.map_err(Error::Shim)?;
        let mut on_main: Vec<&str> = log.lines().collect();
        // The oldest one is the commit that the repository began with.
        on_main.pop();
        let listing = Listing { kind: Some(Kind::Task), ended: true, limit: 0 };
        let all = ledger.entities(listing).map_err(Error::Ask)?;
        let mut recorded: Vec<&str> =
            all.iter().filter_map(|stored| task::merged_as(&stored.entity)).collect();
        on_main.sort_unstable();
        recorded.sort_unstable();
        Ok(Scene {
            title: "main".to_owned(),
            expected: "each merge once",
            chain: format!("{} merges", on_main.len()),
            is_right: on_main == recorded,
        })
    }

    /// Ends the crew; its agents are stopped with whoever else still runs.
    pub(crate) fn stop(&mut self) {
        if let Some(mut crew) = self.crew.take() {
            // One that is gone already is what was wanted.
            crew.kill().ok();
            crew.wait().ok();
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lifecycle(ledger: &Ledger, id: EntityId) -> Result<&'static str, Error> {
    Ok(entity(ledger, id)?.entity.state.lifecycle.map_or("", |state| state.name()))
}

/// Makes a repository with one commit, and beside it the agent that works on it.
fn repository(dir: &Path) -> io::Result<()> {
    let repo = dir.join("website");
    fs::create_dir_all(&repo)?;
    fs::create_dir_all(dir.join("tries"))?;
    git(&repo, &["init", "-q", "-b", "main"])?;
    fs::write(repo.join("index.html"), "<h1>A shop</h1>\n")?;
    fs::write(repo.join("header.css"), "grey\n")?;
    git(&repo, &["add", "."])?;
    git(&repo, &["commit", "-q", "-m", "A shop"])?;
    let pieces = BACKLOG.iter().map(|piece| (piece.title, piece.deed));
    let cases: String =
        pieces.chain(PARTS.iter().copied()).map(|(title, deed)| format!("'{title}') {deed} ;;\n")).collect();
    let agent = dir.join("claude");
    // Its worker puts options of its own before those of the command line.
    let find = "while [ $# -gt 1 ] && [ \"$1\" != -p ]; do shift; done\n";
    fs::write(&agent, format!("{TONGUE}{SKILLS}{find}case \"$2\" in\n{cases}*) exit 3 ;;\nesac\n"))?;
    fs::set_permissions(&agent, Permissions::from_mode(0o700))
}

/// Runs git without anybody's settings.
fn git(repo: &Path, args: &[&str]) -> io::Result<String> {
    let run = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(args)
        .current_dir(repo)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output();
    let output = run.map_err(|error| io::Error::new(error.kind(), format!("git is needed: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("git {}: {said}", args.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
