//! What is sent: a CloudEvents 1.0 event in structured JSON.
//!
//! Invariant: the same condition of the same entity has the same id, however often it is sent, so that a receiver can tell
//! a repetition from something that happened again.

use callboard_kernel::{EntityId, Moment};
use serde::Serialize;

use crate::attention::fingerprint;
use crate::view::View;

/// What a condition that needs somebody is called.
pub(super) const ATTENTION: &str = "dev.callboard.attention.v1";
/// What the root of a store is called.
pub(super) const ROOT: &str = "dev.callboard.root.v1";
/// What a message is called that only shows that messages arrive.
pub(super) const TEST: &str = "dev.callboard.test.v1";

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

/// The id of the condition a view is in.
pub(super) fn id_of(view: &View<'_>) -> String {
    let since = view.cause_since().map_or_else(String::new, |since| since.to_string());
    let hash = blake3::hash(format!("{}\0{since}", fingerprint(view)).as_bytes());
    hash.to_hex()[..32].to_owned()
}

/// The event as it is sent.
pub(super) fn body<T: Serialize>(
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
