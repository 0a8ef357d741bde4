//! What was typed last: a key that breaks off, or another one.
//!
//! Invariant: what a terminal sends by itself (replies, focus, the mouse) is no key, so it does not follow one. A terminal
//! that reports keys as sequences is understood too. A key has ended a program only if nothing was typed after it and the
//! program ended at once; one that used the key for something else and ends later ended by itself.

use std::time::Duration;

use crate::{How, StopCause};

/// A key, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Any other.
    Other,
}

/// A key that breaks off, typed at our terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed {
    pub(crate) key: Key,
    /// The child's terminal made a signal of it.
    pub(crate) is_signal: bool,
    /// When, from the start.
    pub(crate) at: Duration,
}

/// How soon after Ctrl-C a program has ended because of it. Programs that catch the key take a moment to clean up.
const AT_ONCE: Duration = Duration::from_secs(3);

impl Typed {
    /// Who ended a child that ended at this moment, if it was who typed the key.
    ///
    /// The child ended at once, by the signal of the key or with a code of its own. A child that reads the key itself
    /// and exits with 0 was quit as it wants to be. What ends later or by another signal was not ended by the key.
    pub(crate) fn ended(self, how: How, now: Duration) -> Option<StopCause> {
        let (number, cause) = match self.key {
            Key::Interrupt => (libc::SIGINT, StopCause::Interrupt),
            Key::Quit => (libc::SIGQUIT, StopCause::Quit),
            Key::Other => return None,
        };
        let fits = match how {
            How::Exited { code: 0 } => self.is_signal,
            How::Exited { .. } => true,
            How::Signaled { signal, .. } => signal == number,
            How::Unconfirmed => false,
        };
        (fits && now.saturating_sub(self.at) <= AT_ONCE).then_some(cause)
    }
}

/// The bytes that mean Ctrl-C and Ctrl-\ at a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) interrupt: u8,
    pub(crate) quit: u8,
}

/// The last key among these bytes; `None` if there is none.
pub(crate) fn last_key(bytes: &[u8], codes: Codes) -> Option<Key> {
    let (mut rest, mut last) = (bytes, None);
    while let Some((&first, after)) = rest.split_first() {
        let (key, length) = match (first, after.first()) {
            (ESCAPE, Some(b'[')) => sequence(after),
            (ESCAPE, Some(b']' | b'P' | b'_' | b'^')) => (None, string(after)),
            (ESCAPE, Some(b'O')) => (Some(Key::Other), 2.min(after.len())),
            (ESCAPE, _) => (Some(Key::Other), 0),
            (byte, _) if byte == codes.interrupt => (Some(Key::Interrupt), 0),
            (byte, _) if byte == codes.quit => (Some(Key::Quit), 0),
            _ => (Some(Key::Other), 0),
        };
        last = key.or(last);
        rest = &after[length..];
    }
    last
}

const ESCAPE: u8 = 0x1b;

/// A control sequence, from its bracket on: which key it is, and how long it is.
fn sequence(bytes: &[u8]) -> (Option<Key>, usize) {
    let Some(end) = bytes.iter().skip(1).position(|byte| (0x40..=0x7e).contains(byte)) else {
        return (None, bytes.len());
    };
    let (inside, last) = (&bytes[1..=end], bytes[end + 1]);
    let key = match (inside.first(), last) {
        // Replies, reports of the focus and of the mouse.
        (Some(b'?' | b'>' | b'<'), _) | (_, b'I' | b'O' | b'R' | b'c' | b'n' | b't' | b'y') => None,
        (_, b'u') => match inside {
            b"99;5" | b"99;5:1" => Some(Key::Interrupt),
            b"92;5" | b"92;5:1" => Some(Key::Quit),
            // A key that is let go was pressed before.
            _ if inside.ends_with(b":3") => None,
            _ => Some(Key::Other),
        },
        (_, b'~') if inside == b"27;5;99" => Some(Key::Interrupt),
        (_, b'~') if inside == b"27;5;92" => Some(Key::Quit),
        _ => Some(Key::Other),
    };
    (key, end + 2)
}

/// The length of a string that a terminal sends, up to what ends it.
fn string(bytes: &[u8]) -> usize {
    let bell = bytes.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let closed = bytes.windows(2).position(|pair| pair == [ESCAPE, b'\\']).map(|at| at + 2);
    bell.into_iter().chain(closed).min().unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_what_ends_at_once_and_in_a_way_that_fits() {
        let at = Duration::from_secs(100);
        let exited = |code| How::Exited { code };
        let killed = |signal| How::Signaled { signal, core_dumped: false };
        let (now, later) = (at + Duration::from_millis(200), at + Duration::from_secs(4));
        let interrupt = Some(StopCause::Interrupt);
        for (is_signal, how, when, expected) in [
            (true, killed(2), now, interrupt),
            (true, exited(1), now, interrupt),
            (true, exited(130), now, interrupt),
            (true, exited(0), now, interrupt),
            (false, exited(1), now, interrupt),
            (false, exited(130), now, interrupt),
            (false, exited(0), now, None),
            (true, killed(9), now, None),
            (true, killed(11), now, None),
            (true, killed(2), later, None),
            (true, exited(130), later, None),
            (false, exited(130), later, None),
        ] {
            let typed = Typed { key: Key::Interrupt, is_signal, at };
            assert_eq!(typed.ended(how, when), expected, "{is_signal} {how:?} {when:?}");
        }
        let typed = Typed { key: Key::Quit, is_signal: true, at };
        assert_eq!(typed.ended(killed(3), now), Some(StopCause::Quit));
        assert_eq!(typed.ended(killed(2), now), None);
    }

    #[test]
    fn the_last_key_is_found_among_what_a_terminal_sends() {
        let codes = Codes { interrupt: 3, quit: 28 };
        for (bytes, expected) in [
            (&b""[..], None),
            (b"\x03", Some(Key::Interrupt)),
            (b"\x1c", Some(Key::Quit)),
            (b"abc", Some(Key::Other)),
            (b"\x03\r", Some(Key::Other)),
            (b"y\x03", Some(Key::Interrupt)),
            (b"\x1b[99;5u", Some(Key::Interrupt)),
            (b"\x1b[99;5u\x1b[99;5:3u", Some(Key::Interrupt)),
            (b"\x1b[27;5;99~", Some(Key::Interrupt)),
            (b"\x1b[92;5u", Some(Key::Quit)),
            (b"\x03\x1b[A", Some(Key::Other)),
            (b"\x1bOP", Some(Key::Other)),
            (b"\x1b", Some(Key::Other)),
            // Replies and reports.
            (b"\x03\x1b[12;40R", Some(Key::Interrupt)),
            (b"\x03\x1b[I\x1b[<35;10;4M", Some(Key::Interrupt)),
            (b"\x03\x1b]11;rgb:0000/0000/0000\x07", Some(Key::Interrupt)),
            (b"\x03\x1bP>|term\x1b\\", Some(Key::Interrupt)),
            (b"\x1b[?62;c", None),
            (b"\x1b[", None),
        ] {
            assert_eq!(last_key(bytes, codes), expected, "{bytes:?}");
        }
    }
}
