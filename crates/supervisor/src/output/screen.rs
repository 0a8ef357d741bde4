//! What a program has set on a terminal and not reset, read from the bytes that reached the terminal.
//!
//! Invariant: only modes that were seen to be set are reset, and each exactly once. Without this a program that is
//! killed leaves its screen, its mouse reporting and its keyboard protocol to the shell. Deliberately absent: what is
//! drawn; titles, colours of the palette and the clipboard.

use std::collections::BTreeSet;

/// The modes of one terminal.
#[derive(Debug, Default)]
pub(super) struct Screen {
    at: At,
    /// The parameters of the control sequence that is being read.
    parameters: Vec<u8>,
    modes: Modes,
}

/// Where in a sequence the last byte was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Text,
    Escape,
    /// Behind an escape and an intermediate byte.
    Intermediate(u8),
    Control,
    /// In a string such as a title, which ends with BEL or `ESC \`.
    Str,
    /// Behind an escape in such a string.
    StrEscape,
}

/// What differs from how a terminal starts.
#[derive(Debug, Default)]
struct Modes {
    /// Private modes, by number.
    private: BTreeSet<u16>,
    insert: bool,
    keypad: bool,
    line_drawing: bool,
    shifted: bool,
    region: bool,
    styled: bool,
    modified_keys: bool,
    /// Keyboard protocols that were pushed, on the main and on the alternate screen.
    keyboards: [u16; 2],
    keyboard_set: bool,
}

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const PARAMETERS_MAX: usize = 256;
const KEYBOARDS_MAX: u16 = 99;
/// The alternate screen, in its three spellings.
const ALTERNATE: [u16; 3] = [47, 1047, 1049];
const CURSOR: u16 = 25;
/// Private modes that are off when a terminal starts: cursor keys, reverse video, origin, mouse, keypad, focus, paste,
/// synchronized output, notices of colour and size.
const OFF_AT_FIRST: [u16; 17] =
    [1, 5, 6, 9, 66, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2048];
/// Private modes that are on when a terminal starts.
const ON_AT_FIRST: [u16; 2] = [7, CURSOR];

impl Screen {
    /// Reads what was written to the terminal.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        self.at = match (self.at, byte) {
            (At::Str, 0x07) => At::Text,
            (At::Str, ESC) => At::StrEscape,
            (At::Str, CAN | 0x1a) => At::Text,
            (At::Str, _) => At::Str,
            (At::StrEscape, b'\\') => At::Text,
            // An escape inside of a string begins the next sequence.
            (At::StrEscape, byte) => self.escaped(byte),
            (_, ESC) => At::Escape,
            (_, CAN | 0x1a) => At::Text,
            (At::Text, byte) => {
                match byte {
                    0x0e => self.modes.shifted = true,
                    0x0f => self.modes.shifted = false,
                    _ => {}
                }
                At::Text
            }
            (At::Escape, byte) => self.escaped(byte),
            (At::Intermediate(first), byte) => {
                if first == b'(' {
                    self.modes.line_drawing = byte == b'0';
                }
                At::Text
            }
            (At::Control, byte) => self.control(byte),
        };
    }

    fn escaped(&mut self, byte: u8) -> At {
        match byte {
            b'[' => {
                self.parameters.clear();
                return At::Control;
            }
            b']' | b'P' | b'_' | b'^' | b'X' => return At::Str,
            0x20..=0x2f => return At::Intermediate(byte),
            b'=' => self.modes.keypad = true,
            b'>' => self.modes.keypad = false,
            b'c' => self.modes = Modes::default(),
            _ => {}
        }
        At::Text
    }

    fn control(&mut self, byte: u8) -> At {
        match byte {
            0x20..=0x3f => {
                if self.parameters.len() < PARAMETERS_MAX {
                    self.parameters.push(byte);
                }
                At::Control
            }
            0x40..=0x7e => {
                let parameters = std::mem::take(&mut self.parameters);
                self.modes.sequence(&parameters, byte);
                self.parameters = parameters;
                At::Text
            }
            _ => At::Control,
        }
    }

    /// The bytes that reset what is still set; from here on nothing is.
    pub(super) fn restore(&mut self) -> Vec<u8> {
        let mut bytes = match std::mem::take(&mut self.at) {
            At::Text => Vec::new(),
            At::Str | At::StrEscape => vec![ESC, b'\\'],
            At::Escape | At::Intermediate(_) | At::Control => vec![CAN],
        };
        bytes.extend(std::mem::take(&mut self.modes).undone().into_bytes());
        bytes
    }
}

impl Modes {
    fn sequence(&mut self, parameters: &[u8], last: u8) {
        let (prefix, rest) = match parameters.split_first() {
            Some((prefix @ (b'?' | b'>' | b'<' | b'='), rest)) => (Some(*prefix), rest),
            Some(_) | None => (None, parameters),
        };
        let numbers = || rest.split(|byte| *byte == b';').map(number);
        match (prefix, last) {
            (Some(b'?'), b'h') => numbers().flatten().for_each(|mode| self.private(mode, true)),
            (Some(b'?'), b'l') => numbers().flatten().for_each(|mode| self.private(mode, false)),
            (None, b'h' | b'l') if numbers().any(|mode| mode == Some(4)) => self.insert = last == b'h',
            (None, b'r') => self.region = numbers().any(|number| number.is_some()),
            (None, b'm') => self.style(rest),
            (None, b'p') if rest == b"!" => self.reset_softly(),
            (Some(b'>'), b'm') if numbers().next() == Some(Some(4)) => {
                self.modified_keys = numbers().nth(1).flatten().is_some_and(|level| level > 0);
            }
            (Some(b'>'), b'u') => {
                let depth = self.keyboard();
                *depth = (*depth + 1).min(KEYBOARDS_MAX);
            }
            (Some(b'<'), b'u') => {
                let count = numbers().next().flatten().unwrap_or(1);
                let depth = self.keyboard();
                *depth = depth.saturating_sub(count);
            }
            (Some(b'='), b'u') => self.keyboard_set = numbers().next().flatten().unwrap_or(0) > 0,
            _ => {}
        }
    }

    fn private(&mut self, mode: u16, on: bool) {
        let differs = match mode {
            mode if OFF_AT_FIRST.contains(&mode) || ALTERNATE.contains(&mode) => on,
            mode if ON_AT_FIRST.contains(&mode) => !on,
            _ => return,
        };
        if ALTERNATE.contains(&mode) && !differs {
            // Each spelling leaves the screen that another one entered.
            self.private.retain(|known| !ALTERNATE.contains(known));
        } else if differs {
            self.private.insert(mode);
        } else {
            self.private.remove(&mode);
        }
    }

    /// Follows the last attribute that was set; a colour's own numbers are no attributes.
    fn style(&mut self, parameters: &[u8]) {
        let mut parts = parameters.split(|byte| *byte == b';');
        while let Some(part) = parts.next() {
            match part {
                b"" | b"0" | b"00" => self.styled = false,
                b"38" | b"48" | b"58" => {
                    let skipped = match parts.next() {
                        Some(b"5") => 1,
                        Some(b"2") => 3,
                        Some(_) | None => 0,
                    };
                    for _ in 0..skipped {
                        parts.next();
                    }
                    self.styled = true;
                }
                _ => self.styled = true,
            }
        }
    }

    fn reset_softly(&mut self) {
        for mode in [1, 6, 7, 66, CURSOR] {
            self.private.remove(&mode);
        }
        (self.insert, self.keypad, self.region, self.styled) = (false, false, false, false);
        (self.line_drawing, self.shifted) = (false, false);
    }

    fn is_alternate(&self) -> bool {
        ALTERNATE.iter().any(|mode| self.private.contains(mode))
    }

    fn keyboard(&mut self) -> &mut u16 {
        let [main, alternate] = &mut self.keyboards;
        if ALTERNATE.iter().any(|mode| self.private.contains(mode)) { alternate } else { main }
    }

    /// What resets everything: first what belongs to the alternate screen, then the way back, the cursor last.
    fn undone(self) -> String {
        let mut undone = String::new();
        let popped = |depth: u16| if depth > 0 { format!("\x1b[<{depth}u") } else { String::new() };
        let plain = |mode: &&u16| !ALTERNATE.contains(*mode) && **mode != CURSOR;
        for mode in self.private.iter().filter(plain) {
            let word = if ON_AT_FIRST.contains(mode) { 'h' } else { 'l' };
            undone += &format!("\x1b[?{mode}{word}");
        }
        let [main, alternate] = self.keyboards;
        if self.is_alternate() {
            undone += &popped(alternate);
        }
        let simple = [
            (self.keyboard_set, "\x1b[=0u"),
            (self.modified_keys, "\x1b[>4m"),
            (self.insert, "\x1b[4l"),
            (self.keypad, "\x1b>"),
            (self.line_drawing, "\x1b(B"),
            (self.shifted, "\x0f"),
            // To end a region moves the cursor.
            (self.region, "\x1b7\x1b[r\x1b8"),
            (self.styled, "\x1b[0m"),
        ];
        simple.iter().filter(|(is, _)| *is).for_each(|(_, bytes)| undone += bytes);
        for mode in ALTERNATE.iter().filter(|mode| self.private.contains(mode)) {
            undone += &format!("\x1b[?{mode}l");
        }
        undone += &popped(main);
        if self.private.contains(&CURSOR) {
            undone += "\x1b[?25h";
        }
        undone
    }
}

fn number(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_by(bytes: &[u8]) -> String {
        let mut screen = Screen::default();
        screen.feed(bytes);
        let undone = String::from_utf8_lossy(&screen.restore()).into_owned();
        assert_eq!(screen.restore(), b"", "what was reset is reset once");
        undone.replace('\x1b', "^")
    }

    #[test]
    fn what_is_still_set_is_reset_and_nothing_else() {
        for (written, undone) in [
            ("plain text\r\n\x1b[1mbold\x1b[0m", ""),
            ("\x1b[?1049h\x1b[?1049l", ""),
            ("\x1b[?1049h", "^[?1049l"),
            ("\x1b[?1049h\x1b[?47l", ""),
            ("\x1b[?1000;1006h\x1b[?2004h", "^[?1000l^[?1006l^[?2004l"),
            ("\x1b[?1000;1006h\x1b[?1000l", "^[?1006l"),
            ("\x1b[?25l", "^[?25h"),
            ("\x1b[?25l\x1b[?1049h\x1b[?1003h", "^[?1003l^[?1049l^[?25h"),
            ("\x1b[?7l", "^[?7h"),
            ("\x1b[31;1m", "^[0m"),
            ("\x1b[38;5;0m", "^[0m"),
            ("\x1b[31m\x1b[m", ""),
            ("\x1b[2;20r", "^7^[r^8"),
            ("\x1b=\x1b[?1h", "^[?1l^>"),
            ("\x1b>\x1b(0", "^(B"),
            ("\x1b[>1u", "^[<1u"),
            ("\x1b[?1049h\x1b[>1u\x1b[>3u", "^[<2u^[?1049l"),
            ("\x1b[>1u\x1b[<u", ""),
            ("\x1b[>4;2m", "^[>4m"),
            ("\x1b[?1049h\x1b[?1000h\x1bc", ""),
            ("\x1b[?9999h", ""),
        ] {
            assert_eq!(left_by(written.as_bytes()), undone, "{written:?}");
        }
    }

    #[test]
    fn a_sequence_that_was_cut_is_ended_first() {
        assert_eq!(left_by(b"\x1b[?1049h\x1b[?10"), "\x18^[?1049l");
        assert_eq!(left_by(b"\x1b]0;half a title"), "^\\");
        assert_eq!(left_by(b"\x1b"), "\x18");
    }

    #[test]
    fn a_sequence_in_pieces_is_one() {
        let whole = b"\x1b[?1049h\x1b]0;a title\x07\x1b[?1002;1006h\x1bP+q\x1b\\\x1b[?25l";
        let mut screen = Screen::default();
        for byte in whole {
            screen.feed(&[*byte]);
        }
        assert_eq!(screen.restore(), b"\x1b[?1002l\x1b[?1006l\x1b[?1049l\x1b[?25h");
    }
}
