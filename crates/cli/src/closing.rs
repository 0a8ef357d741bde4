//! How an ended run is told in one line, and by which exit code.
//!
//! Invariant: the line and the code come from the recorded view; a failed run passes its command's own code on.

use callboard_engine::{View, exit_code};
use callboard_lifecycle::Outcome;

use crate::error::Exit;
use crate::style::{FAINT, of_tone, paint};
use crate::telling::one_line;
use crate::when::clock_time;

/// The longest cause that is told. A provider's complaint names its status behind many words, so it is not cut short
/// to fit one line of a terminal.
const CAUSE_CHARS: usize = 240;

/// The closing line: `✗ Failed · review.md missing  12m04s  ses_01k7…  (callboard why ses_01k7…)`.
pub(crate) fn line(view: &View<'_>, short: &str) -> String {
    let Some(state) = view.state.lifecycle else { return String::new() };
    let pill = state.def().pill;
    let mut told = format!("{} {}", pill.icon.glyph(), pill.label);
    let is_plain = view.state.outcome == Some(Outcome::Completed);
    if !is_plain && let Some(cause) = cause(view) {
        told += &format!(" · {}", cut(&one_line(cause)));
    }
    let took = match (view.started_at.or(view.created_at), view.ended_at) {
        (Some(began), Some(ended)) => clock_time(ended.since(began)),
        _ => "—".to_owned(),
    };
    let why = if is_plain { String::new() } else { format!("  (callboard why {short})") };
    format!("{}  {took}  {short}{}", paint(of_tone(view.state.tone), &told), paint(FAINT, &why))
}

/// What is wrong with what it delivered, where that is why, and the reason otherwise.
fn cause<'a>(view: &'a View<'_>) -> Option<&'a str> {
    let reason = view.state.reasons.first()?;
    let is_about_delivery = reason.code.as_str().ends_with("_artifact");
    let detail = view.delivery_detail().filter(|_| is_about_delivery);
    Some(detail.unwrap_or(&reason.message))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= CAUSE_CHARS {
        return text.to_owned();
    }
    text.chars().take(CAUSE_CHARS - 1).chain(['…']).collect()
}

/// The exit code that tells a shell how the run ended.
pub(crate) fn exit(view: &View<'_>) -> Exit {
    Exit::of_run(exit_code(view))
}
