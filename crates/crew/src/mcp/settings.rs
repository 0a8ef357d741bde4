//! The settings that each agent program reads to reach the board, in its own words.
//!
//! Invariant: no settings hold a token; they name the variable that has it. Nothing that a person set for the program is taken away: the
//! settings of the board are added to it. Deliberately absent: where they are put.

use serde_json::{Map, Value, json};

/// The name of the board among the servers of a program.
const NAME: &str = "callboard";
/// The variable with the token of a run.
pub(crate) const TOKEN: &str = "CALLBOARD_TOKEN";

/// How an agent reaches the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// By a program that it starts: words of a command line, the program first. That it runs inside the run is what bounds it.
    Program(Vec<String>),
    /// By a server, with a token that is bound to its run.
    Address {
        /// Where.
        url: String,
        /// The token.
        token: String,
    },
}

impl McpServer {
    fn words(&self) -> Option<(&String, &[String])> {
        match self {
            Self::Program(words) => words.split_first(),
            Self::Address { .. } => None,
        }
    }

    fn url(&self) -> &str {
        match self {
            Self::Program(_) => "",
            Self::Address { url, .. } => url,
        }
    }
}

/// The form that most programs read.
pub(crate) fn common(server: &McpServer) -> Value {
    let one = match server.words() {
        Some((command, arguments)) => json!({ "command": command, "args": arguments }),
        None => {
            let header = format!("Bearer ${{{TOKEN}}}");
            json!({ "type": "http", "url": server.url(), "headers": { "Authorization": header } })
        }
    };
    json!({ "mcpServers": { NAME: one } })
}

/// The arguments of Claude Code: the server, and leave to use its tools, which reach nothing but the task. Each is one word, because
/// these options take every word that follows.
pub(crate) fn claude(server: &McpServer) -> Vec<String> {
    vec![format!("--mcp-config={}", common(server)), format!("--allowedTools=mcp__{NAME}")]
}

/// The arguments of Codex.
pub(crate) fn codex(server: &McpServer) -> Vec<String> {
    // A text in JSON is the same text in TOML, and so is a list of texts.
    let mut settings = match server.words() {
        Some((command, arguments)) => vec![
            ("command", json!(command)),
            ("args", json!(arguments)),
            // It starts servers with few variables of its own environment.
            ("env_vars", json!(["CALLBOARD_RUN"])),
        ],
        None => vec![("url", json!(server.url())), ("bearer_token_env_var", json!(TOKEN))],
    };
    settings.push(("default_tools_approval_mode", json!("approve")));
    let words = |(name, value)| ["-c".to_owned(), format!("mcp_servers.{NAME}.{name}={value}")];
    settings.into_iter().flat_map(words).collect()
}

/// The settings file of Gemini CLI: what the file said that it stands for, and the server.
pub(crate) fn gemini(server: &McpServer, before: Option<&str>) -> Result<Value, String> {
    let mut one = match server.words() {
        Some((command, arguments)) => json!({ "command": command, "args": arguments }),
        None => {
            let header = format!("Bearer ${TOKEN}");
            json!({ "httpUrl": server.url(), "headers": { "Authorization": header } })
        }
    };
    // Its tools reach nothing but the task; without a person to ask, others are left out.
    one["trust"] = json!(true);
    with(before, "mcpServers", one)
}

/// The settings of opencode: what stood in the variable, and the server.
pub(crate) fn opencode(server: &McpServer, before: Option<&str>) -> Result<Value, String> {
    let one = match server.words() {
        Some((command, arguments)) => {
            let words: Vec<&String> = std::iter::once(command).chain(arguments).collect();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        None => {
            let header = format!("Bearer {{env:{TOKEN}}}");
            json!({
                "type": "remote", "url": server.url(), "enabled": true, "oauth": false,
                "headers": { "Authorization": header },
            })
        }
    };
    with(before, "mcp", one)
}

/// The settings that were there, with the server in one of their parts.
fn with(before: Option<&str>, part: &str, one: Value) -> Result<Value, String> {
    let mut settings: Map<String, Value> = match before.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => serde_json::from_str(text).map_err(|error| error.to_string())?,
        None => Map::new(),
    };
    let servers = settings.entry(part).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or_else(|| format!("{part} is no object"))?;
    servers.insert(NAME.to_owned(), one);
    Ok(Value::Object(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> McpServer {
        McpServer::Program(["/bin/callboard", "--store", "/a \"b\"", "mcp"].map(str::to_owned).into())
    }

    fn address() -> McpServer {
        McpServer::Address { url: "http://127.0.0.1:7557/mcp".to_owned(), token: "cbt_secret".to_owned() }
    }

    #[test]
    fn each_program_is_told_in_its_own_words() {
        let words = claude(&program());
        assert_eq!(words.len(), 2);
        let told: Value = serde_json::from_str(words[0].strip_prefix("--mcp-config=").unwrap()).unwrap();
        assert_eq!(told["mcpServers"]["callboard"]["args"], json!(["--store", "/a \"b\"", "mcp"]));
        let words = codex(&program());
        assert_eq!(words[1], "mcp_servers.callboard.command=\"/bin/callboard\"");
        assert_eq!(words[3], r#"mcp_servers.callboard.args=["--store","/a \"b\"","mcp"]"#);
        let told = gemini(&program(), None).unwrap();
        assert_eq!(told["mcpServers"]["callboard"]["trust"], true);
        let told = opencode(&program(), None).unwrap();
        assert_eq!(told["mcp"]["callboard"]["command"][0], "/bin/callboard");
    }

    #[test]
    fn no_settings_hold_the_token() {
        let server = address();
        let all = [
            claude(&server).concat(),
            codex(&server).concat(),
            common(&server).to_string(),
            gemini(&server, None).unwrap().to_string(),
            opencode(&server, None).unwrap().to_string(),
        ];
        for text in all {
            assert!(text.contains(TOKEN) && text.contains("7557") && !text.contains("cbt_secret"), "{text}");
        }
    }

    #[test]
    fn what_was_set_stays() {
        let before = r#"{"theme": "dark", "mcpServers": {"mine": {"command": "x"}}}"#;
        let told = gemini(&program(), Some(before)).unwrap();
        assert_eq!((&told["theme"], &told["mcpServers"]["mine"]["command"]), (&json!("dark"), &json!("x")));
        assert!(told["mcpServers"]["callboard"].is_object());
        assert!(opencode(&program(), Some("{")).is_err());
        assert!(opencode(&program(), Some(r#"{"mcp": 7}"#)).is_err());
    }
}
