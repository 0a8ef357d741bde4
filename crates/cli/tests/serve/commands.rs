//! Commands: each does what it says, once, and says why not where it does not.

use serde_json::{Value, json};

use crate::host::Host;

fn schedule(host: &Host) -> String {
    host.callboard(&["create", "schedule", "--title", "Nightly"])
}

fn path(id: &str, act: &str) -> String {
    format!("/api/v1/entities/{id}/{act}")
}

#[test]
fn a_transition_is_decided_by_the_kernel_and_a_refusal_is_carried_along() {
    let host = Host::start();
    let id = schedule(&host);
    let pause = json!({"to": "paused", "reason": "schedule.paused.operator", "message": "for the holidays"});
    let record = host.post(&path(&id, "transition"), &pause).ok();
    assert_eq!(
        (&record["record"]["to"], &record["record"]["actor"]["type"]),
        (&"paused".into(), &"operator".into())
    );
    let again = host.post(&path(&id, "transition"), &pause).problem(409);
    assert_eq!(again["refused"]["from"], "paused");
    assert!(again["refused"]["allowed"].as_array().unwrap().contains(&"enabled".into()), "{again}");
    let stale =
        json!({"to": "enabled", "reason": "schedule.enabled.operator", "message": "on", "if_version": 1});
    assert_eq!(
        host.post(&path(&id, "transition"), &stale).problem(409)["refused"]["code"],
        "version_conflict"
    );
    for bad in [
        json!({}),
        json!({"to": "paused", "reason": "no.such.code", "message": "m"}),
        json!({"to": "gone", "reason": "schedule.paused.operator", "message": "m"}),
        json!({"extra": 1}),
        json!([]),
    ] {
        host.post(&path(&id, "transition"), &bad).problem(400);
    }
    for (act, bad) in [("dismiss", json!([])), ("notes", json!(["a list"])), ("undo", json!(null))] {
        host.post(&path(&id, act), &bad).problem(400);
    }
    host.post(&path("sch_01k7c3h2f4x8w6t5r3q1n0m9bz", "transition"), &pause).problem(404);
}

#[test]
fn the_same_key_is_the_same_command_and_another_body_is_refused() {
    let host = Host::start();
    let id = schedule(&host);
    let bodies = [
        ("notes", json!({"text": "look at this"}), json!({"text": "look at that"})),
        ("snooze", json!({"for_s": 60}), json!({"for_s": 61})),
        ("heartbeat", json!({"status": "busy"}), json!({"status": "idle"})),
        ("dismiss", json!({}), json!({})),
        (
            "transition",
            json!({"to": "paused", "reason": "schedule.paused.operator", "message": "m"}),
            json!({"to": "paused", "reason": "schedule.paused.operator", "message": "n"}),
        ),
    ];
    for (act, body, other) in bodies {
        let send =
            |body: &Value| host.post_as(&host.token, &path(&id, act), body, Some(&format!("key-{act}")));
        let first = send(&body).ok();
        assert_eq!(send(&body).ok(), first, "{act}");
        if other != body {
            send(&other).problem(422);
        }
    }
    let sent: Vec<Value> = std::thread::scope(|scope| {
        let send = || {
            host.post_as(&host.token, &path(&id, "notes"), &json!({"text": "at once"}), Some("fifty")).ok()
        };
        let all: Vec<_> = (0..50).map(|_| scope.spawn(send)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(sent.iter().all(|record| *record == sent[0]), "one effect, the same answer fifty times");
    let key = format!("Idempotency-Key: {}\r\n", "k".repeat(300));
    let headers = format!("{}Content-Type: application/json\r\n{key}", host.bearer(&host.token));
    host.send("POST", &path(&id, "notes"), &headers, "{\"text\":\"x\"}").problem(400);
}

#[test]
fn what_needs_somebody_can_be_put_off_and_taken_back() {
    let host = Host::start();
    host.callboard(&["run", "-q", "--", "sh", "-c", "exit 1"]);
    let attention = || host.get("/api/v1/attention").ok();
    let id = attention()["items"][0]["entity"]["id"].as_str().unwrap().to_owned();
    assert_eq!(attention()["clear_since"], Value::Null);
    for act in ["snooze", "dismiss"] {
        host.post(&path(&id, act), &json!({})).ok();
        assert_eq!((&attention()["total"], &attention()["set_aside"]), (&0.into(), &1.into()));
        let aside = host.get("/api/v1/attention?set_aside=true").ok();
        assert_eq!(aside["total"], 1);
        let since = attention()["clear_since"].clone();
        assert!(since.is_string() && aside["clear_since"] == since, "{since}");
        host.post(&path(&id, "undo"), &json!({})).ok();
        assert_eq!((&attention()["total"], &attention()["clear_since"]), (&1.into(), &Value::Null));
    }
    host.post(&path(&id, "snooze"), &json!({"for_s": 0})).problem(400);
    host.post(&path(&id, "notes"), &json!({"text": " "})).problem(400);
    host.post(&path(&id, "stop"), &json!({})).problem(409);
}

#[test]
fn a_run_is_started_stopped_and_run_again_and_outlives_the_server() {
    let mut host = Host::start();
    let cwd = host.dir.path().to_str().unwrap().to_owned();
    let body = json!({"argv": ["sh", "-c", "echo $0 \"$1\"; sleep 100", "--title=x; rm -rf /", "two words"], "cwd": cwd, "title": "Sleeper", "labels": {"team": "a"}, "timeout_s": 50.0});
    let start = |key| host.post_as(&host.token, "/api/v1/runs", &body, Some(key));
    let started = start("one");
    assert_eq!(started.status, 201, "{}", started.text());
    let id = started.json()["id"].as_str().unwrap().to_owned();
    let again = start("one");
    assert_eq!((again.status, again.json()["id"].as_str()), (200, Some(id.as_str())));
    let other = json!({"argv": ["true"], "cwd": cwd});
    host.post_as(&host.token, "/api/v1/runs", &other, Some("one")).problem(422);
    let view = host.until(&id, |view| view["state"]["lifecycle"] == "running");
    assert_eq!((&view["labels"]["team"], &view["timeout"]["configured_s"]), (&"a".into(), &50.into()));
    host.kill_and_restart();
    let view = host.until(&id, |view| view["state"]["health"] == "running");
    assert_eq!(view["state"]["lifecycle"], "running", "a run needs no server");
    host.post(&path(&id, "stop"), &json!({"reason": "enough", "now": true})).ok();
    let ended = host.until(&id, |view| !view["ended_at"].is_null());
    assert_eq!(
        (&ended["state"]["lifecycle"], &ended["state"]["reasons"][0]["code"]),
        (&"cancelled".into(), &"run.cancelled.operator".into())
    );
    let out = host.get(&path(&id, "output/stdout")).text();
    assert_eq!(out, "--title=x; rm -rf / two words\n", "words are words");
    let retried = host.post(&path(&id, "retry"), &json!({}));
    assert_eq!(retried.status, 201, "{}", retried.text());
    let second = retried.json()["id"].as_str().unwrap().to_owned();
    let view = host.until(&second, |view| view["state"]["lifecycle"] == "running");
    assert_eq!(view["facts"]["retry_of"], id.as_str());
    for bad in [
        json!({"argv": [], "cwd": cwd}),
        json!({"argv": ["true"], "cwd": "relative"}),
        json!({"argv": ["true"], "cwd": "/no/such"}),
        json!({"argv": ["true"], "cwd": cwd, "timeout_s": -1.0}),
        json!({"argv": ["a\u{0}b"], "cwd": cwd}),
        json!({"argv": ["true"], "cwd": cwd, "expect": ["../x"]}),
    ] {
        host.post("/api/v1/runs", &bad).problem(400);
    }
}

#[test]
fn a_run_over_http_can_be_asked_for_as_much_as_one_at_a_terminal() {
    let host = Host::start();
    let cwd = host.dir.path().to_str().unwrap().to_owned();
    let start = |body: &Value| {
        let started = host.post("/api/v1/runs", body);
        assert_eq!(started.status, 201, "{}", started.text());
        started.json()["id"].as_str().unwrap().to_owned()
    };
    let contract = json!({"artifacts": [{"path": "report.txt", "min_bytes": 100}]});
    let short = start(
        &json!({"argv": ["sh", "-c", "echo short > report.txt"], "cwd": cwd, "contract": contract, "memory_bytes": 1 << 30}),
    );
    let ended = host.until(&short, |view| !view["ended_at"].is_null());
    assert_eq!(
        (&ended["state"]["lifecycle"], &ended["state"]["delivery"]),
        (&"failed".into(), &"invalid".into()),
        "{ended}"
    );
    assert_eq!(ended["facts"]["memory_limit_bytes"], 1 << 30);
    // It ignores TERM, and is killed after its grace.
    let deaf = start(
        &json!({"argv": ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], "cwd": cwd, "timeout_s": 0.2, "grace_s": 0.1}),
    );
    let ended = host.until(&deaf, |view| !view["ended_at"].is_null());
    assert_eq!(
        (&ended["state"]["lifecycle"], &ended["facts"]["killed"]),
        (&"timed_out".into(), &true.into())
    );
    for (field, bad) in [
        ("adapter", json!("no-such-program")),
        ("contract", json!({"artifacts": [{"path": "../x"}]})),
        ("memory_bytes", json!(0)),
        ("grace_s", json!(-1)),
        ("sandbox", json!({"profile": "no-such-profile"})),
        ("env", json!({"NAME": null})),
        ("env", json!({"A=B": "c"})),
        ("time_out", json!(1)),
    ] {
        let mut body = json!({"argv": ["true"], "cwd": cwd});
        body[field] = bad;
        host.post("/api/v1/runs", &body).problem(400);
    }
}

#[test]
fn bodies_have_limits_and_one_form() {
    let host = Host::start();
    let id = schedule(&host);
    let large = json!({"text": "x".repeat(1024 * 1024)});
    host.post(&path(&id, "notes"), &large).problem(413);
    let deep = "[".repeat(100_000);
    let headers = format!("{}Content-Type: application/json\r\n", host.bearer(&host.token));
    host.send("POST", &path(&id, "notes"), &headers, &deep).problem(400);
    let form = format!("{}Content-Type: application/x-www-form-urlencoded\r\n", host.bearer(&host.token));
    host.send("POST", &path(&id, "notes"), &form, "text=x").problem(415);
    let plain = format!("{}Content-Type: text/plain\r\n", host.bearer(&host.token));
    host.send("POST", &path(&id, "notes"), &plain, "{\"text\":\"x\"}").problem(415);
    host.post(&path(&id, "notes"), &json!({"text": "y".repeat(20_000)})).problem(413);
}

#[test]
fn the_store_is_looked_after_over_http() {
    let host = Host::start();
    schedule(&host);
    assert_eq!(host.post("/api/v1/admin/verify", &json!({})).ok()["ok"], true);
    assert!(host.post("/api/v1/admin/vacuum", &json!({})).ok()["bytes_after"].as_u64() > Some(0));
    assert_eq!(host.post("/api/v1/admin/checkpoint", &json!({})).ok()["head"], 1);
    let reaped = host.post("/api/v1/admin/reap", &json!({"dry_run": true, "older_than_s": 1.5})).ok();
    assert_eq!((&reaped["dry_run"], &reaped["ended"]), (&true.into(), &0.into()));
    host.post("/api/v1/admin/reap", &json!({"older_than_s": -1})).problem(400);
    let headers = format!("{}Content-Type: application/jsonl\r\n", host.bearer(&host.token));
    let import = |text: &str| host.send("POST", "/api/v1/admin/import-legacy", &headers, text);
    let row = "{\"legacy\":{\"kind\":\"session\",\"title\":\"old\",\"data\":{}}}\n";
    assert_eq!(import(row).ok()["legacy"], 1);
    assert_eq!(import(row).ok()["legacy_known"], 1);
    assert_eq!(host.get("/api/v1/entities").ok()["legacy"], 1);
    import("{\"seq\":1}\n").problem(400);
    import("nonsense").problem(400);
}

#[test]
fn an_end_by_hand_is_refused_while_the_supervisor_lives() {
    let host = Host::start();
    let id = host.callboard(&["run", "--detach", "--", "sleep", "100"]);
    host.until(&id, |view| view["state"]["lifecycle"] == "running");
    let end = json!({"to": "cancelled", "reason": "run.cancelled.operator", "message": "enough"});
    let refused = host.post(&path(&id, "transition"), &end).problem(409);
    assert!(refused["help"].to_string().contains(&path(&id, "stop")), "{refused}");
    assert_eq!(refused["refused"]["guard"], "no_living_supervisor", "{refused}");
    assert_eq!(host.get(&format!("/api/v1/entities/{id}")).ok()["ended_at"], Value::Null);
    host.callboard(&["stop", "--now", &id]);
}

#[test]
fn a_run_inherits_of_the_server_what_is_listed_and_gets_what_the_request_gives_it() {
    let among = [("AWS_SECRET_ACCESS_KEY", "hunter2"), ("LD_LIBRARY_PATH", "/none"), ("PASSED_ON", "listed")];
    let among = among.map(|(name, value)| (name, value.to_owned()));
    let host = Host::start_among(&["--rate", "0", "--env", "PASSED_ON"], &among);
    let shown = "env; for file in cmdline environ; do echo; cat /proc/$PPID/$file; done";
    let body = json!({"argv": ["sh", "-c", shown], "cwd": host.dir.path(), "env": {"GIVEN": "s3cr3t"}});
    let id = host.post("/api/v1/runs", &body).ok()["id"].as_str().unwrap().to_owned();
    host.until(&id, |view| view["state"]["lifecycle"] == "completed");
    let output = host.get(&format!("/api/v1/entities/{id}/output/stdout")).text();
    let (own, of_supervisor) = output.split_once("\n\n").unwrap();
    let lines: Vec<&str> = own.lines().collect();
    for wanted in ["PASSED_ON=listed", "GIVEN=s3cr3t", &format!("CALLBOARD_STORE={}", host.store().display())]
    {
        assert!(lines.contains(&wanted), "{wanted} in {own}");
    }
    assert!(lines.iter().any(|line| line.starts_with("PATH=")), "{own}");
    for secret in ["hunter2", "/none"] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
    let names_its_run = of_supervisor.contains(&id);
    assert!(names_its_run && !of_supervisor.contains("GIVEN"), "{of_supervisor}");
    assert!(!of_supervisor.contains("cat /proc"), "its command is not in the command line of its supervisor");
    // The value was not kept, so there is nothing to run it with again.
    let refused = host.post(&format!("/api/v1/entities/{id}/retry"), &json!({})).problem(400);
    assert!(refused["detail"].as_str().unwrap().contains("the variable GIVEN is not set"), "{refused}");
    let odd = json!({"argv": ["true"], "cwd": "/", "env": {"A=B": "x"}});
    host.post("/api/v1/runs", &odd).problem(400);
}
