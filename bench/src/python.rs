//! Peers in Python: each is installed into a directory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs packages; the interpreter that finds them, or what pip said last.
pub(crate) fn install(place: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let run = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().map_err(|error| error.to_string())?;
        let problem = String::from_utf8_lossy(&output.stderr);
        let last = problem.lines().last().unwrap_or("it does not say why").to_owned();
        if output.status.success() { Ok(()) } else { Err(last) }
    };
    run(Path::new("python3"), &["-m", "venv", &place.display().to_string()])?;
    let python = place.join("bin/python");
    run(&python, &[&["-m", "pip", "install", "--quiet"], packages].concat())?;
    Ok(python)
}
