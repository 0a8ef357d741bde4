//! Where a command writes: standard output with colour decided, and the width its tables fit into.
//!
//! Invariant: what is piped is never shortened, and has no colour unless that was asked for. Whatever words of others are in
//! a text, nothing but our own colours steers the terminal; at a terminal that holds for JSON, too. Deliberately absent:
//! standard error, which belongs to `error`.

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

use anstream::{AutoStream, ColorChoice};
use callboard_kernel::{escaped_json, is_steering, one_line};
use serde::Serialize;

use crate::args::Colour;
use crate::error::Error;
use crate::show::record_text::Said;
use crate::show::style::{FAINT, TITLE, paint};
use crate::show::table::{Table, packed, wrapped};

/// The width of a terminal that does not tell.
const WIDTH_UNKNOWN: usize = 80;
const HEIGHT_UNKNOWN: usize = 24;

/// How wide and how high the terminal is.
fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or((WIDTH_UNKNOWN, HEIGHT_UNKNOWN), |(width, height)| (width.0.into(), height.0.into()))
}

/// Standard output as the commands see it.
pub(crate) struct Screen {
    /// `None` where nothing needs to fit.
    width: Option<usize>,
    /// The width was asked for, whatever the terminal's is.
    is_fixed: bool,
    is_terminal: bool,
}

impl Screen {
    /// Decides colour for the whole process, and the width.
    pub(crate) fn new(colour: Colour, width: Option<usize>) -> Self {
        match colour {
            Colour::Auto => ColorChoice::Auto.write_global(),
            Colour::Always => ColorChoice::Always.write_global(),
            Colour::Never => ColorChoice::Never.write_global(),
        }
        let is_terminal = std::io::stdout().is_terminal();
        let is_fixed = width.is_some();
        Self { width: width.or_else(|| is_terminal.then(|| size().0)), is_fixed, is_terminal }
    }

    /// The same as wide as the terminal is at this moment.
    pub(crate) fn measured(&self) -> Self {
        let width = if self.is_terminal && !self.is_fixed { Some(size().0) } else { self.width };
        Self { width, ..*self }
    }

    /// How many lines the terminal has.
    pub(crate) fn height(&self) -> usize {
        size().1
    }

    /// Is somebody looking?
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How wide a line may be; nothing where it need not fit.
    pub(crate) const fn width(&self) -> Option<usize> {
        self.width
    }

    /// Writes text that may have colour in it.
    pub(crate) fn print(&self, text: &str) -> Result<(), Error> {
        let mut out = self.stream();
        out.write_all(steady(text).as_bytes()).and_then(|()| out.flush()).map_err(Error::Write)
    }

    /// One JSON document as it is written alone, or on a line among others.
    pub(crate) fn document<T: Serialize>(&self, document: &T, on_a_line: bool) -> Result<String, Error> {
        let text = match on_a_line {
            true => serde_json::to_string(document),
            false => serde_json::to_string_pretty(document),
        };
        Ok(text.map_err(|error| Error::Write(error.into()))? + "\n")
    }

    /// Writes one JSON document.
    pub(crate) fn json<T: Serialize>(&self, document: &T) -> Result<(), Error> {
        if self.is_terminal {
            return self.data_text(&self.document(document, false)?);
        }
        let mut out = BufWriter::new(self.data());
        serde_json::to_writer_pretty(&mut out, document)
            .map_err(std::io::Error::from)
            .map_err(Error::Write)?;
        out.write_all(b"\n").and_then(|()| out.flush()).map_err(Error::Write)
    }

    /// Writes one JSON document on a line.
    pub(crate) fn json_line<T: Serialize>(&self, document: &T) -> Result<(), Error> {
        self.data_line(&serde_json::to_string(document).map_err(|error| Error::Write(error.into()))?)
    }

    /// Text for programs as it is written: every byte as it is, and what steers a terminal escaped where there is one.
    pub(crate) fn for_programs<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_terminal { escaped_json(text) } else { Cow::Borrowed(text) }
    }

    /// Writes text for programs.
    pub(crate) fn data_text(&self, text: &str) -> Result<(), Error> {
        let mut out = self.data();
        out.write_all(self.for_programs(text).as_bytes()).and_then(|()| out.flush()).map_err(Error::Write)
    }

    /// Writes one line for programs.
    pub(crate) fn data_line(&self, line: &str) -> Result<(), Error> {
        let mut out = self.data();
        writeln!(out, "{}", self.for_programs(line)).and_then(|()| out.flush()).map_err(Error::Write)
    }

    /// A table as wide as the screen, with a line that names the columns there was no room for.
    pub(crate) fn table(&self, table: &Table) -> String {
        let (mut text, hidden) = table.render(self.width);
        if !hidden.is_empty() {
            let hidden: Vec<String> = hidden.iter().map(|title| title.to_lowercase()).collect();
            text += &self.hint(&format!("no room for: {}", hidden.join(", ")));
        }
        text
    }

    /// A title line.
    pub(crate) fn title(&self, text: &str) -> String {
        paint(TITLE, &one_line(text)) + "\n"
    }

    /// A faint line for whoever looks; a program that reads the output is not bothered with it.
    pub(crate) fn hint(&self, text: &str) -> String {
        if self.width.is_some() { paint(FAINT, &one_line(text)) + "\n" } else { String::new() }
    }

    /// Prose, broken between words.
    pub(crate) fn prose(&self, text: &str) -> String {
        wrapped(text, self.width.unwrap_or(usize::MAX)).join("\n") + "\n"
    }

    /// A line of a detail, set in, and broken between words where it is too long.
    pub(crate) fn said(&self, said: &Said) -> String {
        let Said { indent, text, style } = said;
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(*indent));
        wrapped(&one_line(text), room)
            .iter()
            .map(|line| format!("{:indent$}{}\n", "", paint(*style, line)))
            .collect()
    }

    /// Names and what belongs to each, the names in a column of their own. A value is broken only
    /// where it has no room on a line of its own.
    pub(crate) fn properties(&self, properties: &[(String, Vec<String>)]) -> String {
        let said = || properties.iter().filter(|(_, values)| !values.is_empty());
        let lead = said().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(lead));
        let mut text = String::new();
        for (name, values) in said() {
            let values = values.join(",\n");
            let pieces = values.lines().flat_map(|value| match value.chars().count() <= room {
                true => vec![value],
                false => value.split(' ').collect(),
            });
            let lines = packed(pieces, room);
            let lines = lines.join(&format!("\n{:lead$}", ""));
            text += &format!("{}{lines}\n", paint(FAINT, &format!("{name:lead$}")));
        }
        text
    }

    /// The stream for programs, locked: every byte as it is. The other one takes control characters out of text.
    pub(crate) fn data(&self) -> StdoutLock<'static> {
        std::io::stdout().lock()
    }

    /// The stream itself, locked. It takes its colours from the choice that `new` made.
    pub(crate) fn stream(&self) -> AutoStream<StdoutLock<'static>> {
        anstream::stdout().lock()
    }
}

/// A text with our own colours and line ends in it, without anything else that steers a terminal.
pub(crate) fn steady(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\u{1b}');
    if !text.chars().any(|c| is_steering(c) && !is_layout(c)) && !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_steering(c) && c != '\n') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = colour(rest).unwrap_or(0);
        kept.push_str(&rest[..length]);
        rest = &rest[length.max(rest.chars().next().map_or(0, char::len_utf8))..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The length of the sequence for a colour that a text begins with.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    parameters[length..].starts_with('m').then_some(length + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_properties_break_between_words() {
        let narrow = Screen { width: Some(12), is_fixed: true, is_terminal: false };
        assert_eq!(narrow.prose("one two three four"), "one two\nthree four\n");
        assert_eq!(narrow.prose("incomprehensibilities"), "incomprehensibilities\n");
        let properties =
            [("ids".to_owned(), vec!["a 1".to_owned(), "b 2".to_owned()]), ("none".to_owned(), vec![])];
        let plain =
            |screen: &Screen| anstream::adapter::strip_str(&screen.properties(&properties)).to_string();
        assert_eq!(plain(&narrow), "ids  a 1,\n     b 2\n");
        let piped = Screen { width: None, is_fixed: false, is_terminal: false };
        assert_eq!(piped.prose("one two three four"), "one two three four\n");
        assert_eq!(plain(&piped), "ids  a 1, b 2\n");
    }

    #[test]
    fn nothing_but_our_colours_steers_the_terminal() {
        let text =
            "\u{1b}[1m\u{1b}[38;5;208ma\u{1b}[0m\nb\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{202e}c\u{9b}\u{1b}";
        assert_eq!(steady(text), "\u{1b}[1m\u{1b}[38;5;208ma\u{1b}[0m\nb]52;c;eA==[2Jc");
        assert!(matches!(steady("plain\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_hint_is_for_people() {
        assert_eq!(Screen { width: None, is_fixed: false, is_terminal: false }.hint("look"), "");
        assert!(Screen { width: Some(80), is_fixed: false, is_terminal: true }.hint("look").contains("look"));
    }
}
