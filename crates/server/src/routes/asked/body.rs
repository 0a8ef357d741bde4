//! Bodies and keys of requests that change something, read strictly.
//!
//! Invariant: a body is JSON of at most a mebibyte and has no field that is not known. Deliberately absent: forms, which
//! another site could send.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use callboard_engine::mutant;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::access::Principal;
use crate::problem::Problem;

/// Bytes of a body at the most.
pub(crate) const BODY_MAX: usize = 1024 * 1024;
/// Bytes of what an agent says at once, at the most: it may say it often, and the log keeps it for ever.
pub(crate) const SAID_MAX: usize = 16 * 1024;
/// How long a body may take to arrive.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(10);
/// Bytes of an idempotency key at the most, as the kernel has it.
const KEY_MAX: usize = 256;

/// A JSON body, and the bytes it came as.
pub(crate) struct Json<T>(pub(crate) T, pub(crate) Bytes);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let is_json = is(request.headers(), "application/json");
        let bytes = whole(request.into_body(), BODY_MAX, BODY_TIME).await?;
        if !is_json && !bytes.is_empty() {
            return Err(Problem::wrong_media("application/json"));
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let unread = |told: String| Problem::bad_request(told, "GET /api/v1/openapi.json describes the body");
        // A list of the right values would be taken for an object too, and an empty one for an empty object.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(unread("the body is no object".to_owned()));
        }
        let value = serde_json::from_slice(text).map_err(|error| unread(error.to_string()))?;
        Ok(Self(value, bytes))
    }
}

/// The whole body, if it is not too large and arrives in time.
pub(crate) async fn whole(body: Body, limit: usize, time: Duration) -> Result<Bytes, Problem> {
    match timeout(time, axum::body::to_bytes(body, limit)).await {
        Ok(read) => read.map_err(|_| Problem::too_large(limit)),
        Err(_) => Err(Problem::too_slow(time)),
    }
}

/// Does the body have this media type?
pub(crate) fn is(headers: &HeaderMap, wanted: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    given.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case(wanted))
}

/// The key that makes a repeated request the same request.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub(crate) Option<String>);

impl Key {
    /// The key as it is recorded: that of a token, and none that a supervisor uses for itself.
    pub(crate) fn of(&self, who: &Principal) -> Option<String> {
        let key = self.0.as_ref()?;
        if mutant::removed("keys_of_a_token") {
            return Some(key.clone());
        }
        let owner = blake3::Hash::from_bytes(who.mark).to_hex();
        let whole = format!("http {} {key}", &owner[..16]);
        let is_short = whole.len() <= KEY_MAX;
        Some(if is_short {
            whole
        } else {
            format!("http {} {}", &owner[..16], blake3::hash(key.as_bytes()).to_hex())
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let key = value.to_str().ok().filter(|key| !key.is_empty() && key.len() <= KEY_MAX);
        let help = format!("send from 1 to {KEY_MAX} printable characters");
        key.map(|key| Self(Some(key.to_owned())))
            .ok_or_else(|| Problem::bad_request("the Idempotency-Key cannot be used", help))
    }
}

/// A record as the answer to a command.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Recorded {
    #[schema(value_type = callboard_wire::RecordShape)]
    pub(crate) record: callboard_ledger::Record,
}
