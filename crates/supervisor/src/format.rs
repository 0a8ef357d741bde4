//! Whether a file is a program at all.
//!
//! The C library hands every file that the kernel does not know to `/bin/sh`, so that scripts without a first line run, as
//! they do under `env` and `timeout`. A binary for another machine would then end with the shell's complaints about its
//! bytes. So what is certainly no script is refused here, as shells do.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Spec;

/// What `exec` would say if the shell were not asked.
pub(crate) fn check(spec: &Spec) -> io::Result<()> {
    let Some(path) = find(spec) else { return Ok(()) };
    let mut begin = [0; BEGIN_BYTES];
    // Who cannot be read may still be executed.
    let Ok(count) = File::open(path).and_then(|mut file| file.read(&mut begin)) else { return Ok(()) };
    if is_certainly_foreign(&begin[..count]) && !has_interpreters() {
        return Err(io::Error::from_raw_os_error(libc::ENOEXEC));
    }
    Ok(())
}

const BEGIN_BYTES: usize = 128;

fn is_certainly_foreign(begin: &[u8]) -> bool {
    match begin {
        [b'#', b'!', ..] => false,
        [0x7f, b'E', b'L', b'F', ..] => {
            let machine = begin.get(18..20).map(|machine| u16::from_le_bytes([machine[0], machine[1]]));
            !MACHINES.is_empty() && machine.is_none_or(|machine| !MACHINES.contains(&machine))
        }
        _ => begin.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&0)),
    }
}

/// The machines whose programs run here, as their files say it; empty where we do not know.
const MACHINES: &[u16] = if cfg!(target_arch = "x86_64") {
    &[62, 3]
} else if cfg!(target_arch = "aarch64") {
    &[183, 40]
} else {
    &[]
};

/// Whether the kernel knows interpreters for other formats.
fn has_interpreters() -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/sys/fs/binfmt_misc") else { return false };
    entries.flatten().any(|entry| entry.file_name() != "register" && entry.file_name() != "status")
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

    #[test]
    fn scripts_and_our_own_programs_pass() {
        for begin in [&b"#!/bin/sh\0"[..], b"echo without a first line\n\0", b""] {
            assert!(!is_certainly_foreign(begin), "{begin:?}");
        }
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(!is_certainly_foreign(&own[..BEGIN_BYTES]));
    }

    #[test]
    fn noise_and_foreign_programs_do_not() {
        assert!(is_certainly_foreign(b"\x01\0\x02\n"));
        let mut own = std::fs::read("/proc/self/exe").unwrap();
        own[18] = 0xf3;
        assert_eq!(is_certainly_foreign(&own[..BEGIN_BYTES]), !MACHINES.is_empty());
    }
}
