//! qwen-code, which speaks the Chat Completions API.

use std::io;
use std::process::Command;

use serde_json::json;

use super::table::{Launch, write};
use crate::model::MODEL;

pub(super) const WORDS: &[&str] = &["--yolo", "-p", "Do it.", "--output-format", "stream-json"];

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command
        .env("OPENAI_API_KEY", "made-up")
        .env("OPENAI_BASE_URL", format!("{}/v1", launch.url))
        .env("OPENAI_MODEL", MODEL);
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        // Its memory would be a second request beside the answer.
        "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
    });
    write(&launch.home.join(".qwen/settings.json"), &settings.to_string())
}
