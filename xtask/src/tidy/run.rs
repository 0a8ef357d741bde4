//! Reads the workspace once, asks every rule, prints what they found.
//!
//! Invariant: all rules run and all findings are printed, because fixing them one run at a time wastes a
//! build each.
//!
//! Not here: any rule, and any way to switch one off.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::tidy::source::{Finding, SourceFile};
use crate::tidy::{deny, facts, headers, layers, links, names, orphans, size, source, words};

/// Checks every rule; an error says how many findings were printed.
pub(crate) fn run(root: &Path) -> Result<()> {
    let findings = findings(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy has 1 finding"),
        count => bail!("tidy has {count} findings"),
    }
}

fn findings(root: &Path) -> Result<Vec<Finding>> {
    let files = source::read_all(root)?;
    let metadata = cargo::metadata(root)?;
    let mut findings = layers::check(&metadata, &files);
    findings.extend(each(&files, size::check));
    findings.extend(each(&files, words::check));
    findings.extend(each(&files, facts::check));
    findings.extend(names::check(&files));
    findings.extend(orphans::check(&files));
    findings.extend(each(&files, headers::check));
    findings.extend(deny::check(&read(root, "deny.toml")?, &metadata, &read(root, "Cargo.lock")?)?);
    findings.extend(each(&files, |file| links::check(file, |path| root.join(path).exists())));
    findings.sort();
    Ok(findings)
}

fn each(files: &[SourceFile], rule: impl Fn(&SourceFile) -> Vec<Finding>) -> Vec<Finding> {
    files.iter().flat_map(rule).collect()
}

fn read(root: &Path, path: &str) -> Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| format!("failed to read {path}"))
}
