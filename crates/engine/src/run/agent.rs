//! What is recorded of the agent in a run: what it waits for, whether it retries or loops, what it says of itself.
//!
//! Invariant: a condition is recorded with the moment in which it began, and taken back when it is over. What the agent
//! did not say is null. Deliberately absent: whether a condition is bad, which the judge of runs decides.

use callboard_agents::{KnownBy, LimitStatus, OpenTool, Program, Summary, WaitingFor};
use callboard_kernel::fact::{self, Fact, Records};
use callboard_kernel::{Facts, Moment, Value};

/// The facts that change how a run is judged, so that they are written soon.
pub(crate) const JUDGED_BY: [&str; 8] = [
    fact::COMPACTING.name(),
    fact::WAITS_FOR.name(),
    fact::LIMITED_UNTIL.name(),
    fact::ERRORS_IN_ROW.name(),
    fact::RETRYING.name(),
    fact::LOOPING.name(),
    fact::OPEN_TOOL.name(),
    fact::DENIED.name(),
];

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
        let takes_back = summary.program.reports_end();
        let mut known = Known { facts: &mut facts, written, takes_back };
        known.tell(fact::WAITS_FOR, waits_for(summary));
        known.tell(fact::WAITS_BY, waits_by(summary));
        known.tell(fact::LIMITED_UNTIL, limited_until(summary));
        known.tell(fact::RETRYING, self.retrying(summary));
        known.tell(fact::LOOPING, self.looping(summary));
        known.tell(fact::OPEN_TOOL, self.open_tool());
        known.tell(fact::DENIED, denied(summary));
        if summary.is_compacting || written.known(fact::COMPACTING).is_some() {
            facts.record(fact::COMPACTING, summary.is_compacting.then_some(true));
        }
        if summary.program.reports_end() {
            facts.record(fact::ERRORS_IN_ROW, summary.errors_in_row);
        }
        if summary.program != Program::Plain || summary.launched.is_some() {
            facts.record(fact::AGENT, agent(summary));
        }
        facts
    }

    fn retrying(&self, summary: &Summary) -> Option<Facts> {
        let (retrying, since) = (summary.retrying.as_ref()?, self.retrying?);
        // A status says what went wrong in one word; the vendor's words stand beside it.
        let short = retrying.status.map_or_else(|| retrying.last_error.clone(), |status| status.to_string());
        Some(
            Facts::none()
                .and(fact::COUNT, retrying.count)
                .and(fact::SINCE, since)
                .and(fact::LAST_ERROR, short)
                .and(fact::ERROR, retrying.last_error.as_str()),
        )
    }

    fn looping(&self, summary: &Summary) -> Option<Facts> {
        let (steps, since) = (summary.looping_steps?, self.looping?);
        Some(Facts::none().and(fact::STEPS, steps).and(fact::SINCE, since))
    }

    fn open_tool(&self) -> Option<Facts> {
        let (tool, since) = self.open_tool.as_ref()?;
        Some(Facts::none().and(fact::NAME, tool.name.as_str()).and(fact::SINCE, *since))
    }
}

/// Tells what is known, and takes back what was told once.
struct Known<'a> {
    facts: &'a mut Facts,
    written: &'a Facts,
    /// Whether that nothing is known is told, too, of what was not told before.
    takes_back: bool,
}

impl Known<'_> {
    fn tell<S>(&mut self, fact: Fact<S>, value: Option<impl Records<S>>) {
        if value.is_some() || self.takes_back || self.written.known(fact).is_some() {
            self.facts.record(fact, value);
        }
    }
}

fn denied(summary: &Summary) -> Option<Vec<String>> {
    let tools = summary.denied.to_vec();
    (!tools.is_empty()).then_some(tools)
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

fn limited_until(summary: &Summary) -> Option<Moment> {
    let limit = summary.rate_limit.as_ref()?;
    if limit.status != LimitStatus::Rejected {
        return None;
    }
    let until = limit.until_unix_s?.checked_mul(1_000_000)?;
    Some(Moment::from_micros(until))
}

/// What the agent said of itself, as it is recorded.
fn agent(summary: &Summary) -> Facts {
    let tokens = Facts::none()
        .and(fact::INPUT_TOKENS, summary.tokens.input)
        .and(fact::OUTPUT_TOKENS, summary.tokens.output)
        .and(fact::CACHE_READ, summary.tokens.cache_read)
        .and(fact::CACHE_WRITE, summary.tokens.cache_write)
        .and(fact::TOTAL_TOKENS, summary.tokens.total);
    let program = summary.launched.filter(|_| summary.program == Program::Plain).unwrap_or(summary.program);
    let mut facts = Facts::none()
        .and(fact::PROGRAM, program.name())
        .and(fact::MODEL, summary.model.clone())
        .and(fact::MODEL_BY, summary.model_by.map(|by| by.name()));
    if summary.program == Program::Plain {
        // Its output is not read, so there is nothing to count.
        return facts;
    }
    let killed = summary.killed_tools.iter();
    let killed: Vec<String> = killed.map(|one| format!("{}: {}", one.tool, one.how)).collect();
    if !killed.is_empty() {
        facts.record(fact::KILLED_TOOLS, killed);
    }
    facts
        .and(fact::VENDOR_SESSION, summary.vendor_session.clone())
        .and(fact::TURNS, summary.turns)
        .and(fact::TOOL_CALLS, summary.tool_calls)
        .and(fact::TOOL_ERRORS, summary.tool_errors)
        .and(fact::RETRIES, summary.retries)
        .and(fact::TOKENS, tokens)
        .and(fact::COST_USD, summary.cost_usd.as_ref().map(ToString::to_string))
        .and(fact::EVENTS, summary.events)
        .and(fact::UNKNOWN_EVENTS, summary.unknown_events)
        .and(fact::LAST_MESSAGE, summary.last_message.clone())
}

/// Keeps since when a condition holds that is heard of again and again while it does.
pub(super) fn note_beginnings(known: &mut Facts, before: &Facts, now: Moment) {
    let conditions = [
        (fact::WAITS_FOR.name(), fact::WAITS_SINCE),
        (fact::LIMITED_UNTIL.name(), fact::LIMITED_SINCE),
        (fact::ERRORS_IN_ROW.name(), fact::ERRORS_SINCE),
    ];
    for (what, since) in conditions {
        let goes_on = match (known.get(what), before.get(what)) {
            (None | Some(Value::Null | Value::Int(0)), _) => continue,
            // Failures that add up are one condition; another question is another one.
            (Some(Value::Int(_)), Some(Value::Int(count))) => *count > 0,
            (now, before) => now == before,
        };
        if goes_on && before.value(since).is_some() {
            known.copy(since, before, since);
        } else {
            known.record(since, now);
        }
    }
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

    #[test]
    fn a_condition_began_when_it_was_first_seen_and_another_question_is_another_one() {
        let at = |second: i64| Moment::from_micros(second * 1_000_000);
        let mut written = Facts::none();
        let mut since = |second, waits_for: Option<&str>, errors: i64| {
            let waits_for = waits_for.map_or(Value::Null, |text| Value::Text(text.to_owned()));
            let mut known = Facts::none().with("waits_for", waits_for).with("errors_in_row", errors);
            note_beginnings(&mut known, &written, at(second));
            written = known.clone();
            [fact::WAITS_SINCE, fact::ERRORS_SINCE].map(|since| known.read(since))
        };
        assert_eq!(since(1, None, 0), [None, None]);
        assert_eq!(since(2, Some("a"), 1), [Some(at(2)), Some(at(2))]);
        assert_eq!(since(3, Some("a"), 4), [Some(at(2)), Some(at(2))]);
        assert_eq!(since(4, Some("b"), 0), [Some(at(4)), None]);
        assert_eq!(since(5, None, 1), [None, Some(at(5))]);
    }
}
