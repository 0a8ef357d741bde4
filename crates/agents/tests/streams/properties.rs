//! What holds for every stream, recorded or not.

use callboard_agents::{Program, Reader};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::fixtures;

fn program() -> impl Strategy<Value = Program> {
    proptest::sample::select(Program::ALL.as_slice())
}

/// Bytes that look like events often enough to get somewhere.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let all: Vec<Vec<u8>> = fixtures::all().into_iter().map(|(_, _, bytes)| bytes).collect();
    let cut = (proptest::sample::select(all), any::<proptest::sample::Index>(), vec(any::<u8>(), 0..40))
        .prop_map(|(mut bytes, place, noise)| {
            let place = place.index(bytes.len() + 1);
            bytes.splice(place..place, noise);
            bytes
        });
    prop_oneof![vec(any::<u8>(), 0..2_000), cut]
}

proptest! {
    #[test]
    fn the_pieces_a_stream_comes_in_do_not_matter(
        bytes in bytes(),
        program in program(),
        sizes in vec(1usize..200, 1..40),
    ) {
        let whole = fixtures::read(program, &bytes, &[]);
        prop_assert_eq!(&fixtures::read(program, &bytes, &sizes), &whole);
    }

    #[test]
    fn what_is_kept_does_not_grow_with_the_stream(bytes in bytes(), program in program(), times in 1usize..60) {
        let (summary, _) = fixtures::read(program, &bytes.repeat(times), &[997]);
        // A child and a note are the largest things of which many are kept.
        let kept = serde_json::to_string(&summary).map_or(usize::MAX, |text| text.len());
        prop_assert!(kept < 512 * 1024, "{} bytes are kept", kept);
    }
}

#[test]
fn every_recorded_stream_reads_the_same_byte_by_byte() {
    for (program, case, bytes) in fixtures::all() {
        let whole = fixtures::read(program, &bytes, &[]);
        assert_eq!(fixtures::read(program, &bytes, &[1]), whole, "{program}/{case}");
    }
}

/// A reader that kept what it is given would need the whole gigabyte.
#[test]
fn a_line_without_an_end_costs_no_memory() {
    let mut reader = Reader::new(Program::Claude);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..1024 {
        assert_eq!(reader.stdout(&piece), []);
    }
    reader.stdout(b"\n{\"type\":\"result\",\"subtype\":\"success\"}\n");
    assert_eq!(reader.summary().broken_lines, 1);
    assert!(reader.summary().end.is_some());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    if let Some(peak) = peak {
        let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().expect("the kernel prints a number");
        assert!(peak_kb < 256 * 1024, "{peak_kb} kB at the highest");
    }
}

/// Millions of tiny items in one line are the worst case for a reader that builds what it skips.
#[test]
fn a_line_of_tiny_items_costs_little_memory() {
    let items = "{},".repeat(2_000_000);
    for shape in ["{\"type\":\"assistant\",\"message\":{\"content\":[@{}]}}", "{\"type\":\"x\",\"y\":[@1]}"] {
        let mut reader = Reader::new(Program::Claude);
        reader.stdout(shape.replace('@', &items).as_bytes());
        reader.stdout(b"\n");
        assert_eq!((reader.summary().events, reader.summary().broken_lines), (1, 0));
    }
    let deep = "[".repeat(1_000_000);
    let mut reader = Reader::new(Program::Codex);
    reader.stdout(format!("{{\"type\":\"error\",\"message\":{deep}\n").as_bytes());
    assert_eq!(reader.summary().broken_lines, 1);
}
