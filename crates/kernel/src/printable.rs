//! Characters that steer a terminal or make one text look like another, and texts without them.
//!
//! Invariant: this is the only list of such characters; what is recorded as a title and what any surface prints of recorded
//! words goes through it. Deliberately absent: escape sequences in the output of a command, which are data until somebody
//! looks at them at a terminal.

use std::borrow::Cow;

/// Does it steer a terminal, change the direction in which text is shown, or hide text from who reads it? Joiners are
/// none of these: scripts and emoji need them.
#[must_use]
pub fn is_steering(c: char) -> bool {
    c.is_control() || turns_text(c) || is_invisible(c)
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm.
const fn turns_text(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Separators of lines, fillers and joiners without width, annotations, and the tags and selectors that can carry a whole text that
/// nobody sees.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            // The last two choose between text and picture, and stand behind many signs.
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Words of others on one line, without anything that steers.
#[must_use]
pub fn one_line(text: &str) -> String {
    let spaced = text.replace(['\n', '\r', '\t', '\u{2028}', '\u{2029}'], " ");
    spaced.chars().filter(|c| !is_steering(*c)).collect::<String>().trim().to_owned()
}

/// A JSON document in which whatever steers is written as `\uXXXX`: the same values, safe to look at. Line ends between
/// the parts of the document stay.
#[must_use]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\r' | '\t');
    if !json.chars().any(|c| is_steering(c) && !is_layout(c)) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_steering(c) && !is_layout(c) {
            let mut units = [0; 2];
            escaped.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_known_and_what_scripts_need_is_left_alone() {
        let steering =
            "\u{1b}\u{7}\u{9b}\u{7f}\u{202e}\u{2066}\u{200f}\u{061c}\u{200b}\u{e0041}\u{feff}\u{2028}";
        assert!(steering.chars().all(is_steering));
        let hidden = "\u{ad}\u{34f}\u{115f}\u{180e}\u{206a}\u{3164}\u{fe01}\u{e0100}\u{e01ef}";
        assert!(hidden.chars().all(is_steering));
        assert!(!"aé漢 \u{200d}\u{200c}👩‍🚀…⚠\u{fe0f}".chars().any(is_steering));
    }

    #[test]
    fn words_come_out_on_one_line() {
        assert_eq!(one_line(" a\nb\tc\u{1b}]52;c;aGk=\u{7}\u{202e}d "), "a b c]52;c;aGk=d");
    }

    #[test]
    fn an_escaped_document_has_the_same_values() {
        let given = "{\n  \"a\": \"x\u{9b}31m\u{202e}\u{e0041}é\"\n}\n";
        let escaped = escaped_json(given);
        assert_eq!(escaped, "{\n  \"a\": \"x\\u009b31m\\u202e\\udb40\\udc41é\"\n}\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&escaped), value(given));
        assert!(matches!(escaped_json("{\"a\":1}\n"), Cow::Borrowed(_)));
    }
}
