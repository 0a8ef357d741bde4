//! Help, manual pages and completions: what people read before they use a command.

use std::collections::BTreeSet;

use insta::{assert_snapshot, with_settings};

use crate::harness::driver::callboard;

/// The verbs, as the help lists them; those of a verb of its own with its name in front.
fn verbs() -> Vec<Vec<String>> {
    let top = listed(&callboard(&["--help"]).well());
    let below = |verb: String| {
        let own = listed(&callboard(&[&verb, "--help"]).well());
        let own = own.into_iter().map(|name| vec![verb.clone(), name]).collect::<Vec<_>>();
        [vec![vec![verb]], own].concat()
    };
    top.into_iter().flat_map(below).collect()
}

fn listed(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    names.filter_map(name).filter(|verb| verb != "help").collect()
}

#[test]
fn the_help_of_every_verb_reads_as_recorded() {
    let mut reference = callboard(&["--help"]).well();
    for verb in verbs() {
        let words: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        reference += &format!("\n$ callboard {}\n\n{}", words.join(" "), callboard(&words).well());
    }
    with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        assert_snapshot!("help", reference);
    });
    assert!(verbs().len() >= 5, "{:?}", verbs());
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(callboard(&["--version"]).well(), concat!("callboard ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn every_verb_has_a_manual_page() {
    let directory = std::env::temp_dir().join(format!("callboard-man-{}", std::process::id()));
    let written = callboard(&["man", directory.to_str().unwrap()]).well();
    let told: BTreeSet<_> = written.lines().map(std::path::PathBuf::from).collect();
    let mut expected = BTreeSet::from([directory.join("callboard.1")]);
    expected.extend(verbs().iter().map(|verb| directory.join(format!("callboard-{}.1", verb.join("-")))));
    assert_eq!(told, expected);
    for path in &told {
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains(".SH NAME\n") && page.contains(".SH OPTIONS\n"), "{}", path.display());
    }
    let derive = std::fs::read_to_string(directory.join("callboard-derive.1")).unwrap();
    assert!(derive.contains("Empty lines are skipped"), "the page says what the help says");
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(callboard(&["man"]).well().contains("callboard\\-machines(1)"));
}

#[test]
fn every_shell_completes_every_verb_and_kind() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = callboard(&["completions", shell]).well();
        for verb in verbs().concat() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
        assert!(script.contains("--policy") || script.contains("-l policy"), "{shell}");
    }
    assert!(callboard(&["completions", "bash"]).well().contains("task_turn"), "kinds are offered");
}
