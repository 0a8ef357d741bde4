//! Vocabularies: words that people see, each with its label, colour token and icon.
//!
//! Invariant: a value cannot be declared without its pill, and each vocabulary is a taxonomy of its own, so the same
//! word in two vocabularies can never borrow the other's colour. Deliberately absent: drawing.

use crate::axes::{Delivery, Health, PhaseName};
use crate::colour::{Icon, Token};
use crate::evidence::Evidence;
use crate::outcome::Outcome;
use crate::severity::{Severity, Tone};
use crate::word::{Word, Words};

/// How one value looks: `[ icon label ]` in the colours of its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pill {
    /// The text, in sentence case.
    pub label: &'static str,
    /// The colours.
    pub token: Token,
    /// The icon.
    pub icon: Icon,
}

/// Words that people see.
pub trait Shown: Words {
    /// The name of the vocabulary, as a pill must name it.
    const TAXONOMY: &'static str;
    /// The pill of every value, in declaration order.
    const PILLS: &'static [Pill];

    /// The pill of this value.
    fn pill(self) -> &'static Pill {
        &Self::PILLS[self.index()]
    }
}

/// One vocabulary as data, for presenters that draw from the tables.
#[derive(Clone, Copy, Debug)]
pub struct Taxonomy {
    /// Its name.
    pub name: &'static str,
    /// Its words.
    pub words: &'static [Word],
    /// Their pills, in the same order.
    pub pills: &'static [Pill],
}

impl Taxonomy {
    const fn of<T: Shown>() -> Self {
        Self { name: T::TAXONOMY, words: T::WORDS, pills: T::PILLS }
    }
}

/// Every vocabulary that is not the states of a machine; those are in the machines themselves.
pub static TAXONOMIES: &[Taxonomy] = &[
    Taxonomy::of::<Outcome>(),
    Taxonomy::of::<Health>(),
    Taxonomy::of::<Delivery>(),
    Taxonomy::of::<PhaseName>(),
    Taxonomy::of::<Severity>(),
    Taxonomy::of::<Tone>(),
    Taxonomy::of::<Evidence>(),
];

/// Declares words together with their pills.
#[doc(hidden)]
#[macro_export]
macro_rules! vocabulary {
    (
        $(#[$outer:meta])*
        pub enum $Name:ident is $what:literal in $taxonomy:literal {
            $( $(#[doc = $meaning:literal])+
               $Value:ident = $name:literal ($label:literal, $Token:ident, $Icon:ident) ),+ $(,)?
        }
        $( old names { $($old:tt)* } )?
    ) => {
        $crate::words! {
            $(#[$outer])*
            pub enum $Name is $what { $( $(#[doc = $meaning])+ $Value = $name ),+ }
            $( old names { $($old)* } )?
        }

        impl $crate::Shown for $Name {
            const TAXONOMY: &'static str = $taxonomy;
            const PILLS: &'static [$crate::Pill] = &[
                $( $crate::Pill { label: $label, token: $crate::Token::$Token, icon: $crate::Icon::$Icon } ),+
            ];
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_taxonomy_has_one_pill_a_word_and_distinct_labels() {
        for taxonomy in TAXONOMIES {
            assert_eq!(taxonomy.words.len(), taxonomy.pills.len(), "{}", taxonomy.name);
            for (i, pill) in taxonomy.pills.iter().enumerate() {
                assert!(!pill.label.is_empty());
                let twin = taxonomy.pills[..i].iter().find(|other| other.label == pill.label);
                assert_eq!(twin, None, "two values of {} look the same", taxonomy.name);
            }
        }
    }
}
