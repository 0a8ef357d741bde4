//! How an ended run is told in one line, and by which exit code.
//!
//! Invariant: the line and the code come from the recorded view; a failed run passes its command's own code on. At a terminal
//! the line fits its width: the cause stands first and is cut, and the status of a provider is not.

use callboard_engine::{View, exit_code};
use callboard_kernel::one_line;
use callboard_lifecycle::Outcome;

use crate::error::Exit;
use crate::input::moment::clock_time;
use crate::show::style::{FAINT, of_tone, paint};

/// The longest cause that is told where nothing has to fit.
const CAUSE_CHARS: usize = 240;
/// A cause is not cut further than this, however narrow the terminal.
const CAUSE_CHARS_MIN: usize = 16;

/// How wide the terminal is that standard error goes to; nothing if it goes elsewhere.
pub(crate) fn width_of_stderr() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| width.0.into())
}

/// The closing line: `✗ Failed · review.md missing  12m04s  ses_01k7…  (callboard why ses_01k7…)`. What does not fit into the
/// width becomes `✗ Failed · 429: the provider failed, …  12m04s  callboard why ses_01k7…`.
pub(crate) fn line(view: &View<'_>, short: &str, width: Option<usize>) -> String {
    let Some(state) = view.state.lifecycle else { return String::new() };
    let pill = state.def().pill;
    let label = format!("{} {}", pill.icon.glyph(), pill.label);
    let is_plain = view.state.outcome == Some(Outcome::Completed);
    let cause = cause(view).filter(|_| !is_plain).map(one_line);
    let took = match (view.started_at.or(view.created_at), view.ended_at) {
        (Some(began), Some(ended)) => clock_time(ended.since(began)),
        _ => "—".to_owned(),
    };
    let why = if is_plain { String::new() } else { format!("  (callboard why {short})") };
    let told = |cause: &str| {
        let told = if cause.is_empty() { label.clone() } else { format!("{label} · {cause}") };
        paint(of_tone(view.state.tone), &told)
    };
    let whole = cause.as_deref().map(|cause| cut(cause, CAUSE_CHARS)).unwrap_or_default();
    let rest = format!("  {took}  {short}");
    let taken = |parts: &[&str]| parts.iter().map(|part| part.chars().count()).sum::<usize>();
    let (Some(width), Some(cause)) = (width, &cause) else {
        return told(&whole) + &rest + &paint(FAINT, &why);
    };
    if taken(&[&label, " · ", &whole, &rest, &why]) <= width {
        return told(&whole) + &rest + &paint(FAINT, &why);
    }
    let rest = format!("  {took}  callboard why {short}");
    let room = width.saturating_sub(taken(&[&label, " · ", &rest])).max(CAUSE_CHARS_MIN);
    told(&fitted(view, cause, room)) + &paint(FAINT, &rest)
}

/// A cause in so many characters. A provider's complaint names its status behind many words; it is put in front.
fn fitted(view: &View<'_>, cause: &str, room: usize) -> String {
    let short = cut(cause, room);
    let is_of_provider = view
        .state
        .reasons
        .first()
        .is_some_and(|reason| reason.code.as_str().starts_with("run.failed.provider"));
    match status(cause).filter(|status| is_of_provider && !short.contains(status)) {
        Some(status) => cut(&format!("{status}: {cause}"), room),
        None => short,
    }
}

/// The HTTP status of a failure in a text.
fn status(text: &str) -> Option<&str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words
        .into_iter()
        .find(|word| word.len() == 3 && word.parse::<u16>().is_ok_and(|status| (400..600).contains(&status)))
}

/// What is wrong with what it delivered, where that is why, and the reason otherwise.
fn cause<'a>(view: &'a View<'_>) -> Option<&'a str> {
    let reason = view.state.reasons.first()?;
    let is_about_delivery = reason.code.as_str().ends_with("_artifact");
    let detail = view.delivery_detail().filter(|_| is_about_delivery);
    Some(detail.unwrap_or(&reason.message))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The exit code that tells a shell how the run ended.
pub(crate) fn exit(view: &View<'_>) -> Exit {
    Exit::of_run(exit_code(view))
}
