//! Cuts a byte stream into lines, whatever pieces it arrives in.
//!
//! Invariant: at most one line of [`LINE_BYTES_MAX`] is held. A longer one is dropped to its end and reported, so an
//! agent that prints ten gigabytes without a newline costs no more than one that prints ten bytes. A byte order mark at
//! the very start and the carriage return of a CRLF are not part of a line.

/// What a line may measure; events are far smaller, and one that is not is counted instead of read.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What became of a stretch of bytes up to a newline.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than the bound, and not kept.
    TooLong,
}

/// What stood after the last newline when the stream ended.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Rest {
    Nothing,
    Partial(Vec<u8>),
    TooLong,
}

#[derive(Debug)]
pub(crate) struct Lines {
    limit: usize,
    held: Vec<u8>,
    is_dropping: bool,
    is_first: bool,
}

impl Lines {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, held: Vec::new(), is_dropping: false, is_first: true }
    }

    /// Hands over every line that these bytes finish.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            if self.is_dropping || self.held.len() + piece.len() > self.limit {
                self.is_dropping = false;
                self.held.clear();
                take(Line::TooLong);
            } else if self.held.is_empty() {
                take(Line::Whole(trim(piece, self.is_first)));
            } else {
                self.held.extend_from_slice(piece);
                take(Line::Whole(trim(&self.held, self.is_first)));
                self.held.clear();
            }
            self.is_first = false;
        }
        if self.is_dropping || self.held.len() + bytes.len() > self.limit {
            self.is_dropping = true;
            // Nothing of a dropped line is needed again, so its memory is not either.
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Ends the stream.
    pub(crate) fn finish(&mut self) -> Rest {
        if std::mem::take(&mut self.is_dropping) {
            return Rest::TooLong;
        }
        let held = std::mem::take(&mut self.held);
        let line = trim(&held, self.is_first);
        if line.is_empty() { Rest::Nothing } else { Rest::Partial(line.to_vec()) }
    }
}

fn trim(line: &[u8], is_first: bool) -> &[u8] {
    let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> (Vec<String>, Rest) {
        let mut lines = Lines::new(8);
        let mut seen = Vec::new();
        for piece in pieces {
            lines.feed(piece.as_bytes(), |line| {
                seen.push(match line {
                    Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Line::TooLong => "TOO LONG".to_owned(),
                });
            });
        }
        (seen, lines.finish())
    }

    #[test]
    fn pieces_do_not_matter() {
        let whole = cut(&["\u{feff}one\r\ntwo\n\nthree"]);
        assert_eq!(whole.0, ["one", "two", ""]);
        assert_eq!(whole.1, Rest::Partial(b"three".to_vec()));
        assert_eq!(cut(&["\u{feff}o", "ne\r", "\ntw", "o\n", "\nthr", "ee"]), whole);
    }

    #[test]
    fn a_line_past_the_bound_is_dropped_and_the_next_one_is_read() {
        assert_eq!(cut(&["123456789\nok\n"]).0, ["TOO LONG", "ok"]);
        assert_eq!(cut(&["12345", "6789", "0000", "\nok\n"]).0, ["TOO LONG", "ok"]);
        assert_eq!(cut(&["12345678\n"]).0, ["12345678"]);
        assert_eq!(cut(&["123456789"]).1, Rest::TooLong);
    }

    #[test]
    fn an_empty_stream_has_nothing_left() {
        assert_eq!(cut(&[]), (Vec::new(), Rest::Nothing));
        assert_eq!(cut(&["one\n", "\r"]).1, Rest::Nothing);
    }
}
