//! Calls the configured address: signed as Standard Webhooks says, a few times, and never for longer than a bound.
//!
//! Invariant: every try of one message has the same id and its own time and signature. Only a status of 200 to 299 is
//! success; what the receiver will not take is not sent again at once.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use callboard_kernel::Moment;

use crate::http::{PostError, post};
use crate::settings::Webhook;

/// How long all tries take together at the most.
const TOTAL: Duration = Duration::from_secs(10);
/// How long one try takes at the most.
const TRY: Duration = Duration::from_millis(2_500);
/// How long to wait before each further try.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(500)];

const _: () = assert!(
    TRY.as_millis() * 3 + PAUSES[0].as_millis() + PAUSES[1].as_millis() <= TOTAL.as_millis(),
    "the tries must fit into the bound"
);

/// Sends one message; says why it did not arrive.
pub fn send(webhook: &Webhook, id: &str, body: Vec<u8>, now: Moment) -> Result<(), String> {
    let (tell, told) = mpsc::channel();
    let late = format!("{}: no answer in time", webhook.address);
    let (webhook, id) = (webhook.clone(), id.to_owned());
    // A thread, because looking up a name has no bound of its own. If it hangs, it ends with the process.
    let thread = std::thread::Builder::new().name("webhook".to_owned());
    let started = thread.spawn(move || {
        // Nobody listens any more when it took too long.
        tell.send(attempts(&webhook, &id, &body, now)).ok();
    });
    started.map_err(|error| error.to_string())?;
    told.recv_timeout(TOTAL).unwrap_or(Err(late))
}

fn attempts(webhook: &Webhook, id: &str, body: &[u8], now: Moment) -> Result<(), String> {
    let began = Instant::now();
    let mut pauses = PAUSES.into_iter();
    loop {
        let timestamp = now.plus(began.elapsed()).as_micros() / 1_000_000;
        let headers = [
            ("Content-Type", "application/cloudevents+json; charset=utf-8".to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", webhook.secret.signature(id, timestamp, body)),
        ];
        let problem = match post(&webhook.address, &headers, body, Instant::now() + TRY) {
            Ok(200..300) => return Ok(()),
            Ok(status @ 300..400) => return Err(format!("{} redirects (status {status})", webhook.address)),
            // These say that it may be taken later.
            Ok(status @ (408 | 425 | 429 | 500..600)) => format!("{} answered {status}", webhook.address),
            Ok(status) => return Err(format!("{} answered {status}", webhook.address)),
            Err(error @ (PostError::Tls(_) | PostError::Inward(_))) => {
                return Err(format!("{}: {error}", webhook.address));
            }
            Err(error) => format!("{}: {error}", webhook.address),
        };
        match pauses.next() {
            Some(pause) => std::thread::sleep(pause),
            None => return Err(problem),
        }
    }
}
