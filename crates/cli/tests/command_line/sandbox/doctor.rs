//! `doctor` about the sandbox: what it says is what a run finds.

use serde_json::Value;

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, only};
use crate::harness::shelf::Shelf;

/// The check of the sandbox, as it is told with this before it in a shell.
fn told(shelf: &Shelf, before: &str) -> Option<Value> {
    let script = format!("{before} exec {CALLBOARD} doctor --json");
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", &script]).env("CALLBOARD_STORE", shelf.path());
    command.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("CALLBOARD_RUN");
    let document: Value = serde_json::from_str(&finish(&mut command).stdout).ok()?;
    document["checks"].as_array()?.iter().find(|check| check["name"] == "sandbox").cloned()
}

#[test]
fn the_doctor_names_the_walls_that_a_run_has_and_those_that_it_cannot_have() {
    let shelf = Shelf::empty();
    let ran = shelf.run(&["doctor", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let check =
        document["checks"].as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
    let found = check["found"].as_str().unwrap();
    let run =
        ["run", "--quiet", "--sandbox=read-only", "--sandbox-best-effort", "--sandbox-network=loopback"];
    let run = [&run[..], &["--", "true"]].concat();
    assert_eq!(finish(shelf.command(&run).env("HOME", shelf.file("home"))).code, Some(0));
    let view = only(&shelf);
    let sandbox = &view["facts"]["sandbox"];
    let walls = sandbox["walls"].as_object().unwrap();
    for (wall, by) in walls.iter().filter(|(wall, _)| wall.as_str() != "network") {
        assert!(found.contains(&format!("{wall} ({})", by.as_str().unwrap())), "{wall}: {found}");
    }
    assert_eq!(
        check["verdict"] == "ok",
        sandbox["missing"].as_object().unwrap().is_empty(),
        "{check} {sandbox}"
    );
    assert_eq!(walls.contains_key("network"), found.contains("for loopback and hosts)"), "{found}");
    let Some(limited) = told(&shelf, "echo 0 > /proc/sys/user/max_mnt_namespaces &&") else {
        eprintln!("skipped: no user namespace can be limited here");
        return;
    };
    assert_eq!(limited["verdict"], "warning", "{limited}");
    let (_, missing) = limited["found"].as_str().unwrap().split_once("; none for ").unwrap();
    for wall in ["tmp (this host gives no namespaces", "protected (", "network for loopback and hosts ("] {
        assert!(missing.contains(wall), "{wall}: {missing}");
    }
}
