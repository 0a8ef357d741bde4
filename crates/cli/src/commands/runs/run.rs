//! `callboard run`: runs a command under supervision, records it from before its start to after its last process is
//! gone, and ends as it ended.
//!
//! Invariant: everything that can be said about the run goes into its recipe. Deliberately absent: carrying it out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use callboard_agents::Program;
use callboard_kernel::abort::OnChildFailure;
use callboard_lifecycle::Words;
use callboard_supervisor::sandbox::Network;
use callboard_wire::{ContractSource, RunRequest, SandboxRequest, Word};
use clap::Args;

use crate::error::{Error, Exit};
use crate::input::moment::span;
use crate::input::word::{Misread, Reading, WordParser, pair};
use crate::launch::performing;
use crate::launch::recipe::Recipe;
use crate::launch::sandboxing;
use crate::show::screen::Screen;
use crate::store::Store;

/// Run a command under supervision and record how it ends.
///
/// Input and output pass through unchanged, and the exit code tells the truth: the command's own code, 124 when a bound
/// was reached, 130 after Ctrl-C or Ctrl-\, 143 when it was stopped, 125 when it could not be set up (a sandbox that this host
/// cannot give), 126 and 127 when the command cannot be executed or is not found. One closing line on standard error says what happened.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// What to call it; the command line unless given.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Something to sort it by. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// The run it belongs to; inside a run it is that one, whatever is given.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// What is stopped when a run that it started fails: nothing (contain), the runs beside that one (siblings), or this run and
    /// everything below it (session).
    #[arg(long, value_name = "POLICY", value_parser = WordParser::<OnChildFailure>::new())]
    on_child_failure: Option<OnChildFailure>,
    /// End it after this long, such as 15m.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    timeout: Option<Duration>,
    /// End it when nothing is heard from it for this long after its start.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    first_output_timeout: Option<Duration>,
    /// End it when nothing is heard from it for this long.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    idle_timeout: Option<Duration>,
    /// Stop it when it has waited for a person for this long. --idle-timeout does not count that time.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    waiting_timeout: Option<Duration>,
    /// Stop it when one of its tool calls has taken this long. --idle-timeout does not count that time.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    tool_timeout: Option<Duration>,
    /// How long it may take to go when it is told to, before it is killed.
    #[arg(long, value_name = "SPAN", default_value = "10s", value_parser = Reading(span))]
    grace: Duration,
    /// A file it has to write; missing, or unchanged since before, the run fails. With :optional behind it the run is only
    /// partial then; with :existing a file that is there already counts.
    #[arg(long, value_name = "PATH[:optional|:existing]")]
    expect: Vec<String>,
    /// A file that says what it has to produce: docs/artifacts.md.
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// Where it has to produce it; the current directory unless given.
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Whose stream it writes: auto, none, or the name of an agent program.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = Reading(adapter))]
    adapter: Adapter,
    /// How much memory it may use, such as 512M or 4G.
    #[arg(long, value_name = "SIZE", value_parser = Reading(size))]
    memory: Option<u64>,
    /// How much of a core it may use, in percent.
    #[arg(long, value_name = "PERCENT")]
    cpu: Option<u32>,
    /// How many processes it may have.
    #[arg(long, value_name = "N")]
    processes: Option<u64>,
    /// Pass this open descriptor on to it. Beside its input and output it gets no descriptor but these and those that its
    /// arguments name as /dev/fd/N, as process substitution does. May be given several times.
    #[arg(long, value_name = "N")]
    pass_fd: Vec<u16>,
    /// Run it in a sandbox: read-only, workspace, open, or a profile of the settings; workspace unless named. Write -- before
    /// the command.
    #[arg(
        long,
        value_name = "PROFILE",
        num_args = 0..=1,
        default_missing_value = sandboxing::USUAL,
        conflicts_with = "allow_privileges"
    )]
    sandbox: Option<String>,
    /// What it reaches over the network from its sandbox: open, none, loopback (its own), ports (443,53), hosts (*.github.com:443).
    #[arg(long, value_name = "NETWORK", requires = "sandbox", value_parser = Reading(sandboxing::network))]
    sandbox_network: Option<Network>,
    /// Let it write this in its sandbox, too. May be given several times.
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    sandbox_write: Vec<PathBuf>,
    /// Start it even if this host cannot give every wall of the sandbox; the run says which are missing.
    #[arg(long, requires = "sandbox")]
    sandbox_best_effort: bool,
    /// Let it gain privileges, so that sudo and other setuid programs work inside of it. Without this they do not.
    #[arg(long)]
    allow_privileges: bool,
    /// How much of its output is kept: the beginning and the end.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = Reading(size))]
    keep: u64,
    /// Write what became of it to this file, as `inspect --json` shows it.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// A variable of its environment: with this value, or with the value it has here. Values are not kept, and not in any
    /// record; a retry takes them from where it is called. May be given several times.
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = Reading(variable))]
    variables: Vec<(String, Option<String>)>,
    /// Run it in the background, print its id and return. Inside of a run it ends with that run.
    #[arg(long, short)]
    detach: bool,
    /// No closing line.
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Whose stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adapter {
    Auto,
    Of(Program),
}

fn adapter(text: &str) -> Result<Adapter, Misread> {
    if text == "auto" {
        return Ok(Adapter::Auto);
    }
    text.parse().map(Adapter::Of).map_err(|unknown: callboard_agents::UnknownProgram| Misread {
        because: unknown.to_string(),
        instead: "auto".to_owned(),
    })
}

/// Reads a number of bytes: `4096`, `512M`, `4G`.
fn size(text: &str) -> Result<u64, Misread> {
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let unit = units.into_iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << bits));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Misread { because: format!("{text:?} is no size"), instead: "512M or 4G".to_owned() })
}

/// Reads a variable of the environment: `NAME` or `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, Option<String>), Misread> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.is_empty() {
        return Err(Misread {
            because: format!("{text:?} names no variable"),
            instead: "NAME=VALUE".to_owned(),
        });
    }
    Ok((name.to_owned(), value.map(str::to_owned)))
}

impl RunArgs {
    /// Runs it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        performing::start(&self.recipe()?, screen, store)
    }

    /// What was asked for, in a form that can be handed on.
    pub(crate) fn recipe(&self) -> Result<Recipe, Error> {
        let cwd = std::env::current_dir().map_err(|source| Error::Cwd(PathBuf::from("."), source))?;
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs_f64());
        let request = RunRequest {
            argv: self.command.iter().cloned().map(Word::from).collect(),
            cwd: cwd.into(),
            env: self.variables.iter().cloned().collect(),
            title: self.title.clone(),
            labels: self.labels.iter().cloned().collect(),
            parent: self.parent.clone(),
            on_child_failure: self.on_child_failure.map(|policy| policy.name().to_owned()),
            timeout_s: seconds(self.timeout),
            first_output_timeout_s: seconds(self.first_output_timeout),
            idle_timeout_s: seconds(self.idle_timeout),
            waiting_timeout_s: seconds(self.waiting_timeout),
            tool_timeout_s: seconds(self.tool_timeout),
            grace_s: Some(self.grace.as_secs_f64()),
            expect: self.expect.clone(),
            contract: self.contract.clone().map(|path| ContractSource::File(path.into())),
            artifacts: self.artifacts.clone().map(Word::from),
            adapter: match self.adapter {
                Adapter::Auto => None,
                Adapter::Of(program) => Some(program.name().to_owned()),
            },
            memory_bytes: self.memory,
            cpu_percent: self.cpu,
            processes: self.processes,
            sandbox: self.sandbox.as_ref().map(|profile| SandboxRequest {
                profile: profile.clone(),
                network: self.sandbox_network.as_ref().map(sandboxing::network_words),
                write: self.sandbox_write.iter().cloned().map(Word::from).collect(),
                best_effort: self.sandbox_best_effort,
            }),
            allow_privileges: self.allow_privileges,
            keep_bytes: Some(self.keep),
        };
        Ok(Recipe {
            detach: self.detach,
            quiet: self.quiet,
            report: self.report.clone().map(Word::from),
            pass_fd: self.pass_fd.clone(),
            ..Recipe::of(request)
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RunArgs,
    }

    #[test]
    fn everything_on_a_command_line_is_in_its_recipe() {
        let line = |words: &[&str]| Line::try_parse_from(words).unwrap().args.recipe().unwrap();
        let full = line(&[
            "run",
            "--title=t",
            "--label",
            "a=b=c",
            "--parent=ses_1",
            "--timeout=1.5s",
            "--first-output-timeout=1s",
            "--idle-timeout=2s",
            "--waiting-timeout=3s",
            "--tool-timeout=4s",
            "--grace=5s",
            "--expect",
            "a b:optional",
            "--contract=c.yaml",
            "--artifacts=out",
            "--adapter=codex",
            "--memory=1G",
            "--cpu=50",
            "--processes=9",
            "--pass-fd=7",
            "--sandbox=open",
            "--sandbox-network=443,53",
            "--sandbox-write=a",
            "--sandbox-best-effort",
            "--keep=1K",
            "--report=r.json",
            "--env=A=1",
            "--env=B",
            "--detach",
            "--quiet",
            "--",
            "--odd",
            "--title=x",
        ]);
        let json = serde_json::to_value(&full).unwrap();
        let request = &json["request"];
        assert_eq!(request["argv"], serde_json::json!(["--odd", "--title=x"]));
        // A field that is not in here would be lost on the way to the background and to a retry.
        let fields: Vec<&str> = request.as_object().unwrap().keys().map(String::as_str).collect();
        let mut all = serde_json::to_value(line(&["run", "--allow-privileges", "true"])).unwrap();
        assert_eq!(all["request"]["allow_privileges"].take(), true);
        assert_eq!(fields.len() + 1, 22, "{fields:?}");
        assert_eq!(request["sandbox"]["network"], "443,53");
        assert_eq!((&request["env"]["A"], &request["env"]["B"]), (&"1".into(), &serde_json::Value::Null));
        assert_eq!(serde_json::from_value::<Recipe>(json).unwrap(), full);
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let bytes = |text: &str| size(text).ok();
        assert_eq!((bytes("4096"), bytes("512M"), bytes("4G")), (Some(4096), Some(512 << 20), Some(4 << 30)));
        assert_eq!((bytes("0"), bytes("-1"), bytes("12Q"), bytes("999999999T")), (None, None, None, None));
    }
}
