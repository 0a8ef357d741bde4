//! Codex with a home of its own, a made-up key and a model on loopback.
//!
//! Invariant: nothing of the user's settings or login is visible to it, whatever it wants beyond loopback goes to the
//! model server as a proxy request and is refused there, and it is killed when its time is up. Not here: installing it;
//! `cargo xtask test` does that and says in `CALLBOARD_CODEX` where it lies.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::model_server::{MODEL, ModelServer};

/// Where the tests find the program.
const PLACE: &str = "CALLBOARD_CODEX";

/// More than the slowest turn on a busy machine, and less than a test may take.
pub(crate) const SECONDS_MAX: &str = "50";

/// The program; none if nobody installed it for the tests. A place that is named and empty ends the test.
pub(crate) fn program() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os(PLACE)?);
    assert!(program.is_file(), "{PLACE} names {}, and there is no such file", program.display());
    Some(program)
}

/// The command line of one turn.
pub(crate) fn command_line(program: &Path) -> Vec<std::ffi::OsString> {
    let words = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "Say hello.",
    ];
    std::iter::once(program.into()).chain(words.map(Into::into)).collect()
}

/// Gives a command the surroundings of one turn: `directory` becomes its home and holds its work, and the server is all
/// it knows of the world.
pub(crate) fn surround(command: &mut Command, server: &ModelServer, directory: &Path) -> io::Result<()> {
    let home = directory.join("home");
    let work = directory.join("work");
    std::fs::create_dir_all(home.join(".codex"))?;
    std::fs::create_dir_all(&work)?;
    std::fs::write(home.join(".codex/config.toml"), settings(server))?;
    let proxy = server.url();
    command
        .current_dir(&work)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("MODEL_KEY", "made-up")
        .envs(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, &proxy)))
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null());
    Ok(())
}

fn settings(server: &ModelServer) -> String {
    let base_url = server.base_url();
    format!(
        "model = \"{MODEL}\"\n\
         model_provider = \"loopback\"\n\
         check_for_update_on_startup = false\n\
         \n\
         [analytics]\n\
         enabled = false\n\
         \n\
         [features]\n\
         apps = false\n\
         plugins = false\n\
         plugin_discovery_prefetch = false\n\
         daemon_auto_start = false\n\
         \n\
         [model_providers.loopback]\n\
         name = \"loopback\"\n\
         base_url = \"{base_url}\"\n\
         env_key = \"MODEL_KEY\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 0\n\
         stream_max_retries = 1\n"
    )
}
