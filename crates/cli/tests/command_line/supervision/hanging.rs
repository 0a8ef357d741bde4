//! A command that hangs in `exec`, as on a file system that does not answer.

use crate::harness::held_exec::held;
use crate::harness::runs::{begin, only, reason, send, titled, until};
use crate::harness::shelf::{Shelf, text};

/// Removes the store, and what is remembered beside its key of how far it was sealed.
fn forget(shelf: &Shelf) {
    for file in [shelf.path(), shelf.file("store.db.key.sealed")] {
        if let Err(error) = std::fs::remove_file(&file) {
            panic!("{}: {error}", file.display());
        }
    }
}

#[test]
fn a_command_that_hangs_in_exec_is_shown_as_starting_and_can_be_stopped() {
    let shelf = Shelf::empty();
    let Some((path, listener)) = held(&shelf.file("")) else { return };
    let run = |options: &[&str]| {
        let words = [&["run", "--title", "hangs"], options, &["--", text(&path)]].concat();
        begin(&mut shelf.command(&words))
    };
    // An operator stops it.
    let mut child = run(&[]);
    let view = until("the run", || titled(&shelf, "hangs"));
    let shown = (view["chain"].as_str(), view["state"]["phase"]["name"].as_str());
    assert_eq!(shown, (Some("Pending · Starting"), Some("starting")), "{view}");
    shelf.well(&["stop", view["id"].as_str().unwrap_or_default()]);
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(143));
    assert_eq!(reason(&only(&shelf)), "run.cancelled.operator");
    forget(&shelf);
    // Ctrl-C ends it.
    let mut child = run(&[]);
    until("the run", || titled(&shelf, "hangs"));
    send("INT", u64::from(child.id()));
    child.wait().unwrap();
    assert_eq!(only(&shelf)["state"]["outcome"], "cancelled", "{}", only(&shelf)["state"]);
    forget(&shelf);
    // Its bound ends it.
    let mut child = run(&["--timeout", "300ms"]);
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(124));
    assert_eq!(reason(&only(&shelf)), "run.timed_out.deadline");
    drop(listener);
}
