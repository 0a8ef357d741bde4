//! A run as it was asked for, in a form that can be handed on: to the supervisor of a background run, and to a retry.
//!
//! Invariant: a recipe is turned into an order in one place, whoever wrote it: a command line, a request over HTTP, or the file
//! that an earlier run kept. The values of variables are not kept. Deliberately absent: supervising.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use callboard_agents::{Program, detect};
use callboard_delivery::{Agreement, Contract};
use callboard_engine::{RECIPE, RunOrder, agree, keep_private, read_plain};
use callboard_kernel::EntityId;
use callboard_kernel::abort::OnChildFailure;
use callboard_lifecycle::{Kind, Words};
use callboard_supervisor::sandbox::{Missing, Sandbox};
use callboard_supervisor::{Audience, Limits, Privileges, Stdin, Timers, is_inherited};
use callboard_wire::{ContractSource, RunRequest, Word};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::commands::runs::heartbeat::own_run;
use crate::error::Error;
use crate::input::ids;
use crate::launch::sandboxing::{self, Wanted};
use crate::launch::shim_input::{self, STORE, Variables};
use crate::store::{KEY_VARIABLE, Store};

/// What is run, and how whoever asked wants to hear of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Recipe {
    pub(crate) request: RunRequest,
    /// In the background.
    #[serde(default)]
    pub(crate) detach: bool,
    /// Without a closing line.
    #[serde(default)]
    pub(crate) quiet: bool,
    /// Where to write what became of it.
    #[serde(default)]
    pub(crate) report: Option<Word>,
    /// Descriptors that it gets.
    #[serde(default)]
    pub(crate) pass_fd: Vec<u16>,
    /// What the file of its contract said when it was first run. A retry reads this and not the file, which the run can
    /// write.
    #[serde(default)]
    pub(crate) contract_text: Option<String>,
    /// The run it repeats.
    #[serde(default)]
    pub(crate) retry_of: Option<String>,
    /// What led to it.
    #[serde(default)]
    pub(crate) cause: Option<String>,
}

/// Who supervises the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervision {
    /// This process, before the eyes of whoever typed it.
    Foreground,
    /// This process, which is in the background.
    Background,
}

/// A recipe as it is kept.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// Its words may be secrets, and the hash of few and short ones could be guessed.
    salt: String,
    recipe: Recipe,
}

impl Recipe {
    /// A request, without anything that only a command line has.
    pub(crate) const fn of(request: RunRequest) -> Self {
        Self {
            request,
            detach: false,
            quiet: false,
            report: None,
            pass_fd: Vec::new(),
            contract_text: None,
            retry_of: None,
            cause: None,
        }
    }

    /// The same with the text of its contract, if that is in a file that was not read yet.
    pub(crate) fn with_contract(&self) -> Result<Self, Error> {
        let Some(ContractSource::File(path)) = &self.request.contract else { return Ok(self.clone()) };
        if self.contract_text.is_some() {
            return Ok(self.clone());
        }
        let path = path.as_path();
        let fail = |source| Error::Input(path.to_owned(), source);
        // A link is followed: whoever names the file may have put it there.
        let real = self.request.cwd.as_path().join(path).canonicalize().map_err(fail)?;
        let bytes = read_plain(&real, CONTRACT_BYTES_MAX).map_err(fail)?;
        let text = String::from_utf8(bytes).map_err(|_| fail(std::io::Error::other("it is no UTF-8")))?;
        Ok(Self { contract_text: Some(text), ..self.clone() })
    }

    /// Keeps it for whoever wants to run it again. Gives the hash of what is kept, which is recorded: the run itself can
    /// write the file.
    pub(crate) fn keep(&self, dir: &Path, supervision: Supervision) -> Result<String, Error> {
        let mut recipe = Self {
            detach: supervision == Supervision::Background,
            retry_of: None,
            cause: None,
            ..self.clone()
        };
        recipe.request.env.values_mut().for_each(|value| *value = None);
        let kept = Kept { salt: ids::new(Kind::Session, clock::now()).to_string(), recipe };
        let path = dir.join(RECIPE);
        let bytes = serde_json::to_vec(&kept).map_err(|error| Error::File(path.clone(), error.into()))?;
        keep_private(&path, &bytes).map_err(|source| Error::File(path, source))?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    }

    /// Reads what was kept.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(|Kept { recipe, .. }| recipe)
    }

    /// The order that the engine carries out.
    pub(crate) fn order(
        &self,
        store: &Store,
        id: EntityId,
        supervision: Supervision,
    ) -> Result<RunOrder, Error> {
        let request = &self.request;
        let is_foreground = supervision == Supervision::Foreground;
        let cwd = request.cwd.as_path().to_owned();
        let given = |typed: &Option<String>| -> Result<Option<EntityId>, Error> {
            typed.as_deref().map(|typed| ids::find(&store.open()?, typed)).transpose()
        };
        // Whoever runs inside a run belongs to it; a run of another store is a stranger here.
        let around = || own_run().filter(|_| is_foreground).and_then(|marker| marker.parse().ok());
        let program = program(request)?;
        Ok(RunOrder {
            id,
            cause: self.cause.clone(),
            program,
            title: request.title.clone(),
            labels: request.labels.clone().into_iter().collect(),
            parent: around().map_or_else(|| given(&request.parent), |own| Ok(Some(own)))?,
            on_child_failure: policy(request)?,
            retry_of: given(&self.retry_of)?,
            timers: timers(request)?,
            limits: limits(request)?,
            agreement: agreement(request, self.contract_text.as_deref(), id)?,
            audience: if is_foreground { Audience::Foreground } else { Audience::Nobody },
            stdin: if is_foreground { Stdin::Inherit } else { Stdin::Null },
            descriptors: self.descriptors(supervision)?,
            sandbox: sandbox(request, program, store)?,
            privileges: privileges(request)?,
            dir: store.runs()?.join(id.to_string()),
            recipe_hash: None,
            output_max_bytes: positive("keep_bytes", request.keep_bytes)?.unwrap_or(KEEP_BYTES),
            argv: request.argv.iter().cloned().map(OsString::from).collect(),
            env: environment(request, store)?,
            cwd,
        })
    }

    /// The descriptors it gets: those that were asked for, and those that its arguments name.
    fn descriptors(&self, supervision: Supervision) -> Result<Vec<i32>, Error> {
        if let Some(number) = self.pass_fd.iter().find(|number| !is_inherited(i32::from(**number))) {
            return Err(Error::CommandLine {
                because: format!("descriptor {number} is not open, so it cannot be passed on"),
                instead: "--pass-fd N, for a descriptor that the shell has opened, such as N in N<FILE"
                    .to_owned(),
            });
        }
        let is_foreground = supervision == Supervision::Foreground;
        let named = self.request.argv.iter().filter(|_| is_foreground).filter_map(|word| {
            let word = word.as_os_str().to_str()?;
            let number = word.strip_prefix("/dev/fd/").or_else(|| word.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok().filter(|number| is_inherited(*number))
        });
        let all = self.pass_fd.iter().map(|number| i32::from(*number)).chain(named);
        Ok(all.filter(|number| *number > 2).collect())
    }
}

/// The most that the file of a contract is read for; a contract itself may have less.
const CONTRACT_BYTES_MAX: u64 = 4 << 20;
/// How much of the output of a run is kept.
pub(crate) const KEEP_BYTES: u64 = 64 << 20;
/// How long a run may take to go.
const GRACE: Duration = Duration::from_secs(10);

fn invalid(because: String, instead: &str) -> Error {
    Error::CommandLine { because, instead: instead.to_owned() }
}

fn timers(request: &RunRequest) -> Result<Timers, Error> {
    let span = |name: &str, seconds: Option<f64>| {
        let invalid = |_| invalid(format!("invalid duration: {name} is {seconds:?}"), "a number of seconds");
        seconds.map(Duration::try_from_secs_f64).transpose().map_err(invalid)
    };
    Ok(Timers {
        total: span("timeout_s", request.timeout_s)?,
        first_output: span("first_output_timeout_s", request.first_output_timeout_s)?,
        silence: span("idle_timeout_s", request.idle_timeout_s)?,
        waiting: span("waiting_timeout_s", request.waiting_timeout_s)?,
        tool: span("tool_timeout_s", request.tool_timeout_s)?,
        grace: span("grace_s", request.grace_s)?.unwrap_or(GRACE),
        ..Timers::default()
    })
}

fn positive(name: &str, number: Option<u64>) -> Result<Option<u64>, Error> {
    match number {
        Some(0) => Err(invalid(format!("{name} is 0"), "a number above 0, or leave it out")),
        other => Ok(other),
    }
}

fn limits(request: &RunRequest) -> Result<Limits, Error> {
    Ok(Limits {
        memory_bytes: positive("memory_bytes", request.memory_bytes)?,
        cpu_percent: request.cpu_percent,
        processes: request.processes,
        ..Limits::default()
    })
}

fn privileges(request: &RunRequest) -> Result<Privileges, Error> {
    match (request.allow_privileges, &request.sandbox) {
        (true, Some(_)) => Err(invalid(
            "no run gains privileges in a sandbox".to_owned(),
            "one of the two: a sandbox, or privileges",
        )),
        (true, None) => Ok(Privileges::Gained),
        (false, _) => Ok(Privileges::NoNew),
    }
}

/// Whose stream is read.
fn program(request: &RunRequest) -> Result<Program, Error> {
    match request.adapter.as_deref() {
        None | Some("auto") => {
            let words: Vec<OsString> = request.argv.iter().cloned().map(OsString::from).collect();
            Ok(detect(&words))
        }
        Some(name) => name
            .parse()
            .map_err(|unknown: callboard_agents::UnknownProgram| invalid(unknown.to_string(), "auto")),
    }
}

/// What becomes of its tree when a run that it started fails.
fn policy(request: &RunRequest) -> Result<Option<OnChildFailure>, Error> {
    let read = |word: &String| {
        OnChildFailure::parse(word).map_err(|unknown| invalid(unknown.to_string(), "contain"))
    };
    request.on_child_failure.as_ref().map(read).transpose()
}

/// What it may reach, and the name of that.
fn sandbox(
    request: &RunRequest,
    program: Program,
    store: &Store,
) -> Result<Option<(String, Sandbox)>, Error> {
    let Some(asked) = &request.sandbox else { return Ok(None) };
    let network = asked.network.as_deref().map(sandboxing::network).transpose();
    let network = network.map_err(|misread| invalid(misread.because, &misread.instead))?;
    let write: Vec<_> = asked.write.iter().map(|path| path.as_path().to_owned()).collect();
    let wanted = Wanted {
        profile: &asked.profile,
        network: network.as_ref(),
        write: &write,
        missing: if asked.best_effort { Missing::GoOn } else { Missing::Refuse },
    };
    let sandbox = sandboxing::sandbox(&wanted, program, request.cwd.as_path(), store)?;
    Ok(Some((asked.profile.clone(), sandbox)))
}

/// What is promised, fixed before anything is started.
fn agreement(request: &RunRequest, text: Option<&str>, id: EntityId) -> Result<Agreement, Error> {
    let cwd = request.cwd.as_path();
    let of_file = match &request.contract {
        None => Contract::default(),
        Some(ContractSource::File(path)) => {
            Contract::parse(text.unwrap_or_default(), path.as_path().to_str()).map_err(Error::Contract)?
        }
        Some(ContractSource::Inline(document)) => {
            let text = serde_json::json!(document).to_string();
            Contract::parse(&text, None).map_err(Error::Contract)?
        }
    };
    let expected = Contract::expecting(&request.expect).map_err(|problem| Error::Contract(problem.into()))?;
    let contract = of_file.with(expected).map_err(|problem| Error::Contract(problem.into()))?;
    let dir = request.artifacts.as_ref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir.as_path()));
    agree(contract, &dir, id).map_err(Error::Contract)
}

/// What the command gets beside the environment it inherits: where the store is, without a password, and what was asked
/// for by name.
fn environment(request: &RunRequest, store: &Store) -> Result<Variables, Error> {
    let mut all: Variables = store.for_agents().map(|store| (STORE.into(), store)).into_iter().collect();
    // Whoever writes the store from inside without a sandbox seals with the same key.
    all.extend(store.given_key().map(|key| (KEY_VARIABLE.into(), key.into())));
    for (name, value) in &request.env {
        let value = value.as_ref().map(OsString::from).or_else(|| shim_input::variable(name));
        let value = value.ok_or_else(|| Error::CommandLine {
            because: format!("the variable {name} is not set"),
            instead: format!("--env {name}=VALUE"),
        })?;
        all.push((name.into(), value));
    }
    Ok(all)
}
