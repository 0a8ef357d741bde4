//! What is kept of a command line: nothing secret in any record, and every byte where only its user can read it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::runs::{only, titled};
use crate::harness::shelf::{Shelf, text};

const SECRETS: [&str; 4] = [
    "sk-ant-api03-0123456789abcdefghij",
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "hunter2hunter2",
    "s3cr3tvalue",
];

#[test]
fn secrets_of_a_command_line_are_in_no_record_and_on_no_surface() {
    let shelf = Shelf::empty();
    let [key, token, password, header] = SECRETS;
    let arguments = [
        "run",
        "--",
        "sh",
        "-c",
        "echo \"$@\" >&2; exit 3",
        "sh",
        key,
        "--token",
        token,
        &format!("--password={password}"),
        "-H",
        &format!("Authorization: Bearer {header}"),
    ];
    let ran = shelf.run(&arguments);
    assert_eq!(ran.code, Some(3));
    assert!(SECRETS.iter().all(|secret| ran.stderr.contains(secret)), "the command itself gets them");
    let closing = ran.stderr.lines().last().unwrap_or_default().to_owned();
    let id = only(&shelf)["id"].as_str().unwrap().to_owned();
    let surfaces: [&[&str]; 9] = [
        &["ps", "--all"],
        &["ps", "--all", "--json"],
        &["why", &id],
        &["why", &id, "--json"],
        &["inspect", &id],
        &["inspect", &id, "--json"],
        &["events", "--json"],
        &["attention", "--json"],
        &["export"],
    ];
    let said = surfaces.map(|surface| shelf.run(surface)).map(|ran| ran.stdout + &ran.stderr);
    for text in said.iter().chain([&closing]) {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    let store = std::fs::read(shelf.path()).unwrap();
    let log = std::fs::read(shelf.file("store.db-wal")).unwrap_or_default();
    for secret in SECRETS {
        let is_in = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_in(&store) && !is_in(&log), "{secret} is in the store");
    }
    let run = shelf.file("runs").join(&id);
    for entry in std::fs::read_dir(&run).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.path());
    }
    assert_eq!(std::fs::metadata(&run).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn a_retry_repeats_every_byte_in_the_same_directory() {
    let shelf = Shelf::empty();
    let odd = OsStr::from_bytes(b"a\n\xff\xfe --token=hunter2 \"b\"");
    let script = "printf '%s|%s' \"$PWD\" \"$1\"; exit 3";
    let mut command = shelf.command(&["run", "--quiet", "--title", "first", "--", "sh", "-c", script, "sh"]);
    let first = command.arg(odd).current_dir(shelf.file("")).output().unwrap();
    let id = titled(&shelf, "first").unwrap()["id"].clone();
    let second = shelf.command(&["retry", id.as_str().unwrap()]).current_dir("/").output().unwrap();
    assert_eq!((second.status.code(), &second.stdout), (Some(3), &first.stdout));
    assert!(second.stdout.ends_with(odd.as_bytes()));
    let items = shelf.json(&["ps", "session", "--all", "--json"]);
    let repeats = |item: &&Value| item["facts"]["retry_of"] == id;
    assert_eq!(items["items"].as_array().unwrap().iter().filter(repeats).count(), 1);
}

#[test]
fn a_report_says_what_inspect_says() {
    let shelf = Shelf::empty();
    let report = shelf.file("report.json");
    let ran = shelf.run(&["run", "--report", text(&report), "--expect", "out", "--", "sh", "-c", "exit 4"]);
    assert_eq!(ran.code, Some(4));
    let mut reported: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let mut shown = only(&shelf);
    for view in [&mut reported, &mut shown] {
        view["state"]["evaluated_at"] = Value::Null;
    }
    assert_eq!(reported, shown);
    assert_eq!((&reported["exit"]["code"], &reported["state"]["delivery"]), (&json!(4), &json!("missing")));
}

/// Others may be able to enter the directory of a store; its files are for its owner.
#[test]
fn the_files_of_a_store_are_for_its_owner_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let shelf = crate::harness::shelf::Shelf::empty();
    let title = "photo\u{202e}gpj.exe";
    let id = crate::harness::runs::detached(&shelf, &["--title", title, "--", "sh", "-c", "echo done"]);
    shelf.run(&["wait", &id]);
    assert_eq!(crate::harness::runs::view(&shelf, &id)["title"], "photogpj.exe");
    let entries = std::fs::read_dir(shelf.file("")).unwrap().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut seen = 0;
    for entry in files.filter(|entry| entry.file_name().to_string_lossy().starts_with("store.db")) {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{:?} has mode {mode:o}", entry.file_name());
        seen += 1;
    }
    assert!(seen >= 2, "the store and its lock");

    let dir = shelf.file("runs").join(&id);
    let secret = shelf.file("secret");
    std::fs::write(&secret, "not of the run\n").unwrap();
    for entry in std::fs::read_dir(&dir).unwrap().flatten() {
        if std::fs::read(entry.path()).unwrap_or_default() == b"done\n" {
            std::fs::remove_file(entry.path()).unwrap();
            symlink(&secret, entry.path()).unwrap();
        }
    }
    let read = shelf.run(&["logs", &id]);
    assert!(!read.stdout.contains("not"), "{}", read.stdout);
}

#[test]
fn a_run_gets_the_variables_that_it_is_given_and_finds_its_store() {
    let shelf = Shelf::empty();
    let script =
        format!("echo \"$GIVEN $TAKEN\"; {} note \"$CALLBOARD_RUN\" noted", crate::harness::runs::CALLBOARD);
    let words =
        ["run", "--quiet", "--env", "GIVEN=s3cr3t value", "--env", "TAKEN", "--", "sh", "-c", &script];
    let store = ["--store".as_ref(), shelf.path().as_os_str().to_owned().as_os_str()].map(OsStr::to_owned);
    for extra in [&[][..], &["--detach"]] {
        let mut command = crate::harness::driver::command(&[]);
        command.args(&store).args(&words[..1]).args(extra).args(&words[1..]).env("TAKEN", "from here");
        crate::harness::driver::finish(&mut command).well();
    }
    let runs = crate::harness::runs::until("both ends", || {
        let items = shelf.json(&["ps", "session", "--all", "--json"])["items"].clone();
        let items = items.as_array()?.clone();
        items.iter().all(|item| item["state"]["lifecycle"] == "completed").then_some(items)
    });
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let id = run["id"].as_str().unwrap();
        assert_eq!(shelf.run(&["logs", id]).stdout.lines().next(), Some("s3cr3t value from here"));
        let events = shelf.well(&["events", "--json", id]);
        assert!(events.contains("noted") && !events.contains("s3cr3t"), "{events}");
        let recipe = std::fs::read(shelf.file("runs").join(id).join("recipe.json")).unwrap();
        assert!(!String::from_utf8_lossy(&recipe).contains("s3cr3t"));
        let ran = shelf.run(&["retry", id]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("the variable GIVEN is not set"), "{}", ran.stderr);
    }
}

/// Whatever is recorded goes through one place that takes secrets out, whoever recorded it and as what.
#[test]
fn secrets_in_labels_titles_notes_and_contracts_are_in_no_record() {
    let shelf = Shelf::empty();
    let [key, token, password, value] = SECRETS;
    let contract = format!("artifacts:\n  - id: x\n    command: [\"true\", --password, {password}]\n");
    std::fs::write(shelf.file("contract.yaml"), contract).unwrap();
    let contract = shelf.file("contract.yaml");
    let (named, bare) = (format!("db_password={value}"), format!("x={key}"));
    let title = format!("use {token}");
    let labels = ["run", "--quiet", "--label", &named, "--label", &bare, "--title", &title, "--contract"];
    shelf.well(&[&labels[..], &[text(&contract), "--", "true"]].concat());
    let id = only(&shelf)["id"].as_str().unwrap().to_owned();
    shelf.well(&["note", &id, &format!("the password: {password}, the key {key}")]);
    shelf.create(&["task", "--title", &title, "--label", &named]);
    let exported = shelf.well(&["export"]);
    for secret in SECRETS {
        assert!(!exported.contains(secret), "{secret} in {exported}");
    }
    let labels = &only(&shelf)["labels"];
    assert_eq!((&labels["db_password"], &labels["x"]), (&json!("***"), &json!("***")));
}

#[test]
fn a_password_in_the_address_of_a_store_is_in_no_message() {
    let shelf = Shelf::empty();
    for address in
        ["postgres://u@127.0.0.1:1/db?password=hunter2xyz", "postgres://u:hunter2xyz@127.0.0.1:1/db"]
    {
        for verb in ["ps", "doctor"] {
            let ran = shelf.run(&["--store", address, verb]);
            let told = ran.stdout + &ran.stderr;
            assert!(ran.code != Some(0) && told.contains("127.0.0.1:1"), "{told}");
            assert!(!told.contains("hunter2xyz"), "{told}");
        }
    }
}

#[test]
fn labels_and_titles_have_bounds_that_are_told() {
    let shelf = Shelf::empty();
    let labels: Vec<String> = (0..65).flat_map(|n| ["--label".to_owned(), format!("n{n}=x")]).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let (name, value) = (format!("{}=x", "n".repeat(129)), format!("n={}", "x".repeat(1025)));
    let long = "t".repeat(4097);
    let cases: [(&[&str], &str); 4] = [
        (&labels, "65 labels, more than 64"),
        (&["--label", &name], "the name of a label has 129 bytes, more than 128"),
        (&["--label", &value], "the label \"n\" has 1025 bytes, more than 1024"),
        (&["--title", &long], "its title has 4097 bytes, more than 4096"),
    ];
    for (options, told) in cases {
        for verb in [&["create", "task"][..], &["run", "--quiet"]] {
            let command: &[&str] = if verb[0] == "run" { &["--", "true"] } else { &[] };
            let ran = shelf.run(&[verb, options, command].concat());
            assert_eq!(ran.code, Some(3), "{}", ran.stderr);
            assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        }
    }
    let ran = shelf.run(&["ps", "--all", "--json"]).json();
    assert_eq!(ran["total"], 0, "nothing was recorded");
}

/// The run has the rights of its user, so it can write the file that a retry reads.
#[test]
fn a_retry_runs_nothing_that_the_run_wrote_into_its_own_recipe() {
    let shelf = Shelf::empty();
    let trace = shelf.file("trace");
    shelf.well(&["run", "--quiet", "--", "true"]);
    let id = only(&shelf)["id"].as_str().unwrap().to_owned();
    let recipe = shelf.file("runs").join(&id).join("recipe.json");
    let kept = std::fs::read(&recipe).unwrap();
    let mut forged: serde_json::Value = serde_json::from_slice(&kept).unwrap();
    forged["recipe"]["request"]["argv"] = serde_json::json!(["touch", text(&trace)]);
    std::fs::write(&recipe, forged.to_string()).unwrap();
    let ran = shelf.run(&["retry", &id]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("somebody changed the file after the run was started") && !trace.exists(),
        "{}",
        ran.stderr
    );
    std::fs::write(&recipe, &kept).unwrap();
    assert_eq!(shelf.run(&["retry", &id]).code, Some(0), "what was recorded is run");
}

/// The run can write the file of its contract, and what lies where its recipe was.
#[test]
fn a_retry_reads_no_contract_anew_and_waits_for_no_pipe() {
    let shelf = Shelf::empty();
    let (contract, trace) = (shelf.file("contract.yaml"), shelf.file("trace"));
    std::fs::write(&contract, "artifacts:\n  - id: x\n    command: [\"true\"]\n").unwrap();
    shelf.well(&["run", "--quiet", "--contract", text(&contract), "--", "true"]);
    let id = only(&shelf)["id"].as_str().unwrap().to_owned();
    let planted = format!("artifacts:\n  - id: x\n    command: [touch, {}]\n", text(&trace));
    std::fs::write(&contract, planted).unwrap();
    assert_eq!(shelf.run(&["retry", &id]).code, Some(0));
    assert!(!trace.exists(), "a command that was written after the start was run");
    let recipe = shelf.file("runs").join(&id).join("recipe.json");
    std::fs::remove_file(&recipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&recipe).status().unwrap().success());
    assert_eq!(shelf.run(&["retry", &id]).code, Some(4), "a pipe is no recipe");
    let refused = shelf.run(&["run", "--contract", "/dev/zero", "--", "true"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("no plain file"), "{}", refused.stderr);
}
