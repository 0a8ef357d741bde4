//! `/proc/PID/stat`, as far as it is needed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};

use super::identity::is_taken;

/// A line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// How many threads it has; one that has ended has one.
    pub(crate) threads: u32,
    /// The moment it began, in clock ticks since the boot.
    pub(crate) started_ticks: u64,
}

/// Longer than any: the name has at most 64 bytes, and each of the 50 numbers at most 20 digits.
const LINE_MAX: usize = 2048;

impl Stat {
    /// Reads one process; `None` if it is not there.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::find(pid).ok()?
    }

    /// The same, and an error where it cannot be told whether it is there: the process table hides it, or cannot be
    /// read now.
    pub(crate) fn find(pid: u32) -> io::Result<Option<Self>> {
        let mut line = [0; LINE_MAX];
        // The kernel gives the whole line to the first read.
        match File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)) {
            Ok(count) => {
                let parsed = Self::parse(pid, &line[..count]);
                parsed.map(Some).ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
            }
            Err(error) if is_gone(&error) => match is_taken(pid) {
                false => Ok(None),
                true => Err(io::Error::other("/proc hides the process")),
            },
            Err(error) => Err(error),
        }
    }

    /// The name may contain anything, parentheses and line ends included, so fields count from the last one.
    fn parse(pid: u32, text: &[u8]) -> Option<Self> {
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let threads = fields.nth(13)?.parse().ok()?;
        let started_ticks = fields.nth(1)?.parse().ok()?;
        Some(Self { pid, state, parent, session, threads, started_ticks })
    }

    /// It has ended; only its status waits for the parent. A process whose first thread has ended goes on with the
    /// others.
    pub(crate) const fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x') && self.threads <= 1
    }
}

/// No process has the pid, or the one that had it is gone since the file was opened.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
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
        let text = b"42 (a) S 1 (\n) R 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 2 24 4711 26 27\n";
        let stat = Stat::parse(42, text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.session), ('R', 7, 9));
        assert_eq!((stat.threads, stat.started_ticks), (2, 4711));
    }

    #[test]
    fn a_process_lives_on_without_its_first_thread() {
        let stat = |threads| Stat { pid: 1, state: 'Z', parent: 1, session: 1, threads, started_ticks: 1 };
        assert!(stat(1).is_zombie() && !stat(2).is_zombie());
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
