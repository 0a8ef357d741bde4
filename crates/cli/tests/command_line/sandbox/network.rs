//! The network of a sandbox by name: what a real client reaches through the proxy, what it does not, and what is recorded.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::harness::driver::{Ran, finish};
use crate::harness::runs::{CALLBOARD, only, until, view};
use crate::harness::shelf::Shelf;

/// A server on loopback that answers every request with its first line and its host; gives its port. It ends with the test.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let port = listener.local_addr().map_or_else(|error| panic!("{error}"), |address| address.port());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) {
    let from = stream.try_clone().unwrap_or_else(|error| panic!("{error}"));
    let mut lines = BufReader::new(from).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let is_kept = |line: &String| !line.starts_with("user-agent") && !line.starts_with("accept");
        let head = head.into_iter().map(|line| line.to_ascii_lowercase()).filter(is_kept);
        let body = format!("{first}|{}\n", head.collect::<Vec<_>>().join("|"));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// A script in a sandbox with this network.
fn run(shelf: &Shelf, network: &str, script: &str, port: u16) -> Ran {
    let arguments =
        ["run", "--quiet", "--sandbox=read-only", "--sandbox-network", network, "--", "sh", "-c", script];
    finish(shelf.command(&arguments).env("HOME", shelf.file("home")).env("PORT", port.to_string()))
}

/// What a run asked for: host, outcome, count.
fn hosts(view: &Value) -> Vec<(String, String, u64)> {
    let listed = view["facts"]["sandbox_seen"]["hosts"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    listed
        .iter()
        .map(|seen| {
            assert!(seen["first_at"].as_str().is_some_and(|at| at > "2026"), "{seen}");
            (text(&seen["host"]), text(&seen["outcome"]), seen["count"].as_u64().unwrap_or_default())
        })
        .collect()
}

#[test]
fn a_client_reaches_listed_hosts_and_nothing_else_and_what_it_asked_for_is_recorded() {
    let (shelf, port) = (Shelf::empty(), server());
    let network = format!("localhost:{port},*.localhost:{port},localhost:1");
    let script = "get() { curl -sS -m 20 -w '%{http_code}\\n' \"$@\" 2> /dev/null | tr '\\n' ' '; echo; }\n\
        get http://localhost:$PORT/plain -H 'Proxy-Connection: keep-alive' -H 'Host: other.example'\n\
        get --proxytunnel http://LOCALHOST:$PORT/tunnel\n\
        get http://localhost:$PORT/a http://localhost:$PORT/b\n\
        get http://other.test:$PORT/; get --proxytunnel http://other.test:$PORT/\n\
        get http://127.0.0.1:$PORT/; get http://localhost:2/; get http://a.localhost:$PORT/\n\
        get --noproxy '*' http://localhost:$PORT/; get --noproxy '*' http://127.0.0.1:$PORT/\n\
        get http://localhost:1/";
    let ran = run(&shelf, &network, script, port);
    let host = format!("host: localhost:{port}");
    let expected = [
        format!("GET /plain HTTP/1.1|{host} 200 "),
        format!("GET /tunnel HTTP/1.1|{host} 200 "),
        format!("GET /a HTTP/1.1|{host} 200 GET /b HTTP/1.1|{host} 200 "),
    ];
    let mut lines = ran.stdout.lines();
    for expected in expected {
        assert_eq!(lines.next(), Some(expected.as_str()), "{}", ran.stdout);
    }
    let said: Vec<&str> = lines.collect();
    let not_listed =
        |host: &str| format!("callboard sandbox: {host} is not in the network of this sandbox 403 ");
    assert_eq!(said[0], not_listed(&format!("other.test:{port}")));
    assert_eq!(said[1], "000 ");
    assert_eq!(said[2], not_listed(&format!("127.0.0.1:{port}")));
    assert_eq!(said[3], not_listed("localhost:2"));
    assert!(
        said[4].contains("leads to an address that is not public") && said[4].ends_with(" 403 "),
        "{}",
        said[4]
    );
    // Past the proxy there is the command's own loopback device, where nobody listens.
    assert_eq!(said[5..7], ["000 ", "000 "]);
    assert!(said[7].contains("localhost:1 does not answer 502"), "{}", said[7]);
    let view = only(&shelf);
    let own = |host: &str, outcome: &str, count| (host.to_owned(), outcome.to_owned(), count);
    let expected = [
        own("localhost", "allowed", 4),
        own("other.test", "not_listed", 2),
        own("127.0.0.1", "not_listed", 1),
        own("localhost", "not_listed", 1),
        own("a.localhost", "inward", 1),
        own("localhost", "failed", 1),
    ];
    assert_eq!(hosts(&view), expected, "{view}");
    let sandbox = &view["facts"]["sandbox"];
    assert_eq!(sandbox["network"], json!(format!("hosts {network}")));
    assert_eq!(
        (&sandbox["walls"]["network"], &sandbox["missing"]),
        (&json!("network namespace, proxy"), &json!({}))
    );
    let why = shelf.well(&["why", view["id"].as_str().unwrap()]);
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        why.contains(&format!("sandbox network: refused other.test:{port} (not listed) 2 times")),
        "{why}"
    );
    assert!(why.contains(&format!("reached localhost:{port} 4 times")), "{why}");
}

#[test]
fn a_refusal_is_recorded_while_the_run_goes_on_and_a_profile_may_name_hosts() {
    let (shelf, port) = (Shelf::empty(), server());
    let settings = shelf.file("settings/callboard");
    std::fs::create_dir_all(&settings).unwrap();
    let profile = format!("[sandbox.mine]\nbase = \"read-only\"\nnetwork = \"localhost:{port}\"\n");
    std::fs::write(settings.join("config.toml"), profile).unwrap();
    let script = format!(
        "curl -s http://localhost:{port}/; curl -s http://evil.test/; curl -s http://evil.test/; exec sleep 600"
    );
    let mut command = shelf.command(&["run", "--detach", "--sandbox", "mine", "--", "sh", "-c", &script]);
    let id = finish(command.env("XDG_CONFIG_HOME", shelf.file("settings"))).well().trim_end().to_owned();
    let running = until("a record of what was refused", || {
        let view = view(&shelf, &id);
        (hosts(&view).len() == 2).then_some(view)
    });
    assert_eq!(running["state"]["lifecycle"], json!("running"), "{running}");
    shelf.well(&["stop", &id]);
    let seen: Vec<(String, String)> =
        hosts(&view(&shelf, &id)).into_iter().map(|(host, outcome, _)| (host, outcome)).collect();
    let own = |host: &str, outcome: &str| (host.to_owned(), outcome.to_owned());
    assert_eq!(seen, [own("localhost", "allowed"), own("evil.test", "not_listed")]);
}

#[test]
fn without_namespaces_the_network_by_name_is_missing_and_only_the_port_of_the_proxy_is_reached() {
    let (shelf, port) = (Shelf::empty(), server());
    let limited = |options: &str, script: &str| {
        let inside = format!(
            "echo 0 > /proc/sys/user/max_net_namespaces && exec {CALLBOARD} run --quiet --sandbox=open \
             --sandbox-network=localhost:{port} {options} -- sh -c '{script}'"
        );
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "sh", "-c", &inside]).env("CALLBOARD_STORE", shelf.path());
        unshare.env("HOME", shelf.file("home")).env_remove("CALLBOARD_RUN");
        finish(&mut unshare)
    };
    let refused = limited("", "true");
    if !shelf.path().exists() {
        eprintln!("skipped: no user namespace can be limited here: {}", refused.stderr);
        return;
    }
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    let failed = only(&shelf);
    assert!(
        failed["state"]["reasons"][0]["message"].as_str().unwrap().contains("no wall for network"),
        "{failed}"
    );
    let script = format!(
        "curl -s -o /dev/null -o /dev/null -w \"%{{http_code}} \" http://localhost:{port}/ http://evil.test/; \
         curl -s --noproxy \"*\" http://127.0.0.1:{port}/ || echo $?"
    );
    let started = limited("--sandbox-best-effort", &script);
    assert_eq!(started.stdout, "200 403 7\n", "{}", started.stderr);
    let items = shelf.json(&["ps", "session", "--all", "--json"]);
    let missing = |item: &Value| item["facts"]["sandbox"]["missing"]["network"].as_str().map(str::to_owned);
    let missing: Vec<String> = items["items"].as_array().unwrap().iter().filter_map(missing).collect();
    assert!(missing[0].contains("that port of every other host"), "{items}");
}
