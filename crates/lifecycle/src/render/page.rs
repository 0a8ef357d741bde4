//! The reference page of one machine.
//!
//! Invariant: everything that is declared of the machine is on its page. Deliberately absent: advice; a page says
//! what is so, the guides say what to do.

use super::description::{Description, Meaning, RowDescription, StateDescription, describe};
use super::markdown::{Markdown, capitalised, code, codes};
use super::mermaid::mermaid;
use crate::axes::Health;
use crate::fact::FACTS;
use crate::guard::Guard;
use crate::machine::{Machine, Nature};
use crate::reason::ReasonDef;
use crate::vocabulary::Shown;
use crate::word::Words;

/// The Markdown page of a machine.
pub fn page(machine: &Machine) -> String {
    let all = describe(machine);
    let mut page = Markdown::titled(&capitalised(&all.kind.to_string().replace('_', " ")));
    introduction(&mut page, &all);
    page.heading("Diagram");
    page.fence("mermaid", &mermaid(machine));
    states(&mut page, &all);
    transitions(&mut page, &all);
    required_facts(&mut page, &all);
    reasons(&mut page, machine);
    old_names(&mut page, &all);
    let health: Vec<Health> = all.health.iter().chain(all.health_also).copied().collect();
    judged(&mut page, "Health", "Is the runtime okay?", &health);
    judged(&mut page, "Delivery", "Did it produce what it promised?", all.delivery);
    for (name, words) in machine.vocabularies {
        page.heading(&capitalised(&name.replace('_', " ")));
        meanings(&mut page, "Name", words.iter().copied().map(Meaning::from));
    }
    page.finish()
}

fn introduction(page: &mut Markdown, all: &Description) {
    page.paragraph(all.meaning);
    let moves = match all.nature {
        Nature::Ending => "A command names the state to go to, and every state can reach an end.",
        Nature::ByTrigger => "An event gives the next state, and every state can reach an end.",
        Nature::Perpetual => "A command names the state to go to. It has no end: it can always go on.",
    };
    let (noun, prefix, entity) = (all.noun, all.prefix, all.reason_entity);
    page.paragraph(&format!(
        "People read *{noun}*; ids begin with `{prefix}_`, reason codes with `{entity}.`. {moves}"
    ));
    if !all.admin_targets.is_empty() {
        page.paragraph(&format!("An operator may move it to {}.", codes(&all.admin_targets)));
    }
    page.paragraph(&format!("The same in a terminal: `callboard machines {}`.", all.kind));
}

fn states(page: &mut Markdown, all: &Description) {
    page.heading("States");
    let row = |state: &StateDescription| {
        let exit = all.exit_codes.get(state.name).map(ToString::to_string).unwrap_or_default();
        let shown = format!("{} {}", state.icon.glyph(), state.label);
        [code(state.name), shown, state.meaning.to_owned(), all.notes(state).join(", "), exit]
    };
    let rows: Vec<[String; 5]> = all.states.iter().map(row).collect();
    page.table(["State", "Shown as", "Meaning", "Notes", "Exit code"], &rows);
}

fn transitions(page: &mut Markdown, all: &Description) {
    let table = |page: &mut Markdown, chosen: &dyn Fn(&RowDescription) -> bool| {
        let rows: Vec<[String; 7]> = all.rows.iter().filter(|row| chosen(row)).map(transition).collect();
        page.table(["From", "To", "On", "By", "When", "Because", "Shown by"], &rows);
    };
    page.heading("Transitions");
    page.paragraph(
        "A row is taken when one of its triggers happens, by one of those listed, while its guards hold, with one of \
         the reasons, and with one piece of evidence of a listed kind where any is listed.",
    );
    table(page, &|row| !row.desk);
    if let Some(also) = &all.also {
        page.paragraph(&format!("{}.", capitalised(&also.note)));
        table(page, &|row| row.desk);
    }
    guards(page, all);
    page.heading("Triggers");
    meanings(page, "Trigger", all.triggers.iter().copied());
}

fn guards(page: &mut Markdown, all: &Description) {
    let guards = all.guards();
    if guards.is_empty() {
        return;
    }
    page.heading("Guards");
    page.paragraph(
        "What must hold before a row is taken. A guard that nothing answers refuses. The record names the guards that \
         held; one that rests on the log is asked again by `callboard verify`, the others are the word of whoever wrote \
         the record.",
    );
    guards_table(page, &guards);
}

/// The table of some guards.
pub(super) fn guards_table(page: &mut Markdown, guards: &[Guard]) {
    let row = |guard: &Guard| [code(guard.name()), guard.meaning().to_owned(), guard.basis().to_string()];
    page.table(["Guard", "Meaning", "Rests on"], &guards.iter().map(row).collect::<Vec<_>>());
}

fn transition(row: &RowDescription) -> [String; 7] {
    let actors: Vec<String> = row.actors.iter().map(|actor| actor.to_string().replace('_', " ")).collect();
    [
        code(row.from),
        code(row.to),
        codes(&row.triggers),
        actors.join(", "),
        codes(row.guards.iter().map(ToString::to_string)),
        codes(&row.reasons),
        codes(row.evidence.iter().map(ToString::to_string)),
    ]
}

fn required_facts(page: &mut Markdown, all: &Description) {
    if all.requires.is_empty() {
        return;
    }
    page.heading("Required facts");
    page.paragraph("A transition into these states is refused unless it records:");
    let meaning = |name: &str| {
        FACTS.iter().find(|fact| fact.name == name).map_or_else(String::new, |fact| fact.meaning.to_owned())
    };
    let in_order = all.states.iter().filter_map(|state| Some((state.name, all.requires.get(state.name)?)));
    let rows: Vec<[String; 3]> = in_order
        .flat_map(|(state, facts)| facts.iter().map(move |fact| [code(state), code(fact), meaning(fact)]))
        .collect();
    page.table(["State", "Fact", "Meaning"], &rows);
}

fn reasons(page: &mut Markdown, machine: &Machine) {
    page.heading("Reasons");
    page.paragraph("The shared reasons, `system.*` and `legacy.imported`, may explain it too.");
    reasons_table(page, machine.reasons);
}

/// The table of some reasons. A reason that a person chose needs nobody to follow it up.
pub(super) fn reasons_table<'a>(page: &mut Markdown, reasons: impl IntoIterator<Item = &'a ReasonDef>) {
    let row = |def: &ReasonDef| {
        let chosen = if def.chosen { "yes" } else { "" };
        [code(def.code), def.meaning.to_owned(), chosen.to_owned(), codes(def.old_codes)]
    };
    let rows: Vec<[String; 4]> = reasons.into_iter().map(row).collect();
    page.table(["Code", "Meaning", "A person's choice", "Old spellings"], &rows);
}

fn old_names(page: &mut Markdown, all: &Description) {
    if all.old_names.is_empty() {
        return;
    }
    page.heading("Old names");
    page.paragraph("Accepted on input and never written.");
    let rows: Vec<[String; 2]> = all.old_names.iter().map(|(old, state)| [code(old), code(state)]).collect();
    page.table(["Old name", "State"], &rows);
}

fn judged<T: Shown>(page: &mut Markdown, title: &str, question: &str, values: &[T]) {
    if values.is_empty() {
        return;
    }
    page.heading(title);
    page.paragraph(question);
    let row = |value: &T| [code(value.name()), shown(*value), value.meaning().to_owned()];
    page.table(["Value", "Shown as", "Meaning"], &values.iter().map(row).collect::<Vec<_>>());
}

/// The pill as text.
pub(super) fn shown<T: Shown>(value: T) -> String {
    let pill = value.pill();
    format!("{} {}", pill.icon.glyph(), pill.label)
}

/// A table of names and what they mean.
pub(super) fn meanings(page: &mut Markdown, title: &str, words: impl Iterator<Item = Meaning>) {
    let rows: Vec<[String; 2]> = words.map(|word| [code(word.name), word.meaning.to_owned()]).collect();
    page.table([title, "Meaning"], &rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, MACHINES};

    /// The lines of the table that stand under a heading, its two title lines left out.
    fn rows<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
        let (_, section) =
            page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n## ").next().unwrap();
        section.lines().filter(|line| line.starts_with("| `")).collect()
    }

    #[test]
    fn everything_that_is_declared_is_on_the_page() {
        for machine in MACHINES {
            let page = page(machine);
            assert!(page.starts_with("<!-- Generated by cargo xtask generate; do not edit. -->\n"));
            assert!(page.contains(machine.meaning) && page.contains(&mermaid(machine)));
            assert_eq!(rows(&page, "States").len(), machine.states.len(), "{}", machine.kind);
            assert_eq!(rows(&page, "Transitions").len(), machine.rows.len(), "{}", machine.kind);
            assert_eq!(rows(&page, "Triggers").len(), machine.triggers.len(), "{}", machine.kind);
            assert_eq!(rows(&page, "Reasons").len(), machine.reasons.len(), "{}", machine.kind);
            for (heading, count) in [
                ("Health", machine.health.len() + machine.health_also.len()),
                ("Delivery", machine.delivery.len()),
                ("Old names", machine.old_states.len()),
                ("Guards", describe(machine).guards().len()),
                ("Required facts", machine.requires.iter().map(|needs| needs.facts.len()).sum()),
            ] {
                assert_eq!(
                    page.contains(&format!("\n## {heading}\n")),
                    count > 0,
                    "{}: {heading}",
                    machine.kind
                );
                if count > 0 {
                    assert_eq!(rows(&page, heading).len(), count, "{}: {heading}", machine.kind);
                }
            }
        }
    }

    #[test]
    fn a_row_says_all_it_asks_for() {
        let page = page(Kind::Session.machine());
        let dirty =
            rows(&page, "Transitions").into_iter().find(|row| row.contains("contract_broken")).unwrap();
        assert_eq!(
            dirty,
            "| `running` | `failed` | `contract_broken` | system, supervisor |  | `run.failed.missing_artifact`, \
             `run.failed.invalid_artifact` | `artifact` |"
        );
        let ended = rows(&page, "States").into_iter().find(|row| row.contains("`timed_out`")).unwrap();
        assert_eq!(
            ended,
            "| `timed_out` | ⧗ Timed out | A configured bound was reached and the run was ended. | end | 124 |"
        );
    }

    #[test]
    fn the_desks_rows_stand_apart_with_their_note() {
        let page = page(Kind::Task.machine());
        let (programs, desk) = page.split_once("The approval desk's own edges:").unwrap();
        assert!(
            !programs.contains("`approved`")
                && desk.contains("| `pending_approval` | `closed` | `approved` |")
        );
        assert!(page.contains("| end, needs a decision |") && page.contains("| settled |"));
    }

    #[test]
    fn tables_are_whole() {
        for machine in MACHINES {
            let page = page(machine);
            let cells = |line: &str| line.replace("\\|", "").matches('|').count();
            let lines: Vec<&str> = page.lines().collect();
            for pair in lines.windows(2).filter(|pair| pair.iter().all(|line| line.starts_with('|'))) {
                assert_eq!(cells(pair[0]), cells(pair[1]), "{}: {}", machine.kind, pair[1]);
            }
        }
    }
}
