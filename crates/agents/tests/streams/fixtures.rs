//! Where the recorded streams lie: `tests/fixtures/<program>/<case>.jsonl`, or `.txt` for one that is text.

use std::path::Path;

use callboard_agents::{Program, Reader, Signal, Summary};

/// Every recorded stream: its program, its name and its bytes, in order.
pub(crate) fn all() -> Vec<(Program, String, Vec<u8>)> {
    let mut found = Vec::new();
    for program in Program::ALL {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(program.name());
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            found.push((program, name, bytes));
        }
    }
    found.sort_by(|a, b| (a.0.name(), &a.1).cmp(&(b.0.name(), &b.1)));
    assert!(found.len() > 50, "the recorded streams are gone");
    found
}

/// One recorded stream.
pub(crate) fn one(program: Program, case: &str) -> Vec<u8> {
    let found = all().into_iter().find(|(of, name, _)| *of == program && name == case);
    found.unwrap_or_else(|| panic!("there is no stream {program}/{case}")).2
}

/// Reads a stream in pieces of the given sizes, the last size again and again.
pub(crate) fn read(program: Program, bytes: &[u8], sizes: &[usize]) -> (Summary, Vec<Signal>) {
    let mut reader = Reader::new(program);
    let mut signals = Vec::new();
    let mut sizes = sizes.iter().copied();
    let (mut rest, mut size) = (bytes, usize::MAX);
    while !rest.is_empty() {
        size = sizes.next().unwrap_or(size).max(1);
        let (piece, after) = rest.split_at(size.min(rest.len()));
        signals.extend(reader.stdout(piece));
        rest = after;
    }
    signals.extend(reader.finish());
    // Signs of life are joined within one piece, so only their runs can be compared.
    signals.dedup_by(|a, b| a == b && matches!(a, Signal::Activity | Signal::Progress));
    (reader.summary().clone(), signals)
}
