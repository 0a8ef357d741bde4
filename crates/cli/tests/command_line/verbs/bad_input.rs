//! What is asked wrongly: three lines that say what, why and what to do, and an exit code of 2.

use crate::harness::driver::{callboard, command, finish};

#[test]
fn an_unknown_word_is_answered_with_the_nearest() {
    for (arguments, because, instead) in [
        (&["machines", "sesion"][..], "unknown kind \"sesion\"", "session"),
        (&["reasons", "knowlege"], "unknown kind or entity \"knowlege\"", "knowledge"),
        (&["derive", "--policy", "v3"], "unknown policy \"v3\"", "one of v1, v2"),
        (
            &["machines", "--format", "mermaidd"],
            "invalid value 'mermaidd' for '--format <FORMAT>'",
            "mermaid",
        ),
        (&["machnes"], "unrecognized subcommand 'machnes'", "one of machines, man"),
        (&["machines", "--jsn"], "unexpected argument '--jsn' found", "--json"),
        (&["completions", "bsh"], "invalid value 'bsh' for '<SHELL>'", "bash"),
    ] {
        let ran = callboard(arguments);
        let expected =
            format!("error: the command line is not understood\n  because: {because}\n  try: {instead}\n");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected.as_str()), "{arguments:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_store_of_an_unknown_scheme_is_refused_and_no_file_is_made() {
    let place = tempfile::tempdir().unwrap();
    for verb in [&["ps"][..], &["create", "task", "--title", "a"], &["run", "--", "true"], &["verify"]] {
        let mut asked = command(verb);
        let ran =
            finish(asked.current_dir(place.path()).env("CALLBOARD_STORE", "mysql://ann:secret@host/board"));
        let expected = "error: the command line is not understood\n  because: unknown store URL scheme mysql://\n  \
                        try: a path, or a URL that begins with postgres:// or postgresql://\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected), "{verb:?}");
    }
    let ran = finish(command(&["ps", "--store", "postgress://host/board"]).current_dir(place.path()));
    assert!(ran.code == Some(2) && ran.stderr.contains("scheme postgress://"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "no file of that name");
}

#[test]
fn a_word_that_is_near_nothing_is_answered_with_all() {
    let ran = callboard(&["machines", "zebra"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("\n  try: one of agent, claim, invocation, "), "{}", ran.stderr);
}

#[test]
fn a_wrong_form_is_answered_with_the_usage() {
    for (arguments, instead) in [
        (&["completions"][..], "callboard completions <SHELL>"),
        (&["machines", "--json", "--format", "json"], "callboard machines --json [KIND]"),
        (&["machines", "run", "walk"], "callboard machines [OPTIONS] [KIND]"),
    ] {
        let ran = callboard(arguments);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.ends_with(&format!("\n  try: {instead}\n")), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 3, "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn no_command_shows_the_help_and_is_an_error() {
    let ran = callboard(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: callboard"), "{}", ran.stderr);
}

#[test]
fn what_the_world_refuses_is_a_failure_and_not_a_usage() {
    let here = std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    let ran = finish(command(&["derive"]).stdin(here));
    assert_eq!(ran.code, Some(1), "a directory cannot be read as lines");
    assert!(ran.stderr.starts_with("error: the input cannot be read\n  because: "), "{}", ran.stderr);

    let below_a_file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/pages");
    let ran = callboard(&["man", below_a_file]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("Cargo.toml/pages cannot be written\n  because: "), "{}", ran.stderr);
}
