//! `origin`: requests with every mixture of names, origins and sites, and a browser whose DNS was bent to this host.
//!
//! Invariant: only the server's own names are answered, and only its own page may ask from a browser; whatever is forged
//! gets no data, no CORS header and changes nothing, with the operator's own token or cookie in it. The browser is a real
//! one that is logged in, and the page that attacks lies on the very port of the server, under another name; before and
//! after, the right origin works. Deliberately absent: a browser that lies about the origin of a page.

mod browser;
mod rebinder;

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use self::browser::Browser;
use self::rebinder::Rebinder;
use crate::harness::aftermath;
use crate::harness::commands::{create, request, session};
use crate::harness::driver::{Plan, Size, Tally, Torture};
use crate::harness::http;
use crate::harness::program::Board;
use crate::harness::scene::{self, Scene};
use crate::harness::service::Service;

pub(crate) const TORTURE: Torture = Torture {
    name: "origin",
    about: "forged hosts, origins and sites, and a rebound name in a real chromium, get nothing",
    mutants: &["host_names", "own_origin", "own_site"],
    run,
    child: None,
};

/// What no forged request may read.
const MARK: &str = "Nomen-52b1e0";
/// The name that is bent to this host.
const EVIL: &str = "evil.test";
/// How long the page that attacks may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(plan: &Plan) -> Tally {
    scene::play(plan, |scene, tally| play(plan, scene, tally))
}

fn play(plan: &Plan, scene: &Scene, tally: &mut Tally) -> Result<()> {
    let board = Board::new(&scene.store(), plan)?;
    let service = Service::start(&board, scene.path(), &["--rate", "0"])?;
    let run = session(1);
    aftermath::open(&scene.store())?.append(request(run, 0, create(MARK)))?;
    let link = board.ask(&["token", "link", "--listen", &service.address.to_string()])?;
    let path =
        link.trim().split_once("/login").map(|(_, code)| format!("/login{code}")).context("no link")?;
    let entered = http::ask(service.address, "GET", &path, "", "")?;
    let cookie =
        entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("no cookie")?;
    let says = [http::bearer(&service.token), format!("Cookie: {cookie}\r\n")];
    let noted = matrix(&service, &run.to_string(), &says, tally)?;
    let path = format!("/api/v1/entities/{run}/records");
    let records = service.get(&path)?.ok()?;
    let notes = records["items"].as_array().map_or(0, Vec::len).saturating_sub(1);
    tally.check(notes == noted, || format!("{noted} notes were answered and {notes} are recorded"));
    match Browser::find() {
        // What the safeguards are for is seen without one.
        _ if plan.size == Size::Mutant => Ok(()),
        Some(browser) => rebind(&browser, scene, &service, &path, tally),
        None => {
            tally.notes.push("no chromium is installed; the rebinding attempt was skipped".to_owned());
            Ok(())
        }
    }
}

/// The names a request may carry, and whether they are the server's own.
fn names(port: u16) -> Vec<(String, bool)> {
    let own = ["127.0.0.1", "localhost", "[::1]", "LocalHost"].map(|name| (format!("{name}:{port}"), true));
    let foreign = [
        EVIL.to_owned(),
        format!("{EVIL}:{port}"),
        "localhost".to_owned(),
        format!("localhost:{}", port - 1),
        format!("127.0.0.1:{port}.{EVIL}"),
        format!("127.0.0.1:{port}@{EVIL}"),
        format!("localhost.{EVIL}:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("localhost:0{port}"),
        format!("127.0.0.1:{port}, {EVIL}"),
        String::new(),
    ];
    own.into_iter().chain(foreign.map(|name| (name, false))).collect()
}

const ORIGINS: [&str; 8] = [
    "",
    "same",
    "null",
    "http://evil.test",
    "https://evil.test",
    "file://",
    "http://localhost",
    "chrome-extension://abc",
];
const SITES: [&str; 6] = ["", "same-origin", "none", "cross-site", "same-site", "nonsense"];

/// One mixture.
struct Forged<'a> {
    name: &'a str,
    is_own: bool,
    origin: &'a str,
    site: &'a str,
    method: &'a str,
    says: &'a str,
}

impl Forged<'_> {
    fn headers(&self) -> String {
        let mut headers = format!("Host: {}\r\n{}Content-Type: application/json\r\n", self.name, self.says);
        match self.origin {
            "" => {}
            "same" => headers += &format!("Origin: http://{}\r\n", self.name),
            other => headers += &format!("Origin: {other}\r\n"),
        }
        if !self.site.is_empty() {
            headers += &format!("Sec-Fetch-Site: {}\r\n", self.site);
        }
        headers
    }

    fn expected(&self) -> u16 {
        let from_elsewhere = !matches!(self.origin, "" | "same")
            || (self.method == "POST" && !matches!(self.site, "" | "same-origin" | "none"));
        match (self.is_own, from_elsewhere) {
            (false, _) => 421,
            (true, true) => 403,
            (true, false) => 200,
        }
    }

    /// Sends it and looks at the answer; whether a note was taken.
    fn send(&self, service: &Service, run: &str, tally: &mut Tally) -> Result<bool> {
        let (act, body) = if self.method == "GET" { ("", "") } else { ("/notes", "{\"text\":\"n\"}") };
        let (path, headers) = (format!("/api/v1/entities/{run}{act}"), self.headers());
        let reply = http::ask(service.address, self.method, &path, &headers, body)?;
        let expected = self.expected();
        let tells = reply.text().contains(MARK) && expected != 200;
        let opens = reply.header("access-control-allow-origin").is_some();
        tally.check(reply.status == expected && !tells && !opens, || {
            format!("{} with {headers:?} was answered with {} {}", self.method, reply.status, reply.text())
        });
        Ok(expected == 200 && self.method == "POST")
    }
}

/// All mixtures; how many notes were taken.
fn matrix(service: &Service, run: &str, says: &[String], tally: &mut Tally) -> Result<usize> {
    let (mut tried, mut noted) = (0, 0);
    for (name, is_own) in &names(service.address.port()) {
        for (origin, site) in ORIGINS.iter().flat_map(|origin| SITES.map(|site| (*origin, site))) {
            for (method, says) in
                ["GET", "POST"].iter().flat_map(|method| says.iter().map(|says| (*method, says)))
            {
                let forged = Forged { name, is_own: *is_own, origin, site, method, says };
                noted += usize::from(forged.send(service, run, tally)?);
                tried += 1;
            }
        }
    }
    tally
        .notes
        .push(format!("{tried} mixtures of host, origin, site, method and credential, {noted} notes taken"));
    Ok(noted)
}

/// A browser that is logged in is led to a page under a name that leads to this host.
fn rebind(browser: &Browser, scene: &Scene, service: &Service, path: &str, tally: &mut Tally) -> Result<()> {
    // The cookie is for the name of the page alone.
    let (page, _) = service.login.split_once("/login").context("no link")?;
    let right = format!("{page}/api/v1/counts");
    let profile = scene.path().join("profile");
    let entered = browser.page(&profile, &service.login)?;
    let counts = browser.page(&profile, &right)?;
    tally.check(counts.contains("machines"), || {
        format!("the right origin does not work: {counts} after {entered}")
    });
    let records = service.get(path)?.ok()?;
    let rebinder = Rebinder::start(service.address)?;
    let visit = browser.visit(&profile, &format!("http://{EVIL}:{}/attack", service.address.port()))?;
    let report = rebinder.report(PATIENCE);
    drop(visit);
    let report: Value = serde_json::from_str(&report?)?;
    let attempts = report.as_object().context("a report that is no object")?;
    for (attempt, outcome) in attempts {
        let expected = if attempt.starts_with("rebound") { "421" } else { "nothing" };
        tally.check(outcome == expected, || format!("{attempt} in the browser: {outcome}"));
    }
    tally.check(attempts.len() >= rebinder::ATTEMPTS, || format!("only {report} was tried"));
    tally.check(service.get(path)?.ok()? == records, || "the page changed something".to_owned());
    let counts = browser.page(&profile, &right)?;
    tally.check(counts.contains("machines"), || {
        format!("the right origin does not work afterwards: {counts}")
    });
    tally.notes.push(format!("in {}: {report}", browser.name()));
    Ok(())
}
