//! The page: what a browser loads the first time, and how long it takes until something is to be seen.
//!
//! Invariant: the browser is the distribution's, driven by the tool that the browser tests use; where either is not
//! there, that part is left out with a word. Deliberately absent: a network; everything comes over loopback.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::host::Host;
use super::parts::Places;
use super::wire::Wire;
use crate::measure::Took;

/// How often the page is opened.
const OPENED: usize = 10;
const SCRIPT: &str = include_str!("../../page/first_content.mjs");

/// Measures and prints.
pub(super) fn run(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let host = Host::start(places.callboard, places.middle)?;
    weigh(&mut host.wire()?)?;
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    if !web.join("node_modules/playwright-core").is_dir() {
        println!("  time to first content: left out, because web/node_modules is not there (npm ci in web)");
        return Ok(());
    }
    let script = web.join("node_modules/.first_content.mjs");
    std::fs::write(&script, SCRIPT)?;
    let opened = Command::new("node")
        .arg(&script)
        .env("CALLBOARD_LOGIN", &host.login)
        .env("CALLBOARD_OPENED", OPENED.to_string())
        .output();
    std::fs::remove_file(&script)?;
    let output = match opened {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("  time to first content: left out, because the browser did not start: {}", said.trim());
            return Ok(());
        }
        Err(error) => {
            println!("  time to first content: left out, because node did not start: {error}");
            return Ok(());
        }
    };
    print(&serde_json::from_slice::<Vec<Opened>>(&output)?);
    Ok(())
}

/// One opening of the page, in milliseconds from its start.
#[derive(Deserialize)]
struct Opened {
    painted: f64,
    listed: f64,
    bytes: u64,
}

fn print(all: &[Opened]) {
    let line = |what: &str, of: &dyn Fn(&Opened) -> f64| {
        let mut took = Took::default();
        all.iter().for_each(|one| took.add(std::time::Duration::from_secs_f64(of(one) / 1e3)));
        let [median, worst] = [0.5, 1.0].map(|part| took.at(part).as_secs_f64() * 1e3);
        println!("  {what:<58} median {median:.0} ms, worst {worst:.0} ms of {}", all.len());
    };
    line("page opened: first content painted", &|one| one.painted);
    line("page opened: the first thing that needs somebody is shown", &|one| one.listed);
    if let Some(first) = all.first() {
        println!(
            "  {:<58} {:.1} kB",
            "first load as the browser counts it, answers of the API too",
            first.bytes as f64 / 1e3
        );
    }
}

/// The page and every file that it names, packed as a browser asks for them.
fn weigh(wire: &mut Wire) -> Result<(), Box<dyn Error>> {
    let packed = "Accept-Encoding: gzip, deflate, br\r\n";
    let mut fetch = |path: &str, more: &str| -> Result<Vec<u8>, Box<dyn Error>> {
        let answer = wire.send("GET", path, more, "")?;
        if answer.status == 200 {
            Ok(answer.body.to_vec())
        } else {
            Err(format!("{path}: {}", answer.status).into())
        }
    };
    let page = String::from_utf8(fetch("/", "")?)?;
    let named = page.split('"').filter(|word| word.starts_with('/') && word.contains('.'));
    let (mut bytes, mut files) = (fetch("/", packed)?.len(), 1);
    for path in named {
        bytes += fetch(path, packed)?.len();
        files += 1;
    }
    println!("  {:<58} {:.1} kB in {files} files (aim: under 200)", "first load, packed", bytes as f64 / 1e3);
    Ok(())
}
