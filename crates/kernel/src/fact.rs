//! Every fact that this program reads or records by name, declared once with the sort of its value.
//!
//! Invariant: a name is written here and nowhere else, so what records a fact and what reads it cannot disagree about its name
//! or its sort. A value of another sort, which another release may have recorded, reads as nothing and is kept. Facts come
//! in pieces, one record at a time, so they are read by name and not as one whole. Deliberately absent: names that people
//! choose themselves, such as labels and the data of a transition by hand.
//!
//! Long because it is the list of all facts.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::time::Duration;

use crate::facts::{Facts, Value};
use crate::moment::Moment;

/// The name of a fact, with the sort of its value.
#[derive(Debug)]
pub struct Fact<S> {
    name: &'static str,
    sort: PhantomData<fn() -> S>,
}

impl<S> Fact<S> {
    const fn new(name: &'static str) -> Self {
        Self { name, sort: PhantomData }
    }

    /// The name under which it stands in a record.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<S> Clone for Fact<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Fact<S> {}

impl<S> From<Fact<S>> for Cow<'static, str> {
    fn from(fact: Fact<S>) -> Self {
        Self::Borrowed(fact.name)
    }
}

/// A sort of values: how one is read.
pub trait Sort {
    /// What a reader gets.
    type Read<'a>;

    /// Reads a value; nothing if it is of another sort.
    fn read(value: &Value) -> Option<Self::Read<'_>>;
}

/// What can be recorded as a sort of value.
pub trait Records<S> {
    /// The value as it is recorded.
    fn into_value(self) -> Value;
}

/// What is not known is recorded as null.
impl<S, T: Records<S>> Records<S> for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Null, T::into_value)
    }
}

/// Declares a sort: what a reader gets, how it is read, and what can be recorded as it.
macro_rules! sort {
    ($(#[doc = $about:literal])+ $Sort:ident reads $Read:ty, $value:ident => $read:expr; $( records $From:ty, $from:ident => $into:expr; )*) => {
        $(#[doc = $about])+
        #[derive(Debug)]
        pub enum $Sort {}

        impl Sort for $Sort {
            type Read<'a> = $Read;

            fn read($value: &Value) -> Option<Self::Read<'_>> {
                $read
            }
        }

        $( impl Records<$Sort> for $From {
            fn into_value(self) -> Value {
                let $from = self;
                $into
            }
        } )*
    };
}

sort! {
    /// A text.
    Text reads &'a str, value => if let Value::Text(text) = value { Some(text) } else { None };
    records &str, text => Value::Text(text.to_owned());
    records String, text => Value::Text(text);
}
sort! {
    /// A moment, recorded as text.
    Time reads Moment, value => Text::read(value).and_then(|text| text.parse().ok());
    records Moment, at => Value::Text(at.to_string());
}
sort! {
    /// A whole number.
    Whole reads i64, value => if let Value::Int(number) = value { Some(*number) } else { None };
    records i64, number => Value::Int(number);
    records u8, number => Value::Int(i64::from(number));
    records u16, number => Value::Int(i64::from(number));
    records i32, number => Value::Int(i64::from(number));
    records u32, number => Value::Int(i64::from(number));
    records u64, number => Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
}
sort! {
    /// A whole number that is not negative and not large.
    Count reads u32, value => Whole::read(value).and_then(|number| u32::try_from(number).ok());
    records i64, number => Value::Int(number);
    records u32, number => Value::Int(i64::from(number));
    records u64, number => Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
}
sort! {
    /// A number, whole or not; of seconds, where it is a span of time.
    Number reads f64, value => match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    };
    records i64, number => Value::Int(number);
    records f64, number => Value::Float(number);
    records Duration, span => seconds(span);
}
sort! {
    /// Yes or no.
    Flag reads bool, value => if let Value::Bool(yes) = value { Some(*yes) } else { None };
    records bool, yes => Value::Bool(yes);
}
sort! {
    /// Facts inside of a fact.
    Part reads &'a Facts, value => if let Value::Map(facts) = value { Some(facts) } else { None };
    records Facts, facts => Value::Map(facts);
}
sort! {
    /// Several values.
    Items reads &'a [Value], value => if let Value::List(values) = value { Some(values) } else { None };
}

impl<T: Into<Value>> Records<Items> for Vec<T> {
    fn into_value(self) -> Value {
        Value::List(self.into_iter().map(T::into).collect())
    }
}

sort! {
    /// Whatever JSON can say.
    Any reads &'a Value, value => Some(value);
    records Value, value => value;
}

/// Seconds, whole where they are, else to the thousandth.
fn seconds(span: Duration) -> Value {
    if span.subsec_nanos() == 0 {
        return Value::Int(i64::try_from(span.as_secs()).unwrap_or(i64::MAX));
    }
    Value::Float((span.as_secs_f64() * 1000.0).round() / 1000.0)
}

impl Facts {
    /// What a fact says, if it is recorded with a value of its sort.
    pub fn read<S: Sort>(&self, fact: Fact<S>) -> Option<S::Read<'_>> {
        S::read(self.value(fact)?)
    }

    /// The value of a fact, whatever its sort, null too.
    pub fn value<S>(&self, fact: Fact<S>) -> Option<&Value> {
        self.get(fact.name)
    }

    /// The value of a fact, whatever its sort, if it says something.
    pub fn known<S>(&self, fact: Fact<S>) -> Option<&Value> {
        self.value(fact).filter(|value| **value != Value::Null)
    }

    /// Records a fact.
    pub fn record<S>(&mut self, fact: Fact<S>, value: impl Records<S>) {
        self.set(fact, value.into_value());
    }

    /// Records that a fact says nothing any more.
    pub fn forget<S>(&mut self, fact: Fact<S>) {
        self.set(fact, Value::Null);
    }

    /// Takes the value of one fact over from other facts, as it is recorded there; null where they do not have it.
    pub fn copy<S>(&mut self, fact: Fact<S>, from: &Self, theirs: Fact<S>) {
        self.set(fact, from.value(theirs).cloned().unwrap_or(Value::Null));
    }

    /// These facts and one more, or another value for one of them.
    #[must_use]
    pub fn and<S>(mut self, fact: Fact<S>, value: impl Records<S>) -> Self {
        self.record(fact, value);
        self
    }
}

/// Declares the facts.
macro_rules! facts {
    ($( $(#[doc = $meaning:literal])+ $NAME:ident: $Sort:ident = $name:literal; )+) => {
        $( $(#[doc = $meaning])+ pub const $NAME: Fact<$Sort> = Fact::new($name); )+
    };
}

facts! {
    /// Who was granted the lease of it; nothing once the lease ended.
    LEASE_HOLDER: Text = "lease_holder";
    /// Whether the desktop was told, and whether that worked.
    DESKTOP: Text = "desktop";
    /// Whether the webhook was called, and whether that worked.
    WEBHOOK: Text = "webhook";
    /// Plays of a show that move.
    PLAYS_MOVING: Count = "plays_moving";
    /// Plays of a show that wait.
    PLAYS_WAITING: Count = "plays_waiting";
    /// Plays of a show that are blocked.
    PLAYS_BLOCKED: Count = "plays_blocked";
    /// The agent program whose stream is read.
    ADAPTER: Text = "adapter";
    /// The boot of the host.
    BOOT: Text = "boot";
    /// Who asked for it.
    BY: Text = "by";
    /// Why it is stopped.
    CAUSE: Text = "cause";
    /// The class of work, which sets its thresholds.
    CLASS: Text = "class";
    /// The condition that a mark speaks of.
    CONDITION: Text = "condition";
    /// What it cost, in US dollars.
    COST_USD: Text = "cost_usd";
    /// The directory it runs in.
    CWD: Text = "cwd";
    /// The verdict on what it promised.
    DELIVERY: Text = "delivery";
    /// The verdict in words.
    DELIVERY_DETAIL: Text = "delivery_detail";
    /// More about it.
    DETAIL: Text = "detail";
    /// The directory of its output, or of its artifacts.
    DIR: Text = "dir";
    /// The public key that an end kept beside the store is signed with.
    END_KEY: Text = "end_key";
    /// The last failure, as it was told.
    ERROR: Text = "error";
    /// The name of the host.
    HOST: Text = "host";
    /// The last failure, in short.
    LAST_ERROR: Text = "last_error";
    /// The last thing the agent said.
    LAST_MESSAGE: Text = "last_message";
    /// The machine the host is.
    MACHINE: Text = "machine";
    /// What was said about it.
    MESSAGE: Text = "message";
    /// The model.
    MODEL: Text = "model";
    /// What told the model.
    MODEL_BY: Text = "model_by";
    /// What it is called.
    NAME: Text = "name";
    /// What the sandbox lets through.
    NETWORK: Text = "network";
    /// How it went.
    OUTCOME: Text = "outcome";
    /// What becomes of a tree when something that it started fails.
    ON_CHILD_FAILURE: Text = "on_child_failure";
    /// The id of what started it.
    PARENT: Text = "parent";
    /// What it is doing after its command exited.
    PHASE: Text = "phase";
    /// What went wrong.
    PROBLEM: Text = "problem";
    /// The sandbox profile.
    PROFILE: Text = "profile";
    /// The agent program.
    PROGRAM: Text = "program";
    /// The repository it works on.
    PROJECT: Text = "project";
    /// A reason code.
    REASON: Text = "reason";
    /// The id of the run it repeats.
    RETRY_OF: Text = "retry_of";
    /// How its processes are contained.
    RUNG: Text = "rung";
    /// What a program said of itself.
    SAID: Text = "said";
    /// The server that does the work.
    SERVER: Text = "server";
    /// The state it speaks of.
    STATE: Text = "state";
    /// What it says it is doing.
    STATUS: Text = "status";
    /// What holds its process.
    STOPPED_BY: Text = "stopped_by";
    /// The bound that was reached.
    TIMER: Text = "timer";
    /// What people call it.
    TITLE: Text = "title";
    /// The id of the program's own session.
    VENDOR_SESSION: Text = "vendor_session";
    /// What shows that it waits.
    WAITS_BY: Text = "waits_by";
    /// What it waits for a person to answer.
    WAITS_FOR: Text = "waits_for";
    /// The hash of the recipe it was started from.
    RECIPE_HASH: Text = "recipe_hash";
    /// The type of an entry.
    ENTRY: Text = "entry";
    /// The turn of an entry, or the one that an agent is in.
    TURN: Text = "turn";
    /// What limits its processor time.
    CPU: Text = "cpu";
    /// What limits its memory.
    MEMORY: Text = "memory";
    /// What limits how many processes it has.
    PROCESSES: Text = "processes";
    /// What was done with a token.
    ACT: Text = "act";
    /// The id of a token.
    ID: Text = "id";
    /// What a token opens, or how much work a task is.
    SCOPE: Text = "scope";
    /// The run that a token is for.
    RUN: Text = "run";
    /// A system call.
    CALL: Text = "call";
    /// When.
    AT: Time = "at";
    /// When it is due.
    DUE_AT: Time = "due_at";
    /// When a token expires.
    EXPIRES_AT: Time = "expires_at";
    /// Since when it fails in a row.
    ERRORS_SINCE: Time = "errors_since";
    /// When it was first seen.
    FIRST_AT: Time = "first_at";
    /// When it last said that it is alive.
    HEARTBEAT_AT: Time = "heartbeat_at";
    /// When it last made progress.
    LAST_PROGRESS_AT: Time = "last_progress_at";
    /// Until when its host holds it.
    LEASE_UNTIL: Time = "lease_until";
    /// Since when its provider limits it.
    LIMITED_SINCE: Time = "limited_since";
    /// Until when its provider limits it.
    LIMITED_UNTIL: Time = "limited_until";
    /// Since when the phase lasts.
    PHASE_SINCE: Time = "phase_since";
    /// When the store was restored from a backup in which it was alive.
    RESTORED_AT: Time = "restored_at";
    /// Since when.
    SINCE: Time = "since";
    /// Since when its process is held.
    STOPPED_SINCE: Time = "stopped_since";
    /// Until when.
    UNTIL: Time = "until";
    /// Since when it waits.
    WAITS_SINCE: Time = "waits_since";
    /// How often.
    COUNT: Count = "count";
    /// Failures in a row.
    ERRORS_IN_ROW: Count = "errors_in_row";
    /// Processes that left its group.
    ESCAPED: Count = "escaped";
    /// Processes that were alive after its end.
    LEFTOVERS: Count = "leftovers";
    /// A process id.
    PID: Count = "pid";
    /// Steps that repeat each other.
    STEPS: Count = "steps";
    /// How often it was tried.
    TRIES: Count = "tries";
    /// Tokens read from the cache.
    CACHE_READ: Whole = "cache_read";
    /// Tokens written to the cache.
    CACHE_WRITE: Whole = "cache_write";
    /// An exit code.
    CODE: Whole = "code";
    /// Bytes that were not kept.
    DROPPED_BYTES: Whole = "dropped_bytes";
    /// How long it ran, as older records have it.
    ELAPSED_MS: Whole = "elapsed_ms";
    /// Events of the stream.
    EVENTS: Whole = "events";
    /// The exit code of the command.
    EXIT_CODE: Whole = "exit_code";
    /// Tokens read.
    INPUT_TOKENS: Whole = "input";
    /// Bytes that could not be written.
    LOST_BYTES: Whole = "lost_bytes";
    /// The most memory the command held.
    MAX_RSS_BYTES: Whole = "max_rss_bytes";
    /// Its memory limit.
    MEMORY_LIMIT_BYTES: Whole = "memory_limit_bytes";
    /// Hosts that are not listed.
    MORE_HOSTS: Whole = "more_hosts";
    /// Processes that were killed for memory.
    OOM_KILLS: Whole = "oom_kills";
    /// Tokens written.
    OUTPUT_TOKENS: Whole = "output";
    /// The PID namespace.
    PID_NS: Whole = "pid_ns";
    /// A port.
    PORT: Whole = "port";
    /// Bytes that the reader refused.
    REFUSED_BYTES: Whole = "refused_bytes";
    /// The epoch of the newest lease of it that was granted.
    LEASE_EPOCH: Whole = "lease_epoch";
    /// For how long that lease was granted, unless it was renewed.
    LEASE_MS: Whole = "lease_ms";
    /// What a task asks its agent to do.
    PROMPT: Text = "prompt";
    /// The entity that a question is about.
    SUBJECT: Text = "subject";
    /// What a question is about, which says what an answer does.
    SOURCE: Text = "source";
    /// What will happen, and what somebody should know before they answer.
    CONTEXT: Text = "context";
    /// The answers that a question offers.
    OPTIONS: Items = "options";
    /// Whether an option lets something happen that would not happen otherwise.
    GRANTS: Flag = "grants";
    /// What happens if nobody answers in time.
    ON_EXPIRY: Text = "on_expiry";
    /// Those who may answer, if not everybody.
    ANSWERERS: Items = "answerers";
    /// Who asked.
    ASKED_BY: Text = "asked_by";
    /// The answer.
    ANSWER: Text = "answer";
    /// Who answered.
    ANSWERED_BY: Text = "answered_by";
    /// Why, in the words of who decided.
    BECAUSE: Text = "because";
    /// What standing rules can be made of an answer.
    RULE_SCOPES: Items = "rule_scopes";
    /// What every question carries that a standing rule covers.
    COVERS: Text = "covers";
    /// The standing rule that answered.
    STANDING_RULE: Text = "standing_rule";
    /// The question that led to it.
    QUESTION: Text = "question";
    /// Who a task is for.
    ROLE: Text = "role";
    /// How urgent a task is; 1 comes first.
    PRIORITY: Whole = "priority";
    /// Everything that a task depends on.
    DEPENDS_ON: Items = "depends_on";
    /// What of that is not there yet.
    UNMET: Items = "unmet";
    /// What a blocked task waits for.
    BLOCKED_BY: Items = "blocked_by";
    /// What a dependency is on: a task, a person, a time, a command, a pull request.
    ON: Text = "on";
    /// How another task must end.
    UNTIL_END: Text = "until_end";
    /// What a person is to say.
    WHAT: Text = "what";
    /// A command that a shell reads.
    COMMAND: Text = "command";
    /// The paths that no other task may work on at the same time.
    FILES: Items = "files";
    /// The repository that a task works on.
    REPO: Text = "repo";
    /// The branch that a task begins from and is merged into.
    BASE: Text = "base";
    /// The commit that an attempt began from.
    BASE_COMMIT: Text = "base_commit";
    /// The branch that holds the work on a task.
    BRANCH: Text = "branch";
    /// The directory in which a task is worked on.
    WORKTREE: Text = "worktree";
    /// The newest commit of the work on a task.
    TIP: Text = "tip";
    /// The commit that brought a task into its base.
    COMMIT: Text = "commit";
    /// How a verified task is delivered: merge, branch or pr.
    DELIVER: Text = "deliver";
    /// The pull request that a task is delivered by, as the command that opened it printed.
    PULL_REQUEST: Text = "pull_request";
    /// The commit that the pull request was opened or renewed with.
    PULL_REQUEST_TIP: Text = "pull_request_tip";
    /// What the checks and reviews of the pull request said, as the agent was told it.
    FEEDBACK: Text = "feedback";
    /// What is checked once a task is done.
    SIGNALS: Items = "signals";
    /// What sort of check a completion signal is.
    CHECK: Text = "check";
    /// The path that a completion signal is about.
    PATH: Text = "path";
    /// The text that a file has to contain.
    TEXT: Text = "text";
    /// What each check of a task found.
    VERDICTS: Items = "verdicts";
    /// Whether a check was passed.
    PASSED: Flag = "passed";
    /// Whether a person must approve a task before it is merged.
    APPROVAL: Flag = "approval";
    /// The person who approved a result that waits to be merged.
    APPROVED_BY: Text = "approved_by";
    /// A task is not claimed before this moment.
    NOT_BEFORE: Time = "not_before";
    /// No retry is to follow: it would fail the same way.
    IS_FINAL: Flag = "final";
    /// Whether somebody wants a task to be given up.
    CANCEL_ASKED: Flag = "cancel_asked";
    /// The tasks that a task was split into.
    SUBTASKS: Items = "subtasks";
    /// Since when a parent waits for its subtasks.
    WAITS_SUBTASKS_SINCE: Time = "waits_subtasks_since";
    /// The name of a task in its plan.
    PLAN_NAME: Text = "plan_name";
    /// The plan that a task belongs to.
    PLAN: Text = "plan";
    /// The task that a worker or a task turn handles.
    TASK: Text = "task";
    /// The worker that handles a task.
    WORKER: Text = "worker";
    /// The turn in which a task is handled.
    TASK_TURN: Text = "task_turn";
    /// Which attempt at a task it is, counted from 1.
    ATTEMPT: Whole = "attempt";
    /// The canonical reason of a transition of the task board.
    TRANSITION_REASON: Text = "transition_reason";
    /// The canonical reason of an abnormal end.
    ABORT_REASON: Text = "abort_reason";
    /// What the worker says of how far it is.
    PROGRESS: Text = "progress";
    /// What the worker says it has done.
    SUMMARY: Text = "summary";
    /// The hidden ref of the files as they were at the beginning of a task turn.
    START_REF: Text = "start_ref";
    /// The same at its end.
    END_REF: Text = "end_ref";
    /// Whether the agent is summarising its context.
    COMPACTING: Flag = "compacting";
    /// What a worker is doing beside its state: merging, committing.
    ACTIVITY: Text = "activity";
    /// How long an attempt may take, and what that follows from.
    BOUND: Part = "bound";
    /// What a bound follows from.
    RULE: Text = "rule";
    /// The 95th percentile of what earlier attempts took.
    P95_S: Number = "p95_s";
    /// How many earlier attempts were compared.
    SAMPLE_COUNT: Whole = "sample_count";
    /// The turns of earlier attempts that a bound follows from.
    SAMPLES: Items = "samples";
    /// How an attempt ended whose duration counts for later bounds.
    SAMPLE: Text = "sample";
    /// How often it was tried again.
    RETRIES: Whole = "retries";
    /// How often it may be tried again.
    RETRIES_MAX: Whole = "retries_max";
    /// The exit code that a shell was told.
    SHELL_CODE: Whole = "shell_code";
    /// The number of a record.
    SEQ: Whole = "seq";
    /// The signal that ended the command.
    SIGNAL: Whole = "signal";
    /// The start time of a process, in ticks since the boot.
    STARTED_TICKS: Whole = "started_ticks";
    /// Bytes of standard error.
    STDERR_BYTES: Whole = "stderr_bytes";
    /// Bytes of standard output.
    STDOUT_BYTES: Whole = "stdout_bytes";
    /// The time namespace.
    TIME_NS: Whole = "time_ns";
    /// The bound on its total time, as older records have it.
    TIMEOUT_MS: Whole = "timeout_ms";
    /// Tool calls.
    TOOL_CALLS: Whole = "tool_calls";
    /// Tool calls that failed.
    TOOL_ERRORS: Whole = "tool_errors";
    /// Tokens in all.
    TOTAL_TOKENS: Whole = "total";
    /// Turns of the agent.
    TURNS: Whole = "turns";
    /// The user it belongs to.
    UID: Whole = "uid";
    /// Events that are not known.
    UNKNOWN_EVENTS: Whole = "unknown_events";
    /// Bytes that the reader did not take.
    UNREAD_BYTES: Whole = "unread_bytes";
    /// How sure a claim is.
    CONFIDENCE: Number = "confidence";
    /// How long it ran.
    ELAPSED_S: Number = "elapsed_s";
    /// The bound for the first output.
    FIRST_OUTPUT_S: Number = "first_output_s";
    /// The bound on silence.
    IDLE_TIMEOUT_S: Number = "idle_timeout_s";
    /// How long it did not run.
    SUSPENDED_S: Number = "suspended_s";
    /// Processor time of the system for it.
    SYSTEM_S: Number = "system_s";
    /// The bound on its total time.
    TIMEOUT_S: Number = "timeout_s";
    /// The bound on a tool call.
    TOOL_TIMEOUT_S: Number = "tool_timeout_s";
    /// Processor time of the command.
    USER_S: Number = "user_s";
    /// The bound on waiting for a person.
    WAITING_TIMEOUT_S: Number = "waiting_timeout_s";
    /// Whether it is firing.
    FIRING: Flag = "firing";
    /// Whether its process is held.
    IS_STOPPED: Flag = "is_stopped";
    /// Whether it was killed.
    KILLED: Flag = "killed";
    /// Whether the command was killed for memory.
    OOM: Flag = "oom";
    /// Whether its owner has ended.
    OWNER_ENDED: Flag = "owner_ended";
    /// Whether the reader of its output left.
    READER_CLOSED: Flag = "reader_closed";
    /// Whether the signal was refused.
    REFUSED: Flag = "refused";
    /// Whether a bound ended it.
    TIMED_OUT: Flag = "timed_out";
    /// What the agent told of itself.
    AGENT: Part = "agent";
    /// What an entry holds.
    BODY: Part = "body";
    /// What it promised and what was found.
    ARTIFACTS: Part = "artifacts";
    /// How its processes are contained.
    CONTAINMENT: Part = "containment";
    /// What was done with a token, and with which.
    GRANT: Part = "grant";
    /// What became of the last root that was sent.
    ROOT_SENT: Part = "root_sent";
    /// How and when the command exited.
    EXITED: Part = "exited";
    /// Its labels.
    LABELS: Part = "labels";
    /// How the command ended after it was ended in the log.
    LATER_END: Part = "later_end";
    /// The loop of the agent.
    LOOPING: Part = "looping";
    /// The walls that are missing.
    MISSING: Part = "missing";
    /// The condition that somebody was told of.
    NOTIFIED: Part = "notified";
    /// The wish that the processes of the open tool call are ended.
    TOOL_ABORT_WISH: Part = "tool_abort_wish";
    /// What became of a tool call that was to be ended.
    TOOL_ABORTED: Part = "tool_aborted";
    /// The tool call that is open.
    OPEN_TOOL: Part = "open_tool";
    /// What was written.
    OUTPUT: Part = "output";
    /// The retries of the agent.
    RETRYING: Part = "retrying";
    /// The walls around it.
    SANDBOX: Part = "sandbox";
    /// What the walls saw.
    SANDBOX_SEEN: Part = "sandbox_seen";
    /// The condition that somebody put off.
    SET_ASIDE: Part = "set_aside";
    /// What does the work outside of the run.
    SHARED: Part = "shared";
    /// The newest wish that it stops.
    STOP_WISH: Part = "stop_wish";
    /// The stop that is under way.
    STOPPING: Part = "stopping";
    /// The process that supervises it.
    SUPERVISOR: Part = "supervisor";
    /// Tokens of the agent.
    TOKENS: Part = "tokens";
    /// What was used.
    USAGE: Part = "usage";
    /// The walls that stand.
    WALLS: Part = "walls";
    /// Arguments that were added to its command line.
    ADDED_ARGUMENTS: Items = "added_arguments";
    /// Its command line.
    ARGV: Items = "argv";
    /// The tools that the agent was not allowed to use.
    DENIED: Items = "denied";
    /// The system calls that its walls refused.
    REFUSED_CALLS: Items = "refused_calls";
    /// The hosts it reached.
    HOSTS: Items = "hosts";
    /// The tools that were killed.
    KILLED_TOOLS: Items = "killed_tools";
    /// The processes that were alive after its end.
    SURVIVORS: Items = "survivors";
    /// What is promised.
    CONTRACT: Any = "contract";
    /// What was found.
    VERIFICATION: Any = "verification";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_reads_back_and_keeps_its_bytes() {
        let at = Moment::from_micros(1_800_000_000_123_456);
        let facts = Facts::none()
            .and(TITLE, "a title")
            .and(PID, 7_u32)
            .and(LEASE_UNTIL, at)
            .and(OOM, None::<bool>)
            .and(STOPPING, Facts::none().and(CAUSE, "operator").and(SINCE, at));
        let text = r#"{"lease_until":"2027-01-15T08:00:00.123456Z","oom":null,"pid":7,"stopping":{"cause":"operator","since":"2027-01-15T08:00:00.123456Z"},"title":"a title"}"#;
        assert_eq!(serde_json::to_string(&facts).unwrap(), text);
        assert_eq!(
            (facts.read(TITLE), facts.read(PID), facts.read(LEASE_UNTIL)),
            (Some("a title"), Some(7), Some(at))
        );
        assert_eq!(facts.read(STOPPING).and_then(|stopping| stopping.read(SINCE)), Some(at));
        assert_eq!((facts.known(OOM), facts.value(OOM)), (None, Some(&Value::Null)));
    }

    #[test]
    fn seconds_are_whole_where_they_can_be() {
        let ms = Duration::from_millis;
        assert_eq!((seconds(ms(2000)), seconds(ms(1500))), (Value::Int(2), Value::Float(1.5)));
    }

    #[test]
    fn a_value_of_another_sort_reads_as_nothing_and_is_kept() {
        let text = r#"{"novel":[1],"pid":"seven","title":7}"#;
        let mut facts: Facts = serde_json::from_str(text).unwrap();
        assert_eq!((facts.read(PID), facts.read(TITLE)), (None, None));
        facts.record(OOM, true);
        let kept = r#"{"novel":[1],"oom":true,"pid":"seven","title":7}"#;
        assert_eq!(serde_json::to_string(&facts).unwrap(), kept);
        assert_eq!(facts.and(PID, -1_i64).read(PID), None, "a pid is not negative");
    }
}
