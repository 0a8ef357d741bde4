//! Looking: every path that answers a question, what it answers, and what it refuses.

use serde_json::Value;

use crate::host::Host;

/// A completed run with an artifact and output, and a failed one.
fn two_runs(host: &Host) -> (String, String) {
    let script = "echo out; echo err >&2; mkdir -p d; echo fine > d/a.txt; ln -s /etc/passwd d/link; \
                  echo KEY=1 > .env; echo KEY=1 > d/.env; echo private > d/private.txt";
    host.callboard(&[
        "run", "-q", "--title", "Good one", "--label", "team=a", "--expect", "d/a.txt", "--expect", "d/.env",
        "--", "sh", "-c", script,
    ]);
    host.callboard(&["run", "-q", "--title", "Bad one", "--", "sh", "-c", "exit 3"]);
    let all = host.get("/api/v1/entities?ended=true&sort=oldest").ok();
    let id = |at: usize| all["items"][at]["id"].as_str().unwrap_or_default().to_owned();
    (id(0), id(1))
}

#[test]
fn every_question_is_answered() {
    let host = Host::start();
    let (good, bad) = two_runs(&host);
    let view = host.get(&format!("/api/v1/entities/{good}")).ok();
    assert_eq!((&view["chain"], &view["title"]), (&"Completed".into(), &"Good one".into()));
    assert!(view["head"].as_u64() > Some(3));
    let records = host.get(&format!("/api/v1/entities/{good}/records?limit=2")).ok();
    assert_eq!(records["items"].as_array().unwrap().len(), 2);
    let after = records["next_after"].as_u64().unwrap();
    let rest = host.get(&format!("/api/v1/entities/{good}/records?after={after}")).ok();
    assert_eq!((&rest["items"][0]["version"], &rest["next_after"]), (&3.into(), &Value::Null));
    let then = host.get(&format!("/api/v1/entities/{good}?as_of={after}")).ok();
    assert_eq!((&then["state"]["lifecycle"], &then["head"]), (&"running".into(), &after.into()));
    let output = host.get(&format!("/api/v1/entities/{good}/output")).ok();
    let streams: Vec<&str> =
        output["pieces"].as_array().unwrap().iter().map(|p| p["stream"].as_str().unwrap()).collect();
    assert!(streams.contains(&"stdout") && streams.contains(&"stderr"), "{output}");
    assert_eq!((&output["next"], &output["end"]), (&8.into(), &8.into()));
    let artifacts = host.get(&format!("/api/v1/entities/{good}/artifacts")).ok();
    assert!(artifacts["contract"].is_object() && artifacts["verification"].is_object(), "{artifacts}");
    assert_eq!(host.get(&format!("/api/v1/entities/{good}/children")).ok()["items"], Value::Array(vec![]));
    let attention = host.get("/api/v1/attention").ok();
    assert_eq!((&attention["total"], &attention["items"][0]["entity"]["id"]), (&1.into(), &bad.into()));
    let counts = host.get("/api/v1/counts").ok();
    assert_eq!(
        (&counts["live"], &counts["ended_24h"], &counts["machines"][0]["kind"]),
        (&0.into(), &2.into(), &"session".into())
    );
    let trends = host.get("/api/v1/trends?days=1&bucket=hour").ok();
    let ended: u64 = trends["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|b| b["outcomes"]["completed"].as_u64())
        .sum();
    assert_eq!((ended, &trends["reasons"][0]["code"]), (1, &"run.failed.exit_nonzero".into()));
    assert_eq!(host.get("/api/v1/health").ok()["status"], "ok");
    assert_eq!(host.get("/api/v1/admin/info").ok()["entities"], 2);
    let machines = host.get("/api/v1/machines").ok();
    assert!(machines["machines"].as_array().unwrap().len() >= 13);
    assert!(host.get("/api/v1/reasons").ok()["reasons"].as_array().unwrap().len() > 50);
    assert!(host.get("/api/v1/vocabulary").ok()["tokens"].as_array().unwrap().len() == 7);
    let export = host.get("/api/v1/admin/export");
    assert_eq!(export.text(), host.callboard(&["export"]) + "\n");
    for path in ["/livez", "/readyz"] {
        let reply = host.send("GET", path, "", "");
        assert_eq!((reply.status, reply.text().as_str()), (200, "ok\n"));
    }
    let figures = host.get("/metrics").text();
    assert!(figures.contains("callboard_entities{kind=\"session\",state=\"failed\"} 1"), "{figures}");
    assert!(host.get("/docs").text().contains("GET /api/v1/entities"), "the reference lists every path");
}

#[test]
fn a_list_is_filtered_ordered_and_paged() {
    let host = Host::start();
    let (good, bad) = two_runs(&host);
    for n in 0..7 {
        host.callboard(&["create", "schedule", "--title", &format!("Number {n}"), "--label", "team=b"]);
    }
    let ids = |query: &str| {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = host.get(&format!("/api/v1/entities?{query}{cursor}")).ok();
            all.extend(
                page["items"].as_array().unwrap().iter().map(|view| view["id"].as_str().unwrap().to_owned()),
            );
            match page["next_cursor"].as_str() {
                Some(next) if all.len() < 50 => cursor = format!("&cursor={next}"),
                _ => return all,
            }
        }
    };
    let whole = ids("ended=true&sort=newest&limit=500");
    assert_eq!(whole.len(), 9);
    for limit in [1, 2, 3, 8, 9, 100] {
        assert_eq!(ids(&format!("ended=true&sort=newest&limit={limit}")), whole);
        let mut oldest = ids(&format!("ended=true&sort=oldest&limit={limit}"));
        oldest.reverse();
        assert_eq!(oldest, whole);
        let by_severity = ids(&format!("ended=true&sort=severity&limit={limit}"));
        assert_eq!(by_severity.first(), Some(&bad), "the failed one comes first");
        let (mut sorted, mut expected) = (by_severity, whole.clone());
        sorted.sort();
        expected.sort();
        assert_eq!(sorted, expected, "each once, whatever the size of a page");
        assert_eq!(ids(&format!("sort=severity&limit={limit}")).len(), 7, "what is alive");
    }
    assert_eq!(ids("ended=true&state=failed,completed&kind=session").len(), 2);
    assert_eq!(ids("ended=true&label=team=a"), std::slice::from_ref(&good));
    assert_eq!(ids("ended=true&q=good"), [good]);
    assert_eq!(ids("ended=true&severity=critical"), [bad]);
    assert_eq!(ids("q=NUMBER 3".replace(' ', "%20").as_str()).len(), 1);
    assert!(ids("ended=true&project=nowhere").is_empty());
    let page = host.get("/api/v1/entities?ended=true&limit=2").ok();
    assert_eq!((&page["total"], &page["legacy"]), (&9.into(), &0.into()));
}

#[test]
fn what_is_not_understood_is_refused_with_what_to_do() {
    let host = Host::start();
    let bad = [
        "/api/v1/entities?limit=501",
        "/api/v1/entities?limit=0",
        "/api/v1/entities?limit=x",
        "/api/v1/entities?kind=sesion",
        "/api/v1/entities?state=runing",
        "/api/v1/entities?health=fine",
        "/api/v1/entities?severity=loud",
        "/api/v1/entities?label=a",
        "/api/v1/entities?sort=random",
        "/api/v1/entities?cursor=x",
        "/api/v1/entities?colour=red",
        "/api/v1/entities?ended=perhaps",
        "/api/v1/entities?parent=x",
        "/api/v1/attention?limit=1000",
        "/api/v1/trends?days=99",
        "/api/v1/trends?bucket=year",
        "/api/v1/events?since=-1",
        "/api/v1/events?channel=gossip",
        "/api/v1/machines?x=1",
    ];
    for path in bad {
        host.get(path).problem(400);
    }
    let nothing = "ses_01k7c3h2f4x8w6t5r3q1n0m9bz";
    for path in
        ["", "/records", "/children", "/output", "/output/stdout", "/artifacts", "/artifacts/a", "/events"]
    {
        host.get(&format!("/api/v1/entities/{nothing}{path}")).problem(404);
        host.get(&format!("/api/v1/entities/nonsense{path}")).problem(404);
    }
    host.get("/api/v1/nowhere").problem(404);
    host.get(&format!("/api/v1/entities/{nothing}/nowhere")).problem(404);
    host.send("DELETE", "/api/v1/entities", &host.bearer(&host.token), "").problem(405);
    host.send("POST", "/api/v1/attention", &host.bearer(&host.token), "").problem(405);
    assert_eq!(host.get("/no-such-file.js").status, 404);
    assert_eq!(host.get("/").status, 200);
}

#[test]
fn artifacts_and_output_are_given_out_as_bytes_and_nothing_else_is() {
    let host = Host::start();
    let (good, bad) = two_runs(&host);
    let file = |path: &str| host.get(&format!("/api/v1/entities/{good}/artifacts/{path}"));
    let plain = file("d/a.txt");
    assert_eq!((plain.status, plain.text().as_str()), (200, "fine\n"));
    assert_eq!(plain.header("content-type"), Some("application/octet-stream"));
    assert_eq!(plain.header("content-disposition"), Some("attachment; filename=\"a.txt\""));
    assert!(plain.header("content-security-policy").is_some_and(|policy| policy.starts_with("sandbox")));
    let part = |path: &str, range: &str| {
        host.send("GET", path, &format!("{}Range: bytes={range}\r\n", host.bearer(&host.token)), "")
    };
    let path = format!("/api/v1/entities/{good}/artifacts/d/a.txt");
    let some = part(&path, "1-2");
    assert_eq!(
        (some.status, some.text().as_str(), some.header("content-range")),
        (206, "in", Some("bytes 1-2/5"))
    );
    part(&path, "9-").problem(416);
    let tricks = [
        "d/private.txt",
        ".env",
        "d/.env",
        "d/link",
        "d",
        "..",
        "../store/operator.token",
        "d/../../x",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/x",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "d/a.txt%00",
        "d/a.txt/",
        "d//a.txt",
        "./d/a.txt",
        "d/%2e/a.txt",
        "d%5ca.txt",
        "d/A.TXT",
        "%c0%ae%c0%ae/x",
        "store/s.db/",
        "nothing",
    ];
    for path in tricks {
        let reply = file(path);
        assert!(matches!(reply.status, 400 | 404), "{path}: {} {}", reply.status, reply.text());
    }
    file(&"a".repeat(5000)).problem(404);
    let out = host.get(&format!("/api/v1/entities/{good}/output/stdout"));
    assert_eq!((out.text().as_str(), out.header("x-content-type-options")), ("out\n", Some("nosniff")));
    assert_eq!(part(&format!("/api/v1/entities/{good}/output/stderr"), "-3").text(), "rr\n");
    host.get(&format!("/api/v1/entities/{good}/output/stdin")).problem(404);
    assert_eq!(host.get(&format!("/api/v1/entities/{bad}/output")).ok()["end"], 0);
    let cut = host.get(&format!("/api/v1/entities/{good}/output?from=1&limit=2")).ok();
    assert_eq!((&cut["from"], &cut["next"]), (&1.into(), &3.into()));
}

#[test]
fn the_document_describes_what_is_answered() {
    let host = Host::start();
    let (good, _) = two_runs(&host);
    let document = host.get("/api/v1/openapi.json").ok();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let committed = include_str!("../../../../docs/openapi.json");
    let committed: Value = serde_json::from_str(committed).unwrap();
    assert_eq!(document, committed, "write it with: cargo xtask generate");
    let keys = |value: &Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let shape = |name: &str| keys(&document["components"]["schemas"][name]["properties"]);
    let page = host.get("/api/v1/entities?ended=true").ok();
    let view = &page["items"][0];
    assert_eq!(keys(&page), shape("EntityPage"));
    assert_eq!(keys(view), shape("View"));
    assert_eq!(keys(&view["state"]), shape("NormalizedState"));
    assert_eq!(keys(&view["state"]["reasons"][0]), shape("Reason"));
    for part in ["exit", "timeout", "artifacts"] {
        let name = part[..1].to_uppercase() + &part[1..];
        assert_eq!(keys(&view[part]), shape(&name));
    }
    let records = host.get(&format!("/api/v1/entities/{good}/records")).ok();
    // A record names its group and its guards only where it has some.
    let always: Vec<String> =
        shape("Record").into_iter().filter(|name| !["guards", "group"].contains(&name.as_str())).collect();
    assert_eq!(keys(&records["items"][0]), always);
    let attention = host.get("/api/v1/attention").ok();
    assert_eq!(keys(&attention), shape("Attention"));
    assert_eq!(keys(&attention["items"][0]), shape("AttentionItem"));
    assert_eq!(keys(&host.get("/api/v1/counts").ok()), shape("CountsAnswer"));
    assert_eq!(keys(&host.get("/api/v1/trends").ok()), shape("Report"));
    assert_eq!(keys(&host.get("/api/v1/health").ok()), shape("HealthAnswer"));
    assert_eq!(keys(&host.get(&format!("/api/v1/entities/{good}/output")).ok()), shape("OutputPage"));
}
