//! What a verification found: one item for each promise, and the verdict over all of them.
//!
//! Invariant: the verdict is a pure function of the items, so what is shown and what is recorded cannot disagree.
//! Deliberately absent: looking (`verify`), and what becomes of the run (`effect`).

use callboard_kernel::{Facts, Moment};
use callboard_lifecycle::Delivery;
use serde::{Deserialize, Serialize};

use crate::error::{ContractProblem, Error};

/// The result of one verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// The verdict.
    pub delivery: Delivery,
    /// When it was made.
    pub checked_at: Moment,
    /// What the chain says instead of the verdict's general label; none if there is nothing to say.
    pub detail: Option<String>,
    /// The ids of required promises with nothing to show.
    pub missing_required: Vec<String>,
    /// The ids of other promises with nothing to show.
    pub missing_optional: Vec<String>,
    /// The ids of promises that have something wrong to show.
    pub invalid: Vec<String>,
    /// The ids of promises that are kept.
    pub produced: Vec<String>,
    /// The ids of promises that were not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Every promise, in the order of the contract.
    pub items: Vec<Item>,
}

/// One promise, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The id of the promise.
    pub id: String,
    /// The path or glob it names, if it does.
    pub path: Option<String>,
    /// Was it required?
    pub required: bool,
    /// What was found.
    pub found: Found,
    /// Why it is not kept, or what shows that it is where no file does.
    pub because: Option<String>,
    /// The files, as many as are worth listing.
    pub files: Vec<FileFound>,
    /// How many files there are.
    pub matched: u64,
    /// The end of what the promised command said.
    pub output: Option<String>,
}

/// What was found for a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// What was promised.
    Produced,
    /// Nothing.
    Missing,
    /// A file without bytes, which counts as nothing.
    Empty,
    /// A file that was there before the run and that the run did not write, which counts as nothing.
    Unchanged,
    /// Something else than what was promised.
    Invalid,
    /// It was not checked, because that needs a program and whoever looked runs none.
    Unknown,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFound {
    /// Where it is, in the artifact directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The BLAKE3 hash of its bytes in hexadecimal; none of a file beyond the bound.
    pub blake3: Option<String>,
}

impl Item {
    /// What people call it.
    pub fn label(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.id)
    }

    /// Is there nothing to show?
    pub const fn is_missing(&self) -> bool {
        matches!(self.found, Found::Missing | Found::Empty | Found::Unchanged)
    }
}

impl Verification {
    /// The verdict over these items.
    pub(super) fn over(items: Vec<Item>, checked_at: Moment) -> Self {
        let ids = |wanted: &dyn Fn(&Item) -> bool| -> Vec<String> {
            items.iter().filter(|item| wanted(item)).map(|item| item.id.clone()).collect()
        };
        Self {
            delivery: verdict(&items),
            checked_at,
            detail: detail(&items),
            missing_required: ids(&|item| item.is_missing() && item.required),
            missing_optional: ids(&|item| item.is_missing() && !item.required),
            invalid: ids(&|item| item.found == Found::Invalid),
            produced: ids(&|item| item.found == Found::Produced),
            unknown: ids(&|item| item.found == Found::Unknown),
            items,
        }
    }

    /// Is a required promise unchecked, so that nobody knows whether the contract is kept?
    pub fn is_unknown(&self) -> bool {
        self.items.iter().any(|item| item.required && item.found == Found::Unknown)
    }

    /// The verification as facts for the ledger.
    ///
    /// # Errors
    ///
    /// Never for a verification that was made here.
    pub fn facts(&self) -> Result<Facts, Error> {
        let broken = |error: serde_json::Error| Error::from(ContractProblem::Record(error.to_string()));
        serde_json::from_value(serde_json::to_value(self).map_err(broken)?).map_err(broken)
    }
}

fn verdict(items: &[Item]) -> Delivery {
    let any = |required: bool, wanted: &dyn Fn(&Item) -> bool| {
        items.iter().any(|item| item.required == required && wanted(item))
    };
    let is_invalid = |item: &Item| item.found == Found::Invalid;
    let is_unknown = |item: &Item| item.found == Found::Unknown;
    if items.is_empty() {
        Delivery::NotExpected
    } else if any(true, &is_invalid) {
        Delivery::Invalid
    } else if any(true, &Item::is_missing) {
        if any(true, &|item| item.found == Found::Produced) {
            Delivery::Partial
        } else if any(true, &is_unknown) {
            // One is missing, and whether any is there is not known; the detail says which is which.
            Delivery::Unknown
        } else {
            Delivery::Missing
        }
    } else if any(true, &is_unknown) {
        Delivery::Unknown
    } else if any(false, &is_invalid) {
        Delivery::Invalid
    } else if any(false, &Item::is_missing) {
        Delivery::Partial
    } else if any(false, &is_unknown) {
        Delivery::Unknown
    } else {
        Delivery::Passed
    }
}

/// "review.md missing", or "report.json invalid, review.md and 2 more missing".
fn detail(items: &[Item]) -> Option<String> {
    let listed = |items: Vec<&Item>, word: &str| {
        // What was required is what people look for first.
        let first = items.iter().find(|item| item.required).or(items.first())?;
        let more = match items.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("{}{more} {word}", first.label()))
    };
    let unchanged = |item: &&Item| item.found == Found::Unchanged;
    let parts: Vec<String> = [
        listed(items.iter().filter(|item| item.found == Found::Invalid).collect(), "invalid"),
        listed(
            items.iter().filter(|item| item.is_missing() && item.found != Found::Unchanged).collect(),
            "missing",
        ),
        listed(items.iter().filter(unchanged).collect(), "not written by this run"),
        listed(items.iter().filter(|item| item.found == Found::Unknown).collect(), "not checked"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, required: bool, found: Found) -> Item {
        Item {
            id: id.to_owned(),
            path: Some(format!("{id}.md")),
            required,
            found,
            because: None,
            files: Vec::new(),
            matched: 0,
            output: None,
        }
    }

    #[test]
    fn the_verdict_and_its_words_for_every_mixture() {
        use Delivery::{Invalid, Missing, NotExpected, Partial, Passed, Unknown};
        let of = |letter: (usize, char)| {
            let id = ["a", "b", "c", "d"][letter.0];
            match letter.1 {
                'P' => item(id, true, Found::Produced),
                'M' => item(id, true, Found::Missing),
                'E' => item(id, true, Found::Empty),
                'U' => item(id, true, Found::Unchanged),
                'I' => item(id, true, Found::Invalid),
                'p' => item(id, false, Found::Produced),
                'm' => item(id, false, Found::Missing),
                '?' => item(id, true, Found::Unknown),
                'u' => item(id, false, Found::Unknown),
                _ => item(id, false, Found::Invalid),
            }
        };
        // Large letters are required, small ones optional; the first of each word is what was found.
        for (mixture, delivery, detail) in [
            ("", NotExpected, None),
            ("P", Passed, None),
            ("Pp", Passed, None),
            ("p", Passed, None),
            ("M", Missing, Some("a.md missing")),
            ("E", Missing, Some("a.md missing")),
            ("U", Missing, Some("a.md not written by this run")),
            ("PU", Partial, Some("b.md not written by this run")),
            ("MU", Missing, Some("a.md missing, b.md not written by this run")),
            ("ME", Missing, Some("a.md and 1 more missing")),
            ("PM", Partial, Some("b.md missing")),
            ("Pm", Partial, Some("b.md missing")),
            ("m", Partial, Some("a.md missing")),
            ("mM", Missing, Some("b.md and 1 more missing")),
            ("Mp", Missing, Some("a.md missing")),
            ("I", Invalid, Some("a.md invalid")),
            ("PI", Invalid, Some("b.md invalid")),
            ("IM", Invalid, Some("a.md invalid, b.md missing")),
            ("Pi", Invalid, Some("b.md invalid")),
            ("Mi", Missing, Some("b.md invalid, a.md missing")),
            ("PMi", Partial, Some("c.md invalid, b.md missing")),
            ("?", Unknown, Some("a.md not checked")),
            ("P?", Unknown, Some("b.md not checked")),
            ("P?i", Unknown, Some("c.md invalid, b.md not checked")),
            ("M?", Unknown, Some("a.md missing, b.md not checked")),
            ("PM?", Partial, Some("b.md missing, c.md not checked")),
            ("I?", Invalid, Some("a.md invalid, b.md not checked")),
            ("Pu", Unknown, Some("b.md not checked")),
            ("im", Invalid, Some("a.md invalid, b.md missing")),
        ] {
            let items: Vec<Item> = mixture.chars().enumerate().map(of).collect();
            let found = Verification::over(items, Moment::from_micros(0));
            assert_eq!((found.delivery, found.detail.as_deref()), (delivery, detail), "{mixture}");
        }
    }

    #[test]
    fn facts_read_back() {
        let items = vec![item("a", true, Found::Produced), item("b", false, Found::Empty)];
        let found = Verification::over(items, Moment::from_micros(1_000_000));
        let json = serde_json::to_value(found.facts().unwrap()).unwrap();
        assert_eq!(json["delivery"], "partial");
        assert_eq!(json["missing_optional"][0], "b");
        assert_eq!(serde_json::from_value::<Verification>(json).unwrap(), found);
    }
}
