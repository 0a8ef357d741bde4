//! What building and driving the dashboard takes: node with npm, its packages, and a browser.
//!
//! Invariant: the packages are those of the lock file; what is installed is compared with it, package by package. Not
//! here: the checks of the page, which are npm scripts in `web/package.json`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::programs;
use crate::npm;

/// Where distributions put a browser that is not on PATH, and what they call it; `web/e2e/browser.mjs` looks there too.
const BROWSER_PLACES: [&str; 4] = ["/usr/bin", "/usr/lib/chromium", "/snap/bin", "/opt/google/chrome"];
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Has node, npm and the packages of the lock file at hand.
pub(super) fn node(web: &Path) -> Result<()> {
    if !programs::succeeds("node", &["--version"]) || !programs::succeeds("npm", &["--version"]) {
        eprintln!("node or npm is not installed; installing them with `apt-get install nodejs npm`");
        programs::install(&["nodejs", "npm"])?;
    }
    let wanted = wanted(&json(&web.join("package.json"))?)?;
    let version = npm::version()?;
    if !is_enough(&version, wanted) {
        bail!(
            "node {version} is too old for the dashboard, which takes {}.{}; install a newer one from \
             https://nodejs.org or with your version manager, then run this again",
            wanted.0,
            wanted.1
        );
    }
    let installed = json(&web.join("node_modules/.package-lock.json")).unwrap_or_default();
    if is_installed(&json(&web.join("package-lock.json"))?, &installed) {
        return Ok(());
    }
    npm::run(web, &["ci", "--no-audit", "--no-fund"], &[])
}

/// Has a browser at hand.
pub(super) fn chromium() -> Result<()> {
    let is_there = || std::env::var_os("CHROMIUM").is_some() || has_browser(&places());
    if is_there() {
        return Ok(());
    }
    eprintln!("no chromium is installed; installing it with `apt-get install chromium`");
    programs::install(&["chromium"])?;
    if is_there() {
        return Ok(());
    }
    bail!("chromium was installed and cannot be found; set CHROMIUM to where it is")
}

fn places() -> Vec<PathBuf> {
    programs::path().into_iter().chain(BROWSER_PLACES.map(PathBuf::from)).collect()
}

fn has_browser(places: &[PathBuf]) -> bool {
    places.iter().any(|place| BROWSERS.iter().any(|name| place.join(name).is_file()))
}

fn json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

/// The oldest node that will do, as the package says it: `>=20.19`.
fn wanted(package: &Value) -> Result<(u32, u32)> {
    let range = package["engines"]["node"].as_str().unwrap_or_default();
    range.strip_prefix(">=").and_then(numbers).with_context(|| {
        format!("`engines.node` in web/package.json is {range:?}, and not of the form `>=20.19`")
    })
}

/// Is the version that node printed, such as `v20.19.2`, new enough?
fn is_enough(version: &str, wanted: (u32, u32)) -> bool {
    version.trim().strip_prefix('v').and_then(numbers).is_some_and(|version| version >= wanted)
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// Is every package of the lock installed in its version, and no other version of any? Packages of other platforms are
/// optional and are left out.
fn is_installed(lock: &Value, installed: &Value) -> bool {
    let (Some(locked), Some(installed)) = (lock["packages"].as_object(), installed["packages"].as_object())
    else {
        return false;
    };
    locked.iter().filter(|(path, _)| !path.is_empty()).all(|(path, package)| match installed.get(path) {
        Some(found) => found["version"] == package["version"],
        None => package["optional"] == true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_that_is_too_old_is_told_apart() {
        let wanted = wanted(&json!({"engines": {"node": ">=20.19"}})).expect("it is of the form");
        assert_eq!(wanted, (20, 19));
        for (version, enough) in
            [("v20.19.2\n", true), ("v22.1.0", true), ("v20.9.9", false), ("v18.20.4", false), ("", false)]
        {
            assert_eq!(is_enough(version, wanted), enough, "{version}");
        }
        assert!(super::wanted(&json!({"engines": {"node": "20"}})).is_err());
    }

    #[test]
    fn packages_are_installed_when_each_has_the_version_of_the_lock() {
        let lock = json!({"packages": {
            "": {"name": "page"},
            "node_modules/a": {"version": "1.0.0"},
            "node_modules/elsewhere": {"version": "2.0.0", "optional": true},
        }});
        let of = |version: &str| json!({"packages": {"node_modules/a": {"version": version}}});
        assert!(is_installed(&lock, &of("1.0.0")));
        assert!(!is_installed(&lock, &of("1.0.1")));
        assert!(!is_installed(&lock, &json!({"packages": {}})));
        assert!(!is_installed(&lock, &Value::Null));
    }

    #[test]
    fn a_browser_is_found_where_it_lies() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-browser-{}", std::process::id()));
        assert!(!has_browser(std::slice::from_ref(&directory)));
        std::fs::create_dir_all(&directory).expect("the directory is ours");
        std::fs::write(directory.join("chromium-browser"), "").expect("the directory is ours");
        assert!(has_browser(&["/nowhere".into(), directory.clone()]));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }
}
