//! What each colour means in a terminal; the only module that names one.
//!
//! Invariant: a colour is a token's, and the terminal's own palette draws it, so that it reads on any ground. Colour
//! is never alone: the word or the glyph beside it says the same. Deliberately absent: whether colour is wanted; the
//! stream that is written to knows.

use anstyle::{Ansi256Color, AnsiColor, Style};
use callboard_lifecycle::{Token, Tone};

/// The titles of tables and sections.
pub(crate) const TITLE: Style = Style::new().bold();
/// What explains and does not matter by itself.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// The word that begins an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The words that begin the lines below it.
pub(crate) const LEAD: Style = Style::new().bold();

/// The style of a pill of this token.
pub(crate) const fn of_token(token: Token) -> Style {
    match token {
        Token::Success => AnsiColor::Green.on_default(),
        Token::Running => AnsiColor::BrightBlue.on_default(),
        Token::Error => AnsiColor::Red.on_default(),
        Token::Warning => AnsiColor::Yellow.on_default(),
        Token::Stale => Ansi256Color(208).on_default(),
        Token::Neutral => Style::new(),
        Token::Review => AnsiColor::Magenta.on_default(),
    }
}

/// The style of this tone.
pub(crate) const fn of_tone(tone: Tone) -> Style {
    of_token(match tone {
        Tone::Danger => Token::Error,
        Tone::Warning => Token::Warning,
        Tone::Info => Token::Running,
        Tone::Success => Token::Success,
        Tone::Neutral => Token::Neutral,
    })
}

/// The text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Words;

    use super::*;

    #[test]
    fn no_two_tokens_look_the_same() {
        for (i, a) in Token::ALL.iter().enumerate() {
            for b in &Token::ALL[..i] {
                assert_ne!(of_token(*a), of_token(*b), "{a} and {b}");
            }
        }
    }

    #[test]
    fn a_pill_and_its_tone_are_the_same_colour_where_the_tone_has_one_token() {
        for token in [Token::Success, Token::Running, Token::Error, Token::Warning, Token::Neutral] {
            assert_eq!(of_token(token), of_tone(token.tone()), "{token}");
        }
    }

    #[test]
    fn paint_ends_what_it_begins() {
        assert_eq!(paint(ERROR, "x"), "\u{1b}[1m\u{1b}[31mx\u{1b}[0m");
        assert_eq!(paint(ERROR, ""), "");
        assert_eq!(paint(Style::new(), "x"), "x");
    }
}
