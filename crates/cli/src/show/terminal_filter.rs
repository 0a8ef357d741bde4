//! Takes out of a command's output what could act on the terminal of whoever looks at it.
//!
//! Invariant: how the bytes are cut into pieces does not matter, and what is not known to be harmless does not pass. No
//! sequence that makes a terminal answer, copy, paste, rename, report keys or read a file passes at any level. A sequence
//! hides at most the line that it stands on. Deliberately absent: output that goes to a file or a pipe, which is data.

use callboard_kernel::is_steering;

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Text, tabs and line ends. A carriage return begins a new line, so that nothing is written over.
    Text,
    /// What draws a screen, too: colours, cursor movement, erasing, scroll regions, the alternate screen, line drawing.
    Screen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Text,
    /// Behind a carriage return that is not written yet.
    Return,
    Escape,
    /// Behind an escape and `(` or `)`.
    Charset(char),
    /// Behind an escape and another intermediate character.
    Intermediate,
    Control,
    /// In a string, such as a title or the clipboard, which ends with BEL, `ESC \` or the line.
    Str,
    StrEscape,
}

/// The filter of one stream.
#[derive(Debug)]
pub(crate) struct TerminalFilter {
    keep: Keep,
    at: At,
    /// The beginning of a character whose end is not here yet.
    partial: Vec<u8>,
    /// The parameters of the control sequence that is being read.
    parameters: String,
    left_out: u64,
    undo: Vec<&'static str>,
}

const ESC: char = '\u{1b}';
/// Longer control sequences are not passed.
const PARAMETERS_MAX: usize = 64;
/// Final characters of control sequences that draw: cursor, erase, insert, delete, scroll, style, region, save, restore.
const DRAWS: &str = "@ABCDEFGHIJKLMPSXZ`abdefmrsu";
/// What would outlive the session, and nothing puts back: lines that have scrolled away, and tab stops.
fn outlives(parameters: &str, last: char) -> bool {
    let number = |text: &str| text.split(':').next().unwrap_or_default().trim_start_matches('0').to_owned();
    match last {
        'J' => parameters.split(';').any(|part| !matches!(number(part).as_str(), "" | "1" | "2")),
        'g' => true,
        _ => false,
    }
}

/// Private modes that only concern what is drawn: origin, wrapping, cursor, alternate screens, synchronized output.
const MODES: [&str; 8] = ["6", "7", "25", "47", "1047", "1048", "1049", "2026"];
const ALTERNATE: [&str; 3] = ["47", "1047", "1049"];

impl TerminalFilter {
    /// A filter that lets through what `keep` says.
    pub(crate) const fn new(keep: Keep) -> Self {
        Self {
            keep,
            at: At::Text,
            partial: Vec::new(),
            parameters: String::new(),
            left_out: 0,
            undo: Vec::new(),
        }
    }

    /// What passes of these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        let mut out = String::with_capacity(whole.len());
        let mut chunks = whole.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            chunk.valid().chars().for_each(|c| self.step(c, &mut out));
            let invalid = chunk.invalid();
            let is_cut = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_cut {
                self.partial = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.step(char::REPLACEMENT_CHARACTER, &mut out);
            }
        }
        out.into_bytes()
    }

    /// What is left when nothing more comes, and what puts the terminal back as it was.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut out = String::new();
        if !std::mem::take(&mut self.partial).is_empty() {
            self.step(char::REPLACEMENT_CHARACTER, &mut out);
        }
        if self.at == At::Return {
            out.push('\n');
        }
        self.at = At::Text;
        out.extend(self.undo.drain(..));
        out.into_bytes()
    }

    /// How many sequences and characters did not pass.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }

    fn step(&mut self, c: char, out: &mut String) {
        self.at = match (self.at, c) {
            (At::Return, '\n') => self.text(c, out),
            (At::Return, '\r') => At::Return,
            (At::Return, _) => {
                out.push('\n');
                self.at = At::Text;
                return self.step(c, out);
            }
            (At::Str | At::StrEscape, '\u{7}' | '\u{9c}') | (At::StrEscape, '\\') => At::Text,
            (At::Str | At::StrEscape, ESC) => At::StrEscape,
            // A string that is never ended must not hide what follows.
            (At::Str | At::StrEscape, '\n') => self.text(c, out),
            (At::Str, _) => At::Str,
            // An escape inside of a string begins the next sequence.
            (At::StrEscape | At::Escape, _) => self.escaped(c, out),
            (_, ESC) => At::Escape,
            (At::Charset(which), 'A' | 'B' | '0') => self.charset(which, c, out),
            (At::Charset(_) | At::Intermediate | At::Control, _) if c.is_control() => {
                self.left_out += 1;
                self.text(c, out)
            }
            (At::Charset(_), _) => self.refuse(),
            (At::Intermediate, ' '..='/') => At::Intermediate,
            (At::Intermediate, _) => self.refuse(),
            (At::Control, '@'..='~') => self.control(c, out),
            (At::Control, ' '..='?') if self.parameters.len() < PARAMETERS_MAX => {
                self.parameters.push(c);
                At::Control
            }
            (At::Control, _) => self.refuse(),
            (At::Text, _) => self.text(c, out),
        };
    }

    const fn refuse(&mut self) -> At {
        self.left_out += 1;
        At::Text
    }

    fn text(&mut self, c: char, out: &mut String) -> At {
        match c {
            '\r' if self.keep == Keep::Text => return At::Return,
            '\n' | '\t' => out.push(c),
            '\r' | '\u{8}' if self.keep == Keep::Screen => out.push(c),
            _ if is_steering(c) => self.left_out += 1,
            _ => out.push(c),
        }
        At::Text
    }

    fn escaped(&mut self, c: char, out: &mut String) -> At {
        match c {
            ESC => At::Escape,
            '[' => {
                self.parameters.clear();
                At::Control
            }
            ']' | 'P' | '_' | '^' | 'X' => {
                self.left_out += 1;
                At::Str
            }
            '(' | ')' => At::Charset(c),
            ' '..='/' => At::Intermediate,
            '7' | '8' | 'D' | 'E' | 'M' if self.keep == Keep::Screen => {
                out.extend([ESC, c]);
                At::Text
            }
            _ if c.is_control() => {
                self.left_out += 1;
                self.text(c, out)
            }
            _ => self.refuse(),
        }
    }

    fn charset(&mut self, which: char, set: char, out: &mut String) -> At {
        if self.keep == Keep::Text {
            return self.refuse();
        }
        out.extend([ESC, which, set]);
        self.undo_once(if which == '(' { "\u{1b}(B" } else { "\u{1b})B" });
        At::Text
    }

    /// A control sequence that is whole.
    fn control(&mut self, last: char, out: &mut String) -> At {
        let parameters = std::mem::take(&mut self.parameters);
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || matches!(c, ';' | ':'));
        let passed = match parameters.strip_prefix('?') {
            _ if self.keep == Keep::Text => None,
            Some(modes) if plain(modes) && matches!(last, 'h' | 'l') => self.modes(modes, last),
            Some(how) if plain(how) && matches!(last, 'J' | 'K') && !outlives(how, last) => {
                Some(parameters.clone())
            }
            Some(_) => None,
            None if parameters == "4" && matches!(last, 'h' | 'l') => {
                self.undo_once("\u{1b}[4l");
                Some(parameters)
            }
            // With more than one parameter this one reports the mouse.
            None if last == 'T' && plain(&parameters) && !parameters.contains(';') => Some(parameters),
            None if DRAWS.contains(last) && plain(&parameters) && !outlives(&parameters, last) => {
                match last {
                    'm' => self.undo_once("\u{1b}[0m"),
                    // Setting the region moves the cursor.
                    'r' => self.undo_once("\u{1b}7\u{1b}[r\u{1b}8"),
                    _ => {}
                }
                Some(parameters)
            }
            None => None,
        };
        let Some(passed) = passed else { return self.refuse() };
        out.extend([ESC, '[']);
        out.push_str(&passed);
        out.push(last);
        At::Text
    }

    /// Those private modes that only concern what is drawn.
    fn modes(&mut self, modes: &str, last: char) -> Option<String> {
        let kept: Vec<&str> = modes.split(';').filter(|mode| MODES.contains(mode)).collect();
        for mode in &kept {
            match (*mode, last) {
                ("25", 'l') => self.undo_once("\u{1b}[?25h"),
                ("7", 'l') => self.undo_once("\u{1b}[?7h"),
                ("6", 'h') => self.undo_once("\u{1b}[?6l"),
                ("2026", 'h') => self.undo_once("\u{1b}[?2026l"),
                (mode, 'h') if ALTERNATE.contains(&mode) => self.undo_once("\u{1b}[?1049l"),
                (mode, 'l') if ALTERNATE.contains(&mode) => self.undo.retain(|undo| *undo != "\u{1b}[?1049l"),
                _ => {}
            }
        }
        (!kept.is_empty()).then(|| format!("?{}", kept.join(";")))
    }

    fn undo_once(&mut self, sequence: &'static str) {
        if !self.undo.contains(&sequence) {
            self.undo.push(sequence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(keep: Keep, bytes: &[u8], size: usize) -> (String, String, u64) {
        let mut filter = TerminalFilter::new(keep);
        let passed: Vec<u8> = bytes.chunks(size).flat_map(|piece| filter.feed(piece)).collect();
        let end = String::from_utf8(filter.end()).unwrap();
        (String::from_utf8(passed).unwrap(), end, filter.left_out())
    }

    #[track_caller]
    fn passed(keep: Keep, bytes: &[u8]) -> (String, String, u64) {
        let whole = in_pieces(keep, bytes, usize::MAX);
        for size in [1, 2, 3, 7] {
            assert_eq!(in_pieces(keep, bytes, size), whole, "in pieces of {size}");
        }
        whole
    }

    /// What a terminal would act on, answer to or hand on.
    const DANGEROUS: [&str; 35] = [
        "\u{1b}[3J",
        "\u{1b}[03J",
        "\u{1b}[2;3J",
        "\u{1b}[?3J",
        "\u{1b}[22J",
        "\u{1b}[3g",
        "\u{1b}[g",
        "\u{1b}]52;c;cm0gLXJmIC8=\u{7}",
        "\u{1b}]52;c;?\u{1b}\\",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;file:///etc/passwd\u{1b}\\",
        "\u{1b}]1337;File=name=eA==:eA==\u{7}",
        "\u{1b}]4;1;?\u{7}",
        "\u{1b}]50;font\u{7}",
        "\u{1b}P$q\"p\u{1b}\\",
        "\u{1b}P+q544e\u{1b}\\",
        "\u{1b}Ptmux;\u{1b}\u{1b}]52;c;eA==\u{7}\u{1b}\\",
        "\u{1b}_Gf=24;AAAA\u{1b}\\",
        "\u{1b}^private\u{1b}\\",
        "\u{1b}Xstring\u{1b}\\",
        "\u{1b}[c",
        "\u{1b}[>c",
        "\u{1b}[6n",
        "\u{1b}[21t",
        "\u{1b}[20;1t",
        "\u{1b}[?1000h",
        "\u{1b}[?2004h",
        "\u{1b}[?1004h",
        "\u{1b}[?$p",
        "\u{1b}[>q",
        "\u{1b}[?u",
        "\u{1b}[>4;1m",
        "\u{5}",
        "\u{1b}Z",
        "\u{1b}c",
    ];

    #[test]
    fn what_acts_on_a_terminal_passes_at_no_level() {
        for given in DANGEROUS {
            for keep in [Keep::Text, Keep::Screen] {
                let (text, end, left_out) = passed(keep, format!("a{given}b").as_bytes());
                assert!(!text.chars().any(is_steering) && end.is_empty(), "{given:?}: {text:?} {end:?}");
                assert!(text.starts_with('a') && text.ends_with('b'), "{given:?}: {text:?}");
                assert!(left_out > 0, "{given:?}");
            }
        }
    }

    #[test]
    fn text_comes_without_colours_and_nothing_is_written_over() {
        let given = "\u{1b}[1;31mred\u{1b}[0m\r\nevil\rgood\t1\u{8}\u{202e}2\u{1b}[2K\u{1b}[Aup\r".as_bytes();
        assert_eq!(passed(Keep::Text, given), ("red\nevil\ngood\t12up".to_owned(), "\n".to_owned(), 6));
    }

    #[test]
    fn what_draws_passes_and_is_undone_at_the_end() {
        let given =
            "\u{1b}[?1049h\u{1b}[?25;1000l\u{1b}[2J\u{1b}[3;4H\u{1b}[38;2;1;2;3mx\u{1b}(0q\u{1b}7\r\n";
        let (text, end, left_out) = passed(Keep::Screen, given.as_bytes());
        assert_eq!(text, given.replace("?25;1000", "?25"));
        assert_eq!(end, "\u{1b}[?1049l\u{1b}[?25h\u{1b}[0m\u{1b}(B");
        assert_eq!(left_out, 0);
        let (_, end, _) = passed(Keep::Screen, b"\x1b[?1049hx\x1b[?1049l");
        assert_eq!(end, "");
    }

    #[test]
    fn an_open_string_hides_no_more_than_its_line() {
        for keep in [Keep::Text, Keep::Screen] {
            let (text, ..) = passed(keep, b"a\x1b]0;never ended\nb\x1bP\x1b]more\nc");
            assert_eq!(text, "a\nb\nc");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        let (text, end, _) = passed(Keep::Text, b"a\x9b31m\xc3\xa9\xff\xe6\xbc");
        assert_eq!((text + &end).as_str(), "a\u{fffd}31mé\u{fffd}\u{fffd}");
    }
}
