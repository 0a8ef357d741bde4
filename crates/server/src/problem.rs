//! Problems: every answer that is not what was asked for, as RFC 9457 describes them.
//!
//! Invariant: a problem says what is wrong and what to do next; the kernel's refusal is carried along unchanged; what
//! the store or the system said in detail is for the operator only and never holds a secret. Deliberately absent:
//! logging.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use callboard_kernel::{Refusal, RefusalCode};
pub(crate) use callboard_ledger::error_chain as told;
use callboard_ledger::{AppendError, Fault, ReadError};
use callboard_lifecycle::Guard;
use serde::Serialize;

/// Why a request was not answered as it wished.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
    help: String,
    refused: Option<Box<Refusal>>,
    retry_after_s: Option<u64>,
}

/// Where the problems are described.
const TYPES: &str = "https://callboard.dev/problems/";

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    help: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a Refusal>,
}

impl Problem {
    fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (detail, help) = (detail.into(), help.into());
        Self { status, code, title, detail, help, refused: None, retry_after_s: None }
    }

    pub(crate) fn bad_request(detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", "The request is not understood", detail, help)
    }

    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        let help = "send Authorization: Bearer TOKEN, or open the link that callboard token link prints";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Who asks is not known", detail, help)
    }

    pub(crate) fn forbidden(detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail, help)
    }

    pub(crate) fn misdirected(host: &str) -> Self {
        let detail = format!("this server does not answer to the name {host:?}");
        let help = "use the address it listens on, or start it with --host-name NAME";
        Self::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", "Another host is meant", detail, help)
    }

    pub(crate) fn not_found(detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "There is no such thing", detail, help)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let help = "GET /api/v1/openapi.json lists every path with its methods";
        let detail = "this path does not take this method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Wrong method", detail, help)
    }

    pub(crate) fn conflict(detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "It stands otherwise", detail, help)
    }

    pub(crate) fn key_reused() -> Self {
        let detail = "this idempotency key was used for another request";
        let help = "send the new request with a new key";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", "The key is taken", detail, help)
    }

    pub(crate) fn too_large(limit_bytes: usize) -> Self {
        let detail = format!("the body is larger than {limit_bytes} bytes");
        let help = "send less in one request";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The body is too large", detail, help)
    }

    pub(crate) fn too_slow(time: std::time::Duration) -> Self {
        let detail = format!("the body did not arrive within {} s", time.as_secs());
        let help = "send the whole body at once";
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "The body took too long", detail, help)
    }

    pub(crate) fn wrong_media(wanted: &str) -> Self {
        let help = format!("send Content-Type: {wanted}");
        let detail = "the body has another media type than this path takes";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "Wrong media type", detail, help)
    }

    pub(crate) fn bad_range(end: u64) -> Self {
        let detail = format!("the range begins behind the last byte, which is {end}");
        let help = "ask for a range that begins before it";
        Self::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", "No such range", detail, help)
    }

    pub(crate) fn too_many(detail: impl Into<String>, retry_after_s: u64) -> Self {
        let help = format!("wait {retry_after_s} s and ask again");
        let mut problem =
            Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", "Too many at once", detail, help);
        problem.retry_after_s = Some(retry_after_s);
        problem
    }

    pub(crate) fn unsupported(detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "unsupported", "This store cannot do that", detail, help)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        let help = "look at callboard store check and at the free space of its disk, then ask again";
        let mut problem = Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unavailable",
            "The store did not answer",
            detail,
            help,
        );
        problem.retry_after_s = Some(1);
        problem
    }

    fn replaced(detail: impl Into<String>) -> Self {
        let help = "nothing is recorded until the file that was opened is back at its path; to go on with the file that \
                    is there, restart the server";
        let title = "The store is another one";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_replaced", title, detail, help)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        let help = "this is a fault of callboard; its server printed what it knows";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something broke", detail, help)
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<Box<Refusal>> for Problem {
    fn from(refusal: Box<Refusal>) -> Self {
        let status = match refusal.code {
            RefusalCode::NotFound => StatusCode::NOT_FOUND,
            RefusalCode::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            RefusalCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalCode::Exists
            | RefusalCode::BadStart
            | RefusalCode::WrongKind
            | RefusalCode::Ended
            | RefusalCode::IllegalEdge
            | RefusalCode::WrongTrigger
            | RefusalCode::NotPermitted
            | RefusalCode::ReasonRequired
            | RefusalCode::ReasonNotAllowed
            | RefusalCode::ReasonFlawed
            | RefusalCode::EvidenceRequired
            | RefusalCode::GuardFailed
            | RefusalCode::GuardUnanswered
            | RefusalCode::FactRequired
            | RefusalCode::LeaseLost
            | RefusalCode::LeaseHeld
            | RefusalCode::NothingOffered
            | RefusalCode::WrongTurn
            | RefusalCode::VersionConflict => StatusCode::CONFLICT,
        };
        let help = help(&refusal);
        let mut problem = Self::new(status, "refused", "The tables do not allow it", &refusal.message, &help);
        problem.refused = Some(refusal);
        problem
    }
}

/// What to do next, as a client of this API can do it.
fn help(refusal: &Refusal) -> String {
    match refusal.guard {
        Some(Guard::NoLivingSupervisor) if refusal.code == RefusalCode::GuardFailed => {
            format!("ask it to stop: POST /api/v1/entities/{}/stop", refusal.entity.id)
        }
        Some(
            Guard::NoLivingSupervisor
            | Guard::RetriesLeft
            | Guard::HeldByActor
            | Guard::LeaseExpired
            | Guard::DependenciesMet
            | Guard::Due
            | Guard::FilesFree
            | Guard::SubtasksSettled
            | Guard::HasNextMove
            | Guard::AnswerOffered
            | Guard::MayAnswer
            | Guard::DefaultDue
            | Guard::AskedByActor,
        )
        | None => refusal.help.clone(),
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        if let ReadError::Unsupported { what, instead } = error {
            return Self::unsupported(format!("this sort of store does not support {what}"), instead);
        }
        if let ReadError::Replaced(_) = error {
            return Self::replaced(told(&error));
        }
        Self::unavailable(told(&error))
    }
}

impl From<AppendError> for Problem {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Refused(refusal) => refusal.into(),
            AppendError::Fault(fault) => fault.into(),
        }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        if let Fault::Replaced(_) = fault {
            return Self::replaced(told(&fault));
        }
        Self::unavailable(told(&fault))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = Document {
            r#type: format!("{TYPES}{}", self.code),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            help: &self.help,
            refused: self.refused.as_deref(),
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response =
            (self.status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
