//! What happened to a task, in the order in which it happened: claims, turns, runs, questions, verdicts, the merge.

use callboard_engine::tasks::TaskStory;
use callboard_kernel::{Facts, Moment, Value, fact, one_line};
use callboard_wire::QuestionShape;

use crate::input::moment::absolute;
use crate::show::record_text::{pairs, typed};
use crate::show::screen::Screen;
use crate::show::style::{FAINT, paint};
use crate::show::table::wrapped;

/// The lines of the story.
pub(super) fn timeline(screen: &Screen, story: &TaskStory) -> String {
    let mut all: Vec<(Option<Moment>, String)> = Vec::new();
    for claim in &story.claims {
        let epoch = claim.epoch.map_or_else(String::new, |epoch| format!(" (epoch {epoch})"));
        let holder = claim.holder.as_deref().unwrap_or("somebody");
        all.push((Some(claim.at), format!("claimed by {holder}{epoch}")));
    }
    for turn in &story.turns {
        all.push((turn.created_at, format!("turn {}: {}", turn.id, turn.state.unwrap_or("unknown"))));
        if let (Some(at), Some(why)) = (turn.ended_at, &turn.reason) {
            all.push((Some(at), format!("turn {} ended, {why}", turn.id)));
        }
    }
    for run in &story.runs {
        let title = run.title.as_deref().map_or_else(String::new, |title| format!(" {title}"));
        let why = run.reason.as_deref().map_or_else(String::new, |why| format!(", {why}"));
        let state = run.state.unwrap_or("unknown");
        all.push((run.created_at, format!("run {}{title}: {state}{why}", run.id)));
    }
    for question in &story.questions {
        all.extend(question_told(question));
    }
    all.sort_by_key(|(at, _)| *at);
    all.extend(story.verdicts.iter().map(|verdict| (None, verdict_told(verdict))));
    match (&story.merge.commit, &story.merge.branch) {
        (Some(commit), Some(branch)) => all.push((None, format!("merged as {commit} from {branch}"))),
        (Some(commit), None) => all.push((None, format!("merged as {commit}"))),
        (None, Some(branch)) => all.push((None, format!("its work is on the branch {branch}"))),
        (None, None) => {}
    }
    all.iter().map(|(at, happened)| line(screen, *at, happened)).collect()
}

/// A question when it was asked, and again when it was answered, with who, what and why.
fn question_told(question: &QuestionShape) -> Vec<(Option<Moment>, String)> {
    let moment = |at: &Option<String>| at.as_ref().and_then(|at| at.parse().ok());
    let asker = question.asked_by.as_deref().unwrap_or("somebody");
    let mut told = vec![(moment(&question.asked_at), format!("{asker} asked: {}", question.text))];
    let Some(ended) = moment(&question.ended_at) else { return told };
    let happened = match (&question.answered_by, &question.answer) {
        (Some(who), Some(answer)) => {
            let rule = question.rule.as_ref().map_or_else(String::new, |rule| format!(" by the rule {rule}"));
            let why = question.because.as_ref().map_or_else(String::new, |why| format!(", because {why}"));
            format!("{who} answered{rule}: {answer}{why}")
        }
        (None, Some(default)) => format!("nobody answered in time; the default took effect: {default}"),
        (_, None) => format!("the question is {} without an answer", question.state),
    };
    told.push((Some(ended), happened));
    told
}

/// One line, with the time in front; what goes on is set in under it.
fn line(screen: &Screen, at: Option<Moment>, happened: &str) -> String {
    let lead = at.map_or_else(String::new, absolute);
    const LEAD: usize = "2026-11-15 19:19:18Z  ".len();
    let room = screen.width().map_or(usize::MAX, |width| width.saturating_sub(LEAD));
    let lines = wrapped(&one_line(happened), room).join(&format!("\n{:LEAD$}", ""));
    format!("{}{lines}\n", paint(FAINT, &format!("{lead:LEAD$}")))
}

fn verdict_told(verdict: &Value) -> String {
    let Value::Map(facts) = verdict else { return typed(verdict) };
    let result = match facts.read(fact::PASSED) {
        Some(true) => "passed",
        Some(false) => "failed",
        None => "checked",
    };
    let rest: Facts = facts
        .iter()
        .filter(|(name, _)| *name != fact::PASSED.name())
        .fold(Facts::none(), |rest, (name, value)| rest.with(name.to_owned(), value.clone()));
    format!("{result}: {}", pairs(&rest).join(", "))
}
