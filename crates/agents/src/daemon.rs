//! Programs whose terminals share one background process, and how a run gets its own.
//!
//! Codex starts `codex app-server --listen unix:// --managed-daemon` once for each home, and every later terminal of that
//! home has its tools run there. Such a daemon is born in the control group of the run that was first: it would end with
//! that run, whoever else works in it, and a stop of another run would not reach that run's tools. So no terminal starts
//! one, and none uses one unless its command line says so. Not here: looking whether there is such a daemon, which takes
//! a file system.

use std::ffi::OsString;

use crate::detect::unwrap;
use crate::program::Program;

/// A daemon that all terminals of one home share, and the argument that does without it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SharedDaemon {
    /// The variable that names the program's directory.
    pub home_variable: &'static str,
    /// The program's directory below the user's home, without that variable.
    pub home: &'static str,
    /// What lies in the program's directory once it has started its daemon, as a release does that knows `without`.
    pub trace: &'static str,
    /// The argument that makes the program do everything in its own processes. Releases without a daemon refuse it.
    pub without: &'static [&'static str],
    /// The arguments with which the program starts no daemon. Releases without a daemon ignore them.
    pub never_started: &'static [&'static str],
    /// Where on the command line the arguments belong.
    pub position: usize,
}

/// A server outside of the run, in which a command has its work done because its command line says so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SharedServer {
    /// At this address.
    At(String),
    /// The daemon of the program's home.
    OfHome(Home),
}

/// Where a program keeps what is known of its daemon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Home {
    /// The variable that names the program's directory.
    pub variable: &'static str,
    /// The program's directory below the user's home, without that variable.
    pub directory: &'static str,
    /// The file in it that tells the daemon's process, as JSON: `pid` and `processIdentity.startTicks`.
    pub process: &'static str,
    /// The daemon's socket in it.
    pub socket: &'static str,
}

/// What Codex does instead of opening a terminal of its own, or what says where its server is.
const CODEX_NOT_INTERACTIVE: &[&str] = &[
    "agents",
    "exec",
    "e",
    "review",
    "login",
    "logout",
    "mcp",
    "mcp-server",
    "plugin",
    "app-server",
    "remote-control",
    "completion",
    "update",
    "doctor",
    "sandbox",
    "debug",
    "apply",
    "a",
    "queue",
    "archive",
    "delete",
    "unarchive",
    "cloud",
    "exec-server",
    "features",
    "help",
    "migrate-rollouts",
    "migrate-nfs-db",
    "-h",
    "--help",
    "-V",
    "--version",
    "--remote",
];

/// The daemon that this command would share with others; none where it says itself that it does not.
pub fn shared_daemon(argv: &[OsString]) -> Option<SharedDaemon> {
    let words: Vec<&str> = argv.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let (program, arguments) = unwrap(&words)?;
    if program != Program::Codex {
        return None;
    }
    let own = arguments.split(|word| *word == "--").next().unwrap_or_default();
    let is_other = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        name == WITHOUT || CODEX_NOT_INTERACTIVE.contains(&name)
    };
    if own.iter().any(is_other) {
        return None;
    }
    let command = own.iter().position(|word| matches!(*word, "resume" | "fork"));
    let position = words.len() - arguments.len() + command.map_or(0, |index| index + 1);
    Some(SharedDaemon {
        home_variable: "CODEX_HOME",
        home: ".codex",
        trace: "app-server-daemon",
        without: &[WITHOUT],
        never_started: &["-c", "features.daemon_auto_start=false"],
        position,
    })
}

const WITHOUT: &str = "--no-daemon";

/// The server outside of the run that this command says it works in.
pub fn shared_server(argv: &[OsString]) -> Option<SharedServer> {
    let words: Vec<&str> = argv.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let (program, arguments) = unwrap(&words)?;
    if program != Program::Codex {
        return None;
    }
    let own = arguments.split(|word| *word == "--").next().unwrap_or_default();
    let remote = own.iter().enumerate().find_map(|(index, word)| match word.strip_prefix("--remote")? {
        "" => own.get(index + 1).copied(),
        rest => rest.strip_prefix('='),
    });
    let home = || Home {
        variable: "CODEX_HOME",
        directory: ".codex",
        process: "app-server-daemon/daemon.pid",
        socket: "app-server-control/app-server-control.sock",
    };
    match remote {
        Some(address) => Some(SharedServer::At(address.to_owned())),
        None => own.contains(&"agents").then(|| SharedServer::OfHome(home())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(line: &str) -> Option<usize> {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        shared_daemon(&argv).map(|daemon| daemon.position)
    }

    #[test]
    fn a_terminal_of_codex_shares_its_daemon() {
        assert_eq!(position("codex"), Some(1));
        assert_eq!(position("codex -m gpt-5 fix"), Some(1));
        assert_eq!(position("env A=b /usr/bin/codex fix"), Some(3));
        assert_eq!(position("npx -y @openai/codex@0.166.0 fix"), Some(3));
        assert_eq!(position("codex resume --last"), Some(2));
        assert_eq!(position("codex -m gpt-5 fork 0199"), Some(4));
        assert_eq!(position("codex -- exec"), Some(1));
    }

    #[test]
    fn a_server_that_the_command_line_names_is_outside_of_the_run() {
        let server = |line: &str| shared_server(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        let at = |address: &str| Some(SharedServer::At(address.to_owned()));
        assert_eq!(server("codex --remote ws://127.0.0.1:1 fix"), at("ws://127.0.0.1:1"));
        assert_eq!(server("codex resume --remote=unix:///run/s --last"), at("unix:///run/s"));
        assert!(matches!(server("codex agents"), Some(SharedServer::OfHome(_))));
        for line in ["codex", "codex --remote-auth-token-env X", "codex -- agents", "claude agents"] {
            assert_eq!(server(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_terminal_or_says_so_shares_nothing() {
        for line in [
            "codex exec --json fix",
            "codex --no-daemon fix",
            "codex resume --no-daemon",
            "codex app-server daemon start",
            "codex --remote=ws://127.0.0.1:1",
            "codex --version",
            "claude",
            "sh -c codex",
            "",
        ] {
            assert_eq!(position(line), None, "{line}");
        }
    }
}
