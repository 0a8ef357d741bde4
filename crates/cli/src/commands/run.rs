//! `callboard run`: runs a command under supervision, records it from before its start to after its last process is
//! gone, and ends as it ended.
//!
//! Invariant: stdout carries the command's own bytes and nothing else; what callboard has to say is one closing line on
//! stderr. Nothing is started unless it is recorded. Deliberately absent: how a run is supervised, recorded and judged.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_agents::{Program, detect};
use callboard_engine::delivery::{Agreement, Contract};
use callboard_engine::{
    Desk, Ended, Host, RunError, RunOrder, Sight, agree, discard, evaluate, keep_private, perform, sign,
};
use callboard_kernel::EntityId;
use callboard_lifecycle::Kind;
use callboard_supervisor::sandbox::{Missing, Network, Sandbox};
use callboard_supervisor::{Audience, Limits, Privileges, Stdin, Timers, is_inherited};
use clap::Args;

use crate::clock::Real;
use crate::commands::heartbeat::own_run;
use crate::error::{Error, Exit};
use crate::ids::{self, Short};
use crate::private::{self, STORE, Variables};
use crate::report::Report;
use crate::sandboxing::{self, Wanted};
use crate::screen::Screen;
use crate::store::Store;
use crate::when::span;
use crate::word::{Misread, Reading, pair};
use crate::{clock, closing, detaching, error, notifying};

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
    /// The run it belongs to; inside a run, that one unless given.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
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
    /// The run it repeats.
    #[arg(long, hide = true, value_name = "ID")]
    retry_of: Option<String>,
    /// The id it has, because whoever started this has told it already, behind the ids of the runs around it.
    #[arg(long, hide = true, value_name = "ID")]
    shim_of: Option<String>,
    /// What led to it.
    #[arg(long, hide = true, value_name = "TEXT")]
    cause: Option<String>,
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
    /// Is this the supervisor of a run in the background?
    pub(crate) const fn is_shim(&self) -> bool {
        self.shim_of.is_some()
    }

    /// Runs it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        if self.detach {
            return self.start_shim(screen, store);
        }
        let id = match &self.shim_of {
            Some(given) => detaching::become_shim(given)?,
            None => ids::new(Kind::Session, clock::now()),
        };
        let report = self.report.as_deref().map(Report::open).transpose()?;
        let (ended, is_let_go) = match self.perform(store, id) {
            Ok(performed) => performed,
            Err(error) => {
                report.into_iter().for_each(Report::discard);
                return Err(error);
            }
        };
        let host = Host::this();
        let view = evaluate(&ended.stored, &Sight::present(clock::now(), &host));
        if !self.quiet && !is_let_go {
            let short = Short::among([id].into_iter()).of(id);
            let line = closing::line(&view, &short, closing::width_of_stderr());
            // Nobody to tell is no failure of the run.
            drop(writeln!(anstream::stderr(), "{line}"));
        }
        // From here on nothing changes the exit code, which is the run's.
        if let Some(unrecorded) = &ended.unrecorded {
            error::tell(&error::not_recorded(unrecorded));
        }
        if let Some(Err(error)) = report.map(|report| report.write(&view)) {
            error.tell();
        }
        notifying::after_end(&view, store, &host, self.quiet);
        Ok(Exit::of_run(ended.exit_code))
    }

    /// Performs the run; tells whether whoever started it was let go.
    fn perform(&self, store: &Store, id: EntityId) -> Result<(Ended, bool), Error> {
        let dir = store.runs()?.join(id.to_string());
        // Who makes it is said in it first, so that it is known whose it was if this process dies before its first record.
        sign(&dir).map_err(|source| Error::File(dir.clone(), source))?;
        let with_words = |order: RunOrder| {
            let words_hash = Some(self.keep_words(&order.dir)?);
            Ok(RunOrder { words_hash, ..order })
        };
        let order = self.order(store, id).and_then(with_words);
        let order = order.inspect_err(|_| {
            discard(&dir);
        })?;
        let (open, reopen) = (|| store.open_quietly(), || store.reopen_quietly());
        let desk = Desk { open: &open, reopen: &reopen, clock: &Real, is_shared: store.is_shared()? };
        let mut is_let_go = false;
        let mut started = |id: EntityId| {
            if self.shim_of.is_some() {
                detaching::tell_started(id);
                is_let_go = true;
            }
        };
        let ended = perform(order, desk, &mut started).map_err(|error| {
            if matches!(error, RunError::NotRecorded(_)) {
                discard(&dir);
            }
            Error::Run(error)
        })?;
        Ok((ended, is_let_go))
    }

    /// The same command line without what only whoever typed it wanted.
    fn start_shim(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let id = ids::new(Kind::Session, clock::now());
        let around = own_run();
        let markers = detaching::markers_of(id, around.as_deref());
        let parent = self.parent.clone().or_else(|| around.clone());
        let shim = Self { detach: false, shim_of: Some(markers.clone()), parent, ..self.clone() };
        match detaching::start(store, &markers, &shim.words(), &self.given())? {
            detaching::Started::Yes => {
                screen.data_line(&id.to_string())?;
                if let Some(around) = around.filter(|_| !self.quiet) {
                    drop(writeln!(
                        anstream::stderr(),
                        "it ends with {around}, inside of which it was started"
                    ));
                }
                Ok(Exit::DONE)
            }
            detaching::Started::No(exit) => Ok(exit),
        }
    }

    /// The variables that were given with their values.
    fn given(&self) -> Variables {
        let valued = self.variables.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        valued.map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// What the command gets beside the environment it inherits: where the store is, without a password, and what was asked
    /// for by name.
    fn environment(&self, store: &Store) -> Result<Variables, Error> {
        let mut all: Variables = store.for_agents().map(|store| (STORE.into(), store)).into_iter().collect();
        for (name, value) in &self.variables {
            let value = value.as_ref().map(OsString::from).or_else(|| private::variable(name));
            let value = value.ok_or_else(|| Error::CommandLine {
                because: format!("the variable {name} is not set"),
                instead: format!("--env {name}=VALUE"),
            })?;
            all.push((name.into(), value));
        }
        Ok(all)
    }

    fn order(&self, store: &Store, id: EntityId) -> Result<RunOrder, Error> {
        let cwd = std::env::current_dir().map_err(|source| Error::Cwd(PathBuf::from("."), source))?;
        let is_shim = self.shim_of.is_some();
        let given = |typed: &Option<String>| -> Result<Option<EntityId>, Error> {
            typed.as_deref().map(|typed| ids::find(&store.open()?, typed)).transpose()
        };
        // Whoever runs inside a run belongs to it; a run of another store is a stranger here.
        let around = || own_run().filter(|_| !is_shim).and_then(|marker| marker.parse().ok());
        Ok(RunOrder {
            id,
            cause: self.cause.clone(),
            program: self.program(),
            title: self.title.clone(),
            labels: self.labels.clone(),
            parent: given(&self.parent)?.or_else(around),
            retry_of: given(&self.retry_of)?,
            timers: Timers {
                total: self.timeout,
                first_output: self.first_output_timeout,
                silence: self.idle_timeout,
                waiting: self.waiting_timeout,
                tool: self.tool_timeout,
                grace: self.grace,
                ..Timers::default()
            },
            limits: Limits {
                memory_bytes: self.memory,
                cpu_percent: self.cpu,
                processes: self.processes,
                ..Limits::default()
            },
            agreement: self.agreement(id, &cwd)?,
            audience: if is_shim { Audience::Nobody } else { Audience::Foreground },
            stdin: if is_shim { Stdin::Null } else { Stdin::Inherit },
            descriptors: self.descriptors()?,
            sandbox: self.sandbox(store, &cwd)?,
            privileges: if self.allow_privileges { Privileges::Gained } else { Privileges::NoNew },
            dir: store.runs()?.join(id.to_string()),
            words_hash: None,
            output_max_bytes: self.keep,
            argv: self.command.clone(),
            env: self.environment(store)?,
            cwd,
        })
    }

    /// Whose stream is read.
    fn program(&self) -> Program {
        match self.adapter {
            Adapter::Auto => detect(&self.command),
            Adapter::Of(program) => program,
        }
    }

    /// What it may reach, and the name of that.
    fn sandbox(&self, store: &Store, cwd: &Path) -> Result<Option<(String, Sandbox)>, Error> {
        let Some(profile) = &self.sandbox else { return Ok(None) };
        let wanted = Wanted {
            profile,
            network: self.sandbox_network.as_ref(),
            write: &self.sandbox_write,
            missing: if self.sandbox_best_effort { Missing::GoOn } else { Missing::Refuse },
        };
        let sandbox = sandboxing::sandbox(&wanted, self.program(), cwd, store)?;
        Ok(Some((profile.clone(), sandbox)))
    }

    /// The descriptors it gets: those that were asked for, and those that its arguments name.
    fn descriptors(&self) -> Result<Vec<i32>, Error> {
        if let Some(number) = self.pass_fd.iter().find(|number| !is_inherited(i32::from(**number))) {
            return Err(Error::CommandLine {
                because: format!("descriptor {number} is not open, so it cannot be passed on"),
                instead: "--pass-fd N, for a descriptor that the shell has opened, such as N in N<FILE"
                    .to_owned(),
            });
        }
        let is_shim = self.shim_of.is_some();
        let named = self.command.iter().filter(|_| !is_shim).filter_map(|word| {
            let word = word.to_str()?;
            let number = word.strip_prefix("/dev/fd/").or_else(|| word.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok().filter(|number| is_inherited(*number))
        });
        let all = self.pass_fd.iter().map(|number| i32::from(*number)).chain(named);
        Ok(all.filter(|number| *number > 2).collect())
    }

    /// What is promised, fixed before anything is started.
    fn agreement(&self, id: EntityId, cwd: &Path) -> Result<Agreement, Error> {
        let of_file = match &self.contract {
            None => Contract::default(),
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|source| Error::Input(path.clone(), source))?;
                Contract::parse(&text, path.to_str()).map_err(Error::Contract)?
            }
        };
        let expected =
            Contract::expecting(&self.expect).map_err(|problem| Error::Contract(problem.into()))?;
        let contract = of_file.with(expected).map_err(|problem| Error::Contract(problem.into()))?;
        let dir = self.artifacts.as_ref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
        agree(contract, &dir, id).map_err(Error::Contract)
    }

    /// The same once more, for a run that repeats another one.
    pub(crate) fn again(self, repeats: EntityId, detach: bool) -> Self {
        let detach = self.detach || detach;
        Self { detach, retry_of: Some(repeats.to_string()), ..self }
    }

    /// The words of the shim that runs this in the background under an id.
    pub(crate) fn as_shim(&self, id: EntityId, cause: &str) -> Vec<OsString> {
        let (shim_of, cause) = (Some(id.to_string()), Some(cause.to_owned()));
        Self { detach: false, shim_of, cause, ..self.clone() }.words()
    }

    /// Keeps the words of the command line, exactly, for whoever wants to run it again. Gives the hash of what is kept, which
    /// is recorded: the run itself can write the file.
    fn keep_words(&self, dir: &Path) -> Result<String, Error> {
        let again = Self {
            shim_of: None,
            retry_of: None,
            cause: None,
            detach: self.shim_of.is_some(),
            ..self.clone()
        };
        // Words may be secrets, and short ones could be guessed by their hash.
        let mut bytes = ids::new(Kind::Session, clock::now()).to_string().into_bytes();
        bytes.push(0);
        for word in again.words() {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(0);
        }
        keep_private(&dir.join(WORDS), &bytes).map_err(|source| Error::File(dir.join(WORDS), source))?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    }

    /// The words that make these arguments.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["run".into()];
        let mut option = |name: &str, value: OsString| {
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            words.push(word);
        };
        let seconds = |span: Duration| OsString::from(format!("{}ms", span.as_millis()));
        let texts = [
            ("title", &self.title),
            ("parent", &self.parent),
            ("retry-of", &self.retry_of),
            ("shim-of", &self.shim_of),
            ("sandbox", &self.sandbox),
            ("cause", &self.cause),
        ];
        texts.into_iter().for_each(|(name, value)| value.iter().for_each(|value| option(name, value.into())));
        let paths = [("contract", &self.contract), ("artifacts", &self.artifacts), ("report", &self.report)];
        paths.into_iter().for_each(|(name, value)| value.iter().for_each(|value| option(name, value.into())));
        let spans = [
            ("timeout", self.timeout),
            ("first-output-timeout", self.first_output_timeout),
            ("idle-timeout", self.idle_timeout),
            ("waiting-timeout", self.waiting_timeout),
            ("tool-timeout", self.tool_timeout),
            ("grace", Some(self.grace)),
        ];
        spans
            .into_iter()
            .for_each(|(name, span)| span.into_iter().for_each(|span| option(name, seconds(span))));
        let numbers = [
            ("memory", self.memory),
            ("cpu", self.cpu.map(u64::from)),
            ("processes", self.processes),
            ("keep", Some(self.keep)),
        ];
        for (name, number) in numbers {
            number.into_iter().for_each(|number| option(name, number.to_string().into()));
        }
        self.labels.iter().for_each(|(name, value)| option("label", format!("{name}={value}").into()));
        self.expect.iter().for_each(|path| option("expect", path.into()));
        // Everybody can read a command line; the values go another way.
        self.variables.iter().for_each(|(name, _)| option("env", name.into()));
        if let Adapter::Of(program) = self.adapter {
            option("adapter", program.name().into());
        }
        self.sandbox_network.iter().for_each(|network| {
            option("sandbox-network", sandboxing::network_words(network).into());
        });
        self.sandbox_write.iter().for_each(|path| option("sandbox-write", path.into()));
        self.pass_fd.iter().for_each(|number| option("pass-fd", number.to_string().into()));
        let flags = [
            ("--detach", self.detach),
            ("--quiet", self.quiet),
            ("--allow-privileges", self.allow_privileges),
            ("--sandbox-best-effort", self.sandbox_best_effort),
        ];
        words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.into()));
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        words
    }
}

/// Where the words of a run's command line are kept.
pub(crate) const WORDS: &str = "words";

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
    fn the_words_of_a_command_line_make_the_same_command_line() {
        let lines: [&[&str]; 4] = [
            &[
                "run",
                "--sandbox=open",
                "--sandbox-network=443,53",
                "--sandbox-write=a",
                "--sandbox-best-effort",
                "--",
                "x",
            ],
            &["run", "true"],
            &[
                "run",
                "--detach",
                "--timeout=1.5s",
                "--label",
                "a=b=c",
                "--",
                "sh",
                "-c",
                "exit 3",
                "--title=x",
            ],
            &[
                "run",
                "--adapter",
                "codex",
                "--memory=1G",
                "--expect",
                "a b:optional",
                "--keep=1K",
                "--pass-fd=7",
                "--allow-privileges",
                "--",
                "--odd",
            ],
        ];
        for words in lines {
            let Line { args } = Line::try_parse_from(words).unwrap();
            let Line { args: again } = Line::try_parse_from(args.words()).unwrap();
            assert_eq!(format!("{args:?}"), format!("{again:?}"));
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let bytes = |text: &str| size(text).ok();
        assert_eq!((bytes("4096"), bytes("512M"), bytes("4G")), (Some(4096), Some(512 << 20), Some(4 << 30)));
        assert_eq!((bytes("0"), bytes("-1"), bytes("12Q"), bytes("999999999T")), (None, None, None, None));
    }
}
