//! Rule: a crate uses only the crates that the table below allows, and the pure crates use only plain-data
//! libraries.
//!
//! Invariant: the table is the whole truth about edges between our crates. A crate that is not in it is a
//! finding, so a new crate begins with a line here, where a reviewer sees what it may know.
//!
//! Not here: dev-dependencies, because a test may look at a crate from wherever it likes. Build dependencies
//! count: what runs while building is part of the crate.

use crate::cargo::{Dependency, Metadata, Package};
use crate::tidy::source::{Finding, SourceFile};

enum Uses {
    Only(&'static [&'static str]),
    Everything,
}

use Uses::{Everything, Only};

const LIFECYCLE: &str = "callboard-lifecycle";
const KERNEL: &str = "callboard-kernel";
const LEDGER: &str = "callboard-ledger";
const SUPERVISOR: &str = "callboard-supervisor";
const CONVERSATION: &str = "callboard-conversation";
const AGENTS: &str = "callboard-agents";
const DELIVERY: &str = "callboard-delivery";
const NOTIFY: &str = "callboard-notify";
const ENGINE: &str = "callboard-engine";
const WIRE: &str = "callboard-wire";
const CREW: &str = "callboard-crew";
const MCP: &str = "callboard-mcp";

/// Each crate and the crates of ours it may name. Whoever may use the kernel may also use lifecycle, because
/// the kernel's states are lifecycle's types; nothing else is inherited.
const LAYERS: &[(&str, Uses)] = &[
    (LIFECYCLE, Only(&[])),
    (KERNEL, Only(&[LIFECYCLE])),
    (LEDGER, Only(&[KERNEL])),
    (SUPERVISOR, Only(&[])),
    (CONVERSATION, Only(&[KERNEL])),
    (AGENTS, Only(&[])),
    (DELIVERY, Only(&[KERNEL, SUPERVISOR])),
    (NOTIFY, Only(&[KERNEL, SUPERVISOR])),
    (WIRE, Only(&[KERNEL])),
    (ENGINE, Only(&[KERNEL, LEDGER, SUPERVISOR, CONVERSATION, AGENTS, WIRE, DELIVERY, NOTIFY])),
    (CREW, Only(&[KERNEL, LEDGER, SUPERVISOR, AGENTS, WIRE, DELIVERY, ENGINE])),
    (MCP, Only(&[KERNEL, LEDGER, ENGINE, WIRE])),
    ("callboard-server", Only(&[KERNEL, LEDGER, ENGINE, WIRE, CREW, MCP])),
    ("callboard-tui", Only(&[ENGINE])),
    ("callboard", Everything),
    ("callboard-bench", Everything),
    ("callboard-simulation", Everything),
    ("callboard-torture", Everything),
    ("xtask", Everything),
];

/// Crates without a clock, a disk or a process, and the libraries that do not bring one in.
const PURE: &[&str] = &[LIFECYCLE, KERNEL, AGENTS];
const PURE_LIBRARIES: &[&str] = &["serde", "serde_json", "thiserror", "uuid", "jiff", "strum"];

const TABLE: &str = "xtask/src/tidy/layers.rs";

pub(super) fn check(metadata: &Metadata, files: &[SourceFile]) -> Vec<Finding> {
    metadata.members().flat_map(|package| check_package(package, metadata.manifest(package), files)).collect()
}

fn check_package(package: &Package, manifest: &str, files: &[SourceFile]) -> Vec<Finding> {
    let name = package.name.as_str();
    let text = files.iter().find(|file| file.path == manifest).map_or("", |file| file.text.as_str());
    let finding = |word: &str, message| Finding {
        path: manifest.to_owned(),
        line: line_beginning(text, word),
        message,
    };

    let Some((_, uses)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        return vec![finding("name", format!("`{name}` is not in the table of crates, {TABLE}"))];
    };
    let refused = |dependency: &&Dependency| match &dependency.path {
        Some(_) => !may_use(uses, &dependency.name),
        None => PURE.contains(&name) && !PURE_LIBRARIES.contains(&dependency.name.as_str()),
    };
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
        .filter(refused)
        .map(|dependency| {
            let used = dependency.name.as_str();
            finding(used, format!("`{name}` may not use `{used}`; what it may use is in {TABLE}"))
        })
        .collect()
}

fn may_use(uses: &Uses, used: &str) -> bool {
    match uses {
        Everything => true,
        Only(crates) => crates.contains(&used) || (used == LIFECYCLE && crates.contains(&KERNEL)),
    }
}

/// The number of the first line that begins with `word`, or 1.
fn line_beginning(text: &str, word: &str) -> usize {
    let begins = |line: &str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '.', '=']));
    text.lines().position(begins).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tidy::source::CLEAN;

    /// A dependency is written `name`, `dev:name` or `build:name`; those of ours have a path.
    fn messages(package: &str, dependencies: &[&str]) -> Vec<String> {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|written| {
                let (kind, name) =
                    written.split_once(':').map_or((None, *written), |(kind, name)| (Some(kind), name));
                let path = name.starts_with("callboard").then_some("/a/path");
                json!({ "name": name, "kind": kind, "path": path, "req": "*" })
            })
            .collect();
        let metadata = json!({
            "workspace_root": "/somewhere",
            "workspace_members": ["member"],
            "packages": [{
                "id": "member", "name": package, "version": "0.1.0", "license": null, "source": null,
                "manifest_path": "/somewhere/crates/one/Cargo.toml", "dependencies": dependencies,
            }],
        });
        let manifest = "[package]\nname = \"one\"\n\n[dependencies]\ncallboard-engine.workspace = true\n";
        let files = [SourceFile::made_up("crates/one/Cargo.toml", manifest)];
        let metadata = serde_json::from_value(metadata).expect("made-up metadata");
        check(&metadata, &files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn listed_edges_are_allowed() {
        assert_eq!(messages("callboard-engine", &[KERNEL, LEDGER, SUPERVISOR, CONVERSATION, AGENTS]), CLEAN);
        assert_eq!(messages("callboard", &["callboard-server", "clap"]), CLEAN);
    }

    #[test]
    fn an_edge_that_is_not_listed_is_found_on_its_line() {
        let found = messages(KERNEL, &["callboard-engine"]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("crates/one/Cargo.toml:5: `callboard-kernel` may not use `callboard-engine`"),
            "{found:?}"
        );
    }

    #[test]
    fn the_kernel_brings_lifecycle_and_nothing_else_is_inherited() {
        assert_eq!(messages(LEDGER, &[LIFECYCLE]), CLEAN);
        assert_eq!(messages("callboard-tui", &[LIFECYCLE]).len(), 1);
        assert_eq!(messages("callboard-server", &[SUPERVISOR]).len(), 1);
    }

    #[test]
    fn only_dev_dependencies_are_free() {
        assert_eq!(messages(LIFECYCLE, &["dev:callboard-kernel", "dev:insta"]), CLEAN);
        assert_eq!(messages(LIFECYCLE, &["build:callboard-kernel"]).len(), 1);
    }

    #[test]
    fn the_pure_crates_use_only_plain_data_libraries() {
        assert_eq!(messages(KERNEL, &["serde", "jiff", "uuid", "thiserror", "strum"]), CLEAN);
        assert_eq!(messages(KERNEL, &["tokio"]).len(), 1);
        assert_eq!(messages(LIFECYCLE, &["anyhow", "serde"]).len(), 1);
        assert_eq!(messages(LEDGER, &["tokio"]), CLEAN);
    }

    #[test]
    fn an_unknown_crate_is_a_finding() {
        let found = messages("callboard-extras", &[]);
        assert_eq!(
            found,
            [
                "crates/one/Cargo.toml:2: `callboard-extras` is not in the table of crates, xtask/src/tidy/layers.rs"
            ]
        );
    }

    #[test]
    fn every_crate_named_in_an_edge_has_a_line_of_its_own_above_it() {
        for (index, (layer, uses)) in LAYERS.iter().enumerate() {
            let Only(crates) = uses else { continue };
            for used in *crates {
                assert!(LAYERS[..index].iter().any(|(name, _)| name == used), "{layer} uses {used}");
            }
        }
    }
}
