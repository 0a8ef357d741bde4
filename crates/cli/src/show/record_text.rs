//! A record in words: one line in a list, and as much as there is to it in detail.
//!
//! Invariant: what a newer program wrote is told as far as the columns go, never skipped; nothing that others wrote can
//! steer the terminal. Deliberately absent: JSON, which the record writes itself.

use anstyle::Style;
use callboard_kernel::{EvidenceRef, Facts, StateReason, Value, escaped_json, one_line};
use callboard_ledger::Record;
use callboard_lifecycle::{Kind, Lifecycle, Words};

use crate::input::ids::Short;
use crate::input::moment::absolute;
use crate::show::style::{FAINT, of_token, paint};
use crate::show::table::cut;

/// One line: place, time, id, what happened and why. Only the end of it is cut to fit.
pub(crate) fn line(record: &Record, short: &Short, width: Option<usize>) -> String {
    let id = record.id().map_or_else(|_| record.entity.to_string(), |id| short.of(id));
    let lead = format!("{:>6}  {}  {id}  ", record.seq, absolute(record.at));
    let happened = happened(record);
    let taken = lead.chars().count() + happened.chars().count() + 2;
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(taken));
    let text = lead + &paint(style(record), &happened);
    match cut(&summary(record), room) {
        tail if tail.is_empty() => text + "\n",
        tail => format!("{text}  {tail}\n"),
    }
}

/// What happened: a move, a beginning, or something that was seen.
fn happened(record: &Record) -> String {
    match (record.from_state.as_str(), record.to_state.as_str()) {
        ("", to) => one_line(&format!("created {to}")),
        (from, to) if from == to => one_line(&record.event_type),
        (from, to) => one_line(&format!("{from} → {to}")),
    }
}

/// A move has the colour of the state it leads to.
fn style(record: &Record) -> Style {
    let state = Kind::parse(&record.kind).and_then(|kind| Lifecycle::parse(kind, &record.to_state));
    match state {
        Ok(state) if record.from_state != record.to_state => of_token(state.def().pill.token),
        Ok(_) | Err(_) => Style::new(),
    }
}

/// Why, or else what was recorded.
fn summary(record: &Record) -> String {
    let Ok(event) = record.event() else { return "written by a newer callboard, kept unread".to_owned() };
    match event.reasons.first() {
        Some(reason) => format!("{} ({})", one_line(&reason.message), reason.code),
        None => named(event.data.iter()).join(", "),
    }
}

/// One line of a detail, set in.
pub(crate) struct Said {
    pub(crate) indent: usize,
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Said {
    fn plain(indent: usize, text: String) -> Self {
        Self { indent, text, style: Style::new() }
    }
}

/// How much of a record is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What happened, by whom, why, and what shows it.
    Reasons,
    /// The facts that were recorded too.
    Facts,
}

/// Everything about a record but its place and time.
pub(crate) fn detail(record: &Record, depth: Depth) -> Vec<Said> {
    let mut lines = vec![Said { indent: 2, text: happened(record), style: style(record) }];
    let trigger = if record.via == record.event_type {
        String::new()
    } else {
        format!("on {}, ", one_line(&record.via))
    };
    let who = one_line(&format!("{} {}", record.actor_type, record.actor_id));
    lines.push(Said::plain(2, format!("{trigger}by {who}")));
    let Ok(event) = record.event() else {
        let unread = format!("a {:?} record of a newer callboard, kept unread", record.event_type);
        lines.push(Said::plain(2, unread));
        return lines;
    };
    lines.extend(
        event.guards.guards().map(|guard| Said::plain(2, format!("when {guard}: {}", guard.meaning()))),
    );
    lines.extend(event.reasons.iter().flat_map(reason));
    if depth == Depth::Reasons {
        return lines;
    }
    lines.extend(named(event.data.iter()).into_iter().map(|fact| Said::plain(4, fact)));
    if let Some(cause) = &event.cause {
        lines.push(Said::plain(2, format!("led to by: {}", one_line(cause))));
    }
    if let Some(key) = &event.key {
        lines.push(Said::plain(2, format!("key: {}", one_line(key))));
    }
    lines
}

/// A reason with what it means in general and what shows it.
pub(crate) fn reason(reason: &StateReason) -> Vec<Said> {
    let sure = match (reason.claim_status.name(), reason.confidence.get()) {
        ("observed", 1.0) => String::new(),
        (status, confidence) => format!(" ({status}, {:.0} % sure)", confidence * 100.0),
    };
    let general = format!("{}: {}", reason.code, reason.code.def().meaning);
    let mut lines = vec![
        Said::plain(2, format!("because: {}{sure}", one_line(&reason.message))),
        Said { indent: 4, text: general, style: FAINT },
    ];
    lines.extend(reason.evidence.iter().map(|seen| Said::plain(4, evidence(seen, &reason.message))));
    lines
}

fn evidence(seen: &EvidenceRef, message: &str) -> String {
    let fields = [
        ("", &seen.detail),
        ("", &seen.path),
        ("", &seen.url),
        ("artifact ", &seen.artifact_id),
        ("message ", &seen.message_id),
        ("call ", &seen.tool_call_id),
        ("session ", &seen.session_id),
        ("commit ", &seen.commit_sha),
        ("hash ", &seen.content_hash),
    ];
    let said: Vec<String> = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        // What a person vouches for is the message once more.
        .filter(|(_, value)| *value != message)
        .map(|(name, value)| format!("{name}{}", one_line(value)))
        .collect();
    let between = if said.is_empty() { "" } else { ": " };
    format!("shown by {}{between}{}", seen.kind.name().replace('_', " "), said.join(", "))
}

/// Facts as `name=value`.
pub(crate) fn named<'a>(facts: impl Iterator<Item = (&'a str, &'a Value)>) -> Vec<String> {
    facts.map(|(name, value)| format!("{}={}", one_line(name), typed(value))).collect()
}

/// A value as it is typed: a text without quotes, the rest as JSON.
pub(crate) fn typed(value: &Value) -> String {
    if let Value::Text(text) = value {
        return one_line(text);
    }
    let json = serde_json::to_string(value);
    json.map_or_else(|_| "—".to_owned(), |json| escaped_json(&json).into_owned())
}

/// A number of things: `1 record`, `2 records`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// What is known of facts, for a list of properties.
pub(crate) fn pairs(facts: &Facts) -> Vec<String> {
    named(facts.iter())
}

/// Bytes in the largest unit that leaves a whole number in front.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        let steering = "a\nb\u{1b}[31mc\u{7}\u{9b}\u{202e}";
        assert_eq!(typed(&Value::Text(steering.to_owned())), "a b[31mc");
        let listed = typed(&Value::List(vec![Value::Text(steering.to_owned())]));
        assert!(!listed.chars().any(callboard_kernel::is_steering), "{listed:?}");
    }

    #[test]
    fn values_read_as_they_are_typed() {
        let facts: Facts = serde_json::from_str(r#"{"a":"x y","b":2,"c":[1,"z"]}"#).unwrap();
        assert_eq!(pairs(&facts), ["a=x y", "b=2", r#"c=[1,"z"]"#]);
    }

    #[test]
    fn evidence_does_not_repeat_the_message() {
        let seen = EvidenceRef::human_assertion("it hung");
        assert_eq!(evidence(&seen, "it hung"), "shown by human assertion");
        assert_eq!(evidence(&seen, "it stood still"), "shown by human assertion: it hung");
    }
}
