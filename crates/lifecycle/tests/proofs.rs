//! The proofs at work: the compiler refuses each flawed machine of `tests/ui` with the message its file expects.
//!
//! Invariant: a flawed machine has one flaw, so it gives one error, and that error is the rule it breaks.
//! Deliberately absent: snapshots of the compiler's whole output. It quotes the source of the proofs, and every edit
//! there would break them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The header line of a flawed machine; the rest of the line is the compiler's message.
const EXPECT: &str = "//! expect: ";
/// How the compiler introduces a panic of a const.
const PANICKED: &str = "evaluation panicked: ";

/// What the compiler says, or should say, of each file: nothing where it compiles.
type Messages = BTreeMap<String, Vec<String>>;

#[test]
fn the_compiler_refuses_every_flawed_machine_with_its_rule_and_takes_the_sound_one() {
    let files = ui_files();
    let expected: Messages =
        files.iter().map(|(name, path)| (name.clone(), expectation(&read(path)))).collect();
    let sound: Vec<&String> = expected.keys().filter(|name| expected[*name].is_empty()).collect();
    assert_eq!(sound, ["sound"], "a flawed machine needs a line `{EXPECT}…` in its header");

    let said = compile(&files);
    let surprises: Vec<String> = expected
        .iter()
        .filter(|(name, messages)| said.get(*name) != Some(*messages))
        .map(|(name, messages)| format!("{name}:\n  expected {messages:?}\n  got      {:?}", said.get(name)))
        .collect();
    assert!(surprises.is_empty(), "\n{}", surprises.join("\n"));
}

fn ui_files() -> BTreeMap<String, PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    entries
        .map(|entry| entry.unwrap_or_else(|error| panic!("{}: {error}", dir.display())).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}

fn expectation(source: &str) -> Vec<String> {
    source.lines().filter_map(|line| line.strip_prefix(EXPECT)).map(str::to_owned).collect()
}

/// Compiles all files in one run of cargo, each as a library, because a program would have to use what it declares.
fn compile(files: &BTreeMap<String, PathBuf>) -> Messages {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proofs");
    write(&scratch.join("src/lib.rs"), "");
    write(&scratch.join("Cargo.toml"), &manifest(files));
    // The workspace's own versions, so that nothing has to be fetched.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    write(&scratch.join("Cargo.lock"), &read(&lock));

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .current_dir(&scratch)
        .args(["check", "--examples", "--keep-going", "--offline", "--quiet", "--message-format=json"])
        .arg("--target-dir")
        .arg(scratch.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .unwrap_or_else(|error| panic!("cargo cannot be run: {error}"));

    let said = messages(&String::from_utf8_lossy(&output.stdout));
    assert!(!said.is_empty(), "cargo compiled nothing:\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn manifest(files: &BTreeMap<String, PathBuf>) -> String {
    let package = format!(
        "[package]\nname = \"proofs\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nserde = \"*\"\n\
         callboard-lifecycle = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let example = |(name, path): (&String, &PathBuf)| {
        format!("\n[[example]]\nname = {name:?}\npath = {path:?}\ncrate-type = [\"lib\"]\n")
    };
    package + &files.iter().map(example).collect::<String>()
}

/// Reads cargo's messages: what was said of each example that was compiled or refused.
fn messages(output: &str) -> Messages {
    let mut said = Messages::new();
    for line in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let (Some("example"), Some(name)) =
            (line["target"]["kind"][0].as_str(), line["target"]["name"].as_str())
        else {
            continue;
        };
        // A message without a place in the source only counts the others.
        let placed = line["message"]["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        if line["reason"] == "compiler-artifact" {
            said.entry(name.to_owned()).or_default();
        } else if let (true, Some(text)) = (placed, line["message"]["message"].as_str()) {
            let text = text.strip_prefix(PANICKED).unwrap_or(text);
            said.entry(name.to_owned()).or_default().push(text.to_owned());
        }
    }
    said
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
