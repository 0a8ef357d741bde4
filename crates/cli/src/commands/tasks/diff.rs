//! `callboard task diff`: what a task changed, as a whole or in one turn.
//!
//! Invariant: only commits are compared, and no program that the repository names is run. What an agent wrote does not steer the terminal: such characters are
//! escaped there. A pipe gets the patch as it is. Deliberately absent: what is not committed while a turn goes on.

use callboard_crew::git::{CommitId, Diff, GitError, GitRepository};
use callboard_crew::{NoDiff, TaskComparison};
use callboard_engine::Host;
use callboard_engine::tasks::{TurnShown, story};
use callboard_kernel::{EntityId, is_steering};
use callboard_ledger::{Ledger, Stored, error_chain};
use callboard_lifecycle::{Kind, Tone};
use clap::Args;
use serde::Serialize;

use super::answer::{entity_id, observed, task_id};
use crate::clock;
use crate::error::{Error, Exit};
use crate::input::moment::{When, absolute};
use crate::show::screen::Screen;
use crate::show::style::{FAINT, TITLE, of_tone, paint};
use crate::store::Store;

/// Bytes of a patch that are shown.
const PATCH_MAX: usize = 16 * 1024 * 1024;

/// Show what a task changed: its merge, or its branch while it is not merged.
///
/// With --at it is what one turn changed: the files at its end against those at its beginning.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// The turn that was under way then (an RFC 3339 time, or how long ago, such as 5m), or the ID of a turn.
    #[arg(long, value_name = "TIME|TURN", allow_hyphen_values = true)]
    at: Option<String>,
    /// The number of changed lines for each file.
    #[arg(long)]
    stat: bool,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    task: EntityId,
    from: &'a str,
    to: &'a str,
    text: &'a str,
    is_cut: bool,
}

impl DiffArgs {
    /// Shows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_look()?;
        let stored = observed(&ledger, task_id(&ledger, &self.id)?)?.stored;
        let id = stored.entity.state.id;
        let host = Host::this();
        let change = match &self.at {
            Some(at) => TaskComparison::of_turn(&stored, &self.turn(&ledger, &stored, at)?, host.name()),
            None => TaskComparison::of_task(&stored, host.name()),
        };
        let TaskComparison { repository, base, tip, .. } =
            &change.map_err(|NoDiff { because, instead }| missing(id, &because, &instead))?;
        let read = if self.stat { GitRepository::diff_stat } else { GitRepository::diff };
        let diff = read(repository, base, tip, PATCH_MAX).map_err(of_git(id))?;
        show(screen, self.json, id, (base, tip), &diff)?;
        Ok(Exit::DONE)
    }

    /// The turn that is meant.
    fn turn(&self, ledger: &Ledger, stored: &Stored, at: &str) -> Result<TurnShown, Error> {
        let id = stored.entity.state.id;
        let turns = story(ledger, stored).map_err(Error::Ask)?.turns;
        if let Ok(when) = When::read(at) {
            let moment = when.moment(clock::now());
            let is_it = |turn: &&TurnShown| {
                turn.created_at.is_some_and(|from| from <= moment)
                    && turn.ended_at.is_none_or(|until| moment <= until)
            };
            let found = turns.iter().rfind(is_it).cloned();
            let because = format!("no turn of it was under way at {}", absolute(moment));
            return found.ok_or_else(|| missing(id, &because, "callboard task show lists its turns"));
        }
        let turn = entity_id(ledger, at, Kind::TaskTurn)?;
        let found = turns.into_iter().find(|one| one.id == turn);
        let because = format!("{turn} is a turn of another task");
        found.ok_or_else(|| missing(id, &because, "callboard task show lists its turns"))
    }
}

fn show(
    screen: &Screen,
    json: bool,
    id: EntityId,
    (from, to): (&CommitId, &CommitId),
    diff: &Diff,
) -> Result<(), Error> {
    if json {
        let (from, to) = (from.as_str(), to.as_str());
        return screen.json(&Document { task: id, from, to, text: &diff.text, is_cut: diff.is_cut });
    }
    if !screen.is_terminal() {
        return screen.data_text(&diff.text);
    }
    let mut text: String = diff.text.lines().map(|line| drawn(line) + "\n").collect();
    if diff.text.is_empty() {
        text += &screen.hint("It changed no file.");
    }
    if diff.is_cut {
        text += &screen.hint("The end is left out: it is too long.");
    }
    screen.print(&text)
}

/// A line of a patch in its colour, with what steers a terminal escaped.
fn drawn(line: &str) -> String {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => TITLE,
        [b'+', ..] => of_tone(Tone::Success),
        [b'-', ..] => of_tone(Tone::Danger),
        [b'@', b'@', ..] => FAINT,
        _ => anstyle::Style::new(),
    };
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => text.push_str("    "),
            c if is_steering(c) => text.extend(c.escape_unicode()),
            c => text.push(c),
        }
    }
    paint(style, &text)
}

fn missing(id: EntityId, because: &str, instead: &str) -> Error {
    Error::NoDiff { id, because: because.to_owned(), instead: instead.to_owned() }
}

fn of_git(id: EntityId) -> impl Fn(GitError) -> Error {
    move |error| missing(id, &error_chain(&error), error.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_does_not_steer_the_terminal() {
        let line = anstream::adapter::strip_str(&drawn("+\u{1b}]52;c;x\u{7}\ty\u{202e}")).to_string();
        assert_eq!(line, "+\\u{1b}]52;c;x\\u{7}    y\\u{202e}");
    }
}
