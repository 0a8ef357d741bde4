//! aider, which speaks the Chat Completions API and edits by text instead of tools.

use std::io;
use std::process::Command;

use super::table::{Launch, write};

pub(super) const WORDS: &[&str] = &[
    "--model",
    "openai/mock-model",
    "--message",
    "Do it.",
    "--yes-always",
    "--no-check-update",
    "--no-show-model-warnings",
    "--no-show-release-notes",
    "--analytics-disable",
    "--no-git",
    "--map-tokens",
    "0",
];

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command
        .env("OPENAI_API_KEY", "made-up")
        .env("OPENAI_API_BASE", format!("{}/v1", launch.url))
        // Its library fetches prices while it is imported otherwise.
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        // It keeps its bytecode in the installed package otherwise, where every test would write it.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    // A list of prices that is there is not fetched.
    write(&launch.home.join(".aider/caches/model_prices_and_context_window.json"), "{\"none\":{}}")
}
