//! The program that tries the API by its document, in a Python environment of its own below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::succeeds;

/// Another release tries other things.
const VERSION: &str = "4.25.0";

/// Where it is; nowhere where Python cannot make an environment or cannot install it.
pub(super) fn schemathesis(directory: &Path) -> Option<PathBuf> {
    let program = directory.join("bin/schemathesis");
    if is_pinned(&program) {
        return Some(program);
    }
    let package = format!("schemathesis=={VERSION}");
    let (place, pip) = (directory.display().to_string(), directory.join("bin/pip").display().to_string());
    eprintln!("{package} is not installed; installing it in {place}");
    let installed = succeeds("python3", &["-m", "venv", &place])
        && succeeds(&pip, &["install", "--quiet", "--disable-pip-version-check", &package]);
    if !installed {
        eprintln!("{package} cannot be installed; the test that tries the API by its document is skipped");
    }
    installed.then_some(program)
}

fn is_pinned(program: &Path) -> bool {
    let said =
        Command::new(program).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).trim().ends_with(VERSION)
}
