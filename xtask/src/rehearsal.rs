//! The check `kind`: a made-up kind with a guard, a lease, a service and fields of its view is a table and one file.
//!
//! Invariant: a copy of the workspace gets the two files of `xtask/rehearsal`, and the two lists that `generate` writes from them;
//! nothing else differs. The program that is built of the copy then does with the kind what it does with every other. The copy and
//! what is compiled of it stay below the target directory, and what both builds have in common is compiled once.
//!
//! Not here: the reference page of the kind, which takes a second build of this program.

mod copy;
mod drive;

use std::path::Path;

use anyhow::Result;

use crate::{cargo, generate};

/// The files of the made-up kind, and where they go.
const ADDED: [(&str, &str); 2] = [
    ("xtask/rehearsal/machine.rs", "crates/lifecycle/src/machines/rehearsal.rs"),
    ("xtask/rehearsal/kind.rs", "crates/engine/src/kinds/rehearsal.rs"),
];

/// Adds the kind to a copy, builds the copy and drives the program.
pub(crate) fn check(root: &Path) -> Result<()> {
    let target = cargo::target_directory(root)?;
    let below = |part: &str| target.join("rehearsal").join(part);
    let (place, built, home) = (below("workspace"), below("built"), below("home"));
    copy::bring_up_to_date(root, &place, &ADDED)?;
    generate::write_lists(&place)?;
    // Only what is linked at the end has a place of its own: the program of this workspace must not be replaced.
    let variables = [
        ("CARGO_BUILD_BUILD_DIR", target.clone()),
        ("CARGO_TARGET_DIR", built.clone()),
        ("CALLBOARD_WITHOUT_WEB", "1".into()),
    ];
    let plain = unoptimized(root)?;
    let mut arguments = vec!["build", "--quiet", "--locked", "-p", "callboard"];
    arguments.extend(plain.iter().flat_map(|setting| ["--config", setting.as_str()]));
    cargo::run_with(&place, &arguments, &variables)?;
    drive::drive(&built.join("debug/callboard"), &home)
}

/// Settings that have the packages of the workspace compiled as fast as possible, and leave what they depend on as it is for every build.
fn unoptimized(root: &Path) -> Result<Vec<String>> {
    let metadata = cargo::metadata(root)?;
    let setting = |name: &String| format!("profile.dev.package.{name}.opt-level=0");
    Ok(metadata.members().map(|package| setting(&package.name)).collect())
}
