//! The reference pages that belong to no single machine: all reasons, and all vocabularies.
//!
//! Invariant: every registered reason and every value of every vocabulary has one line. Deliberately absent: the
//! states, which stand on the pages of their machines.

use super::description::Meaning;
use super::markdown::{Markdown, capitalised, code, codes};
use super::page::{guards_table, meanings, reasons_table, shown};
use crate::actor::ActorClass;
use crate::axes::{Delivery, Health, PhaseName};
use crate::colour::{Colour, Token};
use crate::evidence::Evidence;
use crate::fact::FACTS;
use crate::guard::{Guard, GuardBasis};
use crate::outcome::Outcome;
use crate::policy::PolicyVersion;
use crate::reason::{REASONS, Scope};
use crate::render::Legacy;
use crate::severity::{Severity, Tone};
use crate::vocabulary::Shown;
use crate::word::Words;

/// The Markdown page of all reasons, grouped by what they speak of.
pub fn reasons_page() -> String {
    let mut page = Markdown::titled("Reasons");
    page.paragraph(
        "A reason code is `entity.dimension.cause`: what it speaks of, the state or the axis it explains, and why. A \
         code that is not listed here cannot be emitted, and a code of one kind cannot explain an entity of another.",
    );
    page.paragraph("The same in a terminal: `callboard reasons`.");
    for reasons in REASONS.chunk_by(|a, b| a.entity() == b.entity()) {
        let entity = reasons[0].entity();
        page.heading(&code(entity));
        page.paragraph(&match reasons[0].scope {
            Scope::Of(kind) => format!("Of the kind `{kind}`: {}", lowered(kind.machine().meaning)),
            Scope::Any => "Of every kind.".to_owned(),
        });
        reasons_table(&mut page, reasons);
    }
    page.finish()
}

/// The Markdown page of all vocabularies that are not the states of a machine.
pub fn vocabulary_page() -> String {
    let mut page = Markdown::titled("Vocabulary");
    page.paragraph(
        "The words every surface uses, with the pill each is shown as. Old names are accepted on input and never \
         written. The same for programs: `callboard machines --json`.",
    );
    vocabulary::<Outcome>(&mut page, "Outcome", "How an entity ended.");
    vocabulary::<Health>(&mut page, "Health", "Is the runtime okay? Judged when it is read, never stored.");
    vocabulary::<Delivery>(&mut page, "Delivery", "Did it produce what it promised?");
    vocabulary::<PhaseName>(&mut page, "Phase", "What is a run doing while it has not ended?");
    vocabulary::<Severity>(&mut page, "Severity", "Does this need somebody?");
    vocabulary::<Tone>(&mut page, "Tone", "How the badge is coloured.");
    page.heading("Policies");
    page.paragraph("Which rules derive severity and tone.");
    meanings(&mut page, "Policy", PolicyVersion::WORDS.iter().copied().map(Meaning::from));
    evidence(&mut page);
    page.heading("Actors");
    page.paragraph("Who may take a row.");
    words::<ActorClass>(&mut page, "Actor");
    page.heading("Guards");
    page.paragraph("What must hold before a row that names it is taken, and what its answer rests on.");
    guards_table(&mut page, Guard::ALL);
    page.heading("Bases of guards");
    words::<GuardBasis>(&mut page, "Basis");
    facts(&mut page);
    tokens(&mut page);
    legacy(&mut page);
    page.finish()
}

fn vocabulary<T: Shown>(page: &mut Markdown, title: &str, question: &str) {
    page.heading(title);
    page.paragraph(question);
    let row = |value: &T| {
        let token = code(value.pill().token.name());
        [code(value.name()), shown(*value), token, value.meaning().to_owned(), old_names(*value)]
    };
    let rows: Vec<[String; 5]> = T::ALL.iter().map(row).collect();
    page.table(["Value", "Shown as", "Token", "Meaning", "Old names"], &rows);
}

fn words<T: Words>(page: &mut Markdown, title: &str) {
    let row = |value: &T| [code(value.name()), value.meaning().to_owned(), old_names(*value)];
    let rows: Vec<[String; 3]> = T::ALL.iter().map(row).collect();
    page.table([title, "Meaning", "Old names"], &rows);
}

fn old_names<T: Words>(value: T) -> String {
    codes(T::OLD_NAMES.iter().filter(|(_, meant)| *meant == value).map(|(old, _)| old))
}

fn evidence(page: &mut Markdown) {
    page.heading("Evidence");
    page.paragraph("What shows that a reason holds. A reference without its required fields is refused.");
    let row = |kind: &Evidence| {
        let choices: Vec<String> = kind
            .requires()
            .iter()
            .map(|choice| codes(choice.iter().map(|field| field.name())).replace(", ", " or "))
            .collect();
        [code(kind.name()), shown(*kind), choices.join(", "), kind.meaning().to_owned()]
    };
    let rows: Vec<[String; 4]> = Evidence::ALL.iter().map(row).collect();
    page.table(["Kind", "Shown as", "Requires", "Meaning"], &rows);
}

fn facts(page: &mut Markdown) {
    page.heading("Facts");
    page.paragraph("What a transition can be required to record beside its reasons.");
    meanings(page, "Fact", FACTS.iter().map(|fact| Meaning { name: fact.name, meaning: fact.meaning }));
}

fn tokens(page: &mut Markdown) {
    page.heading("Colour tokens");
    page.paragraph(
        "The only colours a state may be drawn in: text on ground, with the contrast of the two as WCAG 2 defines it. \
         At least 4.5 is required.",
    );
    let pair =
        |fg: Colour, bg: Colour| (format!("{} on {}", code(&fg.hex()), code(&bg.hex())), contrast(fg, bg));
    let row = |token: &Token| {
        let colours = token.colours();
        let (light, light_contrast) = pair(colours.light_fg, colours.light_bg);
        let (dark, dark_contrast) = pair(colours.dark_fg, colours.dark_bg);
        [code(token.name()), token.meaning().to_owned(), light, light_contrast, dark, dark_contrast]
    };
    let rows: Vec<[String; 6]> = Token::ALL.iter().map(row).collect();
    page.table(["Token", "Meaning", "Light", "Contrast", "Dark", "Contrast"], &rows);
}

/// Rounded down, so that what is printed is never better than what is so.
fn contrast(fg: Colour, bg: Colour) -> String {
    format!("{:.2}", (fg.contrast(bg) * 100.0).floor() / 100.0)
}

fn legacy(page: &mut Markdown) {
    let Legacy { label, token, icon, border, tooltip } = Legacy::SHOWN;
    page.heading("Legacy");
    page.paragraph(&format!(
        "A row without any status is shown as *{} {label}* in the token `{token}` with a {border} border, and is \
         counted nowhere. {}",
        icon.glyph(),
        capitalised(tooltip)
    ));
}

fn lowered(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::TAXONOMIES;

    #[test]
    fn every_reason_has_one_line_under_the_heading_of_its_entity() {
        let page = reasons_page();
        let mut found = 0;
        for section in page.split("\n## `").skip(1) {
            let (entity, body) = section.split_once('`').unwrap();
            for line in body.lines().filter(|line| line.starts_with("| `")) {
                let code = line[3..].split('`').next().unwrap();
                assert!(code.starts_with(&format!("{entity}.")), "{code} stands under {entity}");
                assert!(REASONS.iter().any(|def| def.code == code), "{code}");
                found += 1;
            }
        }
        assert_eq!(found, REASONS.len());
        assert!(page.contains(
            "| `run.aborted.sigint` | A person pressed Ctrl-C. | yes | `run.cancelled.sigint`, `run.aborted.user` |"
        ));
    }

    #[test]
    fn every_value_of_every_vocabulary_is_on_the_page() {
        let page = vocabulary_page();
        for taxonomy in TAXONOMIES {
            let heading = format!("\n## {}\n", capitalised(taxonomy.name));
            let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("no {heading}"));
            let section = section.split("\n## ").next().unwrap();
            let lines: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
            assert_eq!(lines.len(), taxonomy.words.len(), "{}", taxonomy.name);
            for (word, line) in taxonomy.words.iter().zip(lines) {
                assert!(
                    line.starts_with(&format!("| `{}` | ", word.name)) && line.contains(word.meaning),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn what_must_be_exact_is() {
        let page = vocabulary_page();
        for line in [
            "| `error` | Something failed. | `#B42318` on `#FEF3F2` | 6.04 | `#FCA5A5` on `#3B0A0A` | 8.96 |",
            "| `artifact` | □ Artifact | `artifact_id` or `path` | A file or report that was produced. |",
            "| `degraded` | ! Degraded | `warning` | Alive and erroring, or ended and left resources behind. | `zombie` |",
            "| `timeout_s` | The configured bound. |",
        ] {
            assert!(page.contains(line), "missing {line} in\n{page}");
        }
    }
}
