//! Spans, moments and errors as a sentence about a run says them.

use std::time::Duration;

use super::facts::SessionFacts;
use crate::moment::Moment;

/// A moment in as few words as tell it: the time, and the day if that is another one.
pub(super) fn time_of_day(moment: Moment, now: Moment) -> String {
    let (text, today) = (moment.to_string(), now.to_string());
    match (text.split_once('T'), today.split_once('T')) {
        (Some((day, time)), Some((today, _))) if day == today => {
            format!("{} UTC", &time[..time.len().min(5)])
        }
        (Some((day, time)), _) => format!("{day} {} UTC", &time[..time.len().min(5)]),
        (None, _) => text,
    }
}

/// The longest piece of an error that stands in a pair of parentheses.
const ERROR_CHARS: usize = 40;

pub(super) fn short(error: &str) -> String {
    let plain: String = error.chars().filter(|c| !c.is_control()).collect();
    if plain.chars().count() <= ERROR_CHARS {
        return plain;
    }
    plain.chars().take(ERROR_CHARS - 1).chain(['…']).collect()
}

pub(super) fn processes(many: u32) -> String {
    if many == 1 { "1 process".to_owned() } else { format!("{many} processes") }
}

/// How long nothing was heard of it.
pub(super) fn silence(facts: &SessionFacts, now: Moment) -> Duration {
    now.since(facts.last_activity_at.or(facts.started_at).unwrap_or(facts.created_at))
}

/// A span in its two largest units.
pub(super) fn ago(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s}s"),
        (0, 0, m, s) => format!("{m}m {s}s"),
        (0, h, m, _) => format!("{h}h {m}m"),
        (d, h, _, _) => format!("{d}d {h}h"),
    }
}
