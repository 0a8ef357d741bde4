//! Drives the program that knows the made-up kind, as a user would.
//!
//! Invariant: the guard refuses before the service has given the stage and not after, and every answer shows the field that the kind
//! adds. The server that is started ends with this check. Not here: building it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Who calls the rehearsal.
const CALLER: &str = "stage-manager";
/// How long the service may take for its step; it takes a second or two.
const PATIENCE: Duration = Duration::from_secs(120);
/// The exit code of a refusal.
const REFUSED: i32 = 3;

/// Takes a rehearsal from its beginning to its end.
pub(super) fn drive(program: &Path, home: &Path) -> Result<()> {
    if home.exists() {
        std::fs::remove_dir_all(home).with_context(|| format!("failed to remove {}", home.display()))?;
    }
    std::fs::create_dir_all(home).with_context(|| format!("failed to create {}", home.display()))?;
    let stage = Stage { program, home };
    let id = stage.done(&["create", "rehearsal", "--title", "Act one"])?.trim().to_owned();
    let view = stage.json(&["inspect", &id, "--json"])?;
    expect(&view, "/state/lifecycle", &"called".into())?;
    expect(&view, "/stage", &serde_json::json!({"lease_epoch": null, "lease_holder": null}))?;

    let refused = stage.raise_the_curtain(&id)?;
    ensure!(refused.status.code() == Some(REFUSED), "the guard did not refuse: {}", told(&refused));
    let refusal = String::from_utf8_lossy(&refused.stdout);
    ensure!(refusal.contains("held_by_actor"), "the refusal does not name its guard: {refusal}");

    let server = stage.serve()?;
    let view = stage.wait_for_the_stage(&id)?;
    expect(&view, "/stage", &serde_json::json!({"lease_epoch": 1, "lease_holder": CALLER}))?;
    ensure!(view.pointer("/facts/stage").is_none(), "a field of the kind is listed with the facts: {view}");
    let listed = stage.done(&["ps", "--all", "--json"])?;
    ensure!(listed.contains("\"stage\""), "the list does not show the field of the kind: {listed}");
    let services = stage.done(&["doctor", "--json"]).unwrap_or_else(|error| format!("{error:#}"));
    ensure!(services.contains("stage door"), "the service is not among the services: {services}");

    let passed = stage.raise_the_curtain(&id)?;
    ensure!(passed.status.success(), "the guard refuses who has the stage: {}", told(&passed));
    expect(&stage.json(&["inspect", &id, "--json"])?, "/state/lifecycle", &"playing".into())?;
    let down = ["--reason", "rehearsal.completed.to_the_end", "--message", "the end"];
    stage.done(&[&["transition", id.as_str(), "completed"][..], &down].concat())?;
    expect(&stage.json(&["inspect", &id, "--json"])?, "/state/outcome", &"completed".into())?;
    drop(server);
    stage.done(&["verify"])?;
    Ok(())
}

/// The program, and a home of its own.
struct Stage<'a> {
    program: &'a Path,
    home: &'a Path,
}

/// A server that ends with its handle.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already needs neither.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Stage<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(words).stdin(Stdio::null());
        command.env("HOME", self.home).env("USER", CALLER).env("CALLBOARD_STORE", self.home.join("store.db"));
        for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        command
    }

    fn output(&self, words: &[&str]) -> Result<Output> {
        self.command(words).output().with_context(|| format!("failed to start {}", self.program.display()))
    }

    /// What it prints, if it succeeds.
    fn done(&self, words: &[&str]) -> Result<String> {
        let output = self.output(words)?;
        ensure!(output.status.success(), "`callboard {}`: {}", words.join(" "), told(&output));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn json(&self, words: &[&str]) -> Result<Value> {
        let text = self.done(words)?;
        serde_json::from_str(&text).with_context(|| format!("`callboard {}` printed {text}", words.join(" ")))
    }

    fn raise_the_curtain(&self, id: &str) -> Result<Output> {
        let why = ["--reason", "rehearsal.playing.on_stage", "--message", "the stage is ours", "--json"];
        self.output(&[&["transition", id, "playing"][..], &why].concat())
    }

    #[expect(clippy::disallowed_methods, reason = "the supervisor is part of what is checked here")]
    fn serve(&self) -> Result<Server> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        let child = command.stdout(Stdio::null()).spawn();
        child.map(Server).with_context(|| format!("failed to start {}", self.program.display()))
    }

    /// The view once somebody has the stage.
    fn wait_for_the_stage(&self, id: &str) -> Result<Value> {
        let began = Instant::now();
        loop {
            let view = self.json(&["inspect", id, "--json"])?;
            if view.pointer("/stage/lease_holder").is_some_and(|holder| !holder.is_null()) {
                return Ok(view);
            }
            if began.elapsed() > PATIENCE {
                bail!("nobody got the stage within {} s: {view}", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn expect(view: &Value, pointer: &str, wanted: &Value) -> Result<()> {
    let found = view.pointer(pointer);
    ensure!(found == Some(wanted), "{pointer} is {found:?}, not {wanted}, in {view}");
    Ok(())
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    format!("{}; {}; {}", output.status, text(&output.stdout), text(&output.stderr))
}
