//! The store itself: what is changed is found, what is newer is refused, what is missing is said.

use callboard_kernel::{Facts, Observe, Order};
use serde_json::json;

use crate::harness::driver::{callboard, command, finish};
use crate::harness::fleet::fleet;
use crate::harness::shelf::{Shelf, record, session, text};

const EDIT: &str = "DROP TRIGGER ledger_is_not_updated;
    UPDATE ledger SET body = replace(body, 'exited with 2', 'exited with 0') WHERE seq = 6;";

#[test]
fn a_sound_log_is_verified() {
    let shelf = fleet();
    let report = shelf.json(&["verify", "--json"]);
    assert_eq!(
        (&report["ok"], &report["records"], &report["problems"]),
        (&json!(true), &json!(10), &json!([]))
    );
    let key = shelf.json(&["store", "info", "--json"])["keys"][0].as_str().unwrap().to_owned();
    let told = shelf.well(&["verify"]).replace('\n', " ");
    assert_eq!(told, format!("The log holds: 10 records and 1 checkpoint. 10 records sealed by {key}. "));
    let checked = shelf.json(&["store", "check", "--json"]);
    assert_eq!((&checked["ok"], &checked["integrity"]), (&json!(true), &json!(null)));
}

#[test]
fn a_record_that_was_edited_is_found_and_named() {
    let shelf = fleet();
    shelf.tamper(EDIT);
    let ran = shelf.run(&["verify", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["problems"][0]["seq"], 6);
    assert_eq!(report["problems"][0]["entity"], session(2).to_string());
    let ran = shelf.run(&["verify"]);
    assert_eq!(ran.code, Some(1));
    let expected = format!(
        "The log does not hold at record 6, of {}: its bytes do not match its hash.\nWhat to do: keep the file as it \
         is; callboard export --until 5 FILE saves what holds, and import takes it into a fresh store.\n",
        session(2)
    );
    assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
    assert_eq!(shelf.run(&["store", "check"]).code, Some(1));
}

#[test]
fn checkpoints_are_taken_from_the_keys_of_the_store_or_from_the_one_that_is_named() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let ledger = shelf.ledger();
    for beat in 0..256 {
        let seen = Observe { reasons: vec![], data: Facts::none().with("beat", beat) };
        record(&ledger, id.parse().unwrap(), beat, Order::Observe(seen));
    }
    drop(ledger);
    let info = shelf.json(&["store", "info", "--json"]);
    let key = info["keys"][0].as_str().unwrap();
    assert_eq!((info["keys"].as_array().unwrap().len(), key.len()), (1, 64));
    assert!(shelf.well(&["store", "info"]).contains(&format!("signed by    {key}\n")));
    assert_eq!(shelf.json(&["verify", "--json", "--key", key])["ok"], true);

    let other = "ab".repeat(32);
    let ran = shelf.run(&["verify", "--key", &other]);
    assert_eq!(ran.code, Some(1));
    let expected = format!(
        "at record 256: the checkpoint is signed by a key that is not one that was asked for: {key}."
    );
    assert!(ran.stdout.replace('\n', " ").contains(&expected), "{}", ran.stdout);
    assert_eq!(shelf.json(&["verify", "--json", "--key", &other, "--key", key])["ok"], true);
    let ran = shelf.run(&["verify", "--key", "abc"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("a key has 64 hexadecimal digits"), "{}", ran.stderr);

    // Without its key file a copy signs with a key of its own, and says so.
    let copy = shelf.file("copy.db");
    shelf.well(&["store", "backup", text(&copy)]);
    std::fs::remove_file(shelf.file("copy.db.key")).unwrap();
    shelf.well(&["create", "session", "--store", text(&copy)]);
    let keys = shelf.json(&["store", "info", "--json", "--store", text(&copy)])["keys"].clone();
    assert_eq!((keys.as_array().unwrap().len(), keys[0].as_str().unwrap()), (2, key));
    std::fs::remove_file(shelf.file("store.db.key")).unwrap();
    shelf.tamper("DROP TRIGGER signer_is_not_updated; UPDATE signer SET public_key = zeroblob(32)");
    let report: serde_json::Value = serde_json::from_str(&shelf.run(&["verify", "--json"]).stdout).unwrap();
    let problem = report["problems"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("a key that the store does not list"), "{problem}");
}

#[test]
fn an_export_stops_at_the_damage_and_keeps_what_holds() {
    let shelf = fleet();
    shelf.tamper(EDIT);
    let ran = shelf.run(&["export"]);
    // The seal of the newest record comes first, so that what was cut off is found out.
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(1), 6));
    let expected =
        "error: the log does not hold at record 6\n  because: its bytes do not match its hash\n  try: keep";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    let file = shelf.file("saved.jsonl");
    assert_eq!(shelf.run(&["export", text(&file)]).code, Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ran.stdout);
    let fresh = Shelf::empty();
    let cut = fresh.run(&["import", text(&file)]);
    assert!(cut.code == Some(1) && cut.stderr.contains("the export was cut off"), "{}", cut.stderr);
    let file = shelf.file("sound.jsonl");
    assert_eq!(shelf.run(&["export", "--until", "5", text(&file)]).code, Some(0));
    assert!(fresh.well(&["import", text(&file)]).contains("5 records without a seal"));
    assert_eq!(fresh.json(&["verify", "--json"])["records"], 5);
}

#[test]
fn a_view_that_was_edited_is_folded_anew() {
    let shelf = fleet();
    shelf.tamper("UPDATE entity SET state = 'completed' WHERE state = 'failed'");
    let ran = shelf.run(&["verify"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("What to do: callboard store rebuild"), "{}", ran.stdout);
    let named = format!("The view of {} does not match the log", session(2));
    assert!(ran.stdout.replace('\n', " ").contains(&named), "{}", ran.stdout);
    shelf.well(&["store", "rebuild"]);
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let shelf = fleet();
    shelf.tamper("PRAGMA user_version = 99");
    for arguments in [&["ps"][..], &["verify"], &["create", "session"], &["store", "migrate"], &["export"]] {
        let ran = shelf.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ran.stderr.contains("has format 99, and this program knows formats up to"), "{}", ran.stderr);
        assert!(ran.stderr.contains("\n  try: use the newer callboard that wrote it"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 3);
    }
}

#[test]
fn a_verb_that_reads_says_that_there_is_no_store_and_makes_none() {
    let shelf = Shelf::empty();
    let id = session(1).to_string();
    for arguments in [
        &["ps"][..],
        &["inspect", &id],
        &["why", &id],
        &["events", "--follow"],
        &["attention"],
        &["verify"],
        &["export"],
        &["store", "info"],
        &["note", &id, "x"],
        &["transition", &id, "failed", "--reason", "run.failed.oom", "--message", "m"],
    ] {
        let ran = shelf.run(arguments);
        let expected = format!(
            "error: there is no store at {}\n  because: no file is there: nothing was recorded yet, or it was moved \
             or removed\n  try: start something: callboard run -- COMMAND; or name another store: --store PATH\n",
            shelf.path().display()
        );
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (Some(4), "", expected), "{arguments:?}");
    }
    assert!(!shelf.path().exists());
}

#[test]
fn what_is_no_store_is_told() {
    let shelf = Shelf::empty();
    std::fs::write(shelf.path(), "a letter to my aunt, which is longer than a header\n".repeat(20)).unwrap();
    let ran = shelf.run(&["ps"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("file is not a database"), "{}", ran.stderr);
    let below = Shelf::empty();
    std::fs::write(below.file("file"), "").unwrap();
    let ran = below.run(&["create", "session", "--store", text(&below.file("file/store.db"))]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 3), "{}", ran.stderr);
}

#[test]
fn the_store_is_the_options_then_the_environments_then_the_users() {
    let shelf = Shelf::empty();
    let other = shelf.file("deep/er/other.db");
    shelf.well(&["create", "session", "--store", text(&other)]);
    assert!(other.exists() && !shelf.path().exists());
    let home = shelf.file("home");
    for (variable, value, expected) in [
        ("HOME", home.clone(), home.join(".local/state/callboard/callboard.db")),
        ("XDG_STATE_HOME", shelf.file("state"), shelf.file("state/callboard/callboard.db")),
    ] {
        let mut program = command(&["create", "session"]);
        program
            .env("CALLBOARD_STORE", "")
            .env("HOME", &home)
            .env_remove("XDG_STATE_HOME")
            .env(variable, value);
        finish(&mut program).well();
        assert!(expected.exists(), "{}", expected.display());
    }
    let mut program = command(&["ps"]);
    program.env_remove("CALLBOARD_STORE").env_remove("HOME").env_remove("XDG_STATE_HOME");
    assert_eq!(finish(&mut program).code, Some(2));
}

#[test]
fn commands_that_need_no_store_never_look_at_it() {
    for arguments in [&["--version"][..], &["machines"], &["reasons"]] {
        let mut program = command(arguments);
        program.env("CALLBOARD_STORE", "/proc/no/such/place");
        finish(&mut program).well();
    }
    assert_eq!(callboard(&["ps", "--store", "/proc/no/such/place"]).code, Some(4));
}

#[test]
fn the_store_tells_of_itself_is_copied_and_gives_space_back() {
    let shelf = fleet();
    let info = shelf.json(&["store", "info", "--json"]);
    assert_eq!(info["path"], text(&shelf.path()));
    assert_eq!((&info["records"], &info["entities"]), (&json!(10), &json!(5)));
    assert_eq!((&info["live"], &info["legacy"]), (&json!(3), &json!(0)));
    assert!(shelf.well(&["store", "info"]).contains("records      10\n"));

    let copy = shelf.file("copy.db");
    assert_eq!(shelf.well(&["store", "backup", text(&copy)]), format!("{}\n", copy.display()));
    let ran = shelf.run(&["store", "backup", text(&copy)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("because: nothing is overwritten"), "{}", ran.stderr);
    let nowhere = shelf.file("no/such/directory/copy.db");
    let ran = shelf.run(&["store", "backup", text(&nowhere)]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.starts_with(&format!("error: {} cannot be written\n", nowhere.display())),
        "{}",
        ran.stderr
    );
    let of_copy = shelf.well(&["events", "--json", "--store", text(&copy)]);
    assert_eq!(of_copy, shelf.well(&["events", "--json"]));
    assert_eq!(shelf.json(&["verify", "--json", "--store", text(&copy)])["ok"], true);

    shelf.well(&["store", "vacuum"]);
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
    assert!(shelf.well(&["store", "migrate"]).contains(&format!("format {}", info["format"])));
}

#[test]
fn a_root_that_was_kept_elsewhere_shows_whether_the_log_is_the_one_that_was_sealed() {
    let shelf = fleet();
    let root = shelf.well(&["store", "root"]);
    let kept = shelf.file("root.json");
    std::fs::write(&kept, &root).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&root).unwrap()["seq"], 10);
    shelf.create(&["session"]);
    assert_eq!(shelf.json(&["verify", "--json", "--root", text(&kept)])["ok"], true);
    let forged = shelf.file("forged.json");
    std::fs::write(&forged, root.replacen("\"seq\": 10", "\"seq\": 9", 1)).unwrap();
    let ran = shelf.run(&["verify", "--root", text(&forged)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.replace('\n', " ").contains("is not signed by the key it names"), "{}", ran.stdout);
    let other = fleet();
    let ran = other.run(&["verify", "--root", text(&kept)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.replace('\n', " ").contains("it is another store"), "{}", ran.stdout);
    let empty = Shelf::empty();
    empty.well(&[
        "store",
        "restore",
        text(&{
            let copy = empty.file("copy.db");
            shelf.well(&["store", "backup", text(&copy)]);
            copy
        }),
    ]);
    assert_eq!(empty.json(&["verify", "--json", "--root", text(&kept)])["ok"], true);
}

#[test]
fn a_store_that_was_rolled_back_is_told_of_by_every_command_until_it_is_accepted() {
    let shelf = fleet();
    let store = shelf.file("store.db");
    let older = std::fs::read(&store).unwrap();
    shelf.create(&["session"]);
    std::fs::write(&store, older).unwrap();
    let told = "warning: the log ends at record 10, and it was sealed up to record 11";
    for _ in 0..2 {
        let ran = shelf.run(&["ps"]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
    }
    let ran = shelf.run(&["verify", "--json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("it is not as it was sealed before"), "{}", ran.stdout);
    assert!(shelf.run(&["doctor"]).stdout.contains("sealed up to record 11"));
    // It goes on, and is still told of: an honest record does not make up for those that are lost.
    let created = shelf.run(&["create", "session"]);
    assert!(created.code == Some(0) && created.stderr.starts_with(told), "{}", created.stderr);
    let after = shelf.run(&["ps"]).stderr;
    assert!(after.starts_with("warning: the records up to 11 are not those that were sealed"), "{after}");
    assert_eq!(shelf.run(&["store", "accept"]).code, Some(0));
    assert_eq!(shelf.run(&["ps"]).stderr, "");
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
}

/// A key that lies elsewhere seals the store for every way of naming it.
#[test]
fn a_key_that_lies_elsewhere_seals_a_store_that_is_a_file() {
    let shelf = Shelf::empty();
    let elsewhere = tempfile::tempdir().unwrap();
    let key = elsewhere.path().join("seal.key");
    let beside = shelf.file("store.db.key");
    let given = ["--key-file", key.to_str().unwrap()];
    shelf.well(&[&given[..], &["create", "schedule", "--title", "one"]].concat());
    assert!(key.exists() && !beside.exists(), "the key was made where it was asked for");
    // The supervisor in the background is told of it, and so is who reads the environment.
    let id = shelf.well(&[&given[..], &["run", "--detach", "--", "true"]].concat());
    shelf.well(&[&given[..], &["wait", id.trim()]].concat());
    crate::harness::driver::finish(shelf.command(&["create", "schedule"]).env("CALLBOARD_KEY", &key)).well();
    assert!(!beside.exists(), "nobody has made another one");
    let report = shelf.json(&[&given[..], &["verify", "--json"]].concat());
    assert_eq!(report["sealed"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["unsealed"], 0, "{report}");
    let other = shelf.file("notes.txt");
    std::fs::write(&other, "not a key\n").unwrap();
    let refused = shelf.run(&["--key-file", other.to_str().unwrap(), "create", "schedule"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("it is no key"), "{}", refused.stderr);
    assert!(refused.stderr.contains("try: name its key"), "{}", refused.stderr);
    let doctor = shelf.run(&[&given[..], &["doctor"]].concat()).stdout;
    assert!(doctor.contains(key.to_str().unwrap()) && doctor.contains("can read it"), "{doctor}");
}
