//! Reads lines in large pieces, and says when it would have to wait for more.
//!
//! Invariant: every line is given once, in order, with its number; a line of any length is read past, and one that is
//! too long is told, never held in memory. Deliberately absent: what a line means.

use std::io::{self, ErrorKind, Read};

/// The longest line that is taken, and the largest piece that is read at once.
pub(crate) const LINE_BYTES_MAX: usize = 256 * 1024;

/// Lines out of a stream of bytes.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What is read and not given out stands between these two.
    start: usize,
    end: usize,
    /// How many lines were given out.
    count: u64,
    /// The line that is being read is too long, and what came of it is thrown away.
    overlong: bool,
    ended: bool,
}

/// One line.
#[derive(Debug, PartialEq)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without its line break; nothing if it is too long.
    pub(crate) text: Option<&'a [u8]>,
}

impl<R: Read> Lines<R> {
    /// The lines of `input`, of which nothing is read yet.
    pub(crate) fn of(input: R) -> Self {
        let buffer = vec![0; LINE_BYTES_MAX].into_boxed_slice();
        Self { input, buffer, start: 0, end: 0, count: 0, overlong: false, ended: false }
    }

    /// Waits until there is more to give out; `false` at the end.
    pub(crate) fn wait(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            (self.overlong, self.end) = (true, 0);
        }
        let count = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.end += count;
        self.ended = count == 0;
        Ok(true)
    }

    /// The next line that is here already.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        let rest = &self.buffer[self.start..self.end];
        let (length, taken) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at, at + 1),
            None if self.ended && (self.overlong || !rest.is_empty()) => (rest.len(), rest.len()),
            None => {
                if self.overlong {
                    self.start = self.end;
                }
                return None;
            }
        };
        let from = self.start;
        self.start += taken;
        self.count += 1;
        let whole = !std::mem::take(&mut self.overlong);
        Some(Line { number: self.count, text: whole.then(|| &self.buffer[from..from + length]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its bytes in pieces of the listed sizes, then one by one.
    struct Trickle<'a>(&'a [u8], Vec<usize>);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.1.pop().unwrap_or(1).min(self.0.len()).min(into.len());
            let (piece, rest) = self.0.split_at(size);
            into[..size].copy_from_slice(piece);
            self.0 = rest;
            Ok(size)
        }
    }

    fn read(input: impl Read) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::of(input);
        let mut all = Vec::new();
        while lines.wait().unwrap() {
            while let Some(line) = lines.next() {
                all.push((line.number, line.text.map(|text| String::from_utf8(text.to_vec()).unwrap())));
            }
        }
        all
    }

    fn whole(texts: &[&str]) -> Vec<(u64, Option<String>)> {
        (1..).zip(texts).map(|(number, text)| (number, Some((*text).to_owned()))).collect()
    }

    #[test]
    fn lines_come_in_order_however_the_bytes_arrive() {
        let text = b"one\n\nthree\nfour";
        let expected = whole(&["one", "", "three", "four"]);
        for pieces in [vec![], vec![100], vec![3, 1, 1], vec![2, 5], vec![4, 4, 4]] {
            assert_eq!(read(Trickle(text, pieces)), expected);
        }
        assert_eq!(read(&b"one\n"[..]), whole(&["one"]));
        assert_eq!(read(&b""[..]), whole(&[]));
    }

    #[test]
    fn a_line_is_given_before_the_next_one_is_waited_for() {
        let mut lines = Lines::of(Trickle(b"one\ntwo\n", vec![4, 4]));
        assert!(lines.wait().unwrap());
        assert_eq!(lines.next(), Some(Line { number: 1, text: Some(b"one") }));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_is_read() {
        let long = "x".repeat(3 * LINE_BYTES_MAX);
        let text = format!("one\n{long}\nthree\n");
        let expected = vec![(1, Some("one".to_owned())), (2, None), (3, Some("three".to_owned()))];
        assert_eq!(read(text.as_bytes()), expected);
        assert_eq!(read(format!("one\n{long}").as_bytes()), expected[..2]);
        let just = "x".repeat(LINE_BYTES_MAX - 1);
        assert_eq!(read(format!("{just}\nb\n").as_bytes()), whole(&[&just, "b"]));
    }
}
