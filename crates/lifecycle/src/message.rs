//! Builds the text of a compile-time proof failure.
//!
//! `panic!` in a const cannot format, so the parts are copied into a fixed buffer. Deliberately absent: any use at
//! run time.

/// More than any message needs; a longer one is cut, never an error of its own.
const TEXT_MAX: usize = 240;

/// A message that is put together while compiling.
pub(crate) struct Message {
    bytes: [u8; TEXT_MAX],
    len: usize,
}

impl Message {
    pub(crate) const fn new(machine: &str) -> Self {
        Self { bytes: [0; TEXT_MAX], len: 0 }.with("machine ").with(machine).with(": ")
    }

    pub(crate) const fn with(mut self, part: &str) -> Self {
        let part = part.as_bytes();
        let mut i = 0;
        while i < part.len() && self.len < TEXT_MAX {
            self.bytes[self.len] = part[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// Stops the build with this message.
    pub(crate) const fn fail(&self) -> ! {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => panic!("{}", text),
            Err(_) => panic!("a declaration is wrong, and its name is not UTF-8"),
        }
    }
}

/// `a == b`, while compiling.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    starts_with_bytes(a, b)
}

/// Does `text` start with `prefix`, while compiling?
pub(crate) const fn starts_with(text: &str, prefix: &str) -> bool {
    starts_with_bytes(text.as_bytes(), prefix.as_bytes())
}

pub(crate) const fn starts_with_bytes(text: &[u8], prefix: &[u8]) -> bool {
    if text.len() < prefix.len() {
        return false;
    }
    let mut i = 0;
    while i < prefix.len() {
        if text[i] != prefix[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// `a < b` by bytes, while compiling.
pub(crate) const fn less(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] < b[i];
        }
        i += 1;
    }
    a.len() < b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_agree_with_the_standard_library() {
        let words = ["", "a", "ab", "abc", "b", "run.failed", "run.failed.oom"];
        for a in words {
            for b in words {
                assert_eq!(same(a, b), a == b);
                assert_eq!(less(a, b), a < b);
                assert_eq!(starts_with(a, b), a.starts_with(b));
            }
        }
    }
}
