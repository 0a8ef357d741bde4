//! The server as a whole: bound to an address, serving until it is told to stop.
//!
//! Invariant: it is ready when `bind` returns. Stopping it ends no run, because each has a supervisor of its own; what
//! it knows it knows from the ledger, so it resumes where it was. Deliberately absent: reading the command line.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use callboard_engine::board::{Fleet, Trends};
use callboard_engine::notify::Settings as NotifySettings;
use callboard_engine::tasks::{OVERDUE, TaskService};
use callboard_engine::{
    Clock, Host, HostedServices, NotifierService, ReaperService, STORE_LEASE, Service, ServiceHost,
    TASKS_LEASE, host_lease, service_holder, services_of_kinds,
};
use callboard_ledger::{Ledger, ReadError};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix;
use tokio::sync::{Semaphore, watch};

use crate::access::{Doorman, KeyError, Keyring, Names, Refusals, Shares};
use crate::address::Address;
use crate::app::{App, Shared};
use crate::connection::listen::{self, Doors};
use crate::connection::socket::Socket;
use crate::deaths::{self, Deaths};
use crate::feed::{self, FollowError};
use crate::memory;
use crate::router::router;
use crate::routes::{Calm, Latest, look};
use crate::runner::Runner;
use crate::traces::{TraceService, TraceSettings, Traces, Untraceable};

/// Threads that serve connections.
const WORKERS: usize = 2;
/// Threads that may wait for the store.
const WAITING_MAX: usize = 16;
/// Threads that only wait need little.
const STACK_BYTES: usize = 1024 * 1024;

/// How a server is set up.
pub struct Config {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Listening beyond this host was asked for by name.
    pub allow_remote: bool,
    /// Other names it answers to.
    pub host_names: Vec<String>,
    /// The store.
    pub ledger: Ledger,
    /// Where the tokens are kept.
    pub state_dir: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// Starts runs.
    pub runner: Arc<dyn Runner>,
    /// What a person who comes in is called in records.
    pub operator: String,
    /// Requests a second for each token; 0 is no limit.
    pub rate: u32,
    /// Streams at the most.
    pub streams: usize,
    /// End runs whose supervisor is dead: at once where its end is seen, and every so often whatever was seen.
    pub reap: Option<Duration>,
    /// Where spans are sent, if anywhere.
    pub traces: Option<TraceSettings>,
    /// Who is told what needs somebody, and how.
    pub notifications: NotifySettings,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is reachable from other hosts, and nobody said that this is meant.
    #[error("{0} can be reached from other hosts")]
    Remote(SocketAddr),
    /// The address is taken, or not this host's.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The tokens.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The store.
    #[error("the store cannot be asked")]
    Store(#[source] ReadError),
    /// What the variables of OpenTelemetry ask for.
    #[error(transparent)]
    Traces(#[from] Untraceable),
    /// The threads.
    #[error("failed to start the threads of the server")]
    Threads(#[source] io::Error),
}

impl From<FollowError> for ServeError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Read(cause) => Self::Store(cause),
            FollowError::Thread(cause) => Self::Threads(cause),
        }
    }
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    doors: Doors,
    address: SocketAddr,
    app: Shared,
    stop: watch::Sender<bool>,
    /// TERM and INT, caught before anybody is told where the server listens.
    signals: Option<[unix::Signal; 2]>,
    threads: Vec<JoinHandle<()>>,
    services: Vec<HostedServices>,
    reap: Option<Duration>,
    /// Kept until it stops.
    left: Address,
}

/// Tells a server to stop.
#[derive(Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Tells it.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Binds the address and starts following the store.
    pub fn bind(config: Config) -> Result<Self, ServeError> {
        let wanted = config.listen;
        if !wanted.ip().is_loopback() && !config.allow_remote {
            return Err(ServeError::Remote(wanted));
        }
        let keys = Keyring::open(&config.state_dir)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(WAITING_MAX)
            .thread_stack_size(STACK_BYTES)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let bound = runtime.block_on(TcpListener::bind(wanted));
        let listener = bound.map_err(|source| ServeError::Listen(wanted, source))?;
        let address = listener.local_addr().map_err(|source| ServeError::Listen(wanted, source))?;
        let signals = runtime.block_on(async { stop_signals() });
        // Another server on this store has it, or its path is too long: programs ask at the address then.
        let socket = runtime.block_on(async { Socket::bind(&config.state_dir) }).ok();
        let doors = Doors { listener, socket };
        let start = Keyring::new_start()?;
        let left = Address::leave(&config.state_dir, address, &start)?;
        let names = Names::of(address, &keys.page_name(), &config.host_names);
        let (stop, stopping) = watch::channel(false);
        let deaths = Arc::new(Deaths::new().map_err(ServeError::Threads)?);
        let (feed, follower) = feed::follow(&config.ledger, Arc::clone(&deaths), stopping.clone())?;
        let mut threads = vec![follower];
        let services = services(&config).map_err(ServeError::Threads)?;
        let traces = config.traces.map(Traces::start).transpose().map_err(ServeError::Threads)?;
        let bell = Arc::clone(&deaths.bell);
        let app = Arc::new(App {
            ledger: config.ledger,
            clock: config.clock,
            host: Host::this(),
            fleet: Fleet::new(Box::new(move || bell.ring())),
            feed,
            deaths,
            trends: Trends::default(),
            keys,
            doorman: Doorman::new(names, start, config.rate),
            shares: Shares::new(),
            refusals: Refusals::default(),
            traces,
            runner: config.runner,
            latest: Latest::default(),
            calm: Calm::default(),
            runs: config.state_dir.join("runs"),
            operator: config.operator,
            streams: Arc::new(Semaphore::new(config.streams)),
            streams_max: config.streams,
            stopping,
        });
        let reaper = match config.reap {
            Some(_) => Some(deaths::reap_at_once(Arc::clone(&app)).map_err(ServeError::Threads)?),
            None => None,
        };
        threads.push(deaths::follow(Arc::clone(&app), reaper).map_err(ServeError::Threads)?);
        Ok(Self { runtime, doors, address, app, stop, signals, threads, services, reap: config.reap, left })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for programs.
    pub fn url(&self) -> String {
        let port = self.address.port();
        match self.address.ip() {
            ip if ip.is_unspecified() => format!("http://127.0.0.1:{port}/"),
            _ => format!("http://{}/", self.address),
        }
    }

    /// The socket for programs of this user, if it has one.
    pub fn socket(&self) -> Option<&Path> {
        self.doors.socket.as_ref().map(Socket::path)
    }

    /// The address of the page.
    pub fn page(&self) -> String {
        page(self.address, &self.app.keys.page_name())
    }

    /// A link that lets a browser in once, within a minute.
    pub fn login(&self) -> Result<String, ServeError> {
        let code = self.app.keys.login_code(self.app.doorman.start(), self.app.now())?;
        Ok(format!("{}login?once={code}", self.page()))
    }

    /// What stops it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is told to stop, by a signal or by its stopper.
    pub fn run(self) {
        let Self { runtime, doors, app, stop, signals, threads, services, reap, left, .. } = self;
        runtime.block_on(async {
            if let Some(signals) = signals {
                tokio::spawn(stop_on_signal(signals, stop));
            }
            let reading = Arc::clone(&app);
            tokio::task::spawn_blocking(move || read_ahead(&reading));
            if let Some(every) = reap {
                tokio::spawn(look_after(Arc::clone(&app), every));
            }
            listen::serve(doors, router(Arc::clone(&app)), app.stopping.clone()).await;
        });
        drop(left);
        services.iter().for_each(HostedServices::tell_to_stop);
        drop(app.keys.keep_used());
        app.deaths.bell.ring();
        // Whoever still waits for the store is left behind; nothing that was acknowledged depends on them.
        runtime.shutdown_timeout(Duration::from_secs(1));
        for thread in threads {
            // A panic was printed when it happened; the server stops all the same.
            drop(thread.join());
        }
        services.into_iter().for_each(HostedServices::stop);
    }
}

/// Starts what happens by itself: for the store, and for this host, whose processes nobody else can see.
fn services(config: &Config) -> io::Result<Vec<HostedServices>> {
    let host = Arc::new(Host::this());
    let clock = || Arc::clone(&config.clock);
    let notifier = NotifierService::new(config.notifications.clone(), Arc::clone(&host), clock());
    let mut of_store: Vec<Box<dyn Service>> = vec![Box::new(notifier)];
    if let Some(settings) = config.traces.clone() {
        of_store.push(Box::new(TraceService(settings)));
    }
    of_store.extend(services_of_kinds());
    let tasks: Box<dyn Service> = Box::new(TaskService::new(clock(), OVERDUE));
    let mut hosted = vec![(STORE_LEASE.to_owned(), of_store), (TASKS_LEASE.to_owned(), vec![tasks])];
    if let Some(every) = config.reap {
        let runs = config.state_dir.join("runs");
        let reaper = ReaperService::new(Arc::clone(&host), clock(), runs, every);
        hosted.push((host_lease(&*host), vec![Box::new(reaper)]));
    }
    let holder = service_holder(&*host);
    let start = |(lease, services)| {
        let (ledger, holder) = (config.ledger.clone(), holder.clone());
        ServiceHost { ledger, lease, holder, clock: clock(), services }.start()
    };
    hosted.into_iter().map(start).collect()
}

/// Reads what the first question would wait for. A store that cannot be read says so to whoever asks.
fn read_ahead(app: &App) {
    drop(app.board(|_| ()));
    memory::give_back();
    drop(app.fleet.counts(&app.ledger));
}

/// The address of the page of a server that listens there, for a browser on the same host: under a name of its own, because a
/// browser sends a cookie to every port of a host.
pub fn page(address: SocketAddr, own: &str) -> String {
    let port = address.port();
    match address.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => format!("http://{own}:{port}/"),
        _ => format!("http://{address}/"),
    }
}

fn stop_signals() -> Option<[unix::Signal; 2]> {
    let caught = |kind| unix::signal(kind).ok();
    Some([caught(unix::SignalKind::terminate())?, caught(unix::SignalKind::interrupt())?])
}

async fn stop_on_signal(signals: [unix::Signal; 2], stop: watch::Sender<bool>) {
    let [mut term, mut interrupt] = signals;
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.send_replace(true);
}

/// Lets go of the supervisors that have ended, and keeps the figures of this server up to date.
async fn look_after(app: Shared, every: Duration) {
    let mut stopping = app.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let app = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || {
            app.runner.tidy();
            // A use that cannot be written down is written down with the next one.
            drop(app.keys.keep_used());
            look(&app);
            memory::give_back();
        });
        drop(looked.await);
    }
}

/// What the tests of the router need of a server that serves nobody.
#[cfg(test)]
impl Server {
    pub(crate) fn app(&self) -> Shared {
        Arc::clone(&self.app)
    }

    pub(crate) fn keys(&self) -> &Keyring {
        &self.app.keys
    }

    pub(crate) fn block_on<T>(&self, asking: impl Future<Output = T>) -> T {
        self.runtime.block_on(asking)
    }

    pub(crate) fn stop_threads(&mut self) {
        self.stop.send_replace(true);
        self.app.deaths.bell.ring();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}
