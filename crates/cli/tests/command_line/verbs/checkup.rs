//! `doctor`: what it finds, and what it says to do about it.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::driver::finish;
use crate::harness::shelf::Shelf;

fn checks(shelf: &Shelf) -> (Option<i32>, Vec<Value>) {
    let ran = shelf.run(&["doctor", "--json"]);
    match serde_json::from_str::<Value>(&ran.stdout) {
        Ok(document) => {
            let all = document["checks"].as_array().cloned().unwrap_or_default();
            assert_eq!(document["ok"], ran.code == Some(0));
            (ran.code, all)
        }
        Err(error) => panic!("{error}: {} {}", ran.stdout, ran.stderr),
    }
}

fn check<'a>(checks: &'a [Value], name: &str) -> &'a Value {
    match checks.iter().find(|check| check["name"] == name) {
        Some(check) => check,
        None => panic!("no check is called {name}: {checks:?}"),
    }
}

fn mode(path: &std::path::Path, mode: u32) {
    if let Err(error) = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)) {
        panic!("{error}");
    }
}

#[test]
fn every_check_has_a_verdict_and_whatever_is_not_well_says_what_to_do() {
    let shelf = Shelf::empty();
    let (code, all) = checks(&shelf);
    assert_eq!(code, Some(0), "no store yet is no fault: {all:?}");
    assert!(!shelf.path().exists(), "nothing is made by looking");
    shelf.create(&["task"]);
    let (code, all) = checks(&shelf);
    assert_eq!(code, Some(0), "{all:?}");
    let names = [
        "store",
        "format",
        "database",
        "writing",
        "disk",
        "directory",
        "key",
        "clock",
        "process table",
        "pidfd",
        "subreaper",
        "terminals",
        "control groups",
        "sandbox",
        "git",
        "agents",
        "supervisors",
        "output",
        "notifications",
    ];
    for name in names {
        check(&all, name);
    }
    for one in &all {
        assert_eq!(one["advice"].is_null(), one["verdict"] == "ok", "{one}");
    }
    let engine = check(&all, "database")["found"].as_str().unwrap();
    assert!(engine.starts_with("SQLite 3."), "{engine}");
}

#[test]
fn each_fault_is_found() {
    let shelf = Shelf::empty();
    shelf.create(&["task"]);
    let key = shelf.file("store.db.key");
    mode(&key, 0o644);
    let (code, all) = checks(&shelf);
    assert_eq!((code, check(&all, "key")["verdict"].as_str()), (Some(1), Some("broken")));
    assert!(check(&all, "key")["advice"].as_str().unwrap().contains("chmod 600"));
    mode(&key, 0o600);

    mode(&shelf.file(""), 0o777);
    assert_eq!(check(&checks(&shelf).1, "directory")["verdict"], "warning");
    mode(&shelf.file(""), 0o700);
    assert_eq!(check(&checks(&shelf).1, "directory")["verdict"], "ok");

    let stray = shelf.file("runs/ses_01k7c3h2f4x8w6t5r3q1n0m9bz");
    std::fs::create_dir_all(&stray).unwrap();
    std::fs::write(stray.join("output"), vec![0; 3000]).unwrap();
    let output = check(&checks(&shelf).1, "output").clone();
    assert!(output["found"].as_str().unwrap().ends_with("2 KiB"), "{output}");

    let config = shelf.file("callboard/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[notify]\nwebhok = \"x\"\n").unwrap();
    let ran = finish(shelf.command(&["doctor", "--width", "80"]).env("XDG_CONFIG_HOME", shelf.file("")));
    assert_eq!(ran.code, Some(1));
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("config.toml line 2: unknown field `webhok`"), "{told}");
    assert!(told.contains("→ correct it;"), "{told}");
    assert!(ran.stdout.lines().all(|line| !line.starts_with("→")), "{}", ran.stdout);

    std::fs::write(shelf.path(), b"this is no database, and long enough to be looked at").unwrap();
    let (code, all) = checks(&shelf);
    assert_eq!((code, check(&all, "store")["verdict"].as_str()), (Some(1), Some("broken")), "{all:?}");
    check(&all, "git");
}

#[test]
fn a_dead_supervisor_is_found() {
    let shelf = Shelf::empty();
    let mut command = shelf.command(&["run", "--", "sleep", "60"]);
    #[expect(clippy::disallowed_methods, reason = "the test kills the supervisor")]
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !shelf.path().exists() || shelf.run(&["ps", "--state", "running"]).stdout.lines().count() < 2 {
        assert!(std::time::Instant::now() < deadline, "it does not run");
    }
    assert_eq!(check(&checks(&shelf).1, "supervisors")["verdict"], "ok");
    running.kill().unwrap();
    running.wait().unwrap();
    let found = check(&checks(&shelf).1, "supervisors").clone();
    assert_eq!(found["found"], "1 of 1 runs recorded as alive are dead");
    assert!(found["advice"].as_str().unwrap().starts_with("callboard reap"));
    shelf.well(&["reap"]);
    assert_eq!(check(&checks(&shelf).1, "supervisors")["verdict"], "ok");
}

#[test]
fn the_users_own_store_is_made_for_nobody_else() {
    let shelf = Shelf::empty();
    let own = |arguments: &[&str]| {
        finish(crate::harness::driver::command(arguments).env("XDG_STATE_HOME", shelf.file("state"))).well()
    };
    own(&["create", "task"]);
    let found: Value = serde_json::from_str(&own(&["doctor", "--json"])).unwrap();
    let all = found["checks"].as_array().unwrap();
    assert_eq!(check(all, "directory")["verdict"], "ok", "{all:?}");
}
