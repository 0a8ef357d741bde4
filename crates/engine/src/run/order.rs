//! What is asked for when a run is asked for, and what is recorded of it before anything is started.
//!
//! Invariant: whoever reads the record later can tell what was run, where, by whom it is supervised and what it
//! promised; secrets on the command line are not in it. Deliberately absent: the environment, which is never recorded.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use callboard_agents::Program;
use callboard_delivery::{Agreement, Contract};
use callboard_kernel::abort::OnChildFailure;
use callboard_kernel::{EntityId, Facts, Value, fact, one_line};
use callboard_lifecycle::Words;
use callboard_supervisor::sandbox::Sandbox;
use callboard_supervisor::{Audience, Identity, Limits, Privileges, Stdin, Timers};

use super::checking::{Supervised, checks_of};
use crate::host::owner::this_uid;
use crate::host::project::project_of;
use crate::redact;

/// The longest title that is made from a command line.
const TITLE_CHARS: usize = 80;

/// A run that is asked for.
#[derive(Debug)]
pub struct RunOrder {
    /// The id it gets.
    pub id: EntityId,
    /// What led to it, if somebody else asked for it.
    pub cause: Option<String>,
    /// The command and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What is added to the environment it inherits.
    pub env: Vec<(OsString, OsString)>,
    /// What it is called; its command line unless given.
    pub title: Option<String>,
    /// What somebody sorts it by.
    pub labels: Vec<(String, String)>,
    /// The run it belongs to.
    pub parent: Option<EntityId>,
    /// What becomes of its tree when a run that it started fails; nothing unless given.
    pub on_child_failure: Option<OnChildFailure>,
    /// The run it repeats.
    pub retry_of: Option<EntityId>,
    /// When it is ended.
    pub timers: Timers,
    /// How much it may use.
    pub limits: Limits,
    /// What it promises.
    pub agreement: Agreement,
    /// Whose stream it writes.
    pub program: Program,
    /// Whom its output is for.
    pub audience: Audience,
    /// Where its input comes from.
    pub stdin: Stdin,
    /// Descriptors of ours that it gets beside its own three.
    pub descriptors: Vec<RawFd>,
    /// Whether it can gain privileges.
    pub privileges: Privileges,
    /// What it may reach, and what the profile is called that says so; everything without one.
    pub sandbox: Option<(String, Sandbox)>,
    /// Where its output is kept.
    pub dir: PathBuf,
    /// The hash of the recipe that is kept there to run it again.
    pub recipe_hash: Option<String>,
    /// How many bytes of its output are kept.
    pub output_max_bytes: u64,
}

impl RunOrder {
    /// What is recorded before it is started.
    pub(crate) fn facts(&self, supervisor: &Identity) -> Facts {
        let words: Vec<String> = self.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let argv = redact::words(words.iter().map(String::as_str));
        let title = self.title.as_deref().map_or_else(|| title_of(&argv), redact::text);
        let mut facts = Facts::none()
            .and(fact::TITLE, one_line(&title))
            .and(fact::ARGV, argv)
            .and(fact::CWD, self.cwd.to_string_lossy().into_owned())
            .and(fact::DIR, self.dir.to_string_lossy().into_owned())
            .and(fact::ADAPTER, self.program.name())
            .and(fact::ARTIFACTS, promised(&self.agreement));
        facts.merge(&whereabouts(supervisor));
        if !self.labels.is_empty() {
            let mut labels = Facts::none();
            for (name, value) in &self.labels {
                labels.set(name.clone(), value.as_str());
            }
            facts.record(fact::LABELS, labels);
        }
        let bounds = [
            (fact::TIMEOUT_S, self.timers.total),
            (fact::FIRST_OUTPUT_S, self.timers.first_output),
            (fact::IDLE_TIMEOUT_S, self.timers.silence),
            (fact::WAITING_TIMEOUT_S, self.timers.waiting),
            (fact::TOOL_TIMEOUT_S, self.timers.tool),
        ];
        for (name, bound) in bounds {
            if let Some(bound) = bound {
                facts.record(name, bound);
            }
        }
        for (name, id) in [(fact::PARENT, self.parent), (fact::RETRY_OF, self.retry_of)] {
            if let Some(id) = id {
                facts.record(name, id.to_string());
            }
        }
        if let Some(policy) = self.on_child_failure {
            facts.record(fact::ON_CHILD_FAILURE, policy.name());
        }
        if let Some(hash) = &self.recipe_hash {
            facts.record(fact::RECIPE_HASH, hash.as_str());
        }
        if let Some((profile, _)) = &self.sandbox {
            facts.record(fact::SANDBOX, Facts::none().and(fact::PROFILE, profile.as_str()));
        }
        if let Some(project) = project_of(&self.cwd) {
            facts.record(fact::PROJECT, project);
        }
        if let Some(bytes) = self.limits.memory_bytes {
            facts.record(fact::MEMORY_LIMIT_BYTES, i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        facts
    }
}

/// Fixes what a run promises, before it is started.
pub fn agree(contract: Contract, dir: &Path, id: EntityId) -> Result<Agreement, callboard_delivery::Error> {
    contract.agree(dir, &Supervised::unowned(&checks_of(&id.to_string())))
}

/// What is promised, as it is recorded. A directory whose name the ledger cannot keep was refused when it was agreed on.
pub(crate) fn promised(agreement: &Agreement) -> Facts {
    let facts = agreement.snapshot().unwrap_or_default();
    if agreement.contract.is_empty() { facts.and(fact::CONTRACT, None::<Value>) } else { facts }
}

/// The supervisor of a run, and where it is, as it is recorded.
pub(crate) fn whereabouts(supervisor: &Identity) -> Facts {
    let mut facts = Facts::none()
        .and(fact::HOST, supervisor.host.as_str())
        .and(fact::BOOT, supervisor.boot.as_str())
        .and(fact::UID, i64::from(this_uid()))
        .and(fact::SUPERVISOR, process(supervisor));
    if let Some(machine) = &supervisor.machine {
        facts.record(fact::MACHINE, machine.as_str());
    }
    for (name, namespace) in [(fact::PID_NS, supervisor.pid_ns), (fact::TIME_NS, supervisor.time_ns)] {
        if let Some(number) = namespace.and_then(|number| i64::try_from(number).ok()) {
            facts.record(name, number);
        }
    }
    facts
}

/// A process as it is recorded.
pub(crate) fn process(identity: &Identity) -> Facts {
    Facts::none()
        .and(fact::PID, i64::from(identity.pid))
        .and(fact::STARTED_TICKS, i64::try_from(identity.started_ticks).unwrap_or(i64::MAX))
}

fn title_of(argv: &[String]) -> String {
    let quoted = |word: &String| match word.contains(char::is_whitespace) || word.is_empty() {
        true => format!("\"{word}\""),
        false => word.clone(),
    };
    let name = argv.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned());
    let words: Vec<String> = name.iter().map(&quoted).chain(argv.iter().skip(1).map(&quoted)).collect();
    let line = words.join(" ").replace(char::is_control, " ");
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    line.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_command_line_without_its_directory() {
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(title_of(&argv(&["/usr/bin/claude", "-p", "fix the bug"])), "claude -p \"fix the bug\"");
        let long = title_of(&argv(&["echo", &"x".repeat(200)]));
        assert_eq!((long.chars().count(), long.ends_with('…')), (TITLE_CHARS, true));
    }
}
