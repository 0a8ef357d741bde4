//! Where the output goes: colour for people only, and a reader that leaves early is no failure.

use std::process::Stdio;

use crate::harness::driver::{callboard, callboard_with, command, finish};

const ESCAPE: char = '\u{1b}';

#[test]
fn what_is_piped_has_no_colour() {
    for arguments in
        [&["machines"][..], &["machines", "session"], &["reasons"], &["--help"], &["machines", "--help"]]
    {
        assert!(!callboard(arguments).well().contains(ESCAPE), "{arguments:?}");
    }
    assert!(!callboard(&["machines", "sesion"]).stderr.contains(ESCAPE));
}

#[test]
fn colour_comes_when_it_is_asked_for() {
    let red_failed = "\u{1b}[31m✗ Failed\u{1b}[0m";
    let always = callboard(&["machines", "session", "--color", "always"]).well();
    assert!(always.contains(red_failed), "{always}");
    let forced = finish(command(&["machines", "session"]).env("CLICOLOR_FORCE", "1")).well();
    assert_eq!(forced, always);
    let error = callboard(&["--color", "always", "derive", "--policy", "v2"]);
    assert_eq!(error.stdout, "");
    let error = callboard_with(&["--color", "always", "derive"], "x");
    assert!(error.stderr.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m line 1"), "{}", error.stderr);
}

#[test]
fn no_colour_is_obeyed_before_what_forces_it() {
    let plain = callboard(&["machines", "session"]).well();
    let mut forced = command(&["machines", "session"]);
    forced.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert_eq!(finish(&mut forced).well(), plain);
    let never = finish(command(&["machines", "session", "--color", "never"]).env("CLICOLOR_FORCE", "1"));
    assert_eq!(never.well(), plain);
}

#[test]
fn json_has_no_colour_even_when_colour_is_asked_for() {
    assert!(!callboard(&["machines", "--json", "--color", "always"]).well().contains(ESCAPE));
    assert!(!callboard_with(&["derive", "--color", "always"], "{}").well().contains(ESCAPE));
}

#[test]
fn a_reader_that_leaves_early_has_what_it_wanted() {
    for arguments in [
        &["machines"][..],
        &["machines", "--json"],
        &["machines", "--format", "mermaid"],
        &["reasons"],
        &["derive"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        let (input, mut lines) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut lines, b"{\"health\":\"ok\"}\n").unwrap();
        drop((reader, lines));
        let ran = finish(command(arguments).stdin(input).stdout(writer).stderr(Stdio::piped()));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = finish(command(&["machines"]).stdout(full));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with("error: the output cannot be written\n  because: "), "{}", ran.stderr);
}
