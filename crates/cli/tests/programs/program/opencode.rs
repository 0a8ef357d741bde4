//! opencode, which speaks the Chat Completions API.

use std::io;
use std::process::Command;

use serde_json::json;

use super::table::{Launch, write};
use crate::model::MODEL;

pub(super) const WORDS: &[&str] = &["run", "--format", "json", "Do it."];

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    let model = json!({"name": "mock", "cost": {"input": 1, "output": 2}, "limit": {"context": 100_000, "output": 4096}});
    let settings = json!({
        "autoupdate": false,
        "share": "disabled",
        "lsp": false,
        "formatter": false,
        "model": format!("loopback/{MODEL}"),
        "small_model": format!("loopback/{MODEL}"),
        // The title would be a request of its own, which is in no stream and no total.
        "agent": {"title": {"disable": true}},
        "provider": {"loopback": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "loopback",
            "options": {"baseURL": format!("{}/v1", launch.url), "apiKey": "made-up"},
            "models": {MODEL: model},
        }},
    });
    write(&launch.work.join("opencode.json"), &settings.to_string())
}
