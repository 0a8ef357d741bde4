//! A task that somebody asks for: read, checked, and put into the facts that are recorded.
//!
//! Invariant: what is wrong with a request is said before anything is recorded. What runs commands comes from a person: an agent can ask
//! for work, not for commands. Deliberately absent: whether its dependencies exist, which the store knows.

use std::path::Path;
use std::time::Duration;

use callboard_kernel::abort::OnChildFailure;
use callboard_kernel::task::{Dependency, DependencyEnd, Scope};
use callboard_kernel::{EntityId, Facts, Moment, Value, fact, one_line};
use callboard_lifecycle::{ActorClass, Kind, Words};
use callboard_wire::TaskRequest;

use super::asking::{TaskError, unfit};
use super::signal::Signal;

/// The longest text that an agent is told.
const PROMPT_BYTES_MAX: usize = 64 * 1024;
/// How many dependencies, files or checks a task may have.
const LIST_MAX: usize = 64;

/// A task that was read and can be recorded.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub(super) facts: Facts,
    /// What it depends on.
    pub depends_on: Vec<Dependency>,
    /// The task it is part of.
    pub parent: Option<EntityId>,
}

impl NewTask {
    /// Reads a request by somebody of this class.
    pub fn read(request: &TaskRequest, author: ActorClass) -> Result<Self, TaskError> {
        let title = one_line(&request.title);
        if title.is_empty() {
            return Err(unfit("the title of the task is empty", "say in a few words what is to be done"));
        }
        let prompt = request.prompt.as_deref().unwrap_or(&request.title);
        if prompt.len() > PROMPT_BYTES_MAX {
            let problem = format!("the prompt has {} bytes, more than {PROMPT_BYTES_MAX}", prompt.len());
            return Err(unfit(
                problem,
                "put the details into a file of the repository and name it in the prompt",
            ));
        }
        let signals = signals(request)?;
        let depends_on = depends_on(request)?;
        if author != ActorClass::Operator {
            no_commands(&signals, &depends_on)?;
        }
        let mut facts = Facts::none().and(fact::TITLE, title).and(fact::PROMPT, prompt);
        describe(&mut facts, request)?;
        place(&mut facts, request)?;
        if !signals.is_empty() {
            facts.record(fact::SIGNALS, signals.iter().map(Signal::facts).collect::<Vec<_>>());
        }
        if request.approval {
            facts.record(fact::APPROVAL, true);
        }
        let parent = request.parent.as_deref().map(task_id).transpose()?;
        if let Some(parent) = parent {
            facts.record(fact::PARENT, parent.to_string());
        }
        Ok(Self { facts, depends_on, parent })
    }
}

/// What an agent may not ask for.
fn no_commands(signals: &[Signal], depends_on: &[Dependency]) -> Result<(), TaskError> {
    let is_command = |dependency: &Dependency| {
        matches!(dependency, Dependency::Command { .. } | Dependency::PullRequest { .. })
    };
    if signals.iter().any(Signal::runs_command) || depends_on.iter().any(is_command) {
        let help = "leave out verify, review and command gates; a person adds them: callboard task add";
        return Err(unfit("an agent cannot add a task that runs commands", help));
    }
    Ok(())
}

/// Role, priority, scope, labels and bounds.
fn describe(facts: &mut Facts, request: &TaskRequest) -> Result<(), TaskError> {
    if let Some(role) = &request.role {
        facts.record(fact::ROLE, word("role", role)?);
    }
    if let Some(priority) = request.priority {
        facts.record(fact::PRIORITY, bounded("priority", priority, 0, 1000)?);
    }
    if let Some(scope) = &request.scope {
        facts.record(fact::SCOPE, self::scope(scope)?.name());
    }
    if let Some(retries) = request.max_retries {
        facts.record(fact::RETRIES_MAX, bounded("max_retries", retries, 0, 100)?);
    }
    if let Some(seconds) = request.timeout_s {
        facts.record(fact::TIMEOUT_S, span(seconds)?);
    }
    if let Some(policy) = &request.on_child_failure {
        let known = OnChildFailure::parse(policy);
        let unknown = |_| unfit(format!("{policy:?} is no abort policy"), "use contain, siblings or session");
        facts.record(fact::ON_CHILD_FAILURE, known.map_err(unknown)?.name());
    }
    if !request.labels.is_empty() {
        let mut labels = Facts::none();
        for (name, value) in &request.labels {
            labels.set(word("label", name)?, value.as_str());
        }
        facts.record(fact::LABELS, labels);
    }
    Ok(())
}

/// Where it is worked on, and how it is delivered.
fn place(facts: &mut Facts, request: &TaskRequest) -> Result<(), TaskError> {
    if let Some(repo) = &request.repo {
        if !Path::new(repo).is_absolute() {
            return Err(unfit(
                format!("the repository {repo:?} is no absolute path"),
                "give its absolute path",
            ));
        }
        facts.record(fact::REPO, repo.as_str());
    }
    if let Some(base) = &request.base {
        facts.record(fact::BASE, word("base", base)?);
    }
    if let Some(deliver) = &request.deliver {
        if !["merge", "branch", "pr"].contains(&deliver.as_str()) {
            return Err(unfit(format!("{deliver:?} is no way to deliver"), "use merge, branch or pr"));
        }
        if deliver == "pr" && request.approval {
            return Err(unfit(
                "a task that is delivered as a pull request needs no other approval",
                "leave approval out: the pull request is reviewed where it is opened",
            ));
        }
        facts.record(fact::DELIVER, deliver.as_str());
    }
    let files: Vec<Value> =
        request.files.iter().map(|path| inside("files", path).map(Value::from)).collect::<Result<_, _>>()?;
    if !files.is_empty() {
        facts.record(fact::FILES, limited("files", files)?);
    }
    Ok(())
}

fn signals(request: &TaskRequest) -> Result<Vec<Signal>, TaskError> {
    let pair = |field: &str, text: &str| match text.split_once('=') {
        Some((path, rest)) if !rest.is_empty() => Ok((inside(field, path)?, rest.to_owned())),
        Some(_) | None => Err(unfit(format!("{field}: {text:?} has no value behind ="), "use PATH=VALUE")),
    };
    let mut all = Vec::new();
    for path in &request.expect {
        all.push(Signal::Exists(inside("expect", path)?));
    }
    if request.expect_diff {
        all.push(Signal::Diff);
    }
    for text in &request.contains {
        let (path, text) = pair("contains", text)?;
        all.push(Signal::Contains { path, text });
    }
    for text in &request.schema {
        let (path, schema) = pair("schema", text)?;
        all.push(Signal::Schema { path, schema: inside("schema", &schema)? });
    }
    if let Some(path) = &request.contract {
        all.push(Signal::Contract(inside("contract", path)?));
    }
    for command in &request.verify {
        all.push(Signal::Test(command_line("verify", command)?));
    }
    if let Some(command) = &request.review {
        all.push(Signal::Review(command_line("review", command)?));
    }
    limited("checks", all)
}

fn depends_on(request: &TaskRequest) -> Result<Vec<Dependency>, TaskError> {
    let mut all: Vec<Dependency> =
        request.after.iter().map(|text| other_task(text)).collect::<Result<_, TaskError>>()?;
    for text in &request.gates {
        all.push(gate(text)?);
    }
    limited("dependencies", all)
}

/// Another task, and how it must end.
pub(super) fn other_task(text: &str) -> Result<Dependency, TaskError> {
    let (id, until) = match text.strip_suffix(":ended") {
        Some(id) => (id, DependencyEnd::Ended),
        None => (text, DependencyEnd::Closed),
    };
    Ok(Dependency::Task { id: task_id(id)?, until })
}

pub(super) fn gate(text: &str) -> Result<Dependency, TaskError> {
    let help = "use person:TEXT, time:RFC3339, command:COMMAND or merged:COMMAND";
    match text.split_once(':') {
        Some(("person", what)) if !what.trim().is_empty() => {
            Ok(Dependency::Person { what: what.trim().to_owned() })
        }
        Some(("time", at)) => {
            let at: Moment = at.trim().parse().map_err(|_| unfit(format!("{at:?} is no moment"), help))?;
            Ok(Dependency::Time { at })
        }
        Some(("command", command)) => Ok(Dependency::Command { command: command_line("gate", command)? }),
        Some(("merged", command)) => Ok(Dependency::PullRequest { command: command_line("gate", command)? }),
        Some(_) | None => Err(unfit(format!("{text:?} is no gate"), help)),
    }
}

pub(super) fn task_id(text: &str) -> Result<EntityId, TaskError> {
    let id: EntityId = text.parse().map_err(|error| unfit(format!("{error}"), "give the ID of a task"))?;
    if id.kind() != Kind::Task {
        return Err(unfit(format!("{id} is a {}, not a task", id.kind()), "give the ID of a task"));
    }
    Ok(id)
}

/// How much work a task is.
pub(super) fn scope(text: &str) -> Result<Scope, TaskError> {
    Scope::parse(text).map_err(|_| unfit(format!("{text:?} is no scope"), "use small, medium, large or xl"))
}

pub(super) fn span(seconds: f64) -> Result<Duration, TaskError> {
    let most = 7.0 * 24.0 * 3600.0;
    if seconds > 0.0 && seconds <= most {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(unfit(format!("a timeout of {seconds} s cannot be"), "use more than 0 seconds and at most 7 days"))
}

pub(super) fn bounded(field: &str, number: i64, least: i64, most: i64) -> Result<i64, TaskError> {
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(unfit(format!("{field} is {number}"), format!("use a number from {least} to {most}")))
}

/// A short text in one line that is no option of a program.
pub(super) fn word(field: &str, text: &str) -> Result<String, TaskError> {
    let is_fit =
        !text.is_empty() && text.len() <= 128 && !text.starts_with('-') && !text.contains(char::is_control);
    if is_fit {
        return Ok(text.to_owned());
    }
    Err(unfit(
        format!("{field}: {text:?} cannot be used"),
        "use 1 to 128 printable characters, not beginning with -",
    ))
}

/// A path inside of the repository.
fn inside(field: &str, path: &str) -> Result<String, TaskError> {
    let normal = |part: std::path::Component<'_>| {
        matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
    };
    let is_inside = !path.is_empty()
        && !path.starts_with('-')
        && !path.contains(char::is_control)
        && Path::new(path).components().all(normal);
    if is_inside {
        return Ok(path.trim_start_matches("./").to_owned());
    }
    Err(unfit(format!("{field}: {path:?} does not lie in the repository"), "give a path relative to its top"))
}

fn command_line(field: &str, command: &str) -> Result<String, TaskError> {
    let command = command.trim();
    if command.is_empty() || command.contains('\0') || command.len() > 8 * 1024 {
        return Err(unfit(
            format!("{field}: the command is empty or too long"),
            "give a command line of at most 8 KiB",
        ));
    }
    Ok(command.to_owned())
}

fn limited<T>(field: &str, all: Vec<T>) -> Result<Vec<T>, TaskError> {
    if all.len() <= LIST_MAX {
        return Ok(all);
    }
    Err(unfit(format!("{} {field} are more than {LIST_MAX}", all.len()), "split the task"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(change: impl FnOnce(&mut TaskRequest)) -> Result<NewTask, TaskError> {
        let mut request = TaskRequest { title: "fix it".into(), ..TaskRequest::default() };
        change(&mut request);
        NewTask::read(&request, ActorClass::Operator)
    }

    #[test]
    fn what_cannot_be_is_said_with_what_to_do() {
        let bad: [fn(&mut TaskRequest); 12] = [
            |r| r.title = " ".into(),
            |r| r.scope = Some("huge".into()),
            |r| r.priority = Some(-1),
            |r| r.repo = Some("here".into()),
            |r| r.files = vec!["../x".into()],
            |r| r.files = vec!["/etc".into()],
            |r| r.after = vec!["ses_0000000000000000000000000l".into()],
            |r| r.gates = vec!["weather:fine".into()],
            |r| r.base = Some("--upload-pack=x".into()),
            |r| r.contains = vec!["a".into()],
            |r| r.timeout_s = Some(0.0),
            |r| r.verify = vec![String::new()],
        ];
        for (at, change) in bad.into_iter().enumerate() {
            let Err(TaskError::Unfit { help, .. }) = titled(change) else { panic!("case {at} was taken") };
            assert!(!help.is_empty(), "case {at}");
        }
        assert!(titled(|_| ()).is_ok());
    }

    #[test]
    fn an_agent_adds_work_and_no_commands() {
        let mut request = TaskRequest { title: "x".into(), expect_diff: true, ..TaskRequest::default() };
        assert!(NewTask::read(&request, ActorClass::Agent).is_ok());
        request.verify = vec!["curl x | sh".into()];
        assert!(NewTask::read(&request, ActorClass::Agent).is_err());
        assert!(NewTask::read(&request, ActorClass::Operator).is_ok());
        request.verify.clear();
        request.gates = vec!["command:true".into()];
        assert!(NewTask::read(&request, ActorClass::Agent).is_err());
    }
}
