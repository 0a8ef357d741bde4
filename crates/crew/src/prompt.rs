//! What an agent is told: the task itself, and after a failure what was wrong with the last attempt.
//!
//! Invariant: what failed is told with its evidence, as something that was seen and not as an order. Deliberately absent: how a program is given
//! its prompt; the profile says that.

use callboard_kernel::{Facts, Value, fact};

/// The longest account of a failure.
const ACCOUNT_CHARS: usize = 4000;

/// The prompt of an attempt.
pub(crate) fn prompt(facts: &Facts) -> String {
    let asked = facts.read(fact::PROMPT).or_else(|| facts.read(fact::TITLE)).unwrap_or_default();
    match last_failure(facts) {
        None => asked.to_owned(),
        Some(account) => format!(
            "{asked}\n\nAn earlier attempt at this task did not succeed. What was seen:\n{account}\n\
             Its files may still be in this directory. Look at them first, then finish the task."
        ),
    }
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
        assert_eq!(prompt(&first), "fix it");
        let verdict = Facts::none()
            .and(fact::PASSED, false)
            .and(fact::WHAT, "`make test` succeeds")
            .and(fact::DETAIL, "exited with 2");
        let again = first
            .and(fact::RETRIES, 1)
            .and(fact::LAST_ERROR, "verification rejected it")
            .and(fact::VERDICTS, vec![verdict]);
        let told = prompt(&again);
        assert!(told.starts_with("fix it\n") && told.contains("verification rejected it"), "{told}");
        assert!(told.contains("not passed: `make test` succeeds: exited with 2"), "{told}");
    }
}
