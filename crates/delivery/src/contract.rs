//! The contract: what a run promises to leave in its artifact directory.
//!
//! Invariant: a contract that exists is sound: ids are unique, names stay inside, and every promise says something that
//! can be checked. Deliberately absent: the disk; a contract is the same wherever it is read.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::ContractProblem;
use crate::media::MediaType;
use crate::name::{Name, Pattern};
use crate::schema;

/// Seconds that a promised command may take, unless the promise says otherwise.
pub const COMMAND_LIMIT_S: u64 = 60;
/// Seconds that a promise can ask for.
const COMMAND_LIMIT_MAX_S: u64 = 3_600;
/// Promises in one contract; the ledger keeps every one of them.
const ARTIFACTS_MAX: usize = 256;
const ID_BYTES_MAX: usize = 128;

/// What a run promises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    /// Its promises, in the order in which they were written.
    pub artifacts: Vec<Promise>,
}

/// One promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// Its name in this contract.
    pub id: String,
    /// The file or files it speaks of.
    pub subject: Subject,
    /// Does a clean exit without it count as failed?
    pub required: bool,
    /// Does a file count that was there before the run and that the run did not write?
    pub existing: bool,
    /// What it is for, for people.
    pub description: String,
    /// The least size of each file.
    pub min_bytes: Option<u64>,
    /// What the bytes of each file must be.
    pub media_type: Option<MediaType>,
    /// The shape of each file, which must be JSON.
    pub json_schema: Option<PromisedSchema>,
    /// A program that must exit with 0 in the artifact directory; empty if there is none.
    pub command: Vec<String>,
    /// Seconds that the program may take.
    pub timeout_s: u64,
    /// Must the repository have changed since the start?
    pub git_diff: bool,
}

/// The files a promise speaks of.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// One file.
    File(Name),
    /// Every file that matches; at least one.
    Files(Pattern),
    /// None: it is about a command or the repository.
    None,
}

/// A JSON schema, or where it is until the run is started.
#[derive(Clone, Debug, PartialEq)]
pub enum PromisedSchema {
    /// The schema itself.
    Inline(Value),
    /// A file in the artifact directory, read once at the start.
    File(Name),
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::File(name) => name.fmt(f),
            Subject::Files(pattern) => pattern.fmt(f),
            Subject::None => f.write_str(&self.id),
        }
    }
}

impl Contract {
    /// The contract of `--expect PATH[:optional][:existing]`, one for each time it was given. A path that ends with
    /// `:optional` itself is written with `:required` behind it, and one that ends with `:existing` with another one.
    ///
    /// # Errors
    ///
    /// For a path or a glob that could leave the artifact directory, or that is none.
    pub fn expecting(paths: &[String]) -> Result<Self, ContractProblem> {
        let mut contract = Self::default();
        let mut taken = BTreeSet::new();
        for text in paths {
            let (path, required, existing) = expected(text);
            let subject = if Pattern::is_meant(path) {
                Subject::Files(Pattern::parse(path)?)
            } else {
                Subject::File(Name::parse(path)?)
            };
            if let Some(earlier) = contract.artifacts.iter_mut().find(|earlier| earlier.subject == subject) {
                (earlier.required, earlier.existing) = (required, existing);
                continue;
            }
            let id = unique(&slug(path), &taken);
            taken.insert(id.clone());
            contract.artifacts.push(Promise { subject, required, existing, ..Promise::bare(id) });
        }
        contract.check_count()?;
        Ok(contract)
    }

    /// This contract and another one; a promise of the other one replaces the one with the same id whole.
    ///
    /// # Errors
    ///
    /// If both together have too many promises.
    pub fn with(mut self, other: Self) -> Result<Self, ContractProblem> {
        for promise in other.artifacts {
            match self.artifacts.iter_mut().find(|known| known.id == promise.id) {
                Some(known) => *known = promise,
                None => self.artifacts.push(promise),
            }
        }
        self.check_count()?;
        Ok(self)
    }

    /// Is nothing promised?
    pub fn is_empty(&self) -> bool {
        self.artifacts.is_empty()
    }

    pub(super) fn check_count(&self) -> Result<(), ContractProblem> {
        let count = self.artifacts.len();
        if count > ARTIFACTS_MAX {
            Err(ContractProblem::TooMany { count, max: ARTIFACTS_MAX })
        } else {
            Ok(())
        }
    }
}

impl Promise {
    fn bare(id: String) -> Self {
        Self {
            id,
            subject: Subject::None,
            required: true,
            existing: false,
            description: String::new(),
            min_bytes: None,
            media_type: None,
            json_schema: None,
            command: Vec::new(),
            timeout_s: COMMAND_LIMIT_S,
            git_diff: false,
        }
    }
}

/// A promise as it is written down, in a file and in the ledger. The names of the fields are the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    existing: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<Argv>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git_diff: Option<bool>,
}

/// A program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
struct Argv(Vec<String>);

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ListOfWords)
    }
}

/// People write a line for a shell here; the message must say what else to write.
struct ListOfWords;

impl<'de> Visitor<'de> for ListOfWords {
    type Value = Argv;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of a program and its arguments, such as [cargo, test]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Argv, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = from.next_element()? {
            words.push(word);
        }
        Ok(Argv(words))
    }
}

impl Written {
    /// The promise that is written here. Without an id it gets one from its path that is not among those taken.
    pub(super) fn promise(self, taken: &BTreeSet<String>) -> Result<Promise, ContractProblem> {
        let named = self.path.as_deref().or(self.glob.as_deref());
        let id = match (&self.id, named) {
            (Some(id), _) => id.clone(),
            (None, Some(name)) => unique(&slug(name), taken),
            (None, None) => return Err(ContractProblem::BadId(String::new())),
        };
        if !is_id(&id) {
            return Err(ContractProblem::BadId(id));
        }
        if taken.contains(&id) {
            return Err(ContractProblem::DuplicateId(id));
        }
        if let Some(because) = self.misfit() {
            return Err(ContractProblem::Combination { id, because });
        }
        let subject = match (&self.path, &self.glob) {
            (Some(path), _) => Subject::File(Name::parse(path)?),
            (None, Some(glob)) => Subject::Files(Pattern::parse(glob)?),
            (None, None) => Subject::None,
        };
        let git_diff = self.git_diff.unwrap_or(false);
        let command = self.command.unwrap_or_default().0;
        if subject == Subject::None && command.is_empty() && !git_diff {
            return Err(ContractProblem::Nothing(id));
        }
        let media_type = match self.media_type {
            Some(text) => Some(MediaType::parse(&text).ok_or(ContractProblem::MediaType(text))?),
            None => None,
        };
        Ok(Promise {
            subject,
            required: self.required.unwrap_or(true),
            existing: self.existing.unwrap_or(false),
            description: self.description.unwrap_or_default(),
            min_bytes: self.min_bytes,
            media_type,
            json_schema: self.json_schema.map(|value| promised(&id, value)).transpose()?,
            command,
            timeout_s: self.timeout_s.unwrap_or(COMMAND_LIMIT_S),
            git_diff,
            id,
        })
    }

    /// Two keys that do not go together, or one that needs another.
    fn misfit(&self) -> Option<&'static str> {
        let files = self.path.is_some() || self.glob.is_some();
        let content = self.min_bytes.is_some() || self.media_type.is_some() || self.json_schema.is_some();
        let command_text = self.command.iter().flat_map(|argv| &argv.0).any(|word| word.contains('\0'));
        if self.path.is_some() && self.glob.is_some() {
            Some("`path` and `glob` are two ways to name files; keep one")
        } else if self.git_diff == Some(true) && files {
            Some(
                "`git_diff` is about the whole repository; give it a promise of its own, without `path` or `glob`",
            )
        } else if self.existing == Some(true) && !files {
            Some("`existing` is about files; add `path` or `glob`")
        } else if content && !files {
            Some("`min_bytes`, `media_type` and `json_schema` are about files; add `path` or `glob`")
        } else if self.command.as_ref().is_some_and(|argv| argv.0.first().is_none_or(String::is_empty)) {
            Some("`command` is a list of a program and its arguments, such as [cargo, test]")
        } else if command_text {
            Some("`command` has a NUL character")
        } else if self.timeout_s.is_some() && self.command.is_none() {
            Some("`timeout_s` is the limit of `command`, and there is none")
        } else if self.timeout_s.is_some_and(|limit| !(1..=COMMAND_LIMIT_MAX_S).contains(&limit)) {
            Some("`timeout_s` is between 1 and 3600")
        } else if self.min_bytes.is_some_and(|bytes| i64::try_from(bytes).is_err()) {
            Some("`min_bytes` is larger than any file")
        } else {
            None
        }
    }
}

impl From<&Promise> for Written {
    fn from(promise: &Promise) -> Self {
        let has_command = !promise.command.is_empty();
        Self {
            id: Some(promise.id.clone()),
            path: match &promise.subject {
                Subject::File(name) => Some(name.as_str().to_owned()),
                Subject::Files(_) | Subject::None => None,
            },
            glob: match &promise.subject {
                Subject::Files(pattern) => Some(pattern.as_str().to_owned()),
                Subject::File(_) | Subject::None => None,
            },
            required: Some(promise.required),
            existing: promise.existing.then_some(true),
            description: Some(promise.description.clone()).filter(|text| !text.is_empty()),
            min_bytes: promise.min_bytes,
            media_type: promise.media_type.map(|media| media.name().to_owned()),
            json_schema: promise.json_schema.as_ref().map(|schema| match schema {
                PromisedSchema::Inline(value) => value.clone(),
                PromisedSchema::File(name) => Value::from(name.as_str()),
            }),
            command: has_command.then(|| Argv(promise.command.clone())),
            timeout_s: has_command.then_some(promise.timeout_s),
            git_diff: promise.git_diff.then_some(true),
        }
    }
}

/// A path, whether it is required and whether it may be there before; each word counts once, in either order.
fn expected(text: &str) -> (&str, bool, bool) {
    let required = |text| match strip(text, ":optional") {
        (path, true) => (path, false),
        (path, false) => (strip(path, ":required").0, true),
    };
    match strip(text, ":existing") {
        (path, true) => {
            let (path, required) = required(path);
            (path, required, true)
        }
        (_, false) => {
            let (path, is_required) = required(text);
            let (path, existing) = if path == text { (path, false) } else { strip(path, ":existing") };
            (path, is_required, existing)
        }
    }
}

fn strip<'a>(text: &'a str, word: &str) -> (&'a str, bool) {
    text.strip_suffix(word).map_or((text, false), |rest| (rest, true))
}

fn promised(id: &str, value: Value) -> Result<PromisedSchema, ContractProblem> {
    if let Value::String(path) = &value {
        return Ok(PromisedSchema::File(Name::parse(path)?));
    }
    match schema::flaw(&value) {
        Some(because) => Err(ContractProblem::Schema { id: id.to_owned(), because }),
        None => Ok(PromisedSchema::Inline(value)),
    }
}

fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// An id that reads like the path: `out/review.md` is `out-review-md`.
fn slug(path: &str) -> String {
    const SLUG_MAX: usize = 100;
    let mut slug = String::new();
    for c in path.chars().take(SLUG_MAX) {
        if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "artifact".to_owned() } else { slug.to_owned() }
}

fn unique(slug: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2_u64..).map(|number| format!("{slug}-{number}"));
    let mut ids = std::iter::once(slug.to_owned()).chain(numbered);
    ids.find(|id| !taken.contains(id)).unwrap_or_else(|| slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expecting(paths: &[&str]) -> Vec<(String, String, bool)> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let contract = Contract::expecting(&paths).unwrap_or_else(|problem| panic!("{problem}"));
        contract.artifacts.iter().map(|one| (one.id.clone(), one.to_string(), one.required)).collect()
    }

    #[test]
    fn expected_paths_are_required_unless_they_say_otherwise() {
        let own = |id: &str, path: &str, required| (id.to_owned(), path.to_owned(), required);
        assert_eq!(
            expecting(&["review.md", "notes.md:optional", "a:b", "a:optional:required", "out/*.json"]),
            [
                own("review-md", "review.md", true),
                own("notes-md", "notes.md", false),
                own("a-b", "a:b", true),
                own("a-optional", "a:optional", true),
                own("out-json", "out/*.json", true),
            ]
        );
    }

    #[test]
    fn a_file_may_be_there_before_only_where_that_is_said() {
        for (text, path, required, existing) in [
            ("a", "a", true, false),
            ("a:existing", "a", true, true),
            ("a:existing:optional", "a", false, true),
            ("a:optional:existing", "a", false, true),
            ("a:existing:existing", "a:existing", true, true),
            ("a:existing:required", "a", true, true),
            ("a:optional:required:existing", "a:optional", true, true),
        ] {
            let contract = Contract::expecting(&[text.to_owned()]).unwrap();
            let one = &contract.artifacts[0];
            let found = (one.to_string(), one.required, one.existing);
            assert_eq!(found, (path.to_owned(), required, existing), "{text}");
        }
    }

    #[test]
    fn ids_from_paths_are_unique_and_the_same_path_is_one_promise() {
        let ids: Vec<String> =
            expecting(&["a.b", "a/b", "🎭", "a.b:optional"]).into_iter().map(|it| it.0).collect();
        assert_eq!(ids, ["a-b", "a-b-2", "artifact"]);
        assert!(!expecting(&["a.b", "./a.b:optional"])[0].2, "the last word counts");
    }

    #[test]
    fn what_is_expected_replaces_the_same_id_whole() {
        let of = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            Contract::expecting(&paths).unwrap()
        };
        let mut file = of(&["review.md", "kept.md"]);
        file.artifacts[0].min_bytes = Some(100);
        let both = file.with(of(&["review.md:optional", "more.md"])).unwrap();
        let ids: Vec<&str> = both.artifacts.iter().map(|promise| promise.id.as_str()).collect();
        assert_eq!(ids, ["review-md", "kept-md", "more-md"]);
        assert_eq!((both.artifacts[0].required, both.artifacts[0].min_bytes), (false, None));
    }

    #[test]
    fn a_contract_has_a_bound() {
        let paths: Vec<String> = (0..=ARTIFACTS_MAX).map(|number| format!("{number}.md")).collect();
        assert_eq!(Contract::expecting(&paths), Err(ContractProblem::TooMany { count: 257, max: 256 }));
    }
}
