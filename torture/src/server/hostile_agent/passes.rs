//! The acts, tried: once without a sandbox, once in the sandbox of callboard, and on request in those of others.
//!
//! Invariant: the same program tries the same acts in a place of the same kind, and whether one worked is seen from
//! outside, after the last process of the pass is gone. What comes of an act is what its row says, or the torture fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::page;
use super::place::{Extent, Place, mark};
use super::table::{self, Act, Needs, Outcome};
use crate::harness::driver::{Plan, Tally};
use crate::harness::program::{start, until};

/// Not in `/tmp`, which is another one in a sandbox.
const ABOVE: &str = "/var/tmp";

/// Longer than any act takes.
const ACT_MAX: Duration = Duration::from_secs(60);

/// What stands around the acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    Callboard,
    Bubblewrap,
    Codex,
}

/// What came of each act; nothing for one that was not tried.
pub(super) type Outcomes = Vec<Option<Outcome>>;

/// Tries everything and holds it against the table.
pub(super) fn play(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let stage = Stage::new()?;
    let without = stage.tries(Around::Nothing, plan)?.context("nothing stands in the way")?;
    let is_root = has_every_capability();
    for (act, came) in table::acts().zip(&without) {
        let is_certain = act.needs == Needs::Anyone || (act.needs == Needs::Root && is_root);
        let holds = !is_certain || *came == Some(act.without);
        tally.check(holds, || format!("without a sandbox, {:?} is {came:?}", act.name));
    }
    match stage.tries(Around::Callboard, plan)? {
        None => tally.notes.push("skipped: this host cannot give every wall of a sandbox".to_owned()),
        Some(with) => {
            for (act, came) in table::acts().zip(&with) {
                let network = act.network;
                let is_uncertain = act.needs == Needs::Host && act.with == Outcome::Done;
                let holds = is_uncertain || *came == Some(act.with);
                tally
                    .check(holds, || format!("in a sandbox (network {network}), {:?} is {came:?}", act.name));
            }
            let done =
                |outcomes: &Outcomes| outcomes.iter().filter(|came| **came == Some(Outcome::Done)).count();
            tally.notes.push(format!(
                "{} hostile acts: {} work without a sandbox, {} in one",
                without.len(),
                done(&without),
                done(&with)
            ));
        }
    }
    if let Some(beside) = &plan.beside {
        compare(&stage, plan, beside)?;
    }
    Ok(())
}

/// Tries the same in the sandboxes of others, and writes the page.
fn compare(stage: &Stage, plan: &Plan, beside: &str) -> Result<()> {
    for name in beside.split(',') {
        let around = match name {
            "bwrap" => Around::Bubblewrap,
            "codex" => Around::Codex,
            other => bail!("no sandbox to compare with is called {other:?}, only bwrap and codex"),
        };
        let outcomes = stage.tries(around, plan)?.with_context(|| format!("{name} does not start here"))?;
        page::keep(name, &outcomes)?;
    }
    Ok(())
}

/// The programs, where every sandbox can read them.
struct Stage {
    root: tempfile::TempDir,
    driver: PathBuf,
    program: PathBuf,
}

impl Stage {
    fn new() -> Result<Self> {
        let root = tempfile::Builder::new().prefix("callboard-acts-").tempdir_in(ABOVE)?;
        let own = std::env::current_exe()?;
        let (driver, program) = (root.path().join("acts"), root.path().join("callboard"));
        for (from, to) in [(own.clone(), &driver), (own.with_file_name("callboard"), &program)] {
            if std::fs::hard_link(&from, to).is_err() {
                std::fs::copy(&from, to).with_context(|| format!("failed to copy {}", from.display()))?;
            }
        }
        Ok(Self { root, driver, program })
    }

    /// Every act, each in the network it is for; nothing if the sandbox cannot be made.
    fn tries(&self, around: Around, plan: &Plan) -> Result<Option<Outcomes>> {
        let networks: &[&[&str]] = match around {
            Around::Nothing => &[&["open", "none", "loopback", "ports", "hosts"]],
            Around::Callboard => &[&["open"], &["none"], &["loopback"], &["ports"], &["hosts"]],
            Around::Bubblewrap | Around::Codex => &[&["open"], &["none", "loopback"]],
        };
        let mut outcomes = vec![None; table::acts().count()];
        for networks in networks {
            let extent = if networks.contains(&"open") { Extent::Whole } else { Extent::Sockets };
            let place = Place::new(self.root.path(), plan, extent)?;
            let chosen: Vec<(usize, &Act)> =
                table::acts().enumerate().filter(|(_, act)| networks.contains(&act.network)).collect();
            if !self.pass(around, networks[0], &place, &chosen)? {
                return Ok(None);
            }
            let heard = place.heard()?;
            for (number, act) in chosen {
                let is_done = place.is_done(number, act, &heard)?;
                outcomes[number] = Some(if is_done { Outcome::Done } else { Outcome::Stopped });
            }
        }
        Ok(Some(outcomes))
    }

    /// One pass in one place. False if there is no such sandbox here.
    fn pass(&self, around: Around, network: &str, place: &Place, acts: &[(usize, &Act)]) -> Result<bool> {
        let variables = place.variables(&self.driver, &self.program)?;
        let orders = place.file("work/orders.json");
        let numbers: Vec<usize> = acts.iter().map(|(number, _)| *number).collect();
        std::fs::write(&orders, json!({"acts": numbers, "variables": variables}).to_string())?;
        let tries =
            [&self.driver, Path::new("child"), Path::new("hostile-agent"), Path::new("tries"), &orders];
        let mut command = self.command(around, network, place)?;
        command.args(tries.iter().map(|word| word.as_os_str())).current_dir(place.file("work"));
        command.envs(variables).stdin(Stdio::null()).stdout(Stdio::null());
        for name in ["HTTPS_PROXY", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CARGO_HOME"] {
            command.env_remove(name);
        }
        let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
        if around == Around::Callboard && output.status.code() == Some(125) {
            eprintln!("  {}", String::from_utf8_lossy(&output.stderr).trim());
            return Ok(false);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
        Ok(true)
    }

    /// What starts the acts.
    fn command(&self, around: Around, network: &str, place: &Place) -> Result<Command> {
        let work = place.file("work").display().to_string();
        let mut command = match around {
            Around::Nothing | Around::Callboard => {
                let mut command = place.board.command(&["run", "--quiet", "--title", "hostile"]);
                if around == Around::Callboard {
                    let network = match network {
                        "ports" => place.port()?.to_string(),
                        "hosts" => format!("127.0.0.1:{}", place.port()?),
                        other => other.to_owned(),
                    };
                    command.args(["--sandbox", "workspace", "--sandbox-network", &network]);
                }
                command
            }
            Around::Bubblewrap => {
                let mut command = Command::new("bwrap");
                command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
                command.args(["--bind", &work, &work, "--unshare-all", "--die-with-parent", "--new-session"]);
                command.args((network == "open").then_some("--share-net"));
                command
            }
            Around::Codex => {
                let codex = std::env::var_os("CALLBOARD_CODEX").context("CALLBOARD_CODEX names no codex")?;
                let mut command = Command::new(codex);
                command.args(["sandbox", "-c", "sandbox_mode=\"workspace-write\""]);
                if network == "open" {
                    command.args(["-c", "sandbox_workspace_write.network_access=true"]);
                }
                command
            }
        };
        command.arg("--");
        Ok(command)
    }
}

/// In the sandbox: tries the acts one after the other, and keeps what each prints and its exit code.
pub(super) fn tries(arguments: &[String]) -> Result<()> {
    let orders = PathBuf::from(arguments.first().context("no orders")?);
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&orders)?)?;
    let variables: Vec<(String, String)> = serde_json::from_value(told["variables"].clone())?;
    let numbers: Vec<usize> = serde_json::from_value(told["acts"].clone())?;
    for (number, act) in table::acts().enumerate().filter(|(number, _)| numbers.contains(number)) {
        let loot = |suffix: &str| Path::new("loot").join(format!("{number}{suffix}"));
        let mut command = Command::new("sh");
        command.args(["-c", act.script]).envs(variables.clone()).stdin(Stdio::null());
        command.env("N", number.to_string()).env("OWN", mark(number));
        command.stdout(std::fs::File::create(loot(""))?).stderr(std::fs::File::create(loot(".err"))?);
        let mut child = start(command)?;
        let ended = until(ACT_MAX, || child.try_wait().transpose())?;
        let code = match ended {
            Some(status) => status?.code(),
            None => {
                child.kill()?;
                child.wait()?;
                None
            }
        };
        std::fs::write(loot(".code"), code.map_or_else(String::new, |code| code.to_string()))?;
    }
    Ok(())
}

/// Root of the host, and not of a container that took something away?
fn has_every_capability() -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let last: u32 = read("/proc/sys/kernel/cap_last_cap").trim().parse().unwrap_or(63);
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    effective == Some(u64::MAX >> (63 - last))
}
