//! Hears when a writer of any host has committed, and wakes those who wait in this process.
//!
//! Invariant: the log is the truth. A lost connection is replaced and a wake-up sent once, because what was said
//! meanwhile was not heard. Deliberately absent: reading what was written.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::AsyncMessage;

use super::connect::StoreServer;
use crate::writing::wake_up::WakeUp;

/// Between two tries to reach a server that is away.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens for as long as the runtime lives.
pub(in crate::postgres) async fn listen(place: Arc<StoreServer>, wake_up: Arc<WakeUp>) {
    loop {
        // Whatever went wrong, whoever waits looks at the log for itself, and is told there.
        drop(hear(&place, &wake_up).await);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Rings for every commit until the connection ends.
async fn hear(place: &StoreServer, wake_up: &Arc<WakeUp>) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = place.config.connect(place.tls.clone()).await?;
    let heard = Arc::clone(wake_up);
    let hearing = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                heard.send();
            }
        }
    });
    client.batch_execute("LISTEN callboard").await?;
    wake_up.send();
    drop(hearing.await);
    Ok(())
}
