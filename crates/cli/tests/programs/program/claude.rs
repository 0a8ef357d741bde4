//! Claude Code, which speaks the Messages API.

use std::io;
use std::process::Command;

use serde_json::json;

use super::table::{Launch, write};

pub(super) const WORDS: &[&str] =
    &["-p", "Do it.", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];

const KEY: &str = "made-up-key-of-more-than-twenty-characters";

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command
        .env("ANTHROPIC_BASE_URL", launch.url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_MAX_RETRIES", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        // It refuses to skip permissions as root otherwise.
        .env("IS_SANDBOX", "1");
    let settings = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {launch.work.display().to_string(): {"hasTrustDialogAccepted": true}},
    });
    write(&launch.home.join(".claude.json"), &settings.to_string())
}
