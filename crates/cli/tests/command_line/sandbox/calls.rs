//! The system calls that a sandbox refuses: what the command is told, what is recorded, and that nobody waits for it.

use serde_json::Value;

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, only, send, supervisor, until, view};
use crate::harness::shelf::{Shelf, text};

/// The refused calls of a run: name and count.
fn refused(view: &Value) -> Vec<(String, u64)> {
    let listed = view["facts"]["sandbox_seen"]["refused_calls"].as_array().cloned().unwrap_or_default();
    let one = |seen: &Value| {
        assert!(seen["first_at"].as_str().is_some_and(|at| at > "2026"), "{seen}");
        (seen["call"].as_str().unwrap_or_default().to_owned(), seen["count"].as_u64().unwrap_or_default())
    };
    listed.iter().map(one).collect()
}

#[test]
fn a_refused_call_fails_as_before_and_is_evidence_of_the_run() {
    let shelf = Shelf::empty();
    let script = "for n in 1 2 3; do unshare --user true; done; bash -c 'exec 3<>/dev/tcp/127.0.0.1/1'; :";
    let arguments =
        ["run", "--sandbox=read-only", "--sandbox-network=none", "--quiet", "--", "sh", "-c", script];
    let ran = finish(shelf.command(&arguments).env("HOME", shelf.file("home")).env("LC_ALL", "C"));
    let count = ran.stderr.matches("unshare failed: Operation not permitted").count();
    assert_eq!((ran.code, count), (Some(0), 3), "{}", ran.stderr);
    let view = only(&shelf);
    let calls = refused(&view);
    assert_eq!(calls.first(), Some(&("unshare".to_owned(), 3)), "{view}");
    assert!(calls.iter().any(|(name, count)| name == "socket(AF_INET)" && *count > 0), "{view}");
    let why = shelf.well(&["why", view["id"].as_str().unwrap()]);
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(why.contains("sandbox refused system calls: unshare 3 times, socket(AF_INET)"), "{why}");
    // What is not refused leaves no trace.
    let arguments = ["run", "--sandbox=read-only", "--quiet", "--title=plain", "--", "true"];
    assert_eq!(finish(shelf.command(&arguments).env("HOME", shelf.file("home"))).code, Some(0));
    let plain = crate::harness::runs::titled(&shelf, "plain").unwrap();
    assert_eq!(plain["facts"]["sandbox_seen"], Value::Null, "{plain}");
}

#[test]
fn a_command_that_is_refused_without_end_is_answered_at_a_bounded_rate_and_stopped_in_time() {
    let shelf = Shelf::empty();
    // 272 is `unshare` on x86-64, 97 elsewhere.
    let call = if cfg!(target_arch = "x86_64") { 272 } else { 97 };
    let script = format!("for (1..3) {{ fork }} syscall({call}, 0x10000000) while 1");
    let arguments = ["run", "--sandbox=read-only", "--timeout=2s", "--quiet", "--", "perl", "-e", &script];
    let ran = finish(shelf.command(&arguments).env("HOME", shelf.file("home")));
    assert_eq!(ran.code, Some(124), "{}", ran.stderr);
    let view = only(&shelf);
    let calls = refused(&view);
    let [(name, count)] = calls.as_slice() else { panic!("{view}") };
    let seconds = view["timeout"]["elapsed_s"].as_f64().unwrap();
    assert_eq!(name, "unshare");
    assert!(*count > 0 && (*count as f64) < 1024.0 + 1010.0 * (seconds + 2.0), "{count} in {seconds} s");
}

#[test]
fn whoever_outlives_the_supervisor_is_refused_and_does_not_wait() {
    let shelf = Shelf::empty();
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let outliving = "parent() { cut -d' ' -f4 /proc/$$/stat; }; first=$(parent); echo > ready; \
                     while [ \"$(parent)\" = \"$first\" ]; do sleep 0.05; done; \
                     unshare --user true 2> said; echo ended >> said";
    let script = "setsid sh -c \"$OUTLIVING\" & exec sleep 600";
    let arguments = [
        "run",
        "--detach",
        "--sandbox=read-only",
        "--sandbox-write",
        text(place.path()),
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = shelf.command(&arguments);
    command
        .env("HOME", shelf.file("home"))
        .env("LC_ALL", "C")
        .env("OUTLIVING", outliving)
        .current_dir(place.path());
    let id = finish(&mut command).well().trim_end().to_owned();
    until("the one that outlives", || place.path().join("ready").exists().then_some(()));
    send("KILL", supervisor(&view(&shelf, &id)));
    let said = until("the answer of the kernel", || {
        std::fs::read_to_string(place.path().join("said")).ok().filter(|said| said.contains("ended"))
    });
    assert!(said.contains("Function not implemented"), "{said}");
    shelf.run(&["reap"]);
}

#[test]
fn a_sandbox_in_a_sandbox_refuses_and_says_that_it_does_not_see_it() {
    let shelf = Shelf::empty();
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let inner =
        "$CB --store own.db run --quiet --sandbox=read-only --sandbox-best-effort -- unshare --user true";
    let binary = std::path::Path::new(CALLBOARD).parent().unwrap();
    let sandbox =
        ["--sandbox=read-only", "--sandbox-write", text(place.path()), "--sandbox-write", text(binary)];
    let arguments = [&["run", "--quiet"], &sandbox[..], &["--", "sh", "-c", inner]].concat();
    let mut command = shelf.command(&arguments);
    command.env("HOME", shelf.file("home")).env("LC_ALL", "C").env("CB", CALLBOARD).current_dir(place.path());
    let ran = finish(&mut command);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("unshare failed: Operation not permitted"), "{}", ran.stderr);
    let own = place.path().join("own.db");
    let items = shelf.json(&["--store", text(&own), "ps", "session", "--all", "--json"]);
    let reasons = items["items"][0]["state"]["reasons"].to_string();
    assert!(reasons.contains("refused system calls were not seen"), "{items}");
}
