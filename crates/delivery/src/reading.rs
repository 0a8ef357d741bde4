//! Reads a contract from a YAML or JSON file.
//!
//! Invariant: every error names its line, as far as it has one, and an unknown key is an error, because a misspelt
//! check would never be made. Deliberately absent: the file system; the caller hands the text in.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::contract::{Contract, Written};
use crate::error::{ContractProblem, Error};

/// Bytes of a contract file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

impl Contract {
    /// Reads a contract; `file` is its name, for messages. JSON is read as the YAML that it is.
    ///
    /// # Errors
    ///
    /// For a text that is not a contract, or that promises something that cannot be checked.
    pub fn parse(text: &str, file: Option<&str>) -> Result<Self, Error> {
        let at = |line: Option<u64>, problem| Error { file: file.map(str::to_owned), line, problem };
        let bytes = text.len() as u64;
        if bytes > FILE_BYTES_MAX {
            return Err(at(None, ContractProblem::TooLarge { bytes, max: FILE_BYTES_MAX }));
        }
        // The `n` of an older YAML is a name here, not a no.
        let options = serde_saphyr::options! { strict_booleans: true };
        let document: Document = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let line = error.location().map(|location| location.line());
            at(line, ContractProblem::Syntax(plain(&error)))
        })?;
        let mut contract = Self::default();
        let mut taken = BTreeSet::new();
        for written in document.artifacts.0 {
            let line = written.referenced.line();
            let promise = written.value.promise(&taken).map_err(|problem| at(Some(line), problem))?;
            taken.insert(promise.id.clone());
            contract.artifacts.push(promise);
        }
        contract.check_count().map_err(|problem| at(None, problem))?;
        Ok(contract)
    }
}

/// The message without the place, which stands in front of it already, and without a picture of the source.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let first = text.lines().next().unwrap_or("it cannot be read");
    let without_place = first.split(" at line ").next().unwrap_or(first);
    // Advice for programmers who use the parser.
    without_place.split(", set DuplicateKeyPolicy").next().unwrap_or(without_place).to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    artifacts: Artifacts,
}

/// A list of promises, or the same list under `expected`.
struct Artifacts(Vec<Spanned<Written>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    expected: Vec<Spanned<Written>>,
}

impl<'de> Deserialize<'de> for Artifacts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EitherForm)
    }
}

struct EitherForm;

impl<'de> Visitor<'de> for EitherForm {
    type Value = Artifacts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of artifacts, or `expected:` with such a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Artifacts, A::Error> {
        let mut list = Vec::new();
        while let Some(written) = from.next_element()? {
            list.push(written);
        }
        Ok(Artifacts(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Artifacts, A::Error> {
        let expected = Expected::deserialize(serde::de::value::MapAccessDeserializer::new(from))?;
        Ok(Artifacts(expected.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        match Contract::parse(text, Some("c.yaml")) {
            Ok(contract) => panic!("{text:?} was read as {contract:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn both_forms_and_both_languages_are_read() {
        let list = "artifacts:\n  - id: review\n    path: review.md\n    min_bytes: 10\n  - path: notes.md\n    required: false\n";
        let contract = Contract::parse(list, None).unwrap();
        let ids: Vec<&str> = contract.artifacts.iter().map(|promise| promise.id.as_str()).collect();
        assert_eq!(ids, ["review", "notes-md"]);
        assert_eq!((contract.artifacts[0].required, contract.artifacts[0].min_bytes), (true, Some(10)));
        assert!(!contract.artifacts[1].required);
        let expected = "artifacts:\n  expected:\n  - {id: review, path: review.md, min_bytes: 10}\n  - {path: notes.md, required: false}\n";
        assert_eq!(Contract::parse(expected, None).as_ref(), Ok(&contract));
        let json = "{\"artifacts\": [\n\t{\"id\": \"review\", \"path\": \"review.md\", \"min_bytes\": 10},\n\t{\"path\": \"notes.md\", \"required\": false}\n]}";
        assert_eq!(Contract::parse(json, None).as_ref(), Ok(&contract));
    }

    #[test]
    fn every_error_says_where_and_what() {
        for (body, said) in [
            ("- path: a\n  requird: true", "c.yaml:3: "),
            ("- path: a\n  requird: true", "requird"),
            ("- path: a\n  requird: true", "media_type"),
            ("- {id: a, path: a}\n- {id: a, path: b}", "c.yaml:3: the id \"a\" is used twice"),
            ("- {id: 'a b', path: a}", "c.yaml:2: the id \"a b\" may have only"),
            ("- path: /etc/passwd", "c.yaml:2: the path \"/etc/passwd\" is absolute"),
            ("- path: ../a", "has `..`"),
            ("- path: \"a\\0b\"", "has a NUL"),
            ("- path: ''", "is empty"),
            ("- glob: 'out/[a'", "is no glob"),
            ("- {path: a, glob: b}", "keep one"),
            ("- {id: a}", "promises nothing"),
            ("- {description: a}", "may have only letters"),
            ("- {id: a, min_bytes: 3, command: [x]}", "add `path` or `glob`"),
            ("- {path: a, git_diff: true}", "promise of its own"),
            ("- {id: a, command: []}", "is a list of a program"),
            ("- {id: a, command: cargo test}", "expected a list of a program and its arguments"),
            ("- {path: a, timeout_s: 3}", "there is none"),
            ("- {id: a, command: [x], timeout_s: 0}", "between 1 and 3600"),
            ("- {path: a, media_type: application/msword}", "known are application/json"),
            ("- {path: a, json_schema: {pattern: x}}", "#/pattern is a keyword that is not checked"),
            ("- {path: a, json_schema: ../s.json}", "has `..`"),
            ("- {path: a, min_bytes: -1}", "c.yaml:2: "),
            ("- {path: a, path: b}", "c.yaml:2: duplicate mapping key: path"),
            ("- {path: a, required: yes}", "c.yaml:2: "),
            ("- [a]", "c.yaml:2: "),
            ("  a", "a list of artifacts"),
            ("  wanted: []", "expected"),
        ] {
            let message = message(&format!("artifacts:\n{body}\n"));
            assert!(message.contains(said), "{body:?}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
        assert!(message("artefacts: []").contains("artifacts"));
        assert!(message("").contains("c.yaml"));
        assert!(message(&" ".repeat(1024 * 1024 + 1)).contains("more than 1048576"));
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let bomb = |levels: usize| {
            let mut parts = vec!["&a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
            for level in 1..levels {
                let again = vec![format!("*a{}", level - 1); 10].join(", ");
                parts.push(format!("&a{level} [{again}]"));
            }
            format!("artifacts:\n- {{path: a, json_schema: {{enum: [{}]}}}}\n", parts.join(", "))
        };
        assert!(Contract::parse(&bomb(2), None).is_ok(), "a few aliases are no bomb");
        assert!(Contract::parse(&bomb(12), None).is_err());
    }
}
