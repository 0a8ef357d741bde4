//! Hears when a writer of any host has committed, and rings the bell of this process.
//!
//! Invariant: the log is the truth. A lost connection is replaced and the bell rung once, because what was said
//! meanwhile was not heard. Deliberately absent: reading what was written.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::AsyncMessage;

use super::connect::Place;
use crate::bell::Bell;

/// Between two tries to reach a server that is away.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens for as long as the runtime lives.
pub(super) async fn listen(place: Arc<Place>, bell: Arc<Bell>) {
    loop {
        // Whatever went wrong, whoever waits looks at the log for itself, and is told there.
        drop(hear(&place, &bell).await);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Rings for every commit until the connection ends.
async fn hear(place: &Place, bell: &Arc<Bell>) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = place.config.connect(place.tls.clone()).await?;
    let heard = Arc::clone(bell);
    let hearing = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                heard.ring();
            }
        }
    });
    client.batch_execute("LISTEN callboard").await?;
    bell.ring();
    drop(hearing.await);
    Ok(())
}
