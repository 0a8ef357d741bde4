//! `callboard work`: claims tasks and lets an agent program do them, each in its own git worktree; verifies and merges what is done.
//!
//! Invariant: every agent has a supervisor of its own, so a worker that dies loses no exit code; what it held is recovered by the next one.
//! Ctrl-C once finishes what is under way and claims nothing more; a second one, or SIGTERM, stops the agents and gives the tasks back.
//! Deliberately absent: doing any of it; the crew does.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use callboard_crew::git::GitRepository;
use callboard_crew::{Crew, CrewSignal, JanitorService, McpClient, Profile, RecoveryService, Until};
use callboard_engine::tasks::{LEASE, OVERDUE, TaskService};
use callboard_engine::{
    Host, ReaperService, Service, ServiceHost, TASKS_LEASE, crew_lease, host_lease, service_holder,
};
use callboard_ledger::{ClaimQuery, Ledger, error_chain};
use clap::Args;

use crate::clock::Real;
use crate::commands::crew::profiles;
use crate::commands::host::serve::REAP;
use crate::error::{Error, Exit, tell};
use crate::input::moment::span;
use crate::input::word::{Misread, Reading, pair};
use crate::launch::crew_runs::CrewRuns;
use crate::show::screen::Screen;
use crate::store::Store;

/// Claim tasks and do them with an agent program, each in a git worktree of its own.
///
/// The command may hold {prompt}, {title}, {worktree}, {task}, {session} and {mcp_config}; each is one argument as it is, and no shell reads
/// it. It runs in the worktree with CALLBOARD_TASK set. Claude Code, Codex, Gemini CLI and opencode get the tools of the board for their task. What it leaves is verified by the checks of the task, and merged. Ctrl-C finishes what is
/// under way; a second Ctrl-C gives it back.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// How many tasks are done at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Return when nothing is left that can be claimed.
    #[arg(long)]
    once: bool,
    /// The agent profile of callboard.toml or of the user's settings to work with.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Which agent program is told of the task board as MCP tools: auto, claude, codex, gemini, opencode or none; what the profile says
    /// unless given.
    #[arg(long, value_name = "PROGRAM", value_parser = Reading(client))]
    mcp: Option<McpClient>,
    /// Take only tasks for this role, and tasks without one.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Take only tasks with this label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// The repository of tasks that name none; with it, tasks of other repositories are not taken.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// How long a claim lasts if this process dies.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span), default_value = "30s")]
    lease: Duration,
    /// The pause before a failed task is tried again; each further one is twice as long.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span), default_value = "5s")]
    retry_pause: Duration,
    /// The agent command, with placeholders.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The pause before the first retry of a task.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
const _: () = assert!(LEASE.as_secs() == 30, "the default of --lease is the engine's");

impl WorkArgs {
    /// Works until it is told to stop, or until nothing is left to claim.
    pub(crate) fn run(&self, _: &Screen, store: &Store) -> Result<Exit, Error> {
        let (profile, requests) = (self.profile()?, profiles::requests()?);
        let repo = self.repo.as_deref().map(repository).transpose()?;
        let ledger = store.open()?;
        let signal = CrewSignal::default();
        let mut crew = crew_of(store, ledger.clone(), profile)?;
        crew.query = ClaimQuery {
            role: self.role.clone().or_else(|| crew.profile.role.clone()),
            labels: self.labels.clone(),
            repos: repo.iter().map(|repo| repo.to_string_lossy().into_owned()).collect(),
        };
        crew.repo = repo;
        crew.requests = requests;
        crew.lease = self.lease.max(Duration::from_secs(1));
        crew.retry_pause = self.retry_pause;
        crew.concurrency = usize::from(self.concurrency);
        crew.until = if self.once { Until::Quiet } else { Until::Told };
        crew.signal = signal.clone();
        let services = services(&crew, &ledger, store)?;
        let done = Arc::new(AtomicBool::new(false));
        let listening = listen(signal, Arc::clone(&done));
        crew.work();
        done.store(true, Ordering::Release);
        services.into_iter().for_each(callboard_engine::HostedServices::stop);
        drop(listening.map(std::thread::JoinHandle::join));
        Ok(Exit::DONE)
    }

    fn profile(&self) -> Result<Profile, Error> {
        let mut profile = match &self.profile {
            Some(name) => profiles::load(name)?,
            None => Profile::default(),
        };
        if !self.command.is_empty() {
            profile.command.clone_from(&self.command);
        }
        profile.mcp = self.mcp.unwrap_or(profile.mcp);
        if profile.mcp == McpClient::Nobody && profile.takes_mcp_config() {
            return Err(Error::CommandLine {
                because: "the command holds {mcp_config}, and mcp is none".to_owned(),
                instead: "leave one of the two out".to_owned(),
            });
        }
        if profile.command.is_empty() {
            return Err(Error::CommandLine {
                because: "no agent command is given".to_owned(),
                instead: "callboard work -- claude -p {prompt}, or callboard work --profile NAME".to_owned(),
            });
        }
        Ok(profile)
    }
}

fn client(text: &str) -> Result<McpClient, Misread> {
    let misread = |unknown: callboard_crew::UnknownMcpClient| Misread {
        because: unknown.to_string(),
        instead: "auto, which recognises the program by its command line".to_owned(),
    };
    text.parse().map_err(misread)
}

/// A crew of this program on this host, with one worker and the usual bounds.
pub(crate) fn crew_of(store: &Store, ledger: Ledger, profile: Profile) -> Result<Crew, Error> {
    Ok(Crew {
        ledger,
        clock: Arc::new(Real),
        host: Arc::new(Host::this()),
        launch: Arc::new(CrewRuns::new(store.again())),
        profile,
        query: ClaimQuery::default(),
        repo: None,
        state_dir: store.state_dir()?,
        lease: LEASE,
        retry_pause: RETRY_PAUSE,
        concurrency: 1,
        until: Until::Told,
        signal: CrewSignal::default(),
        requests: None,
        closer: None,
        say: Arc::new(|text| tell(&format!("{text}\n"))),
    })
}

/// The top of the repository around a directory, which must be one that tasks can be done in.
pub(crate) fn repository(dir: &std::path::Path) -> Result<PathBuf, Error> {
    let unfit = |error: callboard_crew::git::GitError| Error::CommandLine {
        because: format!("{}: {}", dir.display(), error_chain(&error)),
        instead: error.help().to_owned(),
    };
    let opened = GitRepository::open(dir).map_err(unfit)?;
    Ok(opened.top().unwrap_or_else(|| opened.common_dir()).to_owned())
}

/// Everything that happens by itself while workers are there: each under a lease, so that one process does it.
fn services(
    crew: &Crew,
    ledger: &Ledger,
    store: &Store,
) -> Result<Vec<callboard_engine::HostedServices>, Error> {
    let tasks: Box<dyn Service> = Box::new(TaskService::new(Arc::new(Real), OVERDUE));
    let of_crew: Vec<Box<dyn Service>> =
        vec![Box::new(JanitorService::new(crew.clone())), Box::new(RecoveryService::new(crew.clone()))];
    let reaper = ReaperService::new(Arc::clone(&crew.host), Arc::new(Real), store.runs()?, REAP);
    let hosted = [
        (TASKS_LEASE.to_owned(), vec![tasks]),
        (crew_lease(&*crew.host), of_crew),
        (host_lease(&*crew.host), vec![Box::new(reaper) as Box<dyn Service>]),
    ];
    let holder = service_holder(&*crew.host);
    let start = |(lease, services)| {
        let (ledger, holder) = (ledger.clone(), holder.clone());
        ServiceHost { ledger, lease, holder, clock: Arc::new(Real), services }.start().map_err(Error::Shim)
    };
    hosted.into_iter().map(start).collect()
}

/// Tells the crew what signals say.
fn listen(crew: CrewSignal, done: Arc<AtomicBool>) -> Option<std::thread::JoinHandle<()>> {
    let interrupts = Arc::new(AtomicUsize::new(0));
    let terminated = Arc::new(AtomicBool::new(false));
    let counted = Arc::clone(&interrupts);
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&terminated)).ok()?;
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&terminated)).ok()?;
    let pressed = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&pressed)).ok()?;
    let listen = move || {
        while !done.load(Ordering::Acquire) {
            if pressed.swap(false, Ordering::AcqRel) {
                match counted.fetch_add(1, Ordering::AcqRel) {
                    0 => {
                        tell("finishing what is under way; Ctrl-C again gives it back\n");
                        crew.drain();
                    }
                    _ => crew.leave(),
                }
            }
            if terminated.swap(false, Ordering::AcqRel) {
                crew.leave();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).ok()
}
