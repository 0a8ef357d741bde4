//! Access over real connections: what keeps strangers out. Which scope opens which path is tested on the router itself.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::host::{Host, callboard};
use crate::wire::status;

#[test]
fn what_an_agent_says_is_recorded_as_the_agents() {
    let host = Host::start();
    let run = host.callboard(&["run", "--detach", "--", "sleep", "100"]);
    let token = host.callboard(&["token", "create", "--scope", "agent", "--run", &run]);
    let beat = host
        .post_as(
            &token,
            &format!("/api/v1/entities/{run}/heartbeat"),
            &json!({"status": "reading", "progress": true}),
            None,
        )
        .ok();
    assert_eq!(
        (&beat["record"]["actor"]["type"], &beat["record"]["actor"]["id"]),
        (&"agent".into(), &run.as_str().into())
    );
    let note = host
        .post_as(&token, &format!("/api/v1/entities/{run}/notes"), &json!({"text": "approved by me"}), None)
        .ok();
    assert_eq!(
        (&note["record"]["data"]["said"], &note["record"]["reasons"]),
        (&"approved by me".into(), &json!([]))
    );
}

#[test]
fn a_forged_host_or_origin_gets_nothing() {
    let host = Host::start();
    let port = host.address.port();
    let hosts = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "localhost".to_owned(),
        format!("127.0.0.1:{port}.evil.example"),
        String::new(),
    ];
    let origins = [
        None,
        Some("same"),
        Some("null"),
        Some("http://evil.example"),
        Some("https://127.0.0.1.evil.example"),
        Some("file://"),
    ];
    let sites = [None, Some("same-origin"), Some("none"), Some("cross-site"), Some("same-site")];
    for (at, name) in hosts.iter().enumerate() {
        for origin in origins {
            for site in sites {
                for method in ["GET", "POST"] {
                    let mut headers = format!(
                        "{}Host: {name}\r\nContent-Type: application/json\r\n",
                        host.bearer(&host.token)
                    );
                    if let Some(origin) = origin {
                        let origin =
                            if origin == "same" { format!("http://{name}") } else { origin.to_owned() };
                        headers += &format!("Origin: {origin}\r\n");
                    }
                    if let Some(site) = site {
                        headers += &format!("Sec-Fetch-Site: {site}\r\n");
                    }
                    let path = if method == "GET" { "/api/v1/counts" } else { "/api/v1/admin/checkpoint" };
                    let reply = host.send(method, path, &headers, if method == "GET" { "" } else { "{}" });
                    let foreign = matches!(origin, Some(origin) if origin != "same")
                        || (method == "POST" && matches!(site, Some("cross-site" | "same-site")));
                    let expected = if at >= 3 {
                        421
                    } else if foreign {
                        403
                    } else {
                        200
                    };
                    assert_eq!(reply.status, expected, "{method} {headers}");
                    assert_eq!(reply.header("access-control-allow-origin"), None);
                }
            }
        }
    }
    let figures = host.get("/metrics").text();
    for why in ["host", "origin"] {
        let name = format!("callboard_refused_total{{why=\"{why}\"}} ");
        let count = figures.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        assert!(count.is_some_and(|count| count > 50), "{figures}");
    }
}

#[test]
fn a_browser_comes_in_once_by_a_link_and_stays_in_over_a_restart() {
    let mut host = Host::start();
    let path = host.login.split_once("/login").map(|(_, rest)| format!("/login{rest}")).unwrap();
    let look = format!("HEAD {path} HTTP/1.1\r\nHost: {}\r\n\r\n", host.address);
    assert_eq!(status(host.address, &look), 401, "a look at the head uses nothing up");
    let reply = host.send("GET", &path, "", "");
    assert_eq!((reply.status, reply.header("location")), (303, Some("/")));
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains(&host.token));
    let cookie = format!("Cookie: other=1; {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(host.send("GET", "/api/v1/counts", &cookie, "").status, 200);
    assert_eq!(host.send("GET", &path, "", "").status, 401, "the link was used");
    host.kill_and_restart();
    assert_eq!(host.send("GET", &path, "", "").status, 401, "the link was used before the restart");
    assert_eq!(host.send("GET", "/api/v1/counts", &cookie, "").status, 200, "the cookie is still good");
    assert_eq!(
        host.send("GET", "/api/v1/counts", &cookie.replace("callboard_", "callboard"), "").status,
        401
    );
    let address = host.address.to_string();
    let link = host.callboard(&["token", "link", "--listen", &address]);
    let path = link.split_once("/login").map(|(_, rest)| format!("/login{rest}")).unwrap();
    assert_eq!(host.send("GET", &path, "", "").status, 303);
    let reply = host.get("/api/v1/counts");
    for name in ["x-content-type-options", "referrer-policy", "content-security-policy"] {
        assert!(reply.header(name).is_some(), "{name}");
    }
}

#[test]
fn the_socket_is_the_users_alone_and_opens_nothing_without_a_token() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    let mut host = Host::start();
    let path = host.store().with_file_name("serve.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let ask = |headers: &str| {
        let mut stream = UnixStream::connect(&path).unwrap();
        let request =
            format!("GET /api/v1/counts HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(ask(""), "401");
    assert_eq!(ask(&host.bearer(&host.token)), "200");
    assert_eq!(ask(&format!("{}Origin: http://evil.example\r\n", host.bearer(&host.token))), "403");
    // One that was killed leaves it, and the next server takes it over.
    host.kill_and_restart();
    assert_eq!(ask(&host.bearer(&host.token)), "200");
    let pid = rustix::process::Pid::from_raw(host.server.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(host.server.wait().unwrap().success());
    assert!(!path.exists(), "it goes with the server");
}

#[test]
fn a_token_that_asks_too_often_waits_and_others_do_not() {
    let host = Host::start_with(&["--rate", "20"]);
    let viewer = host.callboard(&["token", "create", "--scope", "viewer"]);
    let statuses: Vec<u16> = (0..60).map(|_| host.get("/api/v1/reasons").status).collect();
    assert!(statuses.contains(&429) && statuses[..10].iter().all(|status| *status == 200), "{statuses:?}");
    let refused = (0..60).map(|_| host.get("/api/v1/reasons")).find(|reply| reply.status == 429).unwrap();
    assert!(refused.header("retry-after").is_some());
    assert_eq!(host.send("GET", "/api/v1/reasons", &host.bearer(&viewer), "").status, 200);
}

#[test]
fn it_does_not_listen_to_others_by_mistake_nor_with_a_token_that_others_can_read() {
    let host = Host::start();
    let output = callboard(&host.store(), &["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--allow-remote") && told.contains("encrypted"), "{told}");
    let file = host.dir.path().join("store/operator.token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = callboard(&host.store(), &["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("chmod 600"), "{told}");
    assert!(!told.contains("cb_adm_"), "a token is never told");
}

#[test]
fn a_revoked_token_opens_nothing_and_others_go_on() {
    let host = Host::start();
    let opens =
        |host: &Host, token: &str| host.send("GET", "/api/v1/entities", &host.bearer(token), "").status;
    let [one, two] = [0, 1].map(|_| host.callboard(&["token", "create", "--scope", "viewer"]));
    let listed: serde_json::Value =
        serde_json::from_str(&host.callboard(&["token", "list", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(!listed.to_string().contains(&one), "{listed}");
    assert_eq!((opens(&host, &one), opens(&host, &two)), (200, 200));
    host.callboard(&["token", "revoke", &id]);
    assert_eq!((opens(&host, &one), opens(&host, &two)), (401, 200));
}

#[test]
fn a_revoked_or_expired_token_ends_its_streams() {
    let host = Host::start();
    let revoked = host.callboard(&["token", "create", "--scope", "viewer"]);
    let expiring = host.callboard(&["token", "create", "--scope", "viewer", "--expires", "3s"]);
    let kept = host.callboard(&["token", "create", "--scope", "viewer"]);
    let open = |token: &str| {
        crate::wire::open(host.address, "/api/v1/events", token, None).unwrap_or_else(|| panic!("no stream"))
    };
    let mut streams = [&revoked, &expiring, &kept].map(|token| open(token));
    let listed: serde_json::Value =
        serde_json::from_str(&host.callboard(&["token", "list", "--json"])).unwrap();
    host.callboard(&["token", "revoke", listed[0]["id"].as_str().unwrap()]);
    for (stream, which) in streams.iter_mut().zip(["revoked", "expired"]) {
        // One that goes on says every few seconds that it is there.
        let give_up = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while crate::wire::line(stream).unwrap_or_else(|error| panic!("{which}: {error}")) > 0 {
            assert!(std::time::Instant::now() < give_up, "{which}: it goes on");
        }
    }
    // The third one is told what happens after the others have ended.
    let born = crate::feed::born(&host.ledger(), 7).to_string();
    loop {
        let (_, _, data) = crate::wire::event(&mut streams[2]).unwrap_or_else(|| panic!("it ended, too"));
        if data.contains(&born) {
            break;
        }
    }
}

#[test]
fn making_and_revoking_a_token_are_records() {
    let host = Host::start();
    let run = host.callboard(&["create", "session", "--title", "agent"]);
    let agents = host.callboard(&["token", "create", "--scope", "agent", "--run", &run]);
    let viewers = host.callboard(&["token", "create", "--scope", "viewer", "--expires", "2h"]);
    let list = || -> serde_json::Value {
        serde_json::from_str(&host.callboard(&["token", "list", "--json"])).unwrap()
    };
    let before = list();
    host.callboard(&["token", "revoke", before[1]["id"].as_str().unwrap()]);
    let after = list();
    let records: Vec<serde_json::Value> = host
        .callboard(&["events", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let grants: Vec<_> = records.iter().filter(|record| !record["data"]["grant"].is_null()).collect();
    assert_eq!(grants.len(), 3, "{records:?}");
    let told = |at: usize| {
        let grant = &grants[at]["data"]["grant"];
        [&grant["act"], &grant["id"], &grant["scope"]].map(|value| value.as_str().unwrap_or("").to_owned())
    };
    let id = |at: usize| after[at]["id"].as_str().unwrap().to_owned();
    assert_eq!(told(0), ["created".to_owned(), id(0), "agent".to_owned()]);
    assert_eq!(told(1), ["created".to_owned(), id(1), "viewer".to_owned()]);
    assert_eq!(told(2), ["revoked".to_owned(), id(1), "viewer".to_owned()]);
    assert_eq!(
        (&grants[0]["entity"]["id"], &grants[0]["data"]["grant"]["run"]),
        (&run.clone().into(), &run.into())
    );
    assert_eq!(grants[1]["data"]["grant"]["expires_at"], after[1]["expires_at"]);
    for (at, grant) in grants.iter().enumerate() {
        assert_eq!(grant["actor"]["type"], "operator", "{grant}");
        let listed = if at == 2 { &after[1]["revoked"] } else { &after[at]["made"] };
        assert_eq!((&listed["record"], &listed["by"]), (&grant["seq"], &grant["actor"]["id"]));
    }
    let all = format!("{records:?}");
    assert!(!all.contains(agents.trim()) && !all.contains(viewers.trim()), "a token is in no record");
}
