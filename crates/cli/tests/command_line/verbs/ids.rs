//! Ids as people type them: any beginning that tells them apart, with or without the prefix.

use callboard_kernel::Facts;
use callboard_lifecycle::session::SessionState;

use crate::harness::shelf::{Shelf, begin, record, session};

#[test]
fn any_beginning_that_tells_an_id_apart_is_enough() {
    let shelf = Shelf::empty();
    let (session, task) = (shelf.create(&["session"]), shelf.create(&["task", "--key", "k"]));
    for typed in [&session[..], &session[..5], &session[4..], &session[4..12], &session[..16].to_uppercase()]
    {
        assert_eq!(shelf.json(&["inspect", typed, "--json"])["id"], session.as_str(), "{typed}");
    }
    assert_eq!(shelf.json(&["inspect", "tsk_", "--json"])["id"], task.as_str(), "the only one of its kind");
}

#[test]
fn what_may_mean_several_is_answered_with_all_of_them() {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    for number in 1..=12 {
        record(&ledger, session(number), 0, begin(SessionState::Pending, Facts::none()));
    }
    let ran = shelf.run(&["why", "ses_01"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let [what, because, instead] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", ran.stderr)
    };
    assert_eq!((what, instead), ("error: ses_01 is not one id", "  try: type more of it"));
    let first = &session(1).to_string()[..16];
    assert!(because.starts_with(&format!("  because: it is how these begin: {first}, ")), "{because}");
    assert!(because.ends_with(", …") && because.matches("ses_").count() == 10, "{because}");
}

#[test]
fn short_ids_of_a_listing_are_as_long_as_they_must_be_and_can_be_typed() {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    let near = callboard_kernel::EntityId::new(
        callboard_lifecycle::Kind::Session,
        uuid::Uuid::from_u128(session(1).uuid().as_u128() + (1 << 60)),
    );
    for id in [session(1), near] {
        record(&ledger, id, 0, begin(SessionState::Pending, Facts::none()));
    }
    let listing = shelf.well(&["ps"]);
    let shown: Vec<&str> = listing.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(shown.len(), 2);
    assert!(shown[0] != shown[1] && shown[0].len() > 16, "{shown:?}");
    for typed in shown {
        assert!(shelf.json(&["inspect", typed, "--json"])["id"].as_str().unwrap().starts_with(typed));
    }
}

#[test]
fn what_is_not_there_is_exit_4_and_what_is_no_id_is_exit_2() {
    let shelf = Shelf::empty();
    shelf.create(&["session"]);
    for typed in ["ses_7zzz", "7zzz", "zzz", "tsk_0", "ses_7zzzzzzzzzzzzzzzzzzzzzzzzz"] {
        for verb in ["inspect", "why", "events"] {
            let ran = shelf.run(&[verb, typed]);
            let expected = format!(
                "error: there is nothing called {typed}\n  because: no id begins like this\n  \
                 try: callboard ps --all lists what there is\n"
            );
            assert_eq!((ran.code, ran.stderr), (Some(4), expected));
        }
    }
    for typed in ["ses-01", "foo_01", "ses_01k7c3h2f4x8w6t5r3q1n0m9bz0"] {
        assert_eq!(shelf.run(&["inspect", typed]).code, Some(2), "{typed}");
    }
}
