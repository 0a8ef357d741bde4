//! Inside a run the agent acts for the task of that run alone, and decides nothing.

use crate::harness::driver::finish;
use crate::harness::runs::CALLBOARD;
use crate::harness::shelf::Shelf;
use crate::tasks::acts::{add, show, state};

/// Says the exit code of each verb.
const SCRIPT: &str = r#"
try() { "$CB" task "$@" >> "$OUT/said" 2>&1; echo "$1 $?"; }
try add "found on the way"
try add "with a command" --verify "true"
try claim "$MINE"
try progress "$MINE" "half way"
try heartbeat "$MINE"
try start "$MINE"
try progress "$OTHER" "not mine"
try heartbeat "$OTHER"
try done "$OTHER" --summary "not mine"
try claim "$FREE" --as somebody
try edit "$FREE" --title x
try cancel "$FREE" --because x
try retry "$FREE"
try unblock "$FREE"
try approve "$FREE"
try reject "$FREE"
try release "$OTHER" --force
try fail "$MINE" --because "no luck"
try claim "$FREE"
try block "$FREE" --gate command:true
try done "$FREE" --summary "did it"
"#;

#[test]
fn an_agent_acts_for_its_own_task_and_decides_nothing() {
    let shelf = Shelf::empty();
    let (mine, other, free) = (add(&shelf, &["mine"]), add(&shelf, &["other"]), add(&shelf, &["free"]));
    shelf.well(&["task", "claim", &other]);
    let mut command = shelf.command(&["run", "--quiet", "--", "sh", "-c", SCRIPT]);
    command
        .env("CB", CALLBOARD)
        .env("OUT", shelf.file(""))
        .env("MINE", &mine)
        .env("OTHER", &other)
        .env("FREE", &free);
    let ran = finish(&mut command);
    let said = std::fs::read_to_string(shelf.file("said")).unwrap_or_default();
    let expected = "add 0\nadd 2\nclaim 0\nprogress 0\nheartbeat 0\nstart 0\nprogress 3\nheartbeat 3\ndone 3\nclaim 3\n\
                    edit 3\ncancel 3\nretry 3\nunblock 3\napprove 3\nreject 3\nrelease 3\nfail 0\nclaim 0\nblock 2\ndone 0\n";
    assert_eq!(ran.stdout, expected, "{said}");
    assert_eq!((state(&shelf, &mine).as_str(), state(&shelf, &other).as_str()), ("open", "claimed"));
    let done = show(&shelf, &free);
    assert_eq!(done["state"]["lifecycle"], "done");
    assert!(done["facts"]["run"].as_str().is_some_and(|run| run.starts_with("ses_")), "{done}");
}

/// Holds a task until it is told to go.
const HOLDS: &str = r#""$CB" task claim "$MINE" >> "$OUT/said" 2>&1; printf %s "$CALLBOARD_RUN" > "$OUT/run"
n=0; while [ ! -e "$OUT/go" ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done"#;

/// Says that it is the other one.
const POSES: &str = r#"n=0; while [ ! -s "$OUT/run" ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
CALLBOARD_RUN=$(cat "$OUT/run") "$CB" task done "$MINE" --summary "not mine"; echo $?
CALLBOARD_RUN=$(cat "$OUT/run") "$CB" task progress "$MINE" "not mine"; echo $?
touch "$OUT/go""#;

#[test]
fn a_marker_of_another_run_lends_nothing() {
    let shelf = Shelf::empty();
    let mine = add(&shelf, &["mine"]);
    let run = |script: &str| {
        let mut command = shelf.command(&["run", "--quiet", "--", "sh", "-c", script]);
        command.env("CB", CALLBOARD).env("OUT", shelf.file("")).env("MINE", &mine);
        finish(&mut command)
    };
    let posed = std::thread::scope(|scope| {
        let holder = scope.spawn(|| run(HOLDS));
        let posed = run(POSES);
        assert!(holder.join().is_ok());
        posed
    });
    assert_eq!(posed.stdout, "3\n3\n", "{}", posed.stderr);
    assert_eq!(state(&shelf, &mine), "claimed");
}
