//! `/proc/PID/stat`, as far as it is needed.

use std::fs::{self, File};
use std::io::Read;

/// A line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// The moment it began, in clock ticks since the boot.
    pub(crate) started_ticks: u64,
}

/// Longer than any: the name has at most 64 bytes, and each of the 50 numbers at most 20 digits.
const LINE_MAX: usize = 2048;

impl Stat {
    /// Reads one process; `None` if it is not there.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let mut line = [0; LINE_MAX];
        // The kernel gives the whole line to the first read.
        let count = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
        Self::parse(pid, &line[..count])
    }

    /// The name may contain anything, parentheses and line ends included, so fields count from the last one.
    fn parse(pid: u32, text: &[u8]) -> Option<Self> {
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started_ticks = fields.nth(15)?.parse().ok()?;
        Some(Self { pid, state, parent, session, started_ticks })
    }

    /// It has ended; only its status waits for the parent.
    pub(crate) const fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// The whole process table, as far as it can be read.
pub(crate) fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Stat::read)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_moves_no_field() {
        let text = b"42 (a) S 1 (\n) R 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 4711 26 27\n";
        let stat = Stat::parse(42, text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.session), ('R', 7, 9));
        assert_eq!(stat.started_ticks, 4711);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = Stat::read(std::process::id()).unwrap();
        assert!(all().iter().any(|stat| stat.pid == own.pid && stat.started_ticks == own.started_ticks));
        assert!(!own.is_zombie());
    }

    #[test]
    fn nobody_is_not_there() {
        assert_eq!(Stat::read(u32::MAX), None);
    }
}
