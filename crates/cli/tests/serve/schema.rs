//! Schemathesis reads the document of the API and tries everything it allows, and much it does not.
//!
//! Invariant: it finds no answer of 500 and above, no status, media type or body that the document does not promise.
//! Without the program the test says so and passes; `cargo xtask test` installs it.

use std::process::Command;

use crate::host::Host;

/// Streams have no end, and these start or end something outside of the store.
const LEFT_OUT: &str = "/(events|runs|retry|stop|vacuum|import-legacy)$";

#[test]
fn schemathesis_finds_nothing_that_the_document_does_not_promise() {
    let Some(program) = std::env::var_os("CALLBOARD_SCHEMATHESIS") else {
        eprintln!(
            "skipped: CALLBOARD_SCHEMATHESIS names no program; `cargo xtask test nextest` installs one"
        );
        return;
    };
    let host = Host::start();
    let run = host.callboard(&["run", "--detach", "--", "sh", "-c", "echo hello; exec sleep 600"]);
    host.callboard(&["run", "-q", "--", "sh", "-c", "exit 1"]);
    host.callboard(&["create", "schedule", "--title", "Nightly"]);
    let (settings, document) = (host.dir.path().join("settings.toml"), host.dir.path().join("openapi.json"));
    std::fs::write(
        &settings,
        format!("[parameters]\n\"path.id\" = \"{run}\"\n\"path.stream\" = \"stdout\"\n"),
    )
    .unwrap();
    std::fs::write(&document, host.get("/api/v1/openapi.json").text()).unwrap();
    let checks =
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let mut command = Command::new(program);
    command.arg("--config-file").arg(&settings).arg("run").arg(&document);
    command.args(["--url", &format!("http://{}", host.address), "--exclude-path-regex", LEFT_OUT]);
    command.args(["-H", host.bearer(&host.token).trim(), "--checks", checks, "--phases", "coverage,fuzzing"]);
    command.args(["--max-examples", "15", "--request-timeout", "10", "--seed", "1", "--no-color"]);
    let output = command.current_dir(host.dir.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("passed"), "{told}");
    assert_eq!(host.get("/api/v1/health").status, 200);
}

#[test]
fn an_export_from_behind_every_record_is_empty() {
    let host = Host::start();
    host.callboard(&["create", "schedule", "--title", "Nightly"]);
    for since in ["9223372036854775807", "9223372036854775808", "18446744073709551615"] {
        let reply = host.get(&format!("/api/v1/admin/export?since={since}"));
        assert!(reply.status == 200 && !reply.text().contains("Nightly"), "{since}: {}", reply.text());
    }
}
