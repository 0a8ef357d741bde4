//! A message that only shows that messages arrive.

use callboard_kernel::Moment;
use serde::Serialize;

use crate::desktop::{Note, show};
use crate::event::{TEST, body};
use crate::settings::Settings;
use crate::webhook;

#[derive(Serialize)]
struct Test {
    message: &'static str,
}

/// Sends a message that only shows that messages arrive; says what became of it on each way that is wanted.
pub fn send_test(settings: &Settings, now: Moment) -> Vec<(&'static str, Result<(), String>)> {
    const SAID: &str = "This is a test. Callboard tells you here when something needs you.";
    let id = blake3::hash(format!("test\0{now}").as_bytes()).to_hex()[..32].to_owned();
    let mut all = Vec::new();
    if settings.desktop {
        let note = Note { marker: &id, is_urgent: false, title: "Callboard", text: SAID };
        all.push(("desktop", show(&note)));
    }
    if let Some(webhook) = &settings.webhook {
        let sent = body(TEST, &id, None, now, &Test { message: SAID }).map_err(|error| error.to_string());
        all.push(("webhook", sent.and_then(|body| webhook::send(webhook, &id, body, now))));
    }
    all
}
