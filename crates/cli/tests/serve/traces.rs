//! Traces: a collector gets a span for every request and every run, and nothing that is nobody's business.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::{Host, callboard};

/// Takes what is sent to it: the head of each request, and its document.
fn collector() -> (std::net::SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
    let (tell, told) = channel();
    std::thread::spawn(move || {
        // It ends with the test, whose process ends it.
        for stream in listener.incoming().flatten() {
            if let Some(request) = take(stream)
                && tell.send(request).is_err()
            {
                break;
            }
        }
    });
    (address, told)
}

fn take(stream: TcpStream) -> Option<(String, Value)> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").ok()?;
    Some((lower, serde_json::from_slice(&body).ok()?))
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let all = span["attributes"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().find(|one| one["key"] == name).map_or(&Value::Null, |one| &one["value"])
}

#[test]
fn a_collector_gets_a_span_for_every_request_and_every_run_that_ends() {
    let (address, told) = collector();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=agents".to_owned()),
        ("OTEL_SERVICE_NAME", "board".to_owned()),
    ];
    let host = Host::start_among(&["--rate", "0"], &variables);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let headers = format!("{}traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n", host.bearer(&host.token));
    host.send("GET", "/api/v1/counts", &headers, "");
    let stream = r#"{"type":"system","subtype":"init","session_id":"s1","model":"claude-test"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s1","num_turns":1,"result":"whisper","usage":{"input_tokens":11,"output_tokens":7}}"#;
    host.callboard(&["run", "-q", "--adapter", "claude", "--", "printf", "%s\\n", stream]);
    host.callboard(&["run", "-q", "--", "sh", "-c", "echo whisper; exit 3"]);
    let (mut requests, mut runs) = (Vec::new(), Vec::new());
    let until = Instant::now() + Duration::from_secs(20);
    while (requests.is_empty() || runs.len() < 2) && Instant::now() < until {
        let Ok((head, document)) = told.recv_timeout(Duration::from_secs(1)) else { continue };
        assert!(head.starts_with("post /v1/traces ") && head.contains("x-team: agents"), "{head}");
        let whole = document.to_string();
        assert!(!whole.contains("whisper") && !whole.contains(&host.token), "{whole}");
        let resource = &document["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "board");
        for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
            let list = if span["kind"] == 2 { &mut requests } else { &mut runs };
            list.push(span.clone());
        }
    }
    let request = requests.iter().find(|span| span["name"] == "GET /api/v1/counts").unwrap();
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&trace.into(), &"00f067aa0ba902b7".into()));
    assert_eq!(attribute(request, "http.response.status_code")["intValue"], "200");
    let agent = runs.iter().find(|span| span["name"] == "invoke_agent claude").unwrap();
    assert_eq!(attribute(agent, "gen_ai.provider.name")["stringValue"], "anthropic");
    assert_eq!(attribute(agent, "gen_ai.request.model")["stringValue"], "claude-test");
    assert_eq!(attribute(agent, "gen_ai.usage.input_tokens")["intValue"], "11");
    assert_eq!(attribute(agent, "gen_ai.usage.output_tokens")["intValue"], "7");
    let failed = runs.iter().find(|span| span["name"] == "invoke_agent plain").unwrap();
    assert_eq!(failed["status"]["code"], 2);
    assert!(
        attribute(failed, "error.type")["stringValue"].as_str().unwrap().starts_with("run.failed"),
        "{failed}"
    );
}

#[test]
fn a_collector_that_cannot_be_named_is_an_error_that_names_the_variable() {
    let host = Host::start();
    let mut command = callboard(&host.store(), &["serve", "--listen", "127.0.0.1:0"]);
    let output = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{told}");
}
