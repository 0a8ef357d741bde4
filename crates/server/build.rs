//! Builds the dashboard when its sources are newer than what was built of them, and writes down what is to be embedded.
//!
//! Invariant: this crate builds on a machine without npm and without a network; the server then says how to get the
//! page. Deliberately absent: choosing what to serve, which `assets` does.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What a build of the dashboard depends on.
const SOURCES: [&str; 7] =
    ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "scripts"];

fn main() -> Result<()> {
    let web = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../web");
    println!("cargo:rerun-if-env-changed=CALLBOARD_WITHOUT_WEB");
    // Cargo runs this again only for what is named here, and for what is not there at every build; so a checkout without
    // the dashboard is looked at again when anything about its dependencies changes.
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    for source in SOURCES.iter().chain(&["dist"]) {
        let path = web.join(source);
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    if std::env::var_os("CALLBOARD_WITHOUT_WEB").is_none() && is_stale(&web) {
        build(&web);
    }
    let list = list(&web.join("dist"))?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("files.rs"), list)?;
    Ok(())
}

/// Are the sources newer than what was built of them?
fn is_stale(web: &Path) -> bool {
    let Some(newest) = SOURCES.iter().filter_map(|source| newest(&web.join(source))).max() else {
        return false;
    };
    let built = std::fs::metadata(web.join("dist/index.html")).and_then(|meta| meta.modified());
    web.join("package.json").exists() && built.map_or(true, |built| built < newest)
}

fn newest(path: &Path) -> Option<SystemTime> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_dir() {
        return meta.modified().ok();
    }
    std::fs::read_dir(path).ok()?.filter_map(|entry| newest(&entry.ok()?.path())).max()
}

/// Builds it; what goes wrong is a warning, because everything else works without the page.
fn build(web: &Path) {
    let npm = |words: &[&str]| Command::new("npm").args(words).current_dir(web).output();
    let steps: &[&[&str]] = if web.join("node_modules").is_dir() {
        &[&["run", "build"]]
    } else {
        &[&["ci", "--no-audit", "--no-fund"], &["run", "build"]]
    };
    for words in steps {
        let told = match npm(words) {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / "),
            Err(error) => error.to_string(),
        };
        let (short, words): (String, String) = (told.chars().take(300).collect(), words.join(" "));
        println!("cargo:warning=the dashboard was not built: npm {words}: {short}");
        return;
    }
}

/// The table of the files to embed, as Rust.
fn list(dist: &Path) -> Result<String> {
    let mut paths = Vec::new();
    walk(dist, &mut paths);
    paths.sort();
    let mut text = "static FILES: &[File] = &[\n".to_owned();
    for path in &paths {
        let is_packed = path.extension().is_some_and(|ending| ending == "br" || ending == "gz");
        if is_packed {
            continue;
        }
        let name = path.strip_prefix(dist)?.to_string_lossy().into_owned();
        let mut hasher = DefaultHasher::new();
        std::fs::read(path)?.hash(&mut hasher);
        let packed = |ending: &str| {
            let packed = PathBuf::from(format!("{}.{ending}", path.display()));
            match packed.exists() {
                true => format!("Some(include_bytes!({packed:?}))"),
                false => "None".to_owned(),
            }
        };
        writeln!(
            text,
            "    File {{ name: {name:?}, etag: \"\\\"{:016x}\\\"\", bytes: include_bytes!({path:?}), br: {}, gz: {} }},",
            hasher.finish(),
            packed("br"),
            packed("gz"),
        )?;
    }
    text.push_str("];\n");
    Ok(text)
}

fn walk(dir: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() { walk(&path, into) } else { into.push(path) }
    }
}
