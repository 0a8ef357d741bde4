//! `cargo xtask test advisories`: is anything that we lock withdrawn, or known to be unsafe?
//!
//! Invariant: what a registry says counts, and what it does not say is told as not checked, never as fine. Withdrawn crates
//! come from the index of crates.io; advisories for crates from the RustSec database by `cargo audit`, where that is
//! installed; advisories for the packages of the dashboard from the npm registry. Only a bad answer fails the check: a machine
//! without a network says what it could not ask.
//!
//! Not here: licences and sources, which `tidy` reads from `deny.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

const INDEX: &str = "https://index.crates.io";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Seconds that one answer of the index may take.
const PATIENCE_S: &str = "60";

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

/// What came of asking one source.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing is known against what we use, as this says.
    Fine(String),
    /// The source did not answer, for this reason.
    NotChecked(String),
    /// What is known against what we use.
    Bad(Vec<String>),
}

/// Asks every source, tells what each says, and fails if one of them says something bad.
pub(crate) fn check(root: &Path) -> Result<()> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("failed to read Cargo.lock")?;
    let lock: Lock = toml::from_str(&lock).context("failed to read Cargo.lock")?;
    let answers =
        [("crates.io", withdrawn(root, &lock)?), ("RustSec", rustsec(root)), ("npm", npm(&root.join("web")))];
    let mut bad = Vec::new();
    for (source, answer) in answers {
        match answer {
            Answer::Fine(told) => eprintln!("{source}: {told}"),
            Answer::NotChecked(because) => eprintln!("{source}: NOT CHECKED: {because}"),
            Answer::Bad(problems) => {
                bad.extend(problems.into_iter().map(|problem| format!("{source}: {problem}")));
            }
        }
    }
    if !bad.is_empty() {
        bail!("{}", bad.join("\n"));
    }
    Ok(())
}

/// Which locked versions were withdrawn (yanked) from the registry?
fn withdrawn(root: &Path, lock: &Lock) -> Result<Answer> {
    let place = root.join("target/xtask/advisories");
    std::fs::remove_dir_all(&place).ok();
    std::fs::create_dir_all(&place).with_context(|| format!("failed to make {}", place.display()))?;
    let used: Vec<&Locked> =
        lock.package.iter().filter(|package| package.source.as_deref() == Some(REGISTRY)).collect();
    let mut questions = String::new();
    for name in used.iter().map(|package| package.name.as_str()).collect::<std::collections::BTreeSet<_>>() {
        let file = place.join(name);
        writeln!(questions, "url = \"{INDEX}/{}\"\noutput = \"{}\"", path_of(name), file.display())?;
    }
    let config = place.join("questions");
    std::fs::write(&config, questions).context("failed to write the questions")?;
    let asked = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--fail",
            "--parallel",
            "--parallel-max",
            "16",
            "--max-time",
            PATIENCE_S,
        ])
        .arg("--config")
        .arg(&config)
        .output();
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return Ok(Answer::NotChecked(format!("curl cannot be started: {error}"))),
    };
    let mut answers = BTreeMap::new();
    for package in &used {
        if let Ok(text) = std::fs::read_to_string(place.join(&package.name)) {
            answers.insert(package.name.clone(), text);
        }
    }
    Ok(judged(&used, &answers, &last_line(&asked.stderr)))
}

/// Where the index keeps a crate.
fn path_of(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    match lower.len() {
        1 | 2 => format!("{}/{lower}", lower.len()),
        3 => format!("3/{}/{lower}", &lower[..1]),
        _ => format!("{}/{}/{lower}", &lower[..2], &lower[2..4]),
    }
}

fn judged(used: &[&Locked], answers: &BTreeMap<String, String>, complaint: &str) -> Answer {
    let (mut bad, mut unknown) = (Vec::new(), Vec::new());
    for package in used {
        let versions = answers.get(&package.name).map_or("", String::as_str).lines();
        let of_version = |line: &str| {
            let said: Value = serde_json::from_str(line).ok()?;
            (said["vers"] == package.version.as_str()).then(|| said["yanked"].as_bool()).flatten()
        };
        match versions.filter_map(of_version).next() {
            Some(false) => {}
            Some(true) => bad.push(format!("{} {} was withdrawn", package.name, package.version)),
            None => unknown.push(package.name.as_str()),
        }
    }
    match (bad.is_empty(), unknown.len()) {
        (false, _) => Answer::Bad(bad),
        (true, 0) => Answer::Fine(format!("none of {} crates was withdrawn", used.len())),
        (true, count) => Answer::NotChecked(format!(
            "the index said nothing of {count} of {} crates, {} among them ({complaint})",
            used.len(),
            unknown.first().copied().unwrap_or_default()
        )),
    }
}

/// The advisories of the RustSec database, which `cargo audit` brings.
fn rustsec(root: &Path) -> Answer {
    match Command::new("cargo").current_dir(root).args(["audit", "--json"]).output() {
        Ok(output) => of_rustsec(&output.stdout, &last_line(&output.stderr)),
        Err(error) => Answer::NotChecked(format!("cargo cannot be started: {error}")),
    }
}

fn of_rustsec(stdout: &[u8], complaint: &str) -> Answer {
    let said: Value = serde_json::from_slice(stdout).unwrap_or(Value::Null);
    let Some(list) = said["vulnerabilities"]["list"].as_array() else {
        return Answer::NotChecked(format!(
            "`cargo audit` gave no answer ({complaint}); cargo install cargo-audit"
        ));
    };
    let told = |one: &Value| {
        let field = |name: &str| one["advisory"][name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", field("package"), field("id"), field("title"))
    };
    match list.is_empty() {
        true => Answer::Fine("no advisory for what is locked".to_owned()),
        false => Answer::Bad(list.iter().map(told).collect()),
    }
}

/// The advisories of the npm registry for the packages of the dashboard.
fn npm(web: &Path) -> Answer {
    let asked =
        Command::new("npm").current_dir(web).args(["audit", "--package-lock-only", "--json"]).output();
    match asked {
        Ok(Output { stdout, stderr, .. }) => of_npm(&stdout, &last_line(&stderr)),
        Err(error) => Answer::NotChecked(format!("npm cannot be started: {error}")),
    }
}

fn of_npm(stdout: &[u8], complaint: &str) -> Answer {
    let said: Value = serde_json::from_slice(stdout).unwrap_or(Value::Null);
    let Some(found) = said["vulnerabilities"].as_object() else {
        let because = said["message"].as_str().unwrap_or(complaint);
        return Answer::NotChecked(format!("`npm audit` gave no answer ({because})"));
    };
    let told =
        |(name, one): (&String, &Value)| format!("{name}: {}", one["severity"].as_str().unwrap_or("unknown"));
    match found.is_empty() {
        true => Answer::Fine("no advisory for what is locked".to_owned()),
        false => Answer::Bad(found.iter().map(told).collect()),
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(name: &str, version: &str) -> Locked {
        Locked { name: name.to_owned(), version: version.to_owned(), source: Some(REGISTRY.to_owned()) }
    }

    #[test]
    fn a_crate_has_its_place_in_the_index() {
        let places = ["a", "cc", "Syn", "serde_json"].map(path_of);
        assert_eq!(places, ["1/a", "2/cc", "3/s/syn", "se/rd/serde_json"]);
    }

    #[test]
    fn a_withdrawn_version_is_bad_and_silence_is_not_fine() {
        let (one, two) = (locked("one", "1.0.0"), locked("two", "2.0.0"));
        let lines = |yanked: bool| {
            format!("{{\"vers\":\"0.9.0\",\"yanked\":true}}\n{{\"vers\":\"1.0.0\",\"yanked\":{yanked}}}\n")
        };
        let answers = |yanked| BTreeMap::from([("one".to_owned(), lines(yanked))]);
        assert_eq!(
            judged(&[&one], &answers(false), ""),
            Answer::Fine("none of 1 crates was withdrawn".to_owned())
        );
        assert_eq!(
            judged(&[&one, &two], &answers(true), ""),
            Answer::Bad(vec!["one 1.0.0 was withdrawn".to_owned()])
        );
        let silent = judged(&[&one, &two], &answers(false), "no route");
        let Answer::NotChecked(because) = silent else { panic!("{silent:?}") };
        assert!(because.contains("1 of 2 crates, two among them (no route)"), "{because}");
    }

    #[test]
    fn advisories_are_told_and_an_error_of_the_registry_is_not_fine() {
        let bad =
            br#"{"vulnerabilities":{"list":[{"advisory":{"id":"RUSTSEC-1","package":"x","title":"t"}}]}}"#;
        assert_eq!(of_rustsec(bad, ""), Answer::Bad(vec!["x RUSTSEC-1: t".to_owned()]));
        assert!(matches!(of_rustsec(br#"{"vulnerabilities":{"list":[]}}"#, ""), Answer::Fine(_)));
        assert!(matches!(of_rustsec(b"", "no such command"), Answer::NotChecked(_)));
        let bad = br#"{"vulnerabilities":{"x":{"severity":"high"}}}"#;
        assert_eq!(of_npm(bad, ""), Answer::Bad(vec!["x: high".to_owned()]));
        assert!(matches!(of_npm(br#"{"vulnerabilities":{}}"#, ""), Answer::Fine(_)));
        let refused = of_npm(br#"{"message":"405 Method Not Allowed"}"#, "");
        assert_eq!(
            refused,
            Answer::NotChecked("`npm audit` gave no answer (405 Method Not Allowed)".to_owned())
        );
    }
}
