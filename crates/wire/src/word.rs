//! A word as the operating system has it: text in all but the oddest cases.
//!
//! Invariant: every sequence of bytes survives. Text is a string in JSON; what is no UTF-8 is a list of its bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An argument, a path, or the value of a variable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word(OsString);

impl Word {
    /// The word itself.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// The word as the name of a file.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Is there a NUL in it, which no program can be given?
    pub fn has_nul(&self) -> bool {
        self.0.as_bytes().contains(&0)
    }
}

impl From<OsString> for Word {
    fn from(word: OsString) -> Self {
        Self(word)
    }
}

impl From<&str> for Word {
    fn from(word: &str) -> Self {
        Self(word.into())
    }
}

impl From<PathBuf> for Word {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<Word> for OsString {
    fn from(word: Word) -> Self {
        word.0
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => self.0.as_bytes().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a string")]
        enum Written {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self(text.into()),
            Written::Bytes(bytes) => Self(OsString::from_vec(bytes)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        for bytes in [&b"plain"[..], b"", "übung ☂".as_bytes(), b"\xff\xfe/odd", b"[1,2]"] {
            let word = Word(OsString::from_vec(bytes.to_vec()));
            let text = serde_json::to_string(&word).unwrap();
            assert_eq!(serde_json::from_str::<Word>(&text).unwrap(), word, "{text}");
        }
        assert!(serde_json::from_str::<Word>("{}").is_err());
    }
}
