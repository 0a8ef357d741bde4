//! Codex, which speaks the Responses API.

use std::io;
use std::process::Command;

use super::table::{Launch, write};
use crate::model::MODEL;

pub(super) const WORDS: &[&str] =
    &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Do it."];

pub(super) fn surround(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    command.env("MODEL_KEY", "made-up");
    let (url, work) = (launch.url, launch.work.display());
    let settings = format!(
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
         \n\
         [projects.\"{work}\"]\n\
         trust_level = \"trusted\"\n\
         \n\
         [model_providers.loopback]\n\
         name = \"loopback\"\n\
         base_url = \"{url}/v1\"\n\
         env_key = \"MODEL_KEY\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 0\n\
         stream_max_retries = 1\n"
    );
    write(&launch.home.join(".codex/config.toml"), &settings)
}
