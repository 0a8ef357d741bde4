//! Gemini CLI, which speaks `streamGenerateContent`.

use std::io;
use std::process::Command;

use serde_json::json;

use super::table::{Launch, write};

pub(super) const WORDS: &[&str] = &["-m", "gemini-2.5-flash", "--yolo", "-p", "Do it.", "-o", "stream-json"];

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command
        .env("GEMINI_API_KEY", "made-up")
        .env("GOOGLE_GEMINI_BASE_URL", launch.url)
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .env("NO_BROWSER", "1");
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "general": {
            "maxAttempts": 1, "retryFetchErrors": false,
            "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
        },
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    write(&launch.home.join(".gemini/settings.json"), &settings.to_string())
}
