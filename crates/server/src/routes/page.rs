//! The API reference as a page: every path with what it takes and answers.
//!
//! Invariant: written from the OpenAPI document, and it needs no script. Deliberately absent: trying requests out.

use std::fmt::Write;

use serde_json::Value;

/// The page that lists every path of a document.
pub(crate) fn docs_page(document: &Value) -> String {
    let mut page = "<!doctype html><html lang=en><meta charset=utf-8>\
        <meta name=viewport content=\"width=device-width\"><title>Callboard API</title>\
        <h1>Callboard API</h1><p>Base <code>/api/v1</code>. The whole description: \
        <a href=\"/api/v1/openapi.json\">openapi.json</a>."
        .to_owned();
    let paths = document["paths"].as_object();
    for (path, methods) in paths.into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let said = |name: &str| escaped(operation[name].as_str().unwrap_or(""));
            let method = method.to_uppercase();
            // Writing to a text does not fail.
            write!(page, "<h2><code>{method} {}</code></h2><p>{}", escaped(path), said("summary")).ok();
            write!(page, " {}", said("description")).ok();
            page += &parameters(operation);
        }
    }
    page
}

fn parameters(operation: &Value) -> String {
    let all = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return String::new();
    }
    let item = |parameter: &Value| {
        let said = |name: &str| escaped(parameter[name].as_str().unwrap_or(""));
        format!("<li><code>{}</code> ({}) {}", said("name"), said("in"), said("description"))
    };
    format!("<ul>{}</ul>", all.iter().map(item).collect::<String>())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
