//! A throwaway PostgreSQL cluster: its own data directory, its own socket, nothing shared with a server of the machine.
//!
//! Invariant: it syncs as a real one does, listens on no network unless asked, and is gone when the test is, even if
//! the test is killed. Deliberately absent: skipping. Without a server installed a test fails and says what to do.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A running cluster; it ends when this is dropped.
pub(crate) struct Cluster {
    directory: TempDir,
    programs: PathBuf,
    /// The server refuses to run as root; this is who it runs as instead.
    instead_of_root: Option<(u32, u32)>,
    port: u16,
}

/// Not every test needs every part, and what one leaves out is not dead.
const _: fn(&Cluster) = |cluster| {
    drop(Cluster::start());
    drop(Cluster::listen(0, "", |_| ()));
    cluster.own(cluster.path());
    drop(cluster.url(""));
    drop(cluster.psql(&cluster.database(""), &cluster.sql("", "")));
    cluster.crash_and_restart();
    cluster.copy("", "");
    drop(cluster.socket());
};

/// Settings that make a test quick and leave durability alone.
const SETTINGS: &str = "max_connections = 120\nshared_buffers = 64MB\nlog_min_messages = warning\n\
     autovacuum_naptime = 5s\nlogging_collector = off\nrecovery_init_sync_method = syncfs\n";

impl Cluster {
    /// Starts a cluster that listens on a socket in its own directory and nowhere else.
    pub(crate) fn start() -> Self {
        Self::make(5432, "listen_addresses = ''\n", |_| ())
    }

    /// Starts a cluster that listens on a port of this machine too, with further settings. What they refer to is
    /// put into its directory by `prepare`; `{}` in them is that directory.
    pub(crate) fn listen(port: u16, settings: &str, prepare: impl FnOnce(&Self)) -> Self {
        let settings = format!("listen_addresses = 'localhost'\nport = {port}\n{settings}");
        Self::make(port, &settings, prepare)
    }

    fn make(port: u16, settings: &str, prepare: impl FnOnce(&Self)) -> Self {
        let Ok(directory) = tempfile::Builder::new().prefix("cb-pg").tempdir() else {
            panic!("no temporary directory")
        };
        let cluster = Self { directory, programs: programs(), instead_of_root: instead_of_root(), port };
        cluster.own(cluster.path());
        let (place, data) = (cluster.path().display().to_string(), cluster.data().display().to_string());
        let made = ["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        cluster.run("initdb", &made);
        prepare(&cluster);
        let own = settings.replace("{}", &place);
        let all = format!("{SETTINGS}unix_socket_directories = '{place}'\n{own}");
        if let Err(error) = std::fs::write(cluster.data().join("postgresql.auto.conf"), all) {
            panic!("cannot write the settings: {error}");
        }
        cluster.run("pg_ctl", &["-D", &data, "-w", "-s", "-l", &format!("{place}/log"), "start"]);
        cluster.end_with_the_test(&place, &data);
        cluster
    }

    /// Its directory, for what a test puts beside the data.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Gives a file to whoever runs the server.
    pub(crate) fn own(&self, path: &Path) {
        if let Some((user, group)) = self.instead_of_root
            && let Err(error) = chown(path, Some(user), Some(group))
        {
            panic!("cannot give {} away: {error}", path.display());
        }
    }

    /// The URL of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?user=postgres&host={}&port={}", self.path().display(), self.port)
    }

    /// Makes a database and gives its URL.
    pub(crate) fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL as somebody at a shell would; what comes out, or the error.
    pub(crate) fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let host = self.path().display().to_string();
        let port = self.port.to_string();
        let server = ["-h", &host, "-p", &port, "-U", "postgres", "-d", database];
        let output = self
            .command("psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
            .args(server)
            .args(["-c", sql])
            .output();
        let Ok(output) = output else { panic!("psql does not start: {output:?}") };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// The same where an error ends the test.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        match self.psql(database, sql) {
            Ok(text) => text,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Makes a database that is a copy of another one, which nobody may use meanwhile.
    pub(crate) fn copy(&self, from: &str, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {from}"));
        self.url(name)
    }

    /// Where its socket is.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join(format!(".s.PGSQL.{}", self.port))
    }

    /// Ends the server as a crash would and starts it again.
    pub(crate) fn crash_and_restart(&self) {
        self.crash();
        self.start_again();
    }

    /// Ends the server as a crash would.
    pub(crate) fn crash(&self) {
        let data = self.data().display().to_string();
        self.run("pg_ctl", &["-D", &data, "-w", "-s", "-m", "immediate", "stop"]);
    }

    /// Starts the server after a crash; it recovers before it answers.
    pub(crate) fn start_again(&self) {
        let data = self.data().display().to_string();
        let log = format!("{}/log", self.path().display());
        self.run("pg_ctl", &["-D", &data, "-w", "-s", "-l", &log, "start"]);
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        // Variables for other servers would lead the programs there.
        for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGDATA", "PGSERVICE"] {
            command.env_remove(name);
        }
        command.current_dir("/").env("LC_ALL", "C");
        if let Some((user, group)) = self.instead_of_root {
            command.uid(user).gid(group);
        }
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let output = self.command(program).args(arguments).output();
        let Ok(output) = output else { panic!("{program} does not start: {output:?}") };
        if !output.status.success() {
            let log = std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
            panic!("{program} {arguments:?} failed: {output:?}\n{log}");
        }
        output
    }

    /// A test that is killed drops nothing, so somebody outside watches it and cleans up in its place. It runs as
    /// somebody else and may not signal the test, but it can see it in /proc.
    fn end_with_the_test(&self, place: &str, data: &str) {
        let watch = "while [ -d \"/proc/$1\" ] && [ -d \"$3\" ]; do sleep 1; done; \
                     [ -d \"$3\" ] && \"$4\" -D \"$3\" -m immediate stop; rm -rf \"$2\"";
        // In a session of its own it survives whoever ends the group of the test.
        let start = "setsid sh -c \"$0\" sh \"$@\" </dev/null >/dev/null 2>&1 &";
        let mut command = Command::new("sh");
        if let Some((user, group)) = self.instead_of_root {
            command.uid(user).gid(group);
        }
        let stop = self.programs.join("pg_ctl").display().to_string();
        let test = std::process::id().to_string();
        let started = command.current_dir("/").args(["-c", start, watch, &test, place, data, &stop]).status();
        assert!(started.is_ok_and(|status| status.success()), "the watcher does not start");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.data().display().to_string();
        let stopped =
            self.command("pg_ctl").args(["-D", &data, "-w", "-s", "-m", "immediate", "stop"]).output();
        if !std::thread::panicking() {
            assert!(stopped.is_ok_and(|output| output.status.success()), "the server did not stop");
        }
    }
}

/// Where the server's programs are: on the path, or where distributions put them, the newest first.
fn programs() -> PathBuf {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    for root in ["/usr/lib/postgresql", "/usr/pgsql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql"] {
        places.push(Path::new(root).join("bin"));
        let mut versions: Vec<PathBuf> = std::fs::read_dir(root)
            .map(|found| found.flatten().map(|entry| entry.path().join("bin")).collect())
            .unwrap_or_default();
        versions.sort();
        places.extend(versions.into_iter().rev());
    }
    let has_all =
        |place: &PathBuf| ["initdb", "postgres", "pg_ctl", "psql"].iter().all(|p| place.join(p).exists());
    match places.into_iter().find(has_all) {
        Some(place) => place,
        None => panic!(
            "no PostgreSQL server is installed; `cargo xtask test` installs it (apt-get install postgresql)"
        ),
    }
}

fn instead_of_root() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let of = |name: &str| Some((id(&["-u", name])?, id(&["-g", name])?));
    match of("postgres").or_else(|| of("nobody")) {
        Some(ids) => Some(ids),
        None => panic!("the server refuses to run as root, and there is no other user to run it as"),
    }
}
