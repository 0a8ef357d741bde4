//! What an agent is told: the task itself, the answers to what was asked about it, and after a failure what was wrong with the last attempt.
//!
//! Invariant: what failed is told with its evidence, as something that was seen and not as an order; an answer is told with who gave it. Deliberately absent: how a program is given
//! its prompt; the profile says that.

use callboard_engine::questions::{QuestionEnd, question_end};
use callboard_kernel::{EntityId, Facts, Value, fact, question};
use callboard_ledger::{Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::Kind;
use callboard_lifecycle::question::QuestionSource;

/// The longest account of a failure.
const ACCOUNT_CHARS: usize = 4000;
/// How many answers an attempt is told; the newest.
const ANSWERS_MAX: usize = 20;

/// The prompt of an attempt.
pub(crate) fn prompt(facts: &Facts, answers: &[String]) -> String {
    let mut text =
        facts.read(fact::PROMPT).or_else(|| facts.read(fact::TITLE)).unwrap_or_default().to_owned();
    if !answers.is_empty() {
        text += &format!("\n\nWhat was asked about this task, and the answers:\n{}", answers.join("\n"));
    }
    if let Some(account) = last_failure(facts) {
        text += &format!(
            "\n\nAn earlier attempt at this task did not succeed. What was seen:\n{account}\n\
             Its files may still be in this directory. Look at them first, then finish the task."
        );
    }
    text
}

/// What was asked about a task in somebody's own words, and what became of it, the oldest first.
pub(crate) fn answers(ledger: &Ledger, task: EntityId) -> Result<Vec<String>, ReadError> {
    let slice = Slice {
        kind: Some(Kind::Question),
        parent: Some(task),
        order: Sequence::Newest,
        limit: ANSWERS_MAX,
        ..Slice::default()
    };
    let mut told: Vec<String> = ledger.slice(slice)?.iter().filter_map(answer).collect();
    told.reverse();
    Ok(told)
}

fn answer(question: &Stored) -> Option<String> {
    let facts = &question.entity.facts;
    question::source(facts).filter(|source| *source == QuestionSource::Ask)?;
    let asked = facts.read(fact::TEXT)?;
    let because = facts.read(fact::BECAUSE).map_or_else(String::new, |why| format!(" ({why})"));
    let told = match question_end(&question.entity)? {
        QuestionEnd::Answered { answer, by, .. } => format!("{by} answered: {answer}{because}"),
        QuestionEnd::NoAnswer { .. } | QuestionEnd::Withdrawn => "nobody answered".to_owned(),
    };
    Some(format!("- {asked}\n  {told}").chars().take(ACCOUNT_CHARS).collect())
}

fn last_failure(facts: &Facts) -> Option<String> {
    if facts.read(fact::RETRIES).unwrap_or(0) == 0 {
        return None;
    }
    let mut account = format!("- {}", facts.read(fact::LAST_ERROR)?);
    for verdict in facts.read(fact::VERDICTS).unwrap_or_default() {
        let Value::Map(verdict) = verdict else { continue };
        if verdict.read(fact::PASSED) == Some(false) {
            let what = verdict.read(fact::WHAT).unwrap_or("a check");
            let detail = verdict.read(fact::DETAIL).unwrap_or_default();
            account.push_str(&format!("\n- not passed: {what}: {detail}"));
        }
    }
    Some(account.chars().take(ACCOUNT_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_told_what_was_wrong() {
        let first = Facts::none().and(fact::PROMPT, "fix it").and(fact::LAST_ERROR, "an old one");
        assert_eq!(prompt(&first, &[]), "fix it");
        let verdict = Facts::none()
            .and(fact::PASSED, false)
            .and(fact::WHAT, "`make test` succeeds")
            .and(fact::DETAIL, "exited with 2");
        let again = first
            .and(fact::RETRIES, 1)
            .and(fact::LAST_ERROR, "verification rejected it")
            .and(fact::VERDICTS, vec![verdict]);
        let told = prompt(&again, &["- which one?\n  ann answered: the second".to_owned()]);
        assert!(told.starts_with("fix it\n") && told.contains("verification rejected it"), "{told}");
        assert!(told.contains("not passed: `make test` succeeds: exited with 2"), "{told}");
        assert!(told.contains("ann answered: the second"), "{told}");
    }
}
