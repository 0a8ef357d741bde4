//! What is kept of the output, and what a reader finds.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use callboard_supervisor::output::{Log, Piece, What};
use callboard_supervisor::{Cause, How, Keep, Spec, Stream};

use crate::common::{OnOutput, run, sh, started};

const BEGAN_US: u64 = 1_700_000_000_000_000;

fn kept(mut spec: Spec, dir: &std::path::Path, max_bytes: u64) -> Spec {
    spec.keep = Some(Keep { dir: dir.to_owned(), max_bytes, began_us: BEGAN_US });
    spec
}

fn pieces(log: &Log, from: u64) -> Vec<Piece> {
    log.read(from)
        .map(|piece| piece.unwrap_or_else(|error| panic!("the log cannot be read: {error}")))
        .collect()
}

fn bytes_of(pieces: &[Piece], wanted: Stream) -> Vec<u8> {
    let of = |piece: &Piece| match &piece.what {
        What::Bytes(stream, bytes) if *stream == wanted => bytes.clone(),
        What::Bytes(..) | What::Dropped(_) | What::Lost(..) => Vec::new(),
    };
    pieces.iter().flat_map(of).collect()
}

#[test]
fn every_byte_is_kept_as_it_came() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("run");
    let script = r"printf '\000\377\376\r\n\033]8;;x\007\342\200\256'; printf 'e\303\050' >&2";
    let (end, told) = run(kept(sh("b20", script), &dir, 1 << 20));
    let log = Log::open(&dir).unwrap();
    let all = pieces(&log, 0);
    assert_eq!(bytes_of(&all, Stream::Stdout), told.stdout);
    assert_eq!(bytes_of(&all, Stream::Stdout), b"\x00\xff\xfe\r\n\x1b]8;;x\x07\xe2\x80\xae");
    assert_eq!(bytes_of(&all, Stream::Stderr), b"e\xc3\x28");
    assert_eq!((end.output.dropped, end.output.lost), (0, 0));
    assert!(all.iter().all(|piece| piece.at_us >= BEGAN_US && piece.at_us < BEGAN_US + 60_000_000));
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(&dir).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn both_streams_are_merged_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut answer = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    // The child says the next word when the last one has been heard: two that are there at once have no order.
    let script = format!(
        "exec 3<>{}; i=0; while [ $i -lt 20 ]; do echo o$i; read x <&3; echo e$i >&2; read x <&3; i=$((i+1)); done",
        fifo.display()
    );
    let dir = directory.path().join("run");
    let running = started(kept(sh("merged", &script), &dir, 1 << 20));
    running
        .watch(&mut OnOutput(|_: &[u8]| answer.write_all(b"\n").unwrap_or_else(|error| panic!("{error}"))));
    let all = pieces(&Log::open(&dir).unwrap(), 0);
    let text: Vec<u8> = all
        .iter()
        .flat_map(|piece| match &piece.what {
            What::Bytes(_, bytes) => bytes.clone(),
            What::Dropped(_) | What::Lost(..) => Vec::new(),
        })
        .collect();
    let expected: String = (0..20).map(|number| format!("o{number}\ne{number}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&text), expected);
    assert!(all.windows(2).all(|pair| pair[0].at_us <= pair[1].at_us), "times never go back");
}

#[test]
fn a_quota_keeps_the_beginning_and_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let quota = 256 * 1024;
    let script = "i=0; while [ $i -lt 60000 ]; do echo \"line $i of many that nobody could all keep\"; i=$((i+1)); done";
    let (end, told) = run(kept(sh("b18", script), directory.path(), quota));
    let on_disk: u64 = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(on_disk <= quota, "{on_disk} of {quota}");
    assert!(on_disk > quota / 2, "{on_disk} of {quota}");
    let log = Log::open(directory.path()).unwrap();
    let all = pieces(&log, 0);
    let gap: u64 =
        all.iter().map(|piece| if let What::Dropped(count) = piece.what { count } else { 0 }).sum();
    let text = bytes_of(&all, Stream::Stdout);
    assert_eq!(gap, end.output.dropped);
    assert_eq!(text.len() as u64 + gap, end.output.stdout_bytes);
    assert!(told.stdout.starts_with(&text[..quota as usize / 8]), "the beginning is there");
    assert!(told.stdout.ends_with(&text[text.len() - quota as usize / 8..]), "the end is there");
    assert_eq!(log.end().unwrap(), end.output.stdout_bytes);
    let tail = pieces(&log, log.tail(1000).unwrap());
    assert_eq!(bytes_of(&tail, Stream::Stdout), told.stdout[told.stdout.len() - 1000..]);
}

#[test]
fn one_stream_is_read_from_any_place_without_what_is_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("run");
    let script =
        "for n in 1 2 3 4 5 6 7 8; do head -c 3000 /dev/zero | tr '\\0' $n; printf e >&2; sleep 0.02; done";
    run(kept(sh("whole", script), &dir, 16 * 1024));
    let log = Log::open(&dir).unwrap();
    let whole = log.whole(Stream::Stdout).unwrap();
    let expected = bytes_of(&pieces(&log, 0), Stream::Stdout);
    assert_eq!(whole.length(), expected.len() as u64);
    let mut place = 0;
    while place < expected.len() {
        let read = whole.read_at(place as u64, 1000).unwrap();
        assert_eq!(read, expected[place..place + read.len()]);
        assert!((1..=1000).contains(&read.len()));
        place += read.len();
    }
    assert_eq!(whole.read_at(whole.length(), 1).unwrap(), b"");
    assert_eq!(
        log.whole(Stream::Stderr).unwrap().length(),
        bytes_of(&pieces(&log, 0), Stream::Stderr).len() as u64
    );
}

#[test]
fn a_reader_follows_a_writer_through_rotation() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().to_owned();
    let script = "i=0; while [ $i -lt 30000 ]; do echo \"$i some words\"; i=$((i+1)); done";
    let spec = kept(sh("follow", script), &dir, 64 * 1024);
    let done = std::sync::atomic::AtomicBool::new(false);
    let (read, told) = std::thread::scope(|scope| {
        let follower = scope.spawn(|| follow(&dir, &done));
        let (_, told) = run(spec);
        done.store(true, std::sync::atomic::Ordering::Release);
        (follower.join().unwrap(), told)
    });
    // Whatever was read is at its place; whatever was not is told.
    let mut at = 0;
    for piece in &read {
        assert_eq!(piece.offset, at, "no hole that is not told");
        match &piece.what {
            What::Bytes(_, bytes) => {
                assert_eq!(bytes, &told.stdout[at as usize..at as usize + bytes.len()]);
                at += bytes.len() as u64;
            }
            What::Dropped(count) | What::Lost(_, count) => at += count,
        }
    }
    assert_eq!(at, told.stdout.len() as u64);
}

fn follow(dir: &std::path::Path, done: &std::sync::atomic::AtomicBool) -> Vec<Piece> {
    let log = Log::open(dir).unwrap_or_else(|error| panic!("{error}"));
    let mut reader = log.read(0);
    let mut read = Vec::new();
    loop {
        let last = done.load(std::sync::atomic::Ordering::Acquire);
        for piece in reader.by_ref() {
            read.push(piece.unwrap_or_else(|error| panic!("{error}")));
        }
        if last {
            return read;
        }
        std::thread::yield_now();
    }
}

#[test]
fn closed_stdout_is_not_an_end() {
    let (end, told) = run(sh("b05", "exec >&- 2>&-; sleep 0.3; exit 9"));
    assert_eq!((end.how, end.cause), (How::Exited { code: 9 }, Cause::OfItself));
    assert!(end.elapsed >= Duration::from_millis(100));
    assert!(told.stdout.is_empty());
}

#[test]
fn a_full_disk_costs_output_and_not_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(directory.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: no small file system can be mounted here");
        return;
    }
    let dir = directory.path().join("run");
    let (end, told) = run(kept(sh("full", "head -c 300000 /dev/zero; echo; echo end"), &dir, 1 << 20));
    let log = Log::open(&dir).unwrap();
    let read = pieces(&log, 0);
    let unmounted = std::process::Command::new("umount").arg(directory.path()).output().unwrap();
    assert!(unmounted.status.success());
    assert_eq!(end.how, How::Exited { code: 0 });
    assert_eq!(told.stdout.len(), 300_005, "the owner saw everything");
    assert!(end.output.lost > 200_000, "{:?}", end.output);
    let there = bytes_of(&read, Stream::Stdout).len() as u64;
    assert!(there > 0 && there <= 300_005 - end.output.lost, "{there} and {:?}", end.output);
}

#[test]
fn a_directory_of_another_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    run(kept(sh("first", "echo x"), directory.path(), 1 << 20));
    let error = callboard_supervisor::start(kept(sh("second", "echo x"), directory.path(), 1 << 20));
    assert!(error.is_err());
}

#[test]
fn a_detached_child_has_three_descriptors() {
    // Descriptors of ours that a careless program would leave open.
    let held = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    let (_, told) = run(sh("b23", "ls /proc/self/fd | tr '\\n' ' '"));
    // The fourth is the directory that `ls` itself reads.
    assert_eq!(String::from_utf8_lossy(&told.stdout), "0 1 2 3 ");
    drop(held);
}

#[test]
fn a_directory_removed_under_a_run_ends_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("kept");
    let mut spec =
        kept(sh("b26", "rm -rf \"$PWD/kept\"; echo a; sleep 0.3; echo b; exit 4"), &dir, 16 * 1024);
    spec.cwd = directory.path().to_owned();
    let (end, told) = run(spec);
    assert_eq!((end.how, told.stdout.as_slice()), (How::Exited { code: 4 }, &b"a\nb\n"[..]));
}
