//! The binary as it is released, which whole-program figures are taken of.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// Builds the binary as it is released, and says where it is.
pub(crate) fn callboard() -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo)
        .args(["build", "--release", "--locked", "--package", "callboard"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the package callboard does not build".into());
    }
    let built = output.stdout.split(|byte| *byte == b'\n').find_map(executable);
    built.ok_or_else(|| "cargo built the package callboard and named no binary of it".into())
}

/// What cargo says of one thing it built.
#[derive(Deserialize)]
struct Built {
    executable: PathBuf,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn executable(message: &[u8]) -> Option<PathBuf> {
    let built: Built = serde_json::from_slice(message).ok()?;
    (built.target.name == "callboard").then_some(built.executable)
}
