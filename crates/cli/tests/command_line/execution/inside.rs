//! Inside of a run the program is the agent's hand, whatever the agent does with the environment; and nobody calls a run
//! ended whose supervisor will say how it ended.

use serde_json::json;

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, detached, supervisor, until, view};
use crate::harness::shelf::{Shelf, text};

/// Calls the program with an empty environment, from a process that has left its parent: `direct`, or `left`.
const SCRIPT: &str = r#"
ask() { env -i "$CB" --store "$STORE" "$@" >> "$OUT/said" 2>&1; echo "$1 $?" >> "$OUT/codes.$HOW"; }
all() {
  HOW=$1
  ask transition "$ID" paused --reason schedule.paused.operator --message m
  ask attention dismiss "$ID"
  ask token create --scope viewer
  ask token link
  ask store accept
  ask store vacuum
  ask store backup "$OUT/copy.$HOW"
  ask import /dev/null
  ask note "$ID" "said by the agent $HOW"
  : > "$OUT/done.$HOW"
}
case "$1" in
  left) all left ;;
  *) all direct; (setsid env -i CB="$CB" STORE="$STORE" OUT="$OUT" ID="$ID" sh "$0" left < /dev/null &) ; \
     until [ -e "$OUT/done.left" ]; do sleep 0.05; done ;;
esac
"#;

/// Hides the control groups, so that processes are held by their tree alone.
const WITHOUT_GROUPS: [&str; 5] =
    ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\""];

/// Ways to look like somebody else, each with the exit code of the program behind it.
const DISGUISES: &str = r#"
pause() { "$@" --store "$STORE" transition "$ID" paused --reason schedule.paused.operator --message m >> "$OUT/said" 2>&1; }
cp "$CB" "$OUT/copy"
pause env -i "$OUT/copy"; echo "copy $?"
pause unshare --pid --fork --cgroup --mount-proc env -i "$CB"; echo "namespace $?"
pause unshare --user --map-root-user --pid --fork --mount-proc env -i "$CB"; echo "user namespace $?"
timeout 60 env -i "$CB" --store "$STORE" serve --listen 127.0.0.1:0 --json >> "$OUT/said" 2>&1; echo "serve $?"
"#;

#[test]
fn neither_a_copy_of_the_program_nor_a_namespace_nor_a_server_makes_a_person() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["schedule", "--title", "Nightly"]);
    let words = ["run", "--quiet", "--", "sh", "-c", DISGUISES];
    let run = shelf.command(&words);
    let mut command = std::process::Command::new(WITHOUT_GROUPS[0]);
    command.args(&WITHOUT_GROUPS[1..]).args(["sh", CALLBOARD]).args(run.get_args());
    command.env("CB", CALLBOARD).env("STORE", shelf.path()).env("OUT", shelf.file("")).env("ID", &id);
    let ran = finish(command.env("CALLBOARD_STORE", shelf.path()));
    let said = std::fs::read_to_string(shelf.file("said")).unwrap_or_default();
    assert_eq!(ran.stdout, "copy 3\nnamespace 3\nuser namespace 3\nserve 3\n", "{said}");
    assert_ne!(shelf.json(&["inspect", &id, "--json"])["state"]["lifecycle"], "paused");
}

fn acts_as_the_agent(outer: &[&str], rung: &str) {
    let shelf = Shelf::empty();
    let id = shelf.create(&["schedule", "--title", "Nightly"]);
    let script = shelf.file("script");
    std::fs::write(&script, SCRIPT).unwrap_or_else(|error| panic!("{error}"));
    let run = shelf.command(&["run", "--quiet", "--title", "inside", "--", "sh", text(&script)]);
    let mut words: Vec<String> = outer.iter().map(|word| (*word).to_owned()).collect();
    if !outer.is_empty() {
        words.push("sh".to_owned());
    }
    words.push(run.get_program().to_string_lossy().into_owned());
    words.extend(run.get_args().map(|word| word.to_string_lossy().into_owned()));
    let mut command = std::process::Command::new(&words[0]);
    command.args(&words[1..]);
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("CB", CALLBOARD).env("STORE", shelf.path()).env("OUT", shelf.file("")).env("ID", &id);
    finish(&mut command).well();
    let inside = crate::harness::runs::titled(&shelf, "inside").unwrap_or_else(|| panic!("no run"));
    assert_eq!(inside["facts"]["containment"]["rung"], rung, "{inside}");
    let read = |name: &str| {
        std::fs::read_to_string(shelf.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let said = read("said");
    for how in ["direct", "left"] {
        let codes = read(&format!("codes.{how}"));
        assert_eq!(
            codes,
            "transition 3\nattention 3\ntoken 3\ntoken 3\nstore 3\nstore 3\nstore 3\nimport 3\nnote 0\n",
            "{how}: {said}"
        );
    }
    assert!(said.contains("moving an entity by hand needs a person"), "{said}");
    let records = shelf.well(&["events", &id, "--json"]);
    let notes: Vec<serde_json::Value> = records
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|record: &serde_json::Value| record.to_string().contains("said by the agent"))
        .collect();
    assert_eq!(notes.len(), 2, "{records}");
    for note in notes {
        assert_eq!(note["actor"]["type"], "agent", "{note}");
        assert!(!note.to_string().contains("human_assertion"), "{note}");
    }
    assert_eq!(view(&shelf, &id)["state"]["lifecycle"], "enabled");
    assert!(!shelf.file("tokens.jsonl").exists());
}

#[test]
fn what_needs_a_person_is_refused_inside_of_a_run_also_without_its_environment() {
    let groups = std::path::Path::new("/sys/fs/cgroup");
    let shelf = Shelf::empty();
    finish(&mut shelf.command(&["run", "--quiet", "--title", "probe", "--", "true"])).well();
    let rung = crate::harness::runs::titled(&shelf, "probe").unwrap()["facts"]["containment"]["rung"].clone();
    acts_as_the_agent(&[], rung.as_str().unwrap_or_default());
    let hidden = std::process::Command::new(WITHOUT_GROUPS[0])
        .args(&WITHOUT_GROUPS[1..])
        .args(["sh", "true"])
        .status();
    if rung == "tree" || !groups.exists() || !hidden.is_ok_and(|status| status.success()) {
        eprintln!("left out: control groups cannot be hidden here");
        return;
    }
    acts_as_the_agent(&WITHOUT_GROUPS, "tree");
}

#[test]
fn an_end_by_hand_is_refused_while_the_supervisor_lives() {
    let shelf = Shelf::empty();
    let id = detached(&shelf, &["--", "sleep", "60"]);
    let by_hand =
        ["transition", &id, "cancelled", "--reason", "run.cancelled.operator", "--message", "enough"];
    until("the command", || (view(&shelf, &id)["state"]["lifecycle"] == "running").then_some(()));
    let refused = shelf.run(&by_hand);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("callboard stop {id}")), "{}", refused.stderr);
    let pid = supervisor(&view(&shelf, &id));
    assert!(refused.stderr.contains(&format!("pid {pid}")), "{}", refused.stderr);
    assert!(refused.stderr.contains("guard no_living_supervisor"), "{}", refused.stderr);
    assert_eq!(view(&shelf, &id)["ended_at"], json!(null));
    assert_eq!(shelf.run(&["stop", "--now", &id]).code, Some(0));

    // Nobody is there who would say how one ended that was never started.
    let planned = shelf.create(&["session", "--title", "planned"]);
    let by_hand =
        ["transition", &planned, "cancelled", "--reason", "run.cancelled.operator", "--message", "m"];
    assert_eq!(shelf.run(&by_hand).code, Some(0));
    assert!(shelf.well(&["events", &planned, "--json"]).contains("\"guards\":[\"no_living_supervisor\"]"));
    let told = "1 record passed no_living_supervisor by the word of the writer.";
    let report = shelf.well(&["verify", "--width", "400"]);
    assert!(report.contains(told), "{report}");
}

/// Whoever looks at the end of a run must not read that a person wanted it when an agent did.
#[test]
fn a_stop_from_inside_of_a_run_is_the_agents_and_a_run_it_starts_belongs_to_its_own() {
    let shelf = Shelf::empty();
    let victim = detached(&shelf, &["--title", "victim", "--", "sleep", "600"]);
    let ask = format!("env -i {CALLBOARD} --store {}", text(&shelf.path()));
    let (nested, below) = ("run --quiet --detach --title nested", format!("--parent {victim}"));
    let script = format!(
        "{ask} stop {victim}; {ask} {nested} -- true; {ask} {nested}-too {below} -- true; \
         {ask} run --quiet --title nested-three {below} -- true"
    );
    shelf.well(&["run", "--quiet", "--title", "agent", "--", "sh", "-c", &script]);
    let (agent, ended) = (crate::harness::runs::titled(&shelf, "agent").unwrap(), view(&shelf, &victim));
    let id = agent["id"].as_str().unwrap();
    let first = &ended["state"]["reasons"][0];
    assert_eq!(
        (&first["code"], &ended["state"]["lifecycle"]),
        (&json!("run.cancelled.agent"), &json!("cancelled"))
    );
    assert!(first["message"].as_str().unwrap().contains(id), "{first}");
    let why = shelf.json(&["why", &victim, "--json"]);
    let wish =
        why["records"].as_array().unwrap().iter().find(|record| !record["data"]["stop_wish"].is_null());
    let wish = wish.unwrap_or_else(|| panic!("{why}"));
    assert_eq!(wish["actor"], json!({"type": "agent", "id": id}), "{wish}");
    assert_eq!(wish["reasons"].as_array().map_or(0, Vec::len), 0, "a person has said nothing: {wish}");
    for title in ["nested", "nested-too", "nested-three"] {
        let nested = crate::harness::runs::titled(&shelf, title).unwrap();
        assert_eq!(nested["parent"], *id, "{nested}");
    }
}
