//! What is sent: a CloudEvents 1.0 event in structured JSON.
//!
//! Invariant: the id is the caller's, so that what is sent again has the id it had.

use callboard_kernel::{EntityId, Moment};
use serde::Serialize;

/// What a condition that needs somebody is called.
pub const ATTENTION: &str = "dev.callboard.attention.v1";
/// What the root of a store is called.
pub const ROOT: &str = "dev.callboard.root.v1";
/// What a message is called that only shows that messages arrive.
pub(crate) const TEST: &str = "dev.callboard.test.v1";

#[derive(Serialize)]
struct Event<'a, T> {
    specversion: &'static str,
    id: &'a str,
    source: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<EntityId>,
    time: Moment,
    datacontenttype: &'static str,
    data: &'a T,
}

/// The event as it is sent.
pub fn body<T: Serialize>(
    kind: &'static str,
    id: &str,
    subject: Option<EntityId>,
    time: Moment,
    data: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let event = Event {
        specversion: "1.0",
        id,
        source: "urn:callboard",
        kind,
        subject,
        time,
        datacontenttype: "application/json",
        data,
    };
    serde_json::to_vec(&event)
}
