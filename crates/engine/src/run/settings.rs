//! The model that an agent program's own settings ask for, where neither its command line nor its stream names one.
//!
//! Invariant: only the settings of the two programs are read that name no model in their stream, at the start, and only
//! for the model. What is read is a likely answer: another layer of settings may override it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use callboard_agents::Program;

/// Settings are small; what is larger is none.
const BYTES_MAX: u64 = 1024 * 1024;

/// The model that the settings of a program name, for a run in a directory.
pub(crate) fn model(program: Program, cwd: &Path) -> Option<String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match program {
        Program::Codex => {
            let home = variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")))?;
            codex(&text(&home.join("config.toml"))?)
        }
        Program::Opencode => {
            let beside = cwd.ancestors().map(|dir| dir.join("opencode.json"));
            let global = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
            let global = global.map(|dir| dir.join("opencode/opencode.json"));
            let given = variable("OPENCODE_CONFIG");
            given.into_iter().chain(beside).chain(global).find_map(|path| opencode(&text(&path)?))
        }
        Program::Claude
        | Program::Gemini
        | Program::Goose
        | Program::Cursor
        | Program::Amp
        | Program::Qwen
        | Program::Aider
        | Program::Plain => None,
    }
}

/// `model`, or that of the profile which is in force.
fn codex(settings: &str) -> Option<String> {
    let settings: toml::Table = settings.parse().ok()?;
    let word = |table: &toml::Table, name: &str| table.get(name)?.as_str().map(str::to_owned);
    let profile = word(&settings, "profile").and_then(|name| {
        let profile = settings.get("profiles")?.get(name)?.as_table()?;
        word(profile, "model")
    });
    profile.or_else(|| word(&settings, "model"))
}

fn opencode(settings: &str) -> Option<String> {
    let settings: serde_json::Value = serde_json::from_str(settings).ok()?;
    settings.get("model")?.as_str().map(str::to_owned)
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_name_a_model() {
        assert_eq!(codex("model = \"gpt-5\"\n[x]\nmodel = \"y\"\n").as_deref(), Some("gpt-5"));
        let profile = "profile = \"p\"\nmodel = \"a\"\n[profiles.p]\nmodel = \"b\"\n";
        assert_eq!(codex(profile).as_deref(), Some("b"));
        assert_eq!(codex("model_provider = \"x\"\n"), None);
        assert_eq!(codex("no toml"), None);
        assert_eq!(opencode("{\"model\":\"a/b\"}").as_deref(), Some("a/b"));
        assert_eq!(opencode("{\"model\":7}"), None);
    }

    #[test]
    fn the_settings_of_the_directory_count_and_those_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(dir.path().join("opencode.json"), "{\"model\":\"mock/m1\"}").unwrap();
        assert_eq!(model(Program::Opencode, &below).as_deref(), Some("mock/m1"));
        assert_eq!(model(Program::Claude, &below), None);
    }
}
