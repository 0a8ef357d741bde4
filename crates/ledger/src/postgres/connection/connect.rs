//! Where a PostgreSQL store is, and what holds for every connection to it.
//!
//! Invariant: no connection waits without a limit, on either side; what is shown of an address never has its
//! password. Off this machine a connection is encrypted unless the URL says `sslmode=disable`. Deliberately absent:
//! reading the environment.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, TrustedRoots};
use crate::error::{OpenError, ReadError};

/// Which side a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Role {
    /// Short transactions that hold the lock.
    Writer,
    /// Questions, some of them long.
    Reader,
}

/// What does the work of a connection.
pub(in crate::postgres) type Task = tokio::task::JoinHandle<Result<(), tokio_postgres::Error>>;

/// A store on a server.
#[derive(Clone)]
pub(crate) struct StoreServer {
    pub(in crate::postgres) config: Config,
    pub(in crate::postgres) tls: MakeRustlsConnect,
    pub(in crate::postgres) shown: String,
    pub(in crate::postgres) busy_wait: Duration,
}

/// A session that says nothing for so long inside a transaction has lost its client; the server ends it and lets
/// go of the lock.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// A statement of the writer may take this long beside the waiting for its turn; longer means that something stands.
const STATEMENT_MAX: Duration = Duration::from_secs(60);
/// A question may take this long.
const QUESTION_MAX: Duration = Duration::from_secs(600);
/// One step of the way to the server may take this long.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Silence on the wire before somebody asks whether the other side is still there, and between two such questions.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(10), Duration::from_secs(3), 3);
/// Sent and not acknowledged for this long means that the way to the server is cut.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);

impl StoreServer {
    /// Reads a URL.
    pub(crate) fn parse(url: &str, busy_wait: Duration) -> Result<Self, OpenError> {
        let (url, root) = take_root(url);
        let mut config: Config = url.parse().map_err(|source| OpenError::Url { source: Box::new(source) })?;
        let shown = show(&config);
        // Unless the URL says otherwise, the driver would do without if the server would.
        let is_open = matches!(config.get_ssl_mode(), SslMode::Prefer) && is_local(&config);
        let encrypted = !is_open && !matches!(config.get_ssl_mode(), SslMode::Disable);
        config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
        let trust = match &root {
            _ if !encrypted => TrustedRoots::Nobody,
            Some(path) => TrustedRoots::File(path),
            None => TrustedRoots::System,
        };
        let tls = tls::connector(trust).map_err(|source| OpenError::Tls { store: shown.clone(), source })?;
        limit(&mut config);
        Ok(Self { config, tls, shown, busy_wait })
    }

    /// The address without its password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// A connection with its settings.
    pub(in crate::postgres) async fn connect(&self, role: Role) -> Result<Client, tokio_postgres::Error> {
        // How the connection ended is told to whoever waits for an answer on it.
        self.dial(role).await.map(|(client, _)| client)
    }

    /// The same with the task of the running runtime that does its work, and ends after the client is dropped.
    pub(in crate::postgres) async fn dial(
        &self,
        role: Role,
    ) -> Result<(Client, Task), tokio_postgres::Error> {
        let mut config = self.config.clone();
        if role == Role::Writer && config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let task = tokio::spawn(connection);
        client.batch_execute(&self.settings(role)).await?;
        Ok((client, task))
    }

    /// What holds for a session. Every plan is by index: one made while the tables were small must not read them
    /// whole when they are large. For the same reason a writer looks its rows up one by one: joined in another way,
    /// each statement would walk through an index of the whole log. A stronger `synchronous_commit` of the server stays.
    pub(in crate::postgres) fn settings(&self, role: Role) -> String {
        let wait = self.busy_wait.as_millis().max(1);
        let (statement, only, join) = match role {
            Role::Writer => (self.statement_max().as_millis(), "off", "off"),
            Role::Reader => (QUESTION_MAX.as_millis(), "on", "on"),
        };
        let (idle, interval, count) = KEEPALIVE;
        format!(
            "SET lock_timeout = {wait}; SET statement_timeout = {statement}; \
             SET idle_in_transaction_session_timeout = {}; SET tcp_keepalives_idle = {}; \
             SET tcp_keepalives_interval = {}; SET tcp_keepalives_count = {count}; SET tcp_user_timeout = {}; \
             SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = {only}; \
             SET enable_seqscan = off; SET enable_hashjoin = {join}; SET enable_mergejoin = {join}; \
             SET plan_cache_mode = force_generic_plan; SET jit = off; \
             SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
            SILENCE_MAX.as_millis(),
            idle.as_secs(),
            interval.as_secs(),
            UNACKNOWLEDGED_MAX.as_millis(),
        )
    }

    fn statement_max(&self) -> Duration {
        self.busy_wait + STATEMENT_MAX
    }

    /// An answer to the writer that has not come by then will not come: the server would have given up before.
    pub(in crate::postgres) fn answer_max(&self) -> Duration {
        self.statement_max() + CONNECT_MAX
    }

    /// A server that has not let a session in by then will not: its socket may be there long before or after it is.
    pub(in crate::postgres) fn open_max(&self) -> Duration {
        self.busy_wait + CONNECT_MAX
    }

    /// What failed while the store was brought up to date.
    pub(in crate::postgres) fn unreadable(&self, error: ReadError) -> OpenError {
        if let ReadError::Postgres(source) = error {
            return self.server(source);
        }
        OpenError::Seal { path: self.shown().into(), source: Box::new(error) }
    }

    pub(in crate::postgres) fn server(&self, source: tokio_postgres::Error) -> OpenError {
        OpenError::Server { store: self.shown.clone(), source: Box::new(source) }
    }
}

/// Limits that the URL does not set itself.
fn limit(config: &mut Config) {
    let (idle, interval, count) = KEEPALIVE;
    config.keepalives(true).keepalives_idle(idle).keepalives_interval(interval).keepalives_retries(count);
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_MAX);
    }
    if config.get_application_name().is_none() {
        config.application_name("callboard");
    }
}

fn is_local(config: &Config) -> bool {
    let host = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(host) && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

/// Built from its parts, so that a password cannot be among them.
fn show(config: &Config) -> String {
    let ports = config.get_ports();
    let host = |(at, host): (usize, &Host)| match (host, ports.get(at).or(ports.first())) {
        (Host::Tcp(name), Some(port)) => format!("{name}:{port}"),
        (Host::Tcp(name), None) => name.clone(),
        (Host::Unix(path), _) => path.display().to_string(),
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

/// Takes out what other clients write in such a URL and the driver does not know: the file of trusted roots, and the
/// modes that ask for a check, which is always made.
fn take_root(url: &str) -> (String, Option<PathBuf>) {
    let Some((address, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut root = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", path)) => {
                let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
                root = Some(PathBuf::from(path.into_owned()));
            }
            Some(("sslmode", "verify-full" | "verify-ca")) => kept.push("sslmode=require"),
            Some(_) | None => kept.push(pair),
        }
    }
    (format!("{address}?{}", kept.join("&")), root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> StoreServer {
        StoreServer::parse(url, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn what_is_shown_of_an_address_has_no_password() {
        let shown =
            place("postgres://ann:secret@localhost:5433/board?password=secret2&sslmode=disable").shown;
        assert_eq!(shown, "postgres://ann@localhost:5433/board");
    }

    #[test]
    fn only_what_stays_on_the_machine_is_plain_unless_asked() {
        let mode = |url: &str| place(url).config.get_ssl_mode();
        assert_eq!(mode("postgres:///board?host=/run/postgresql"), SslMode::Disable);
        assert_eq!(mode("postgresql://127.0.0.1/board"), SslMode::Disable);
        assert_eq!(mode("postgresql://localhost/board?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://db.example.org/board?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn options_of_other_clients_are_understood() {
        let (url, root) = take_root("postgres://h/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&user=a");
        assert_eq!(url, "postgres://h/d?sslmode=require&user=a");
        assert_eq!(root, Some(PathBuf::from("/etc/ca.pem")));
    }

    #[test]
    fn a_bad_url_says_so_and_does_not_repeat_it() {
        let Err(error) = StoreServer::parse("postgres://a:secret@h/d?sslmode=maybe", Duration::ZERO) else {
            panic!("it was taken")
        };
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}
