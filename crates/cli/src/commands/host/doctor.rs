//! `callboard doctor`: everything callboard needs of its surroundings, with a verdict each and what to do.
//!
//! Invariant: nothing is changed, and the exit code is 1 only if something does not work. Deliberately absent: the checks.

use callboard_lifecycle::{Icon, Severity, Shown, Token};
use clap::Args;
use serde::Serialize;

use crate::doctor::{Check, Verdict, examine};
use crate::error::{Error, Exit};
use crate::show::screen::Screen;
use crate::show::style::{FAINT, of_token, paint};
use crate::show::table::wrapped;
use crate::store::Store;

/// Check everything callboard needs: the store, the host, the runs and the notifications.
///
/// Every line that is not well says what to do. The exit code is 1 if something is broken, and 0 for warnings.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Send a test message on every notification that is turned on.
    #[arg(long)]
    test_notification: bool,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    /// Nothing is broken.
    ok: bool,
    checks: &'a [Check],
}

impl DoctorArgs {
    /// Looks at everything.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let checks = examine(store, self.test_notification);
        let ok = checks.iter().all(|check| check.verdict != Verdict::Broken);
        if self.json {
            screen.json(&Document { ok, checks: &checks })?;
        } else {
            screen.print(&text(screen, &checks))?;
        }
        Ok(if ok { Exit::DONE } else { Exit::FAILED })
    }
}

fn text(screen: &Screen, checks: &[Check]) -> String {
    let names = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let lead = names + 4;
    let room = screen.width().map_or(usize::MAX, |width| width.saturating_sub(lead).max(20));
    let mut text = String::new();
    for check in checks {
        let (glyph, token) = match check.verdict {
            Verdict::Ok => (Icon::Check.glyph(), Token::Success),
            Verdict::Warning => (Severity::Warning.pill().icon.glyph(), Token::Warning),
            Verdict::Broken => (Severity::Critical.pill().icon.glyph(), Token::Error),
        };
        let mut lines = wrapped(&check.found, room).into_iter();
        let first = lines.next().unwrap_or_default();
        text += &format!("{} {:names$}  {first}\n", paint(of_token(token), &glyph.to_string()), check.name);
        text.extend(lines.map(|line| format!("{:lead$}{line}\n", "")));
        if let Some(advice) = &check.advice {
            let lines = wrapped(&format!("→ {advice}"), room);
            text.extend(lines.iter().map(|line| format!("{:lead$}{line}\n", "")));
        }
    }
    text + &paint(FAINT, &summary(checks)) + "\n"
}

fn summary(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    match (count(Verdict::Broken), count(Verdict::Warning)) {
        (0, 0) => "All is well.".to_owned(),
        (0, warnings) => format!("It works, with {warnings} to look at."),
        (broken, _) => format!("{broken} broken."),
    }
}
