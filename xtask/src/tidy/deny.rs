//! Rule: what we depend on has a licence and a source that `deny.toml` allows, and a version.
//!
//! Invariant: `deny.toml` is the one declaration. cargo-deny can be run too, `cargo deny check`, and reads
//! the same file; this rule exists so that the check needs nothing but cargo. No package is exempt, ours
//! included.
//!
//! Not here: advisories, which `advisories` asks the registries for, and duplicate versions, which `deny.toml`
//! only warns about.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cargo::{Metadata, Package};
use crate::tidy::source::Finding;
use crate::tidy::spdx::{self, Verdict};

const POLICY: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";

/// The part of `deny.toml` that is read here.
#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    wildcards: Level,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Findings point into the lock file, where a package has a line whether it is ours or not.
pub(super) fn check(policy: &str, metadata: &Metadata, lock: &str) -> Result<Vec<Finding>> {
    let policy: Policy = toml::from_str(policy).with_context(|| format!("failed to read {POLICY}"))?;
    let licences = metadata.packages.iter().filter_map(|package| {
        licence_problem(package, &policy.licenses.allow).map(|message| finding(package, lock, message))
    });
    let sources = metadata.packages.iter().filter_map(|package| {
        source_problem(package, &policy.sources.allow_registry).map(|message| finding(package, lock, message))
    });
    let mut findings: Vec<Finding> = licences.chain(sources).collect();
    if policy.bans.wildcards == Level::Deny {
        findings.extend(wildcards(metadata));
    }
    Ok(findings)
}

fn licence_problem(package: &Package, allowed: &[String]) -> Option<String> {
    let Some(expression) = &package.license else {
        return Some("declares no licence".to_owned());
    };
    match spdx::judge(expression, allowed) {
        Verdict::Allowed => None,
        Verdict::Refused => Some(format!("has the licence `{expression}`, which {POLICY} does not allow")),
        Verdict::Unreadable => {
            Some(format!("has the licence `{expression}`, which is no licence expression"))
        }
    }
}

fn source_problem(package: &Package, registries: &[String]) -> Option<String> {
    let source = package.source.as_ref()?;
    let is_allowed =
        source.strip_prefix("registry+").is_some_and(|registry| registries.iter().any(|r| r == registry));
    (!is_allowed).then(|| format!("comes from `{source}`, which {POLICY} does not allow"))
}

/// A neighbouring crate has no version to require; everything else must say which it was tested with.
fn wildcards(metadata: &Metadata) -> Vec<Finding> {
    metadata
        .members()
        .flat_map(|package| package.dependencies.iter().map(move |dependency| (package, dependency)))
        .filter(|(_, dependency)| dependency.path.is_none() && dependency.req == "*")
        .map(|(package, dependency)| Finding {
            path: metadata.manifest(package).to_owned(),
            line: 1,
            message: format!("`{}` is required in any version; name one", dependency.name),
        })
        .collect()
}

fn finding(package: &Package, lock: &str, problem: String) -> Finding {
    let Package { name, version, .. } = package;
    let entry = [format!("name = \"{name}\""), format!("version = \"{version}\"")];
    let lines: Vec<&str> = lock.lines().collect();
    let line = lines.windows(2).position(|pair| pair == entry).map_or(1, |index| index + 1);
    Finding { path: LOCK.to_owned(), line, message: format!("`{name}` {version} {problem}") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tidy::source::CLEAN;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
    const MADE_UP_POLICY: &str = r#"
        [licenses]
        allow = ["MIT"]
        [bans]
        wildcards = "deny"
        [sources]
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
    "#;

    fn messages(license: Option<&str>, source: Option<&str>, dependencies: &Value) -> Vec<String> {
        let metadata = json!({
            "workspace_root": "/somewhere",
            "workspace_members": ["one"],
            "packages": [{
                "id": "one", "name": "one", "version": "1.0.0", "license": license, "source": source,
                "manifest_path": "/somewhere/crates/one/Cargo.toml", "dependencies": dependencies,
            }],
        });
        let lock = "[[package]]\nname = \"one\"\nversion = \"0.9.0\"\n\n[[package]]\nname = \"one\"\nversion = \"1.0.0\"\n";
        let metadata = serde_json::from_value(metadata).expect("made-up metadata");
        let findings = check(MADE_UP_POLICY, &metadata, lock).expect("a readable policy");
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_allowed_package_passes() {
        assert_eq!(messages(Some("MIT OR Apache-2.0"), Some(CRATES_IO), &json!([])), CLEAN);
        assert_eq!(messages(Some("MIT"), None, &json!([])), CLEAN);
    }

    #[test]
    fn a_licence_has_to_be_allowed_readable_and_there() {
        let refused =
            "Cargo.lock:6: `one` 1.0.0 has the licence `GPL-3.0-only`, which deny.toml does not allow";
        assert_eq!(messages(Some("GPL-3.0-only"), None, &json!([])), [refused]);
        let unreadable = "Cargo.lock:6: `one` 1.0.0 has the licence `MIT OR`, which is no licence expression";
        assert_eq!(messages(Some("MIT OR"), None, &json!([])), [unreadable]);
        assert_eq!(messages(None, None, &json!([])), ["Cargo.lock:6: `one` 1.0.0 declares no licence"]);
    }

    #[test]
    fn a_source_has_to_be_an_allowed_registry() {
        for source in
            ["git+https://github.com/rust-lang/crates.io-index", "registry+https://elsewhere.example/index"]
        {
            let found = messages(Some("MIT"), Some(source), &json!([]));
            assert_eq!(
                found,
                [format!("Cargo.lock:6: `one` 1.0.0 comes from `{source}`, which deny.toml does not allow")]
            );
        }
    }

    #[test]
    fn any_version_is_no_version_except_of_a_neighbour() {
        let dependency = |path, req| json!([{ "name": "two", "kind": null, "path": path, "req": req }]);
        assert_eq!(messages(Some("MIT"), None, &dependency(None, "*")).len(), 1);
        assert_eq!(messages(Some("MIT"), None, &dependency(None, "^1.0.0")), CLEAN);
        assert_eq!(messages(Some("MIT"), None, &dependency(Some("/somewhere/two"), "*")), CLEAN);
    }

    #[test]
    fn a_policy_without_a_list_is_an_error() {
        let metadata = json!({ "workspace_root": "", "workspace_members": [], "packages": [] });
        let metadata = serde_json::from_value(metadata).expect("made-up metadata");
        assert!(check("[licenses]\n", &metadata, "").is_err());
    }
}
