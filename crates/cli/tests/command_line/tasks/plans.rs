//! Plans: what a file may hold, and what is said about one that cannot be.

use crate::harness::driver::finish;
use crate::harness::shelf::{Shelf, text};
use crate::tasks::acts::{refused, show, state, task};

const PLAN: &str = r#"plan: login
base: trunk
defaults:
  role: backend
  verify: [cargo test]
stages:
  - name: prepare
    tasks:
      - {name: schema, title: write the schema, priority: 1}
      - {name: docs, title: write the docs, role: writer}
  - name: build
    tasks:
      - name: login
        title: write the login
        after: ["docs:ended"]
        labels: {team: web}
        timeout_s: 600
"#;

fn import(shelf: &Shelf, plan: &str) -> crate::harness::driver::Ran {
    std::fs::write(shelf.file("plan.yaml"), plan).unwrap_or_else(|error| panic!("{error}"));
    finish(shelf.command(&["task", "import", "plan.yaml", "--json"]).current_dir(shelf.file("")))
}

#[test]
fn a_plan_is_imported_whole_and_waits_for_a_person() {
    let shelf = Shelf::empty();
    let document = import(&shelf, PLAN).json();
    assert_eq!(document["plan"], "login");
    let tasks = document["tasks"].as_array().cloned().unwrap();
    let names: Vec<_> = tasks.iter().filter_map(|task| task["name"].as_str()).collect();
    assert_eq!(names, ["schema", "docs", "login"]);
    let ids: Vec<_> = tasks.iter().filter_map(|task| task["id"].as_str()).collect();
    let login = show(&shelf, ids[2]);
    assert_eq!(login["state"]["lifecycle"], "planned");
    let facts = &login["facts"];
    assert_eq!(
        (&facts["base"], &facts["role"], &facts["plan"]),
        (&"trunk".into(), &"backend".into(), &"login".into())
    );
    assert_eq!(facts["unmet"].as_array().map(Vec::len), Some(2), "{facts}");
    assert_eq!(show(&shelf, ids[1])["facts"]["role"], "writer", "a task says otherwise than the defaults");
    assert_eq!(refused(&shelf, &["claim", ids[0]])["from"], "planned");
    assert_eq!(task(&shelf, &["approve", ids[1]]), "open");
    assert_eq!(task(&shelf, &["approve", ids[0], "--all-of-plan"]), "open");
    assert!(ids.iter().all(|id| state(&shelf, id) == "open"));
    let again = import(&shelf, PLAN).json();
    let first = again["tasks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(task(&shelf, &["reject", &first, "--all-of-plan", "--because", "twice"]), "cancelled");
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place_and_nothing_is_recorded() {
    let shelf = Shelf::empty();
    shelf.create(&["session", "--title", "so that there is a store"]);
    let before = shelf.well(&["events", "--json"]);
    let cases: [(&str, &[&str]); 8] = [
        (
            "plan: p\ntasks:\n  - name: a\n    titel: A\n    priority: high\n  - name: a\n    title: A\n    after: [b]\n",
            &[
                "3:5: the task has no title",
                "4:5: unknown field `titel`",
                "5:15: invalid type",
                "6:11: the name a is used twice",
                "8:13: there is no task b",
            ],
        ),
        (
            "plan: p\ntasks:\n  - {name: a, title: A, after: [b]}\n  - {name: b, title: B, after: [a]}\n",
            &["3:33: the tasks wait for each other: a → b → a"],
        ),
        ("plan: p\ntasks: []\n", &["2:8: the plan has no task"]),
        ("tasks:\n  - {name: a, title: A}\n", &["1:1: the plan has no name"]),
        ("plan: p\ntasks:\n  - {name: a, title: A\n", &["3:5: unclosed bracket"]),
        (
            "plan: p\ntasks:\n  - name: a\n    title: A\n    scope: huge\n    verify:\n      - ok\n      - ''\n    gates: ['weather:fine']\n",
            &["5:12: \"huge\" is no scope", "8:9: verify", "9:13: \"weather:fine\" is no gate"],
        ),
        (
            "plan: p\ntasks:\n  - {name: a, title: A, after: [tsk_0]}\n",
            &["3:33: there is nothing called tsk_0"],
        ),
        (
            "plan: p\ndefaults: {priority: 5000}\nstages:\n  - {name: s, tasks: [{name: a, title: A}]}\n  - {name: s, tasks: []}\n",
            &["2:22: priority is 5000", "5:5: the stage has no task", "5:12: "],
        ),
    ];
    for (plan, expected) in cases {
        let ran = import(&shelf, plan);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{plan}: {}", ran.stderr);
        let told: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("plan.yaml:")).collect();
        assert_eq!(told.len(), expected.len(), "{plan}: {}", ran.stderr);
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected) && told.contains("; expected "), "{told} is not {expected}");
        }
    }
    assert_eq!(shelf.well(&["events", "--json"]), before);
}

#[test]
fn only_a_plain_file_is_read() {
    let shelf = Shelf::empty();
    let link = shelf.file("link.yaml");
    std::fs::write(shelf.file("plan.yaml"), PLAN).unwrap();
    std::os::unix::fs::symlink(shelf.file("plan.yaml"), &link).unwrap();
    for (path, code) in [(text(&link), 1), ("/dev/zero", 1), ("/nonexistent/plan.yaml", 4)] {
        let ran = shelf.run(&["task", "import", path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{path}: {}", ran.stderr);
    }
    std::fs::write(shelf.file("latin.yaml"), b"plan: p\ntasks: \xe9\n").unwrap();
    let ran = shelf.run(&["task", "import", text(&shelf.file("latin.yaml"))]);
    assert!(ran.code == Some(2) && ran.stderr.contains("latin.yaml:2:8: this is no UTF-8"), "{}", ran.stderr);
    assert!(!shelf.path().exists(), "no store was made");
}
