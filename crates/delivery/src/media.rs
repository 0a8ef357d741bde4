//! Media types that can be told from the bytes, and how each is told.
//!
//! Invariant: a type is in the list only if its bytes say so by themselves; every other one is refused when the contract
//! is read, so no promise is ever waved through. Deliberately absent: guessing from the name of a file.

use std::fmt;

/// A media type that can be recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// A whole JSON document.
    Json,
    /// One JSON document a line.
    JsonLines,
    /// Text in UTF-8.
    Text(TextKind),
    /// An HTML document.
    Html,
    /// Bytes with a signature.
    Binary(&'static Signature),
}

/// Text whose kinds cannot be told apart, all of them UTF-8 without NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// `text/plain`.
    Plain,
    /// `text/markdown`.
    Markdown,
    /// `text/csv`.
    Csv,
}

/// What a file of a binary type begins with.
#[derive(Debug, PartialEq, Eq)]
pub struct Signature {
    name: &'static str,
    /// Each is enough by itself: bytes at an offset.
    begins: &'static [(usize, &'static [u8])],
}

const SIGNATURES: &[Signature] = &[
    Signature { name: "application/pdf", begins: &[(0, b"%PDF-")] },
    // The second is an archive with nothing in it.
    Signature { name: "application/zip", begins: &[(0, b"PK\x03\x04"), (0, b"PK\x05\x06")] },
    Signature { name: "application/gzip", begins: &[(0, b"\x1f\x8b\x08")] },
    Signature { name: "application/zstd", begins: &[(0, b"\x28\xb5\x2f\xfd")] },
    Signature { name: "application/x-tar", begins: &[(257, b"ustar")] },
    Signature { name: "image/png", begins: &[(0, b"\x89PNG\r\n\x1a\n")] },
    Signature { name: "image/jpeg", begins: &[(0, b"\xff\xd8\xff")] },
    Signature { name: "image/gif", begins: &[(0, b"GIF87a"), (0, b"GIF89a")] },
    Signature { name: "image/webp", begins: &[(8, b"WEBPVP8")] },
];

const NAMED: &[(&str, MediaType)] = &[
    ("application/json", MediaType::Json),
    ("application/jsonl", MediaType::JsonLines),
    ("application/x-ndjson", MediaType::JsonLines),
    ("text/plain", MediaType::Text(TextKind::Plain)),
    ("text/markdown", MediaType::Text(TextKind::Markdown)),
    ("text/csv", MediaType::Text(TextKind::Csv)),
    ("text/html", MediaType::Html),
];

impl MediaType {
    /// The type of this name, if it can be recognised. Case and parameters (`; charset=utf-8`) do not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        let named = NAMED.iter().find(|(name, _)| *name == essence).map(|(_, media)| *media);
        named.or_else(|| SIGNATURES.iter().find(|signature| signature.name == essence).map(Self::Binary))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary(signature) => signature.name,
            Self::Json | Self::JsonLines | Self::Text(_) | Self::Html => {
                NAMED.iter().find(|(_, media)| *media == self).map_or("", |(name, _)| name)
            }
        }
    }

    /// Every name that is understood.
    pub fn names() -> String {
        let names = NAMED.iter().map(|(name, _)| *name).chain(SIGNATURES.iter().map(|of| of.name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Does it need the whole file at once?
    pub(super) const fn needs_document(self) -> bool {
        matches!(self, Self::Json | Self::JsonLines)
    }

    /// What is wrong with the bytes, or none. `text` is what was found while all of them were read.
    pub(super) fn mismatch(self, head: &[u8], text: &TextScan, document: Option<&[u8]>) -> Option<String> {
        match self {
            Self::Binary(signature) => {
                let begins =
                    |(at, bytes): &(usize, &[u8])| head.get(*at..).is_some_and(|b| b.starts_with(bytes));
                let fits = signature.begins.iter().any(begins);
                (!fits).then(|| format!("does not begin as {} does", signature.name))
            }
            Self::Text(_) => text.problem(),
            Self::Html => text.problem().or_else(|| (!begins_as_html(head)).then(|| NO_HTML.to_owned())),
            Self::Json => {
                document.and_then(|bytes| json_problem(bytes).map(|what| format!("is no JSON: {what}")))
            }
            Self::JsonLines => document.and_then(json_lines_problem),
        }
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const NO_HTML: &str = "does not begin with <!doctype html> or <html>";
const BOM: &[u8] = b"\xef\xbb\xbf";

fn begins_as_html(head: &[u8]) -> bool {
    let mut rest = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"<!--") {
        let Some(end) = comment.windows(3).position(|bytes| bytes == b"-->") else { return false };
        rest = comment[end + 3..].trim_ascii_start();
    }
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|tag| rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)))
}

fn json_problem(bytes: &[u8]) -> Option<String> {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).err().map(|error| error.to_string())
}

fn json_lines_problem(bytes: &[u8]) -> Option<String> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let mut full = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    full.find_map(|(at, line)| {
        json_problem(line).map(|what| format!("has no JSON on line {}: {what}", at + 1))
    })
}

/// Watches bytes go by and finds what is not text.
#[derive(Debug, Default)]
pub(super) struct TextScan {
    /// The unfinished character at the end of the last piece.
    rest: Vec<u8>,
    seen: u64,
    problem: Option<(u64, &'static str)>,
}

impl TextScan {
    /// The next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.problem.is_some() {
            return;
        }
        let mut joined = std::mem::take(&mut self.rest);
        let start = self.seen - joined.len() as u64;
        joined.extend_from_slice(bytes);
        self.seen += bytes.len() as u64;
        if let Some(at) = joined.iter().position(|byte| *byte == 0) {
            self.problem = Some((start + at as u64, "a NUL byte"));
            return;
        }
        if let Err(error) = std::str::from_utf8(&joined) {
            let at = error.valid_up_to();
            match error.error_len() {
                Some(_) => self.problem = Some((start + at as u64, "a byte that is not UTF-8")),
                None => self.rest = joined.split_off(at),
            }
        }
    }

    /// There are no more bytes.
    pub(super) fn end(&mut self) {
        if self.problem.is_none() && !self.rest.is_empty() {
            self.problem = Some((self.seen - self.rest.len() as u64, "half a character of UTF-8"));
        }
    }

    fn problem(&self) -> Option<String> {
        self.problem.map(|(at, what)| format!("is not text: {what} at offset {at}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(media: &str, bytes: &[u8]) -> bool {
        let media = MediaType::parse(media).unwrap();
        let mut text = TextScan::default();
        // One byte at a time, so that every character is cut somewhere.
        bytes.iter().for_each(|byte| text.feed(&[*byte]));
        text.end();
        media.mismatch(bytes, &text, Some(bytes)).is_none()
    }

    #[test]
    fn each_type_takes_its_own_bytes_and_not_those_of_another() {
        let mut tar = vec![b'a'; 257];
        tar.extend_from_slice(b"ustar\0");
        let samples: &[(&str, &[u8])] = &[
            ("application/json", br#"{"a":[1]}"#),
            ("application/pdf", b"%PDF-1.7\n"),
            ("application/zip", b"PK\x03\x04rest"),
            ("application/gzip", b"\x1f\x8b\x08rest"),
            ("application/zstd", b"\x28\xb5\x2f\xfd"),
            ("application/x-tar", &tar),
            ("image/png", b"\x89PNG\r\n\x1a\nrest"),
            ("image/jpeg", b"\xff\xd8\xff\xe0"),
            ("image/gif", b"GIF89a"),
            ("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
            ("text/html", b"<!-- made -->\n<!DOCTYPE html><p>"),
        ];
        for (media, _) in samples {
            for (of, bytes) in samples {
                assert_eq!(fits(media, bytes), media == of, "{of} as {media}");
            }
        }
    }

    #[test]
    fn text_is_utf8_without_nul_however_it_is_cut() {
        assert!(fits("text/plain", "größer 🎭".as_bytes()));
        assert!(!fits("text/markdown", b"a\0b"));
        assert!(!fits("text/csv", b"a\xffb"));
        assert!(!fits("text/plain", "🎭".as_bytes().get(..3).unwrap()));
        assert!(!fits("text/html", b"<p>a part of a page"));
    }

    #[test]
    fn json_lines_name_the_line() {
        let problem = json_lines_problem(b"{}\n\n[1\n").unwrap();
        assert!(problem.starts_with("has no JSON on line 3"), "{problem}");
        assert!(fits("application/jsonl", b"{}\n[]\n"));
        assert!(!fits("application/json", b"{}\n[]\n"));
    }

    #[test]
    fn every_name_reads_back_and_others_are_not_known() {
        for name in MediaType::names().split(", ") {
            assert!(MediaType::parse(name).is_some(), "{name}");
        }
        assert_eq!(MediaType::parse("Text/HTML; charset=utf-8").map(MediaType::name), Some("text/html"));
        assert_eq!(MediaType::parse("application/x-ndjson").map(MediaType::name), Some("application/jsonl"));
        assert_eq!(MediaType::parse("application/msword"), None);
    }
}
