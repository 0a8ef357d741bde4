//! The whole document: machines, vocabularies, colours, facts and guards, for presenters that draw from the tables.
//!
//! Invariant: a presenter that has read this needs no list of its own. Deliberately absent: the reason codes, which
//! have a document of their own because they are many.

use serde::Serialize;

use super::description::{Description, Meaning, describe};
use crate::colour::{Colour, Icon, Token};
use crate::fact::FACTS;
use crate::guard::{Guard, GuardBasis};
use crate::machine::Machine;
use crate::severity::Tone;
use crate::vocabulary::{TAXONOMIES, Taxonomy};
use crate::word::Words;

/// Everything that is declared.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The machines that were asked for.
    pub machines: Vec<Description>,
    /// The vocabularies that are not the states of a machine.
    pub taxonomies: Vec<VocabularyDescription>,
    /// The colours of every token.
    pub tokens: Vec<TokenDescription>,
    /// Every fact a machine may require.
    pub facts: Vec<Meaning>,
    /// Every guard a row may have.
    pub guards: Vec<GuardDescription>,
    /// How a row without a status is shown.
    pub legacy: Legacy,
}

/// One vocabulary.
#[derive(Clone, Debug, Serialize)]
pub struct VocabularyDescription {
    /// Its name.
    pub name: &'static str,
    /// Its values, in declaration order.
    pub values: Vec<ValueDescription>,
}

/// One value with its pill.
#[derive(Clone, Debug, Serialize)]
pub struct ValueDescription {
    /// The stable name.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// One sentence.
    pub meaning: &'static str,
    /// How its badge is coloured.
    pub tone: Tone,
    /// Its colours.
    pub token: Token,
    /// Its icon,
    pub icon: Icon,
    /// and the character a terminal prints for it.
    pub glyph: char,
}

/// One token with its colours, as style sheets write them.
#[derive(Clone, Debug, Serialize)]
pub struct TokenDescription {
    /// The token.
    pub name: Token,
    /// In the light theme.
    pub light: Theme,
    /// In the dark theme.
    pub dark: Theme,
}

/// Ground and text of a pill in one theme.
#[derive(Clone, Debug, Serialize)]
pub struct Theme {
    /// The ground.
    pub bg: String,
    /// The text.
    pub fg: String,
}

/// One guard.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GuardDescription {
    /// The stable name.
    pub name: &'static str,
    /// One sentence.
    pub meaning: &'static str,
    /// What its answer rests on.
    pub basis: GuardBasis,
}

/// How a row without a status is shown: as what it is, and never counted as anything else.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Legacy {
    /// What people read.
    pub label: &'static str,
    /// Its colours.
    pub token: Token,
    /// Its icon.
    pub icon: Icon,
    /// Its border, which sets it apart from the neutral states.
    pub border: &'static str,
    /// What it says when asked.
    pub tooltip: &'static str,
}

impl Legacy {
    /// The one way to show it.
    pub const SHOWN: Self = Self {
        label: "legacy",
        token: Token::Neutral,
        icon: Icon::Dash,
        border: "dotted",
        tooltip: "Sessions created before the current status vocabulary. Excluded from live operational metrics.",
    };
}

impl Catalogue {
    /// These machines, and everything that belongs to all of them.
    pub fn of(machines: &[&Machine]) -> Self {
        Self {
            machines: machines.iter().map(|machine| describe(machine)).collect(),
            taxonomies: TAXONOMIES.iter().map(VocabularyDescription::of).collect(),
            tokens: Token::ALL.iter().copied().map(TokenDescription::of).collect(),
            facts: FACTS.iter().map(|fact| Meaning { name: fact.name, meaning: fact.meaning }).collect(),
            guards: Guard::ALL.iter().copied().map(GuardDescription::of).collect(),
            legacy: Legacy::SHOWN,
        }
    }
}

impl VocabularyDescription {
    fn of(taxonomy: &Taxonomy) -> Self {
        let values = taxonomy.words.iter().zip(taxonomy.pills).map(|(word, pill)| ValueDescription {
            name: word.name,
            label: pill.label,
            meaning: word.meaning,
            tone: pill.token.tone(),
            token: pill.token,
            icon: pill.icon,
            glyph: pill.icon.glyph(),
        });
        Self { name: taxonomy.name, values: values.collect() }
    }
}

impl GuardDescription {
    fn of(guard: Guard) -> Self {
        Self { name: guard.name(), meaning: guard.meaning(), basis: guard.basis() }
    }
}

impl TokenDescription {
    fn of(token: Token) -> Self {
        let colours = token.colours();
        let theme = |bg: Colour, fg: Colour| Theme { bg: bg.hex(), fg: fg.hex() };
        Self {
            name: token,
            light: theme(colours.light_bg, colours.light_fg),
            dark: theme(colours.dark_bg, colours.dark_fg),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Kind, MACHINES};

    fn document(machines: &[&Machine]) -> Value {
        serde_json::to_value(Catalogue::of(machines)).unwrap()
    }

    #[test]
    fn the_whole_document_has_every_machine_once_and_a_part_of_it_one() {
        let kinds = |document: &Value| -> Vec<String> {
            let machines = document["machines"].as_array().unwrap();
            machines.iter().map(|machine| machine["kind"].as_str().unwrap().to_owned()).collect()
        };
        let expected: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(kinds(&document(&MACHINES)), expected);
        assert_eq!(kinds(&document(&[Kind::Play.machine()])), ["play"]);
    }

    #[test]
    fn a_value_and_a_token_carry_what_a_presenter_draws() {
        let document = document(&[]);
        let health =
            document["taxonomies"].as_array().unwrap().iter().find(|t| t["name"] == "health").unwrap();
        assert_eq!(
            health["values"][4],
            json!({
                "name": "stalled", "label": "Stalled", "tone": "danger", "token": "error", "icon": "hourglass",
                "glyph": "⧗", "meaning": "Alive, and without progress for longer than the threshold of its kind.",
            })
        );
        assert_eq!(
            document["tokens"][0],
            json!({
                "name": "success", "light": { "bg": "#ECFDF3", "fg": "#067647" },
                "dark": { "bg": "#062C1B", "fg": "#86EFAC" },
            })
        );
        assert_eq!(document["facts"].as_array().unwrap().len(), FACTS.len());
        assert_eq!(document["guards"][0]["name"], "no_living_supervisor");
        assert_eq!(document["guards"][0]["basis"], "testimony");
        assert_eq!(
            (document["legacy"]["icon"].as_str(), document["legacy"]["border"].as_str()),
            (Some("dash"), Some("dotted"))
        );
    }
}
