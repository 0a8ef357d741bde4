//! Equips an attempt: the agent program is told how to reach the board, by the flag, the variable or the file that it reads.
//!
//! Invariant: nothing is written into the user's home, settings or worktree. What cannot be told is said to people, and the attempt goes on
//! without the tools. Deliberately absent: what bounds the agent; its run and its token do.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use callboard_engine::read_plain;
use callboard_kernel::EntityId;
use callboard_wire::RunRequest;

use super::attempt_dir::AttemptDir;
use super::client::{Found, McpClient};
use super::settings::{self, McpServer, TOKEN};
use crate::crew::Crew;

const CONFIG: &str = "mcp.json";
const SETTINGS_MAX: u64 = 1024 * 1024;
const GEMINI_DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
const GEMINI_SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const OPENCODE_CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

/// What an attempt has beside its worktree. Its files go when it does.
pub(crate) struct Equipment {
    server: Option<McpServer>,
    dir: AttemptDir,
}

impl Equipment {
    /// What stands for {mcp_config}.
    pub(crate) fn config(&self) -> PathBuf {
        self.dir.file(CONFIG)
    }
}

impl Crew {
    /// What the agent in this run will reach the board with, if it is to be told at all.
    pub(crate) fn equipment(&self, run: EntityId) -> Equipment {
        let dir = AttemptDir::new(&self.attempts_dir(), run);
        let profile = &self.profile;
        let is_wanted = profile.takes_mcp_config() || profile.mcp.find(&profile.command).is_some();
        if !is_wanted || profile.mcp == McpClient::Nobody {
            return Equipment { server: None, dir };
        }
        let server = self.launch.mcp_server(run, profile.sandbox.is_some());
        let server = server.map_err(|problem| self.tell(&format!("the agent gets no MCP tools: {problem}")));
        Equipment { server: server.ok(), dir }
    }

    /// Tells the agent program of a request.
    pub(crate) fn equip(&self, request: &mut RunRequest, argv: Vec<String>, equipment: &Equipment) {
        let mut argv = argv;
        if let Err(problem) = self.told(request, &mut argv, equipment) {
            self.tell(&format!("the agent gets no MCP tools: {problem}"));
        }
        request.argv = argv.into_iter().map(|word| word.as_str().into()).collect();
    }

    fn told(
        &self,
        request: &mut RunRequest,
        argv: &mut Vec<String>,
        equipment: &Equipment,
    ) -> Result<(), String> {
        let Equipment { server, dir } = equipment;
        let unwritten = |error: std::io::Error| format!("its settings cannot be written: {error}");
        if self.profile.takes_mcp_config() {
            // A program that is told of a file wants to find it, with or without a server in it.
            let text = server.as_ref().map_or_else(
                || r#"{"mcpServers":{}}"#.to_owned(),
                |server| settings::common(server).to_string(),
            );
            dir.write(CONFIG, &text).map_err(unwritten)?;
        }
        let Some(server) = server else { return Ok(()) };
        if let McpServer::Address { token, .. } = server {
            request.env.insert(TOKEN.to_owned(), Some(token.clone()));
        }
        // Whoever names the file in the command says there how it is read.
        let found = self.profile.mcp.find(argv).filter(|_| !self.profile.takes_mcp_config());
        let Some(Found { client, arguments_at }) = found else { return Ok(()) };
        match client {
            McpClient::Claude => drop(argv.splice(arguments_at..arguments_at, settings::claude(server))),
            McpClient::Codex => drop(argv.splice(arguments_at..arguments_at, settings::codex(server))),
            McpClient::Gemini => {
                if !is_roots(&self.attempts_dir()) {
                    let because = "Gemini CLI takes servers only from its settings files, which this does not touch, and from a file that \
                                   root alone can change";
                    return Err(because.to_owned());
                }
                let path = self.gemini_defaults();
                let before = plain(&path)?;
                let settings = settings::gemini(server, before.as_deref());
                let settings = settings.map_err(|problem| format!("{}: {problem}", path.display()))?;
                let path = dir.write("gemini.json", &settings.to_string()).map_err(unwritten)?;
                let path = path.to_string_lossy().into_owned();
                request.env.insert(GEMINI_DEFAULTS.to_owned(), Some(path));
            }
            McpClient::Opencode => {
                let settings = settings::opencode(server, self.profile.variable(OPENCODE_CONTENT).as_deref());
                let settings = settings.map_err(|problem| format!("{OPENCODE_CONTENT}: {problem}"))?;
                request.env.insert(OPENCODE_CONTENT.to_owned(), Some(settings.to_string()));
            }
            McpClient::Recognised | McpClient::Nobody => {}
        }
        Ok(())
    }

    /// The file of defaults that Gemini CLI would read: what a person or an administrator set there stays in force.
    fn gemini_defaults(&self) -> PathBuf {
        let variable =
            |name| self.profile.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        variable(GEMINI_DEFAULTS).unwrap_or_else(|| {
            let settings = variable(GEMINI_SETTINGS);
            let settings = settings.unwrap_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"));
            settings.with_file_name("system-defaults.json")
        })
    }
}

/// Can root alone change what lies there? What does not exist yet is made as the user.
fn is_roots(path: &Path) -> bool {
    rustix::process::geteuid().is_root()
        && path
            .ancestors()
            .filter_map(|above| above.metadata().ok())
            .all(|seen| seen.uid() == 0 && seen.mode() & 0o022 == 0)
}

/// The text of a file, if it is there.
fn plain(path: &Path) -> Result<Option<String>, String> {
    let told = |problem: String| format!("{}: {problem}", path.display());
    match read_plain(path, SETTINGS_MAX) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| told(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(told(error.to_string())),
    }
}
