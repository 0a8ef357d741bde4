//! Free text that the server cannot hold: it refuses a NUL, which a caller may well send.
//!
//! Invariant: every text comes back as it was, and a text without one of two rare characters is stored as it is. A
//! record's hash is of the text, not of how it is stored. Deliberately absent: JSON, which has no NUL in it.

use std::borrow::Cow;

/// Stands before what replaces a NUL or itself.
const MARK: char = '\u{1a}';

/// The text as it is stored.
pub(super) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(MARK, "\u{1a}1").replace('\0', "\u{1a}0"))
}

/// The text that is stored so.
pub(super) fn given(stored: &str) -> Cow<'_, str> {
    if !stored.contains(MARK) {
        return Cow::Borrowed(stored);
    }
    Cow::Owned(stored.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_no_two_are_stored_alike() {
        let parts = ["", "\0", "\u{1a}", "0", "1", "a"];
        let mut seen = std::collections::HashSet::new();
        let mut texts = std::collections::HashSet::new();
        for number in 0..parts.len().pow(4) {
            let text: String =
                (0..4).map(|place| parts[number / parts.len().pow(place) % parts.len()]).collect();
            let kept = stored(&text).into_owned();
            assert!(!kept.contains('\0'), "{text:?}");
            assert_eq!(given(&kept), text);
            assert_eq!(seen.insert(kept), texts.insert(text));
        }
        assert!(matches!(stored("plain"), Cow::Borrowed("plain")));
    }
}
