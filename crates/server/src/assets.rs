//! The dashboard: files that were built into the program, packed where the browser can unpack them.
//!
//! Invariant: nothing is read from the disk, so no path leads anywhere. A file whose name has a hash in it is kept by
//! browsers for ever; the page itself is asked for every time. Deliberately absent: any data, so nobody needs a token.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};

use crate::problem::Problem;

/// One file that was built in.
struct File {
    name: &'static str,
    etag: &'static str,
    bytes: &'static [u8],
    br: Option<&'static [u8]>,
    gz: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

const MISSING: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Callboard</title>\
    <h1>Callboard is running</h1>\
    <p>This program was built without the dashboard, because npm was not there.\
    <p>To get the page: install Node.js 20 with npm, then build again: <code>cargo build --release</code>.\
    <p>Everything else works: <a href=\"/docs\">the API</a>, <code>callboard ps</code>, \
    <code>callboard attention</code>.";

/// A file, or the page for every address that the page itself understands.
pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        let help = "GET /api/v1/openapi.json lists every path";
        return Problem::not_found(format!("there is no path {:?}", uri.path()), help).into_response();
    }
    let named = |name: &str| FILES.iter().find(|file| file.name == name);
    let is_page = !path.rsplit('/').next().unwrap_or("").contains('.');
    match named(path).or_else(|| named("index.html").filter(|_| is_page)) {
        Some(file) => answer(file, &headers),
        None if is_page => Html(MISSING).into_response(),
        None => Problem::not_found(format!("there is no file {path:?}"), "go to /").into_response(),
    }
}

fn answer(file: &File, headers: &HeaderMap) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kept =
        if file.name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let fixed = [(header::ETAG, file.etag), (header::CACHE_CONTROL, kept), (header::VARY, "accept-encoding")];
    if text(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim() == file.etag) {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    let accepts = |coding: &str| {
        text(header::ACCEPT_ENCODING).split(',').any(|offer| {
            let mut parts = offer.split(';');
            parts.next().is_some_and(|name| name.trim() == coding) && parts.all(|part| part.trim() != "q=0")
        })
    };
    let (bytes, coding) = match (file.br, file.gz) {
        (Some(br), _) if accepts("br") => (br, Some("br")),
        (_, Some(gz)) if accepts("gzip") => (gz, Some("gzip")),
        (Some(_) | None, _) => (file.bytes, None),
    };
    let mut response = (fixed, [(header::CONTENT_TYPE, media(file.name))], bytes).into_response();
    if let Some(coding) = coding {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: File =
        File { name: "assets/a-1.js", etag: "\"1\"", bytes: b"plain", br: Some(b"br"), gz: Some(b"gz") };

    fn asked(file: &File, pairs: &[(header::HeaderName, &'static str)]) -> Response {
        let headers = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        answer(file, &headers.collect())
    }

    #[test]
    fn a_file_is_packed_as_the_browser_wishes() {
        let coding = |accepted| {
            let response = asked(&SCRIPT, &[(header::ACCEPT_ENCODING, accepted)]);
            response.headers().get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_vec())
        };
        assert_eq!(coding("gzip, deflate, br"), Some(b"br".to_vec()));
        assert_eq!(coding("gzip;q=0.5, br;q=0"), Some(b"gzip".to_vec()));
        assert_eq!(coding("identity"), None);
        assert_eq!(coding("brotli"), None);
    }

    #[test]
    fn hashed_names_are_kept_for_ever_and_the_page_is_asked_for() {
        let kept =
            |file: &File| asked(file, &[]).headers()[header::CACHE_CONTROL].to_str().unwrap().to_owned();
        assert!(kept(&SCRIPT).contains("immutable"));
        assert_eq!(kept(&File { name: "index.html", ..SCRIPT }), "no-cache");
        assert_eq!(
            asked(&SCRIPT, &[(header::IF_NONE_MATCH, "\"0\", \"1\"")]).status(),
            StatusCode::NOT_MODIFIED
        );
        assert_eq!(asked(&SCRIPT, &[(header::IF_NONE_MATCH, "\"2\"")]).status(), StatusCode::OK);
    }
}
