//! `flood`: more output than anybody can keep, in lines and as one line without end.
//!
//! Invariant: every byte is counted, the directory never holds more than its quota, and the memory of the supervisor stays
//! under 64 MB. Deliberately absent: a floor for the rate, which is printed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_supervisor::output::{Log, What};
use callboard_supervisor::{How, Keep, Observer, Spec, start};

use crate::harness::driver::{Plan, Tally, Torture};

pub(crate) const TORTURE: Torture = Torture {
    name: "flood",
    about: "100 GB of output and one line of 10 GB leave memory and disk bounded",
    mutants: &["quota"],
    run,
    child: None,
};

const QUOTA: u64 = 8 << 20;
const MEMORY_MAX: u64 = 64 << 20;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let lines = plan.choose(100 << 30, 1 << 30, 64 << 20);
    let line = plan.choose(10 << 30, 100 << 20, 64 << 20);
    for (name, bytes, script) in [
        ("lines", lines, format!("yes 'one more line of an agent that does not stop' | head -c {lines}")),
        ("one line", line, format!("head -c {line} /dev/zero")),
    ] {
        match flood(bytes, &script) {
            Ok(note) => {
                tally.passed += 1;
                tally.notes.push(format!("{name}: {note}"));
            }
            Err(error) => tally.failures.push(format!("{name}: {error:#}")),
        }
    }
    tally
}

fn flood(bytes: u64, script: &str) -> Result<String> {
    let directory = tempfile::Builder::new().prefix("callboard-flood-").tempdir()?;
    // The highest mark of memory begins anew; where it cannot, it only is too high.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
    let before = memory("VmRSS:")?;
    let mut spec = Spec::new("/bin/sh", format!("flood-{}-{bytes}", std::process::id())).args(["-c", script]);
    spec.keep = Some(Keep { dir: directory.path().to_owned(), max_bytes: QUOTA, began_us: 0 });
    let mut warden = Warden { directory: directory.path(), largest: 0 };
    let started = Instant::now();
    let end = start(spec).context("the flood does not start")?.watch(&mut warden);
    let seconds = started.elapsed().as_secs_f64();
    warden.tick();
    let used = memory("VmHWM:")?.saturating_sub(before);
    if end.how != (How::Exited { code: 0 }) || end.output.stdout_bytes != bytes {
        bail!("{bytes} bytes were written: {end:?}");
    }
    if warden.largest > QUOTA {
        bail!("the directory held {} bytes, the quota is {QUOTA}", warden.largest);
    }
    if used > MEMORY_MAX {
        bail!("{used} bytes of memory were used");
    }
    let (there, dropped) = read(directory.path())?;
    if there + dropped != bytes || dropped != end.output.dropped {
        bail!("{there} bytes are there and {dropped} are told as dropped, of {bytes}: {:?}", end.output);
    }
    let rate = bytes as f64 / seconds / 1e6;
    Ok(format!("{bytes} bytes in {seconds:.1}s, {rate:.0} MB/s; {used} bytes of memory, {there} bytes kept"))
}

/// Measures the directory again and again.
struct Warden<'a> {
    directory: &'a Path,
    largest: u64,
}

impl Observer for Warden<'_> {
    fn due(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }

    fn tick(&mut self) {
        let entries = std::fs::read_dir(self.directory).into_iter().flatten().flatten();
        let size: u64 = entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        self.largest = self.largest.max(size);
    }
}

/// How much a reader finds, and how much it is told to have missed.
fn read(directory: &Path) -> Result<(u64, u64)> {
    let (mut there, mut dropped) = (0, 0);
    for piece in Log::open(directory)?.read(0) {
        match piece?.what {
            What::Bytes(_, bytes) => there += bytes.len() as u64,
            What::Dropped(count) => dropped += count,
            What::Lost(_, count) => bail!("{count} bytes were lost on a disk with room"),
        }
    }
    Ok((there, dropped))
}

fn memory(line: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|found| found.strip_prefix(line)).context("no such line")?;
    let kilobytes: u64 = value.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}
