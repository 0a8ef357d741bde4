//! What is recorded of the agent in a run: what it waits for, whether it retries or loops, what it says of itself.
//!
//! Invariant: a condition is recorded with the moment in which it began, and taken back when it is over. What the agent
//! did not say is null. Deliberately absent: whether a condition is bad, which the judge of runs decides.

use callboard_agents::{KnownBy, LimitStatus, OpenTool, Program, Summary, WaitingFor};
use callboard_kernel::{Facts, Moment, Value};

/// The facts that change how a run is judged, so that they are written soon.
pub(crate) const JUDGED_BY: [&str; 7] =
    ["waits_for", "limited_until", "errors_in_row", "retrying", "looping", "open_tool", "denied"];

/// Since when the conditions hold that an agent is in.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    retrying: Option<Moment>,
    looping: Option<Moment>,
    open_tool: Option<(OpenTool, Moment)>,
}

impl Conditions {
    /// Takes note of what the agent said last.
    pub(crate) fn note(&mut self, summary: &Summary, now: impl Fn() -> Moment) {
        let since = |known: &mut Option<Moment>, holds: bool| {
            *known = holds.then(|| known.unwrap_or_else(&now));
        };
        since(&mut self.retrying, summary.retrying.is_some());
        since(&mut self.looping, summary.looping_steps.is_some());
        if self.open_tool.as_ref().map(|(tool, _)| tool) != summary.open_tool.as_ref() {
            self.open_tool = summary.open_tool.clone().map(|tool| (tool, now()));
        }
    }

    /// What is known of the agent. `written` is what was recorded before: what was said once is taken back too.
    pub(crate) fn facts(&self, summary: &Summary, written: &Facts) -> Facts {
        let mut facts = Facts::none();
        let mut known = |name: &'static str, value: Option<Value>| {
            if value.is_some() || summary.program.reports_end() || written.has(name) {
                facts.set(name, value.unwrap_or(Value::Null));
            }
        };
        known("waits_for", waits_for(summary).map(Value::Text));
        known("waits_by", waits_by(summary).map(Value::Text));
        known("limited_until", limited_until(summary).map(Value::Text));
        known("retrying", self.retrying(summary).map(Value::Map));
        known("looping", self.looping(summary).map(Value::Map));
        known("open_tool", self.open_tool().map(Value::Map));
        known("denied", denied(summary));
        if summary.program.reports_end() {
            facts.set("errors_in_row", whole(summary.errors_in_row));
        }
        if summary.program != Program::Plain || summary.launched.is_some() {
            facts.set("agent", agent(summary));
        }
        facts
    }

    fn retrying(&self, summary: &Summary) -> Option<Facts> {
        let (retrying, since) = (summary.retrying.as_ref()?, self.retrying?);
        // A status says what went wrong in one word; the vendor's words stand beside it.
        let short = retrying.status.map_or_else(|| retrying.last_error.clone(), |status| status.to_string());
        Some(
            Facts::none()
                .with("count", whole(retrying.count))
                .with("since", since.to_string())
                .with("last_error", short)
                .with("error", retrying.last_error.as_str()),
        )
    }

    fn looping(&self, summary: &Summary) -> Option<Facts> {
        let (steps, since) = (summary.looping_steps?, self.looping?);
        Some(Facts::none().with("steps", whole(steps)).with("since", since.to_string()))
    }

    fn open_tool(&self) -> Option<Facts> {
        let (tool, since) = self.open_tool.as_ref()?;
        Some(Facts::none().with("name", tool.name.as_str()).with("since", since.to_string()))
    }
}

fn whole(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn denied(summary: &Summary) -> Option<Value> {
    let tools = summary.denied.iter().cloned().map(Value::Text).collect::<Vec<_>>();
    (!tools.is_empty()).then_some(Value::List(tools))
}

fn waits_for(summary: &Summary) -> Option<String> {
    let waiting = summary.waiting.as_ref()?;
    let what = match (waiting.cause, waiting.known_by) {
        (WaitingFor::Permission, _) => "permission to use a tool",
        (WaitingFor::Question, _) => "an answer to a question",
        (WaitingFor::Login, _) => "a login",
        (WaitingFor::Action, KnownBy::Stream) => "something that its stream does not name",
        (WaitingFor::Action, KnownBy::Status | KnownBy::Title | KnownBy::Notification) => {
            "an answer in its terminal"
        }
    };
    Some(waiting.detail.as_ref().map_or_else(|| what.to_owned(), |detail| format!("{what}: {detail}")))
}

/// From where the wait is known, and whether that was interpreted.
fn waits_by(summary: &Summary) -> Option<String> {
    let known_by = summary.waiting.as_ref()?.known_by;
    let status = if known_by.is_observed() { "observed" } else { "inferred" };
    Some(format!("{} ({status})", known_by.name()))
}

fn limited_until(summary: &Summary) -> Option<String> {
    let limit = summary.rate_limit.as_ref()?;
    if limit.status != LimitStatus::Rejected {
        return None;
    }
    let until = limit.until_unix_s?.checked_mul(1_000_000)?;
    Some(Moment::from_micros(until).to_string())
}

/// What the agent said of itself, as it is recorded.
fn agent(summary: &Summary) -> Value {
    let count = |number: Option<u64>| number.map_or(Value::Null, whole);
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::Text);
    let tokens = Facts::none()
        .with("input", count(summary.tokens.input))
        .with("output", count(summary.tokens.output))
        .with("cache_read", count(summary.tokens.cache_read))
        .with("cache_write", count(summary.tokens.cache_write))
        .with("total", count(summary.tokens.total));
    let program = summary.launched.filter(|_| summary.program == Program::Plain).unwrap_or(summary.program);
    let mut facts = Facts::none()
        .with("program", program.name())
        .with("model", text(&summary.model))
        .with("model_by", summary.model_by.map_or(Value::Null, |by| Value::Text(by.name().to_owned())));
    if summary.program == Program::Plain {
        // Its output is not read, so there is nothing to count.
        return Value::Map(facts);
    }
    let killed = summary.killed_tools.iter();
    let killed: Vec<Value> = killed.map(|one| Value::Text(format!("{}: {}", one.tool, one.how))).collect();
    if !killed.is_empty() {
        facts.set("killed_tools", Value::List(killed));
    }
    let facts = facts
        .with("vendor_session", text(&summary.vendor_session))
        .with("turns", count(summary.turns))
        .with("tool_calls", whole(summary.tool_calls))
        .with("tool_errors", whole(summary.tool_errors))
        .with("retries", whole(summary.retries))
        .with("tokens", Value::Map(tokens))
        .with("cost_usd", text(&summary.cost_usd.as_ref().map(ToString::to_string)))
        .with("events", whole(summary.events))
        .with("unknown_events", whole(summary.unknown_events))
        .with("last_message", text(&summary.last_message));
    Value::Map(facts)
}

#[cfg(test)]
mod tests {
    use callboard_agents::{Launch, Reader};

    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_micros(second * 1_000_000)
    }

    /// Reads lines one after another, a second for each, and tells the facts after each of them.
    fn read(reader: &mut Reader, lines: &[&str]) -> Vec<Facts> {
        let (mut conditions, mut written) = (Conditions::default(), Facts::none());
        let mut all = Vec::new();
        for (line, second) in lines.iter().zip(1..) {
            reader.stdout(format!("{line}\n").as_bytes());
            conditions.note(reader.summary(), || at(second));
            let known = conditions.facts(reader.summary(), &written);
            written.merge(&known);
            all.push(known);
        }
        all
    }

    fn part<'a>(facts: &'a Facts, name: &str, part: &str) -> Option<&'a Value> {
        match facts.get(name) {
            Some(Value::Map(map)) => map.get(part),
            _ => None,
        }
    }

    #[test]
    fn retries_count_from_the_first_and_end_with_an_answer() {
        let retry =
            r#"{"type":"system","subtype":"api_retry","error_status":401,"error":"authentication_failed"}"#;
        let answer = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}"#;
        let facts = read(&mut Reader::new(Program::Claude), &[retry, retry, answer, retry]);
        let since = |second| Value::Text(at(second).to_string());
        assert_eq!(part(&facts[1], "retrying", "count"), Some(&Value::Int(2)));
        assert_eq!(part(&facts[1], "retrying", "since"), Some(&since(1)));
        assert_eq!(part(&facts[1], "retrying", "last_error"), Some(&Value::Text("401".to_owned())));
        assert_eq!(facts[2].get("retrying"), Some(&Value::Null));
        assert_eq!(part(&facts[3], "retrying", "since"), Some(&since(4)));
    }

    #[test]
    fn a_loop_and_an_open_tool_have_a_beginning() {
        let call = |id: u32| {
            let tool =
                format!(r#"{{"type":"tool_use","id":"t{id}","name":"Bash","input":{{"command":"ls"}}}}"#);
            format!(r#"{{"type":"assistant","message":{{"content":[{tool}]}}}}"#)
        };
        let result = |id: u32| {
            let block = format!(r#"{{"type":"tool_result","tool_use_id":"t{id}","content":"a"}}"#);
            format!(r#"{{"type":"user","message":{{"content":[{block}]}}}}"#)
        };
        let lines: Vec<String> = (0..22).flat_map(|id| [call(id), result(id)]).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let facts = read(&mut Reader::new(Program::Claude), &lines);
        assert_eq!(part(&facts[0], "open_tool", "name"), Some(&Value::Text("Bash".to_owned())));
        assert_eq!(facts[1].get("open_tool"), Some(&Value::Null));
        assert_eq!(part(&facts[2], "open_tool", "since"), Some(&Value::Text(at(3).to_string())));
        assert_eq!(facts[39].get("looping"), Some(&Value::Null));
        assert_eq!(part(&facts[43], "looping", "steps"), Some(&Value::Int(22)));
        assert_eq!(part(&facts[43], "looping", "since"), Some(&Value::Text(at(42).to_string())));
    }

    #[test]
    fn a_plain_command_has_no_facts_until_its_terminal_tells_something() {
        let launch = Launch::of(&["ls".into()]);
        let mut reader = Reader::launched(launch.adapter, &launch);
        let lines = ["text", "\u{1b}]777;notify;x;needs your approval\u{7}", "\u{1b}]7501;state=clear\u{7}"];
        let facts = read(&mut reader, &lines);
        assert_eq!(facts[0], Facts::none());
        let waits = Value::Text("permission to use a tool: x: needs your approval".to_owned());
        assert_eq!(facts[1].get("waits_for"), Some(&waits));
        let by = Value::Text("terminal notification (inferred)".to_owned());
        assert_eq!(facts[1].get("waits_by"), Some(&by));
        assert_eq!(facts[2].get("waits_for"), Some(&Value::Null));
    }
}
