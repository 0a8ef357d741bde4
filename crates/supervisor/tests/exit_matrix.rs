//! How a run ended, for every way to end there is: 256 codes, 64 signals, a core dump, want of memory, and no start at all.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use callboard_supervisor::{Cause, End, Force, How, Quiet, Spec, StartError, start};

fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let own = callboard_supervisor::process::this().map(|own| own.started_ticks).unwrap_or_default();
    format!("matrix-{}-{own}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh", marker()).args(["-c", script])
}

fn end_of(spec: Spec) -> End {
    match start(spec) {
        Ok(running) => running.watch(&mut Quiet),
        Err(error) => panic!("the run does not start: {error:?}"),
    }
}

#[test]
fn every_exit_code_is_read() {
    for code in 0..=255u8 {
        let end = end_of(sh(&format!("exit {code}")));
        assert_eq!((end.how, end.cause), (How::Exited { code }, Cause::OfItself), "exit {code}");
        assert_eq!((end.how.raw(), end.oom, end.killed), (Some(i32::from(code) << 8), Some(false), false));
    }
}

/// Signals that end nobody by default. Those that stop do nothing to a group without a parent in its session, except
/// STOP, which has a test of its own.
const HARMLESS: [i32; 7] = [17, 18, 20, 21, 22, 23, 28];
const STOP: i32 = 19;

#[test]
fn every_signal_is_read() {
    for signal in (1..=64).filter(|signal| *signal != STOP) {
        let end = end_of(sh(&format!("ulimit -c 0; kill -{signal} $$; exit 7")));
        let expected = if HARMLESS.contains(&signal) {
            How::Exited { code: 7 }
        } else {
            How::Signaled { signal, core_dumped: false }
        };
        assert_eq!((end.how, end.cause), (expected, Cause::OfItself), "signal {signal}");
        assert!(
            end.oom != Some(true) && !end.killed,
            "signal {signal}: KILL from elsewhere is not want of memory, nor ours"
        );
    }
}

#[test]
fn a_core_dump_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = sh("ulimit -c unlimited || exit 99; kill -QUIT $$");
    spec.cwd = directory.path().to_owned();
    // Where the hard limit forbids core files, the shell says so and none is made.
    let expected = match rustix::process::getrlimit(rustix::process::Resource::Core).maximum {
        None => How::Signaled { signal: 3, core_dumped: true },
        Some(_) => How::Exited { code: 99 },
    };
    assert_eq!(end_of(spec).how, expected);
}

#[test]
fn a_childs_own_126_and_127_are_exits() {
    for code in [126, 127] {
        assert_eq!(end_of(sh(&format!("exit {code}"))).how, How::Exited { code });
    }
}

#[test]
fn want_of_memory_is_read_from_the_group() {
    let mut spec = sh("x=x; while :; do x=$x$x; done");
    spec.limits.memory_bytes = Some(48 << 20);
    let running = match start(spec) {
        Ok(running) => running,
        Err(error) => panic!("the run does not start: {error:?}"),
    };
    let containment = running.containment().clone();
    let end = running.watch(&mut Quiet);
    if containment.memory != Force::Cgroup {
        // A resource limit makes the shell give up by itself, which is not a kill for want of memory.
        assert!(!containment.sees_oom && end.oom != Some(true), "{containment:?}: {end:?}");
        return;
    }
    assert!(containment.sees_oom);
    assert_eq!(end.how, How::Signaled { signal: 9, core_dumped: false });
    assert!(end.oom == Some(true) && end.oom_kills.is_some_and(|kills| kills > 0), "{end:?}");
    assert_eq!((end.cause, end.killed), (Cause::OfItself, false));
}

/// A script under a memory limit that a control group holds; none where no such group can be made, and then nobody claims
/// to have seen a kill for want of memory.
fn under_limit(script: &str) -> Option<End> {
    let mut spec = sh(script);
    spec.limits.memory_bytes = Some(48 << 20);
    let running = match start(spec) {
        Ok(running) => running,
        Err(error) => panic!("the run does not start: {error:?}"),
    };
    let has_group = running.containment().memory == Force::Cgroup;
    let end = running.watch(&mut Quiet);
    assert!(has_group || end.oom != Some(true), "{end:?}");
    has_group.then_some(end)
}

#[test]
fn a_child_that_is_killed_for_memory_is_evidence_and_not_the_end() {
    let hungry = "x=x; while :; do x=$x$x; done";
    let Some(end) = under_limit(&format!("sh -c '{hungry}' 2>/dev/null; exit 0")) else { return };
    assert_eq!((end.how, end.oom), (How::Exited { code: 0 }, Some(false)), "{end:?}");
    assert!(end.oom_kills.is_some_and(|kills| kills > 0), "{end:?}");
    // Then a stranger kills the command. The kernel's log names who was killed for memory, or the time tells.
    let Some(end) = under_limit(&format!("sh -c '{hungry}' 2>/dev/null; sleep 4; kill -KILL $$")) else {
        return;
    };
    assert_eq!(end.how, How::Signaled { signal: 9, core_dumped: false });
    assert_eq!(end.oom, Some(false), "{end:?}");
}

#[test]
fn what_a_small_command_used_is_not_what_we_use() {
    let own = {
        // As much memory as no shell needs.
        let held = vec![1u8; 64 << 20];
        let end = end_of(Spec::new("/bin/true", marker()));
        assert!(held.iter().all(|byte| *byte == 1));
        end.usage.max_rss_bytes
    };
    assert_eq!(own, None, "it cannot be told apart from ours");
    let script = "x=x; while [ ${#x} -lt 33554432 ]; do x=$x$x; done";
    let used = end_of(sh(script)).usage.max_rss_bytes;
    assert!(used.is_some_and(|bytes| bytes > 32 << 20), "{used:?}");
}

fn refused(spec: Spec) -> StartError {
    match start(spec) {
        Ok(running) => panic!("it started: {running:?}"),
        Err(error) => error,
    }
}

fn file(directory: &Path, name: &str, mode: u32, content: &[u8]) -> std::path::PathBuf {
    let path = directory.join(name);
    let written = std::fs::write(&path, content)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)));
    written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
    path
}

#[test]
fn each_way_not_to_start_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let plain = file(directory.path(), "plain", 0o644, b"#!/bin/sh\n");
    let lost = file(directory.path(), "lost", 0o755, b"#!/nowhere/at/all\n");
    let busy = file(directory.path(), "busy", 0o755, &std::fs::read("/bin/true").unwrap());
    let writer = std::fs::File::options().append(true).open(&busy).unwrap();
    let noise = file(directory.path(), "noise", 0o755, b"\x01\x02\0\x03\n\xff");
    for (program, code, errno) in [
        (directory.path().join("missing"), 127, libc::ENOENT),
        ("no-such-program-anywhere".into(), 127, libc::ENOENT),
        (plain, 126, libc::EACCES),
        (directory.path().to_owned(), 126, libc::EACCES),
        (busy, 126, libc::ETXTBSY),
        (noise, 126, libc::ENOEXEC),
    ] {
        let error = refused(Spec::new(&program, marker()));
        assert_eq!(
            (error.exit_code(), error.errno()),
            (code, Some(errno)),
            "{}: {error:?}",
            program.display()
        );
        assert_eq!(matches!(error, StartError::NotFound { .. }), code == 127, "{error:?}");
        assert_eq!(matches!(error, StartError::NotExecutable { .. }), code == 126, "{error:?}");
    }
    drop(writer);

    let own = std::fs::read("/bin/true").unwrap();
    let cut = file(directory.path(), "cut", 0o755, &own[..500]);
    let carriage = file(directory.path(), "carriage", 0o755, b"#!/bin/sh\r\necho hi\r\n");
    for (program, code, sentence) in [
        (&lost, 127, "its interpreter /nowhere/at/all does not exist"),
        (&carriage, 127, "its first line ends with a carriage return"),
        (&cut, 126, "it is cut short: it has 500 of at least"),
    ] {
        let error = refused(Spec::new(program, marker()));
        assert_eq!(error.exit_code(), code, "{error:?}");
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(!matches!(error, StartError::NotFound { .. }), "the file is there: {error:?}");
    }
    // Of a program that is cut further behind the kernel makes a process, which a signal ends.
    let segments = file(directory.path(), "segments", 0o755, &own[..own.len() * 2 / 3]);
    if let Ok(running) = start(Spec::new(&segments, marker())) {
        let end = running.watch(&mut Quiet);
        assert!(end.flaw.as_deref().is_some_and(|flaw| flaw.contains("cut short")), "{end:?}");
    }

    let error = refused(Spec::new("/bin/true", marker()).args(["x".repeat(3 << 20)]));
    assert!(matches!(error, StartError::Resources { .. }), "{error:?}");
    assert_eq!(error.errno(), Some(libc::E2BIG));

    for cwd in [directory.path().join("missing"), "/bin/true".into()] {
        let mut spec = Spec::new("/bin/true", marker());
        spec.cwd = cwd;
        assert!(matches!(refused(spec), StartError::MissingCwd { .. }));
    }
    assert!(matches!(refused(Spec::new("", marker())), StartError::Invalid(_)));
    assert!(matches!(refused(Spec::new("/bin/true", "a/b")), StartError::Invalid(_)));
    assert!(matches!(refused(Spec::new("/bin/true", marker()).args(["a\0b"])), StartError::Invalid(_)));
}

#[test]
fn a_failed_start_leaves_nothing_behind() {
    let name = marker();
    refused(Spec::new("no-such-program-anywhere", name.clone()));
    assert!(callboard_supervisor::process::find_marked(&name).is_empty());
    // The same marker can be used again, so its control group is gone.
    let end = end_of(Spec::new("/bin/true", name));
    assert_eq!(end.how, How::Exited { code: 0 });
}
