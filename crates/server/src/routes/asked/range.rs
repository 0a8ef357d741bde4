//! Ranges of bytes, and downloads that no browser renders.
//!
//! Invariant: whatever is in a file, it arrives as a download of bytes, in a sandbox, under no other type; only what is asked for
//! is read, a chunk at a time. Deliberately absent: several ranges in one answer; the whole is given then, as the standard allows.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use crate::problem::Problem;

/// A part of something.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    first: u64,
    /// Behind the last byte.
    end: u64,
    is_partial: bool,
}

/// The part that a `Range` header names.
fn part(range: Option<&str>, total: u64) -> Result<Part, Problem> {
    let whole = Part { first: 0, end: total, is_partial: false };
    let Some(spec) = range.and_then(|range| range.strip_prefix("bytes=")) else { return Ok(whole) };
    let Some((first, last)) = spec.split_once('-') else { return Ok(whole) };
    let number = |text: &str| text.trim().parse::<u64>();
    let (first, end) = match (number(first), number(last)) {
        (Ok(first), Ok(last)) if first <= last => (first, last.saturating_add(1).min(total)),
        (Ok(first), Err(_)) if last.trim().is_empty() => (first, total),
        (Err(_), Ok(count)) if first.trim().is_empty() && count > 0 => (total.saturating_sub(count), total),
        // What is no range counts as if it was not sent.
        (Ok(_) | Err(_), _) => return Ok(whole),
    };
    if first >= total {
        return Err(Problem::bad_range(total));
    }
    Ok(Part { first, end, is_partial: true })
}

/// Reads so many bytes from a place on, or fewer; none at the end.
pub(in crate::routes) type Source = Arc<dyn Fn(u64, usize) -> io::Result<Vec<u8>> + Send + Sync>;

/// Bytes read at once.
const CHUNK: u64 = 64 * 1024;

/// A part of a source as a download, read while it is sent: what costs memory is one chunk.
pub(in crate::routes) fn give_out(
    source: Source,
    total: u64,
    range: Option<&str>,
    name: &str,
) -> Result<Response, Problem> {
    let Part { first, end, is_partial } = part(range, total)?;
    let chunks = futures_util::stream::unfold((source, first), move |(source, place)| async move {
        if place >= end {
            return None;
        }
        let count = usize::try_from((end - place).min(CHUNK)).unwrap_or_default();
        let (reader, here) = (Arc::clone(&source), place);
        let read = tokio::task::spawn_blocking(move || reader(here, count)).await;
        match read {
            Ok(Ok(chunk)) if chunk.is_empty() => None,
            Ok(Ok(chunk)) => {
                let next = place + chunk.len() as u64;
                Some((Ok(Bytes::from(chunk)), (source, next)))
            }
            // It cannot be read on: the connection is broken off, so that nobody takes a part for the whole.
            Ok(Err(error)) => Some((Err(error), (source, end))),
            Err(_) => None,
        }
    });
    let mut response = download(Body::from_stream(chunks), name);
    response.headers_mut().insert(header::CONTENT_LENGTH, (end - first).into());
    if is_partial {
        mark_partial(&mut response, first, end, total);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Bytes as a download.
fn download(body: impl Into<Body>, name: &str) -> Response {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let mut response = body.into().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
    );
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{plain}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// Says which part it is.
fn mark_partial(response: &mut Response, first: u64, end: u64, total: u64) {
    if let Ok(value) = HeaderValue::try_from(format!("bytes {first}-{}/{total}", end - 1)) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let of = |range: &str| part(Some(range), 10).map(|part| (part.first, part.end, part.is_partial)).ok();
        assert_eq!(of("bytes=0-3"), Some((0, 4, true)));
        assert_eq!(of("bytes=4-"), Some((4, 10, true)));
        assert_eq!(of("bytes=-3"), Some((7, 10, true)));
        assert_eq!(of("bytes=-99"), Some((0, 10, true)));
        assert_eq!(of("bytes=3-99999999999999999999"), Some((0, 10, false)));
        assert_eq!(of("bytes=8-99"), Some((8, 10, true)));
        assert_eq!(of("bytes=10-"), None);
        for odd in ["", "items=0-1", "bytes=5-4", "bytes=a-b", "bytes=0-1,3-4", "bytes=-0", "bytes="] {
            assert_eq!(of(odd), Some((0, 10, false)), "{odd}");
        }
    }
}
