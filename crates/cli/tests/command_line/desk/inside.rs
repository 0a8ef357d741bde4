//! Inside a run an agent asks and is answered, and answers nothing.

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, begin, until};
use crate::harness::shelf::Shelf;

#[test]
fn an_agent_asks_and_goes_on_with_the_answer() {
    let shelf = Shelf::empty();
    let script = r#"answer=$("$CB" ask "Which port?" -o 80 -o 8080) && echo "using $answer""#;
    let mut command = shelf.command(&["run", "--quiet", "--", "sh", "-c", script]);
    let run = begin(command.env("CB", CALLBOARD));
    let id = until("the question", || {
        let ran = shelf.run(&["inbox", "--json"]);
        let inbox: serde_json::Value = serde_json::from_str(&ran.stdout).ok()?;
        let item = &inbox["items"][0];
        let is_of_run = item["subject"]["kind"] == "session" && item["asked_by"] == item["subject"]["id"];
        is_of_run.then(|| item["id"].as_str().map(str::to_owned)).flatten()
    });
    shelf.well(&["answer", &id, "8080"]);
    let output = run.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"using 8080\n"[..]));
}

/// Says the exit code of each verb.
const SCRIPT: &str = r#"
try() { "$CB" "$@" >> "$OUT/said" 2>&1; echo "$1 $?"; }
try ask "may I?" --no-wait
try answer "$OWN" yes
try answer "$OWN" yes --always exact
try ask "about another" --about "$OWN" --no-wait
try rules revoke "$RULE"
try create rule
try transition "$OWN" answered --reason question.answered.person --message x
"#;

#[test]
fn an_agent_answers_nothing_and_makes_no_rule() {
    let shelf = Shelf::empty();
    let own = shelf.well(&["ask", "a question", "--no-wait"]).trim_end().to_owned();
    let rule = shelf.create(&["rule", "--title", "a rule"]);
    let mut command = shelf.command(&["run", "--quiet", "--", "sh", "-c", SCRIPT]);
    command.env("CB", CALLBOARD).env("OUT", shelf.file("")).env("OWN", &own).env("RULE", &rule);
    let ran = finish(&mut command);
    let said = std::fs::read_to_string(shelf.file("said")).unwrap_or_default();
    let expected = "ask 0\nanswer 3\nanswer 3\nask 2\nrules 3\ncreate 3\ntransition 3\n";
    assert_eq!(ran.stdout, expected, "{said}");
    // The run has ended, and with it whoever asked.
    let open = shelf.json(&["inbox", "--json"]);
    assert!(
        open["items"].as_array().is_some_and(|items| items.iter().any(|item| item["id"] == own.as_str()))
    );
}
