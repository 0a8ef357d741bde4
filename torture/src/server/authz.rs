//! `authz`: everybody who may hold something like a token tries every path, in every method, with bodies that would work.
//!
//! Invariant: the rows are the paths that the server describes itself with, and a path without a row fails. Whoever may
//! not gets 401 or 403, learns nothing, and leaves nothing in the log; whoever may gets in. Deliberately absent: names of
//! hosts and origins, which `origin` forges.

mod table;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::table::{Needs, Row};
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http::{self, Reply, bearer};
use crate::harness::program::{self, Board, TOKEN};
use crate::harness::scene::Scene;
use crate::harness::service::{self, Service};

pub(crate) const TORTURE: Torture = Torture {
    name: "authz",
    about: "every scope on every path the server has: who may not gets 401 or 403, learns nothing and changes nothing",
    mutants: &["agents_own_run", "viewers_only_look", "token_ends_with_run"],
    run,
    child: None,
};

/// What nobody who is refused may read: it is in titles, notes and output.
const MARK: &str = "Quisquis-7f3a9c";

/// What somebody may.
type May = fn(Needs) -> bool;

/// Somebody who asks.
struct Caller {
    name: &'static str,
    /// The headers that say who they are.
    says: String,
    may: May,
    /// What they are answered where they may not.
    refused: u16,
}

fn run(plan: &Plan) -> Tally {
    let marker = format!("authz-{}", std::process::id());
    program::play(plan, |board, scene, tally| play(board, scene, &marker, tally))
}

/// A server with three runs: the agent's own, another one, and one that has ended.
struct Set<'a> {
    board: &'a Board,
    service: Service,
    own: String,
    other: String,
    callers: Vec<Caller>,
}

fn play(board: &Board, scene: &Scene, marker: &str, tally: &mut Tally) -> Result<()> {
    let service = Service::start(board, scene.path(), &["--rate", "0"])?;
    let start = |script: &str| -> Result<String> {
        let mut command = board.command(&["run", "--detach", "--title", MARK, "--", "sh", "-c", script]);
        let output = command.env(TOKEN, marker).output()?;
        ensure!(output.status.success(), "a run did not start: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let says = format!("echo {MARK}; exec sleep 600");
    let (own, other, ended) = (start(&says)?, start(&says)?, start("exec sleep 600")?);
    let callers = callers(board, scene, &service, [&own, &other, &ended])?;
    board.ask(&["stop", "--now", &ended])?;
    // It says how the run ended, which was not well.
    board.command(&["wait", &ended]).output()?;
    let set = Set { board, service, own, other, callers };
    let rows = table::rows(&set.service.get("/api/v1/openapi.json")?.ok()?)?;
    // Those who may not come first, so that whatever is recorded is their doing.
    let before = set.board.events()?.len();
    for row in &rows {
        set.refusals(row, tally)?;
    }
    set.spellings(tally)?;
    for record in &set.board.events()?[before..] {
        let record: Value = serde_json::from_str(record)?;
        let by = record["actor"]["type"].as_str().unwrap_or_default();
        tally.check(by != "operator" && by != "agent", || format!("somebody who may not recorded {record}"));
    }
    for row in &rows {
        set.admissions(row, tally)?;
    }
    told(&set, scene, tally)?;
    let alive = set.service.get("/api/v1/entities?kind=session")?.ok()?["total"].clone();
    tally.check(alive == 2, || format!("{alive} runs are alive, and two were started"));
    tally.notes.push(format!("{} paths and methods, {} callers", rows.len(), set.callers.len()));
    Ok(())
}

/// Those who were refused are counted, and told without what they sent.
fn told(set: &Set<'_>, scene: &Scene, tally: &mut Tally) -> Result<()> {
    let figures = set.service.get("/metrics")?.text();
    for why in ["token", "scope"] {
        let name = format!("callboard_refused_total{{why=\"{why}\"}} ");
        let count = figures.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        tally.check(count.is_some_and(|count| count > 50), || {
            format!("{count:?} were refused because of their {why}")
        });
    }
    let log = std::fs::read_to_string(service::log(scene.path()))?;
    let events: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |why: &str| {
        events.iter().filter(|event| event["security"] == "refused" && event["why"] == why).count()
    };
    tally.check(of("token") > 0 && events.len() < 200, || format!("{} refusals were told", events.len()));
    for secret in set.callers.iter().filter_map(|caller| caller.says.split_once("Bearer ")) {
        let secret = secret.1.trim();
        tally.check(secret.is_empty() || !log.contains(secret), || "the log tells a token".to_owned());
    }
    Ok(())
}

fn callers(board: &Board, scene: &Scene, service: &Service, runs: [&str; 3]) -> Result<Vec<Caller>> {
    let create = |words: &[&str]| -> Result<String> {
        let token = board.ask(&[&["token", "create", "--scope"], words].concat())?;
        Ok(bearer(token.trim()))
    };
    let of = |run: &str| create(&["agent", "--run", run]);
    let gone = create(&["viewer"])?;
    let issued = scene.path().join("tokens.jsonl");
    let lines = std::fs::read_to_string(&issued)?;
    let kept: Vec<&str> = lines.lines().collect();
    std::fs::write(
        &issued,
        kept[..kept.len() - 1].iter().map(|line| format!("{line}\n")).collect::<String>(),
    )?;
    let path =
        service.login.split_once("/login").map(|(_, code)| format!("/login{code}")).context("no link")?;
    let entered = http::ask(service.address, "GET", &path, "", "")?;
    let cookie =
        entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("no cookie")?;
    let forged = cookie.replace('7', "8");
    let token = &service.token;
    let (nobody, acts): (May, May) = (|_| false, |_| true);
    let looks: May =
        |needs| matches!(needs, Needs::Look | Needs::LookOwn | Needs::LookTask | Needs::LookAsked);
    let own: May = |needs| matches!(needs, Needs::LookOwn | Needs::SpeakOwn | Needs::LookAsked | Needs::Ask);
    let asks: May = |needs| matches!(needs, Needs::LookAsked | Needs::Ask);
    let caller = |name, says, may, refused| Caller { name, says, may, refused };
    Ok(vec![
        caller("nobody", String::new(), nobody, 401),
        caller("a made-up token", bearer(&format!("cb_adm_{}", "0".repeat(64))), nobody, 401),
        caller("most of a token", bearer(&token[..token.len() - 1]), nobody, 401),
        caller("a token in capitals", bearer(&token.to_uppercase()), nobody, 401),
        caller("a token in another scheme", format!("Authorization: Basic {token}\r\n"), nobody, 401),
        caller("an empty token", "Authorization: Bearer \r\n".to_owned(), nobody, 401),
        caller("the hash of a token", bearer(&blake3::hash(token.as_bytes()).to_hex()), nobody, 401),
        caller(
            "a token as a cookie",
            format!("Cookie: callboard_{}={token}\r\n", service.address.port()),
            nobody,
            401,
        ),
        caller("a forged cookie", format!("Cookie: {forged}\r\n"), nobody, 401),
        caller(
            "a wrong token beside a cookie",
            format!("{}Cookie: {cookie}\r\n", bearer("cb_adm_1")),
            nobody,
            401,
        ),
        caller("a token that was taken back", gone, nobody, 401),
        caller("the agent of a run that has ended", of(runs[2])?, nobody, 401),
        caller("the agent of another run", of(runs[1])?, asks, 403),
        caller("a viewer", create(&["viewer"])?, looks, 403),
        caller("the agent", of(runs[0])?, own, 403),
        caller("the operator", bearer(token), acts, 403),
        caller("another operator", create(&["operator"])?, acts, 403),
        caller("a cookie", format!("Cookie: {cookie}\r\n"), acts, 403),
    ])
}

impl Set<'_> {
    fn send(&self, method: &str, path: &str, says: &str, body: &str) -> Result<Reply> {
        let headers = format!("{says}Content-Type: application/json\r\n");
        let (address, path) = (self.service.address, self.path(path));
        if !path.contains("/events") {
            return http::ask(address, method, &path, &headers, body);
        }
        http::glance(address, method, &path, &headers, body)
    }

    fn path(&self, pattern: &str) -> String {
        pattern.replace("{id}", &self.own).replace("{stream}", "stdout").replace("{path}", "a.txt")
    }

    /// Everybody who may not, with a body that would work.
    fn refusals(&self, row: &Row, tally: &mut Tally) -> Result<()> {
        for caller in self.callers.iter().filter(|caller| !(caller.may)(row.needs)) {
            let reply = self.send(row.method, &row.path, &caller.says, &row.works(&self.own))?;
            let what = || {
                format!("{} {} as {}: {} {}", row.method, row.path, caller.name, reply.status, reply.text())
            };
            let expected = if row.needs == Needs::Nobody { reply.status } else { caller.refused };
            tally.check(reply.status == expected && !reply.text().contains(MARK), what);
            if row.needs != Needs::Nobody {
                let named = reply.header("content-type") == Some("application/problem+json");
                tally.check(named && reply.header("access-control-allow-origin").is_none(), what);
            }
        }
        let token = &self.service.token;
        let query = format!("{}?token={token}&access_token={token}&authorization=Bearer%20{token}", row.path);
        let reply = self.send(row.method, &query, "", &row.works(&self.own))?;
        let closed = reply.status == 401 || row.needs == Needs::Nobody;
        tally.check(closed && !reply.text().contains(MARK), || {
            format!("{query} was answered with {}", reply.status)
        });
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"] {
            let reply = self.send(method, &row.path, "", "")?;
            let refused = matches!(reply.status, 401 | 403 | 404 | 405);
            tally.check(refused && !reply.text().contains(MARK), || {
                format!("{method} {} gives {}", row.path, reply.status)
            });
        }
        Ok(())
    }

    /// Whoever may gets in: a body that nothing takes, where something would be done.
    fn admissions(&self, row: &Row, tally: &mut Tally) -> Result<()> {
        for caller in self.callers.iter().filter(|caller| (caller.may)(row.needs)) {
            let body =
                if row.method == "POST" && row.needs == Needs::Act { "[]" } else { &row.works(&self.own) };
            let reply = self.send(row.method, &row.path, &caller.says, body)?;
            // Whoever has no code is not logged in, whatever else they have.
            let is_in =
                !matches!(reply.status, 401 | 403 | 421) && reply.status < 500 || row.path == "/login";
            tally.check(is_in, || {
                format!("{} {} as {}: {} {}", row.method, row.path, caller.name, reply.status, reply.text())
            });
        }
        Ok(())
    }

    /// The agent spells another run's path in every way that might be taken for its own.
    fn spellings(&self, tally: &mut Tally) -> Result<()> {
        let agent = self.callers.iter().find(|caller| caller.name == "the agent").context("no agent")?;
        let (own, other) = (&self.own, &self.other);
        let upper = other.to_uppercase();
        let short = &other[..other.len() - 1];
        let paths = [
            format!("/api/v1/entities/{own}/../{other}/output"),
            format!("/api/v1/entities/{own}/%2e%2e/{other}/output"),
            format!("/api/v1/entities/{own}%2f..%2f{other}/output"),
            format!("/api/v1/entities/{other}/output?id={own}"),
            format!("/api/v1/entities//{other}/output"),
            format!("/api/v1//entities/{other}/output"),
            format!("//api/v1/entities/{other}/output"),
            format!("/api/v1/entities/{upper}/output"),
            format!("/api/v1/entities/{short}/output"),
            format!("/api/v1/entities/{other}%00{own}/output"),
            format!("/api/v1/entities/{other};{own}/output"),
            format!("/api/v1/entities/{other}/output/"),
            format!("/api/v1/entities/{other}/output/../../{own}/output"),
            format!("/api/v1/entities/{}/output", other.replace('_', "%5f")),
            format!("/api/v1/events?entity={other}"),
            format!("/api/v1/entities?q={own}"),
            format!("http://{}/api/v1/entities/{other}/output", self.service.address),
        ];
        for path in paths {
            let reply = self.send("GET", &path, &agent.says, "")?;
            let refused = matches!(reply.status, 400 | 401 | 403 | 404);
            tally.check(refused && !reply.text().contains(MARK), || {
                format!("the agent reads {path}: {} {}", reply.status, reply.text())
            });
        }
        Ok(())
    }
}
