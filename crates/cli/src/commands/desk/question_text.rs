//! A question as text: what is asked, what will happen, and the commands that answer it.

use callboard_kernel::{Moment, one_line};
use callboard_wire::QuestionShape;

use crate::show::screen::Screen;
use crate::show::style::{TITLE, paint};

/// The whole question, for somebody who is about to answer.
pub(super) fn whole(screen: &Screen, question: &QuestionShape, id: &str) -> String {
    let mut text = format!("{}\n", paint(TITLE, &one_line(&question.text)));
    if let Some(context) = &question.context {
        for line in context.lines() {
            text += &format!("  {}\n", one_line(line));
        }
    }
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), vec![value]));
    if let Some(subject) = &question.subject {
        let title = subject.title.as_deref().map(one_line).unwrap_or_default();
        row("about", format!("{} {} {title}", subject.kind, subject.id).trim_end().to_owned());
    }
    row("asked by", question.asked_by.as_deref().map_or_else(|| "—".to_owned(), one_line));
    row("asked at", question.asked_at.clone().unwrap_or_else(|| "—".to_owned()));
    if let Some(at) = &question.expires_at {
        row("expires at", format!("{at}, then: {}", question.default));
    }
    row("state", question.state.clone());
    if let Some(answer) = &question.answer {
        let who = question.answered_by.as_deref().unwrap_or("nobody: the default");
        row("answer", format!("{} ({})", one_line(answer), one_line(who)));
    }
    if let Some(because) = &question.because {
        row("because", one_line(because));
    }
    text += &screen.properties(&rows);
    if question.answer.is_none() && question.state == "asked" {
        for command in commands(question, id) {
            text += &screen.hint(&command);
        }
    }
    text
}

/// The commands that answer it.
fn commands(question: &QuestionShape, id: &str) -> Vec<String> {
    let mut all: Vec<String> = match question.options.as_slice() {
        [] => vec![format!("callboard answer {id} TEXT")],
        options => options.iter().map(|option| format!("callboard answer {id} {}", quoted(option))).collect(),
    };
    let scopes: Vec<String> = question
        .scopes
        .iter()
        .map(|scope| format!("--always {}: {}", scope.scope, one_line(&scope.covers)))
        .collect();
    all.extend(scopes);
    all
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// One line about when it expires, for a list.
pub(super) fn expiry(question: &QuestionShape, now: Moment) -> String {
    let at: Option<Moment> = question.expires_at.as_ref().and_then(|at| at.parse().ok());
    match at.filter(|_| question.state == "asked") {
        None => String::new(),
        Some(at) if at <= now => "overdue".to_owned(),
        Some(at) => {
            let left = at.since(now).as_secs();
            match left {
                0..=119 => format!("{left}s"),
                120..=7199 => format!("{}m", left / 60),
                _ => format!("{}h", left / 3600),
            }
        }
    }
}
