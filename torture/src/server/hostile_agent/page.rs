//! The page of the acts: what comes of each, without a sandbox, in this one, and in those of others.
//!
//! Invariant: what is said of callboard is the table, and a test compares the page with it; what is said of others is what
//! was seen when they were tried last, and is kept in the page itself.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::passes::Outcomes;
use super::table::{Act, GROUPS, Needs, Outcome, Proof, acts};

const PEERS: [&str; 2] = ["bwrap", "codex"];

const HEAD: &str = include_str!("page.md");

/// What the page says of others, by sandbox, group and act.
type Seen = HashMap<(&'static str, String), String>;

/// Puts what was seen of one of the others into the page.
pub(super) fn keep(peer: &str, outcomes: &Outcomes) -> Result<()> {
    let mut seen = seen(&std::fs::read_to_string(path()).unwrap_or_default());
    let peer = PEERS.into_iter().find(|known| *known == peer).context("nobody compares with it")?;
    let groups = GROUPS.iter().flat_map(|(group, acts)| acts.iter().map(move |_| *group));
    for ((act, came), group) in acts().zip(outcomes).zip(groups) {
        seen.insert((peer, format!("{group}: {}", name(act))), came.map_or("–", word).to_owned());
    }
    std::fs::write(path(), text(&seen)).context("failed to write the page")
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/sandbox-acts.md")
}

fn seen(page: &str) -> Seen {
    let (mut seen, mut group) = (HashMap::new(), "");
    for line in page.lines() {
        group = line.strip_prefix("## ").unwrap_or(group);
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [name, _, _, _, _, its @ ..] = &cells[..] {
            for (peer, word) in PEERS.into_iter().zip(its) {
                seen.insert((peer, format!("{group}: {name}")), (*word).to_owned());
            }
        }
    }
    seen
}

fn text(seen: &Seen) -> String {
    let count = |of: fn(&Act) -> Outcome| acts().filter(|act| of(act) == Outcome::Done).count().to_string();
    let mut page = HEAD
        .replace("{acts}", &acts().count().to_string())
        .replace("{without}", &count(|act| act.without))
        .replace("{with}", &count(|act| act.with));
    for peer in PEERS {
        let done = seen.iter().filter(|((its, _), word)| *its == peer && *word == "done").count();
        page = page.replace(&format!("{{{peer}}}"), &done.to_string());
    }
    for (group, acts) in GROUPS {
        page.push_str(&format!(
            "\n## {group}\n\n| act | known by | without | with | by, or why not | bwrap | Codex |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n"
        ));
        for act in acts {
            let its = |peer: &'static str| {
                let word = seen.get(&(peer, format!("{group}: {}", name(act))));
                word.map_or("?", String::as_str)
            };
            let cells = [
                &*name(act),
                known_by(act.proof),
                without(act),
                word(act.with),
                act.by,
                its("bwrap"),
                its("codex"),
            ];
            page.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    page
}

fn name(act: &Act) -> String {
    match act.network {
        "open" => act.name.to_owned(),
        network => format!("{}, network `{network}`", act.name),
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Stopped => "stopped",
    }
}

const fn without(act: &Act) -> &'static str {
    match (act.without, act.needs) {
        (Outcome::Stopped, _) => "stopped",
        (Outcome::Done, Needs::Anyone) => "done",
        (Outcome::Done, Needs::Root) => "done by root",
        (Outcome::Done, Needs::Host) => "done on some hosts",
    }
}

const fn known_by(proof: Proof) -> &'static str {
    match proof {
        Proof::Secret => "the secret",
        Proof::Wrote(_) | Proof::Changed(_) => "the file",
        Proof::Heard => "who listened",
        Proof::Hit(_) | Proof::Left => "the process",
        Proof::Recorded(_) | Proof::Ended(_) => "the log",
        Proof::Word => "the kernel's answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_the_table_says_and_what_was_seen_of_others() {
        let page = std::fs::read_to_string(path()).unwrap();
        assert!(
            page == text(&seen(&page)),
            "write it with: cargo xtask torture hostile-agent --beside bwrap,codex"
        );
        assert!(!page.contains("| ? |"), "an act was not tried in the sandboxes of others");
    }

    #[test]
    fn there_are_more_than_a_hundred_acts_and_no_two_are_the_same() {
        let groups = GROUPS.iter().flat_map(|(group, acts)| acts.iter().map(move |act| (*group, name(act))));
        let mut names: Vec<_> = groups.collect();
        let count = names.len();
        assert!(count >= 100, "{count}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
