//! The board: columns that fit, and that change when something happens.

use serde_json::Value;

use crate::harness::runs::{begin, read_until};
use crate::harness::shelf::Shelf;
use crate::tasks::acts::{add, task};

fn stage() -> Shelf {
    let shelf = Shelf::empty();
    let long = "write the migration guide and check every link in it twice";
    let working = add(&shelf, &[long, "--label", "team=web"]);
    shelf.well(&["task", "claim", &working]);
    add(&shelf, &["second", "--after", &working, "--role", "backend"]);
    let failed = add(&shelf, &["third"]);
    shelf.well(&["task", "claim", &failed]);
    task(&shelf, &["fail", &failed, "--because", "no network", "--final"]);
    let done = add(&shelf, &["fourth"]);
    shelf.well(&["task", "claim", &done]);
    task(&shelf, &["done", &done, "--summary", "did it"]);
    shelf.create(&["task", "--title", "fifth", "--state", "planned"]);
    let off = add(&shelf, &["sixth"]);
    task(&shelf, &["cancel", &off, "--because", "x"]);
    shelf
}

#[test]
fn the_board_fits_its_width_and_counts_what_is_over() {
    let shelf = stage();
    for width in ["20", "40", "80", "132", "200"] {
        let text = shelf.well(&["board", "--width", width]);
        let room: usize = width.parse().unwrap_or(0);
        assert!(text.lines().all(|line| line.chars().count() <= room), "{width}: {text}");
        for said in ["Planned 1", "Open 1", "Working 1", "Review 1", "Failed 1", "Blocked 0", "0 closed, 1"] {
            assert!(text.contains(said), "{said} at {width}: {text}");
        }
    }
    let narrow = shelf.well(&["board", "--width", "30"]);
    assert!(narrow.starts_with("Planned 1\nfifth\n"), "{narrow}");
    let text = shelf.well(&["board", "--width", "80"]);
    assert!(text.contains("write the") && text.contains('…') && text.contains("no network"), "{text}");
    let id = text.lines().find(|line| line.starts_with("01")).map(|line| line[..12].to_owned());
    assert_eq!(shelf.run(&["task", "show", &id.unwrap()]).code, Some(0), "an id of the board is an id");
}

#[test]
fn the_board_is_filtered_and_told_to_programs() {
    let shelf = stage();
    let names = |arguments: &[&str]| -> Vec<(String, u64)> {
        let document = shelf.json(&[&["board", "--json"], arguments].concat());
        let columns = document["columns"].as_array().cloned().unwrap_or_default();
        columns
            .iter()
            .filter_map(|column| Some((column["name"].as_str()?.to_owned(), column["count"].as_u64()?)))
            .collect()
    };
    let all: Vec<u64> = names(&[]).into_iter().map(|(_, count)| count).collect();
    assert_eq!(all, [1, 1, 1, 1, 0, 1]);
    let only = |arguments: &[&str]| -> Vec<String> {
        names(arguments).into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect()
    };
    assert_eq!(only(&["--label", "team=web"]), ["working"]);
    assert_eq!(only(&["--role", "backend"]), ["open"]);
    assert_eq!(only(&["--repo", "/nonexistent"]), [""; 0]);
    let empty = Shelf::empty();
    empty.create(&["session", "--title", "x"]);
    assert!(empty.well(&["board"]).contains("No task is on the board."));
}

#[test]
fn a_watched_board_is_written_again_when_something_happens() {
    let shelf = stage();
    let mut child = begin(&mut shelf.command(&["board", "--watch", "--json"]));
    let mut out = child.stdout.take().unwrap();
    let first = read_until(&mut out, "\n");
    let document: Value = serde_json::from_str(first.trim_end()).unwrap();
    assert_eq!(document["columns"][1]["count"], 1);
    add(&shelf, &["another one"]);
    let second = read_until(&mut out, "\n");
    let document: Value = serde_json::from_str(second.trim_end()).unwrap();
    assert_eq!(document["columns"][1]["count"], 2);
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|ended| ended.success())
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
