//! The checks of the dashboard: its types, lints and unit tests, and the real program driven by a real browser.
//!
//! Invariant: the browser is shown what the sources say, never what an earlier build left. With CALLBOARD_WITHOUT_WEB the
//! program has no page, and there is nothing to check. Not here: what is checked, which `web/package.json` says.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;

use crate::{cargo, npm, provision};

/// What is in the directory and does not go into the page.
const NOT_SOURCES: [&str; 3] = ["dist", "e2e", "node_modules"];

/// Types, lints, unit tests, and a build, which fails when the page is too heavy.
pub(crate) fn check(root: &Path) -> Result<()> {
    if is_left_out() {
        return Ok(());
    }
    provision::page(root)?;
    let web = root.join("web");
    npm::run(&web, &["run", "check"], &[])?;
    npm::run(&web, &["test"], &[])?;
    build(&web)
}

/// Drives the program with a browser.
pub(crate) fn browse(root: &Path) -> Result<()> {
    if is_left_out() {
        return Ok(());
    }
    provision::browser(root)?;
    let web = root.join("web");
    build(&web)?;
    cargo::run(root, &["build", "--quiet", "--locked", "-p", "callboard"])?;
    let program = cargo::target_directory(root)?.join("debug/callboard");
    npm::run(&web, &["run", "e2e"], &[("CALLBOARD_BIN", program)])
}

fn is_left_out() -> bool {
    let is_left_out = std::env::var_os("CALLBOARD_WITHOUT_WEB").is_some();
    if is_left_out {
        eprintln!("CALLBOARD_WITHOUT_WEB is set: the page is left out of the program and is not checked");
    }
    is_left_out
}

/// Builds the page if something is newer than it. A build that changes nothing would have the server compiled again.
fn build(web: &Path) -> Result<()> {
    let built = std::fs::metadata(web.join("dist/index.html")).and_then(|meta| meta.modified()).ok();
    if built.is_some() && newest(web, &NOT_SOURCES) <= built {
        return Ok(());
    }
    npm::run(web, &["run", "build"], &[])
}

/// When the newest file below a directory was written, without some of its entries.
fn newest(directory: &Path, without: &[&str]) -> Option<SystemTime> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let wanted = entries.filter(|entry| !without.iter().any(|name| entry.file_name() == *name));
    let times = wanted.filter_map(|entry| match entry.file_type().ok()?.is_dir() {
        true => newest(&entry.path(), &[]),
        false => entry.metadata().ok()?.modified().ok(),
    });
    times.max()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_newest_source_counts_and_what_is_no_source_does_not() {
        let directory = std::env::temp_dir().join(format!("xtask-page-{}", std::process::id()));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        for (path, after) in [("src/deep/a.ts", 5), ("index.html", 2), ("dist/index.html", 9)] {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a directory"))
                .expect("the directory is ours");
            std::fs::write(&path, "").expect("the directory is ours");
            let file = std::fs::File::options().write(true).open(&path).expect("it was just written");
            file.set_modified(old + Duration::from_secs(after)).expect("the file is ours");
        }
        assert_eq!(newest(&directory, &NOT_SOURCES), Some(old + Duration::from_secs(5)));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
        assert_eq!(newest(&directory, &NOT_SOURCES), None);
    }
}
