//! Notifications, on the real binary: what is sent, that it is sent once, and that it never harms a run.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::driver::{Ran, finish};
use crate::harness::receiver::{Answer, CERTIFICATE, Receiver, secret};
use crate::harness::shelf::Shelf;

const OK: [Answer; 1] = [Answer::Status(204)];

fn command(shelf: &Shelf, receiver: &Receiver, arguments: &[&str]) -> Command {
    let mut command = shelf.command(arguments);
    command.env("CALLBOARD_WEBHOOK_URL", receiver.url()).env("CALLBOARD_WEBHOOK_SECRET", secret());
    command
}

fn run(shelf: &Shelf, receiver: &Receiver, arguments: &[&str]) -> Ran {
    finish(&mut command(shelf, receiver, arguments))
}

const FAILS: [&str; 5] = ["run", "--", "sh", "-c", "exit 7"];

/// What is recorded of telling, of the one run there is.
fn mark(shelf: &Shelf) -> Value {
    let document = shelf.json(&["ps", "--all", "--json"]);
    document["items"][0]["facts"]["notified"].clone()
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn spawned(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "the test ends the program at a moment of its choice")]
    match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("{error}"),
    }
}

fn kill(mut child: Child) {
    if let Err(error) = child.kill().and_then(|()| child.wait()) {
        panic!("{error}");
    }
}

#[test]
fn a_run_that_fails_is_told_once_signed_and_without_secrets() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&OK));
    let ran = run(&shelf, &receiver, &FAILS);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(7), 1), "{}", ran.stderr);
    let call = receiver.call();
    let item = shelf.json(&["attention", "--json"])["items"][0].clone();
    let event = call.json();
    assert_eq!(
        (&event["type"], &event["specversion"]),
        (&json!("dev.callboard.attention.v1"), &json!("1.0"))
    );
    assert_eq!((&event["subject"], &event["id"]), (&item["entity"]["id"], &json!(call.header("webhook-id"))));
    assert_eq!(event["data"], item);
    assert!(event["time"].is_string() && event["source"].is_string(), "{event}");
    assert_eq!(call.target, "/hook/hunter3");
    assert_eq!(call.header("authorization"), "Basic YW5uOmh1bnRlcjI=");
    assert_eq!(call.header("content-type"), "application/cloudevents+json; charset=utf-8");
    let mark = mark(&shelf);
    assert_eq!(
        (&mark["state"], &mark["webhook"], &mark["tries"]),
        (&json!("sent"), &json!("sent"), &json!(1))
    );
    assert_eq!(mark["condition"], "run.failed.exit_nonzero");
    let recorded = shelf.well(&["events", "--json"]);
    for hidden in ["hunter", "whsec_", "127.0.0.1"] {
        assert!(!recorded.contains(hidden), "{hidden}: {recorded}");
    }
    let mut watching = spawned(&mut command(&shelf, &receiver, &["attention", "--watch", "--notify"]));
    assert!(receiver.stays_quiet(Duration::from_millis(2500)), "it was told already");
    assert!(watching.try_wait().is_ok_and(|ended| ended.is_none()));
    kill(watching);
    assert!(shelf.json(&["verify", "--json"])["ok"] == true);
}

#[test]
fn what_needs_nobody_and_what_nobody_asked_for_is_not_told() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&OK));
    assert_eq!(run(&shelf, &receiver, &["run", "--", "true"]).code, Some(0));
    assert_eq!(finish(command(&shelf, &receiver, &FAILS).env("CALLBOARD_NOTIFY", "0")).code, Some(7));
    assert_eq!(shelf.run(&FAILS).code, Some(7));
    assert!(receiver.is_quiet());
    let off = shelf.run(&["attention", "--watch", "--notify"]);
    assert_eq!(off.code, Some(2));
    assert!(off.stderr.contains("no notification is turned on"), "{}", off.stderr);
}

#[test]
fn a_server_that_stumbles_gets_the_same_message_again() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&[Answer::Status(500), Answer::Status(200)]));
    assert_eq!(run(&shelf, &receiver, &FAILS).code, Some(7));
    let (first, second) = (receiver.call(), receiver.call());
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(first.body, second.body);
    assert!(receiver.is_quiet());
    assert_eq!(mark(&shelf)["state"], "sent");
}

#[test]
fn a_server_that_hangs_delays_the_exit_by_a_bound_and_the_failure_is_recorded() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&[Answer::Hang]));
    let ran = run(&shelf, &receiver, &FAILS);
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains("nobody was notified: http://127.0.0.1:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no answer in time") && !ran.stderr.contains("hunter"), "{}", ran.stderr);
    let mark = mark(&shelf);
    assert_eq!((&mark["state"], &mark["webhook"]), (&json!("failed"), &json!("failed")));
    assert!(!mark["problem"].as_str().unwrap().contains("hunter"), "{mark}");
}

#[test]
fn a_redirect_and_a_refusal_are_no_success_and_are_not_repeated() {
    for status in [302, 403] {
        let (shelf, receiver) = (Shelf::empty(), Receiver::start(&[Answer::Status(status)]));
        assert_eq!(run(&shelf, &receiver, &FAILS).code, Some(7));
        assert_eq!(receiver.call().target, "/hook/hunter3");
        assert!(receiver.is_quiet(), "{status}");
        assert_eq!(mark(&shelf)["state"], "failed");
    }
}

#[test]
fn an_encrypted_receiver_must_be_one_the_system_trusts() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start_secure(&OK));
    let trusting = |file: &str| finish(command(&shelf, &receiver, &FAILS).env("SSL_CERT_FILE", file));
    assert_eq!(trusting(CERTIFICATE).stderr.lines().count(), 1);
    receiver.call();
    assert_eq!(mark(&shelf)["state"], "sent");
    let stranger = trusting("/nonexistent.pem");
    assert_eq!(stranger.code, Some(7));
    assert!(stranger.stderr.contains("no safe connection"), "{}", stranger.stderr);
    assert!(receiver.is_quiet());
}

#[test]
fn a_command_does_not_inherit_what_signs() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&OK));
    let script = "echo \"<$CALLBOARD_WEBHOOK_SECRET$CALLBOARD_WEBHOOK_URL>\"; exit 7";
    assert_eq!(run(&shelf, &receiver, &["run", "--", "sh", "-c", script]).stdout, "<>\n");
    receiver.call();
}

#[test]
fn settings_that_are_not_understood_do_not_touch_the_run_and_are_not_repeated() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&OK));
    let ran = finish(command(&shelf, &receiver, &FAILS).env("CALLBOARD_WEBHOOK_SECRET", "whsec_hunter2"));
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains("nobody was notified: CALLBOARD_WEBHOOK_SECRET"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    assert!(receiver.is_quiet());
    let doctor = finish(
        command(&shelf, &receiver, &["doctor", "--json"]).env("CALLBOARD_WEBHOOK_SECRET", "whsec_hunter2"),
    );
    assert_eq!(doctor.code, Some(1));
    assert!(!doctor.stdout.contains("hunter2"), "{}", doctor.stdout);
}

#[test]
fn a_run_in_the_background_is_told_when_it_ends() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&OK));
    assert_eq!(run(&shelf, &receiver, &["run", "--detach", "--", "sh", "-c", "exit 3"]).code, Some(0));
    assert_eq!(receiver.call().json()["data"]["reason"]["code"], "run.failed.exit_nonzero");
    until("the shim records it", || mark(&shelf)["state"] == "sent");
}

#[test]
fn of_two_watchers_one_tells_that_a_supervisor_died_and_a_watcher_that_is_killed_is_not_repeated_at_once() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&[Answer::Hang]));
    let running = spawned(&mut shelf.command(&["run", "--", "sleep", "60"]));
    until("it runs", || shelf.run(&["ps", "--state", "running", "--json"]).stdout.contains("ses_"));
    kill(running);
    let watch = ["attention", "--watch", "--notify"];
    let watchers = [(); 2].map(|()| spawned(&mut command(&shelf, &receiver, &watch)));
    let event = receiver.call().json();
    assert_eq!(event["data"]["reason"]["code"], "run.health.process_dead");
    assert_eq!(mark(&shelf)["state"], "sending");
    watchers.into_iter().for_each(kill);
    let again = spawned(&mut command(&shelf, &receiver, &watch));
    assert!(receiver.stays_quiet(Duration::from_millis(2500)), "somebody had claimed it");
    kill(again);
    shelf.run(&["reap"]);
}

#[test]
fn a_note_is_shown_on_the_desktop_as_text() {
    let shelf = Shelf::empty();
    let (bin, told) = (shelf.file("bin"), shelf.file("told"));
    std::fs::create_dir_all(&bin).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", told.display());
    let program = bin.join("notify-send");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let config = shelf.file("callboard/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[notify]\ndesktop = true\n").unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ready = |arguments: &[&str]| {
        let mut command = shelf.command(arguments);
        command.env("PATH", &path).env("XDG_CONFIG_HOME", shelf.file(""));
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
        command
    };
    let fails = ["run", "--title", "a <b>bold</b> title", "--", "sh", "-c", "exit 7"];
    assert_eq!(finish(&mut ready(&fails)).code, Some(7));
    let words = std::fs::read_to_string(&told).unwrap();
    assert_eq!(
        words.lines().collect::<Vec<_>>(),
        [
            "--app-name=callboard",
            "--urgency=critical",
            "--",
            "Failed · Infra OK — a <b>bold</b> title",
            "exited with 7"
        ]
    );
    assert_eq!(mark(&shelf)["desktop"], "sent");
    std::fs::write(&program, "#!/bin/sh\nexit 9\n").unwrap();
    let other = finish(&mut ready(&fails));
    assert_eq!(other.code, Some(7));
    assert!(other.stderr.contains("nobody was notified: notify-send exited with 9"), "{}", other.stderr);
}

#[test]
fn a_test_message_can_be_sent() {
    let (shelf, receiver) = (Shelf::empty(), Receiver::start(&[Answer::Status(200), Answer::Status(404)]));
    let document = run(&shelf, &receiver, &["doctor", "--test-notification", "--json"]);
    assert_eq!(receiver.call().json()["type"], "dev.callboard.test.v1");
    let checks: Value = serde_json::from_str(&document.stdout).unwrap();
    let sent = |checks: &Value| -> Vec<Value> {
        checks["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "test").cloned().collect()
    };
    assert_eq!(sent(&checks)[0]["found"], "webhook: sent");
    let failed = run(&shelf, &receiver, &["doctor", "--test-notification"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.contains("answered 404") && !failed.stdout.contains("hunter"), "{}", failed.stdout);
}

#[test]
fn the_root_of_the_store_is_sent_once_a_day_and_that_is_recorded() {
    let shelf = Shelf::empty();
    let receiver = Receiver::start(&OK);
    let config = shelf.file("config/callboard");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[notify]\ndaily_root = true\n").unwrap();
    let run = || {
        let mut command = command(&shelf, &receiver, &["run", "--quiet", "--", "true"]);
        finish(command.env("XDG_CONFIG_HOME", shelf.file("config"))).well()
    };
    run();
    let call = receiver.call();
    let event = call.json();
    assert_eq!(event["type"], "dev.callboard.root.v1", "{event}");
    let root = shelf.file("root.json");
    std::fs::write(&root, event["data"].to_string()).unwrap();
    shelf.well(&["verify", "--root", crate::harness::shelf::text(&root)]);
    run();
    assert!(receiver.is_quiet(), "a second one on the same day");
    let sent = shelf.json(&["ps", "claim", "--json"]);
    let sent = shelf.json(&["inspect", sent["items"][0]["id"].as_str().unwrap(), "--json"]);
    assert_eq!(sent["facts"]["root_sent"]["state"], "sent", "{sent}");
    assert_eq!(sent["facts"]["root_sent"]["seq"], event["data"]["seq"], "{sent}");
}
