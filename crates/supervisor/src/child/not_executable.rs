//! Why a file that is there is not executed: its interpreter or loader is missing, it is cut short, it is no program.
//!
//! Invariant: a file is read only after the kernel has refused it, or has killed what it became; a file on a dead file
//! system must not keep a supervisor that has not even begun. Deliberately absent: whether it may be executed, which
//! the kernel alone knows.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::{Spec, StartError};

pub(crate) const BEGIN_BYTES: usize = 128;
/// The longest first line that the kernel reads.
const LINE_MAX: usize = 256;
const ELF: &[u8] = b"\x7fELF";
/// More program headers than any program has.
const HEADERS_MAX: u64 = 1_024;
const PATH_MAX: u64 = 4_096;

/// Whether a file that begins so can be handed to a shell: text, as far as its first line shows.
pub(crate) fn may_be_script(begin: &[u8]) -> bool {
    !begin.starts_with(ELF) && begin.split(|byte| *byte == b'\n').next().is_none_or(|line| !line.contains(&0))
}

/// Sorts what `exec` said, after a look at the file.
pub(crate) fn refused(spec: &Spec, source: io::Error) -> StartError {
    let program = spec.program.clone();
    let flaw = find(spec).and_then(|path| flaw(&path));
    match (flaw, source.raw_os_error()) {
        (Some(Flaw::Needs(missing)), Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP)) => {
            StartError::Interpreter { program, missing, source }
        }
        (Some(Flaw::Broken(because)), Some(libc::ENOEXEC | libc::EIO | libc::EINVAL | libc::ELIBBAD)) => {
            StartError::NotExecutable { program, because: Some(because), source }
        }
        _ => StartError::of_exec(program, source),
    }
}

/// What is wrong with the program that a signal ended, if its file shows it.
pub(crate) fn broken(spec: &Spec) -> Option<String> {
    match flaw(&find(spec)?)? {
        Flaw::Broken(because) => Some(format!("{} {because}", spec.program.display())),
        Flaw::Needs(_) => None,
    }
}

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq)]
enum Flaw {
    /// Something that it needs is not there.
    Needs(String),
    /// It is not whole, or no program.
    Broken(String),
}

fn flaw(path: &Path) -> Option<Flaw> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut begin = vec![0; LINE_MAX];
    let count = file.read_at(&mut begin, 0).ok()?;
    begin.truncate(count);
    if let Some(line) = begin.strip_prefix(b"#!") {
        return script(line);
    }
    if begin.starts_with(ELF) {
        return elf(&file, &begin, size);
    }
    if begin.is_empty() {
        return Some(Flaw::Broken("is empty".to_owned()));
    }
    (!may_be_script(&begin)).then(|| Flaw::Broken("is neither a program nor a script".to_owned()))
}

/// The first line of a script.
fn script(line: &[u8]) -> Option<Flaw> {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let carriage = line.ends_with(b"\r");
    let words = line.trim_ascii();
    let name = words.split(|byte| matches!(byte, b' ' | b'\t')).next().filter(|name| !name.is_empty())?;
    let name = Path::new(OsStr::from_bytes(name));
    let shown = name.display();
    if carriage {
        let line =
            "its first line ends with a carriage return, which is taken as part of the interpreter's name";
        return Some(Flaw::Needs(format!("{line}; save it with line ends of Unix")));
    }
    match std::fs::metadata(name) {
        Err(error) if is_absent(&error) => {
            Some(Flaw::Needs(format!("its interpreter {shown} does not exist")))
        }
        Ok(found) if found.is_dir() => Some(Flaw::Needs(format!("its interpreter {shown} is a directory"))),
        Ok(_) if rustix::fs::access(name, rustix::fs::Access::EXEC_OK).is_err() => {
            Some(Flaw::Needs(format!("its interpreter {shown} is not executable")))
        }
        Ok(_) | Err(_) => None,
    }
}

/// The headers of a program.
fn elf(file: &File, begin: &[u8], size: u64) -> Option<Flaw> {
    let cut = |needs: u64| Flaw::Broken(format!("is cut short: it has {size} of at least {needs} bytes"));
    let wide = match begin.get(4) {
        None => return Some(cut(64)),
        Some(2) => true,
        Some(_) => false,
    };
    let head = if wide { 64 } else { 52 };
    if size < head {
        return Some(cut(head));
    }
    if begin.get(5) != Some(&1) {
        return Some(Flaw::Broken("is a program for another machine".to_owned()));
    }
    let machine = number(begin, 18, 2)?;
    if !MACHINES.is_empty() && !MACHINES.contains(&machine) {
        return Some(Flaw::Broken("is a program for another machine".to_owned()));
    }
    let (table, entry, count) = if wide {
        (number(begin, 32, 8)?, number(begin, 54, 2)?, number(begin, 56, 2)?)
    } else {
        (number(begin, 28, 4)?, number(begin, 42, 2)?, number(begin, 44, 2)?)
    };
    let table_end = table.checked_add(entry.checked_mul(count)?)?;
    if size < table_end {
        return Some(cut(table_end));
    }
    let mut needs = table_end;
    let mut loader = None;
    for index in 0..count.min(HEADERS_MAX) {
        let mut header = vec![0; usize::try_from(entry).ok()?];
        file.read_exact_at(&mut header, table + index * entry).ok()?;
        let (from, length) = if wide {
            (number(&header, 8, 8)?, number(&header, 32, 8)?)
        } else {
            (number(&header, 4, 4)?, number(&header, 16, 4)?)
        };
        match number(&header, 0, 4)? {
            PT_LOAD => needs = needs.max(from.checked_add(length)?),
            PT_INTERP => loader = Some((from, length)),
            _ => {}
        }
    }
    if size < needs {
        return Some(cut(needs));
    }
    let (from, length) = loader?;
    let mut name = vec![0; usize::try_from(length.min(PATH_MAX)).ok()?];
    file.read_exact_at(&mut name, from).ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let absent = std::fs::metadata(OsStr::from_bytes(name)).is_err_and(|error| is_absent(&error));
    let shown = String::from_utf8_lossy(name);
    absent.then(|| Flaw::Needs(format!("its loader {shown} does not exist; it was built for another system")))
}

const PT_LOAD: u64 = 1;
const PT_INTERP: u64 = 3;

/// A number of so many bytes, the least one first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The machines whose programs run here, as their files say it; empty where we do not know.
const MACHINES: &[u64] = if cfg!(target_arch = "x86_64") {
    &[62, 3]
} else if cfg!(target_arch = "aarch64") {
    &[183, 40]
} else {
    &[]
};

fn is_absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

/// The file that would be executed.
fn find(spec: &Spec) -> Option<PathBuf> {
    if spec.program.as_bytes().contains(&b'/') {
        return Some(spec.cwd.join(&spec.program));
    }
    let given = spec.env.iter().rev().find(|(key, _)| key == "PATH").map(|(_, value)| value.clone());
    let path: OsString = given.or_else(|| std::env::var_os("PATH"))?;
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|directory| spec.cwd.join(Path::new(OsStr::from_bytes(directory))).join(&spec.program))
        .find(|path| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw_of(bytes: &[u8]) -> Option<Flaw> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        flaw(&path)
    }

    #[test]
    fn text_may_be_a_script_and_a_program_is_none() {
        for begin in [&b"echo without a first line\n\0"[..], b"", b"#!/bin/sh\n"] {
            assert!(may_be_script(begin), "{begin:?}");
        }
        for begin in [&b"\x7fELF"[..], b"\x01\0\x02\n"] {
            assert!(!may_be_script(begin), "{begin:?}");
        }
    }

    #[test]
    fn what_runs_here_has_no_flaw() {
        for bytes in [&b"#!/bin/sh\n"[..], b"#! /bin/sh -e\necho\n", b"#!/usr/bin/env sh\n", b"echo\n"] {
            assert_eq!(flaw_of(bytes), None, "{bytes:?}");
        }
        assert_eq!(flaw_of(&std::fs::read("/bin/true").unwrap()), None);
        assert_eq!(flaw(Path::new("/proc/self/exe")), None);
    }

    #[test]
    fn each_flaw_has_a_sentence_of_its_own() {
        let needs = |bytes: &[u8], part: &str| match flaw_of(bytes) {
            Some(Flaw::Needs(missing)) => assert!(missing.contains(part), "{missing}"),
            other => panic!("{part}: {other:?}"),
        };
        let broken = |bytes: &[u8], part: &str| match flaw_of(bytes) {
            Some(Flaw::Broken(because)) => assert!(because.contains(part), "{because}"),
            other => panic!("{part}: {other:?}"),
        };
        needs(b"#!/no/such/interpreter -x\n", "its interpreter /no/such/interpreter does not exist");
        needs(b"#!/bin/sh\r\necho\r\n", "carriage return");
        needs(b"#!/etc/passwd\n", "/etc/passwd is not executable");
        needs(b"#!/etc\n", "/etc is a directory");
        let own = std::fs::read("/bin/true").unwrap();
        for length in [4, 30, 100, 500, own.len() * 2 / 3] {
            broken(&own[..length], "is cut short");
        }
        let loader = b"/lib64/ld-linux";
        if let Some(at) = own.windows(loader.len()).position(|window| window == loader) {
            let mut lost = own.clone();
            lost[at..at + 4].copy_from_slice(b"/lip");
            needs(&lost, "its loader /lip64/ld-linux");
        }
        let mut foreign = own;
        foreign[18] = 0xf3;
        broken(&foreign, "another machine");
        broken(b"\x01\0\x02\n", "neither a program nor a script");
    }
}
