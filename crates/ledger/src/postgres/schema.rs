//! The tables: made, brought up to date, and refused when a newer program made them.
//!
//! Invariant: a migration and the format number it ends with commit together, so a kill leaves the old format or the
//! new one; writers wait while it runs. An opened store knows every legal edge this program knows.

use tokio_postgres::Client;

use super::connection::connect::{Role, StoreServer};
use super::seals;
use crate::error::OpenError;
use crate::proof::checkpoint::{PublicKey, Seal};
use crate::proof::legal;

/// The newest format this program knows: the number of the last migration.
pub(super) const FORMAT: i64 = 6;

/// The lock of the writers, held by a session instead of a transaction.
const HOLD: &str = "SELECT pg_advisory_lock(7161124095259533682)";

mod embedded {
    refinery::embed_migrations!("src/postgres/migrations");
}

/// Makes the store what this program needs, or says why it cannot.
pub(super) async fn open(place: &StoreServer, seal: Option<&Seal>) -> Result<(), OpenError> {
    let (mut client, task) = place.dial(Role::Writer).await.map_err(|source| place.server(source))?;
    let mut done = bring_up(&mut client, place).await;
    if let (Ok(()), Some(seal)) = (&done, seal) {
        done = list(&client, seal.public_key()).await.map_err(|source| place.server(source));
        if done.is_ok() {
            done = seals::cover_what_was(&client, seal).await.map_err(|error| place.unreadable(error));
        }
    }
    // The lock ends with the connection, and the connection only when its task has run to its end.
    drop(client);
    drop(task.await);
    done
}

async fn bring_up(client: &mut Client, place: &StoreServer) -> Result<(), OpenError> {
    if check(client, place).await? < FORMAT {
        client.batch_execute(HOLD).await.map_err(|source| place.server(source))?;
        // Another first start may have done it while this one waited.
        if check(client, place).await? < FORMAT {
            migrate(client, place).await?;
        }
    }
    sync_legal(client).await.map_err(|source| place.server(source))
}

/// The format of the store, unless a newer program made it.
async fn check(client: &Client, place: &StoreServer) -> Result<i64, OpenError> {
    let found = format(client).await.map_err(|source| place.server(source))?;
    if found > FORMAT {
        return Err(OpenError::Newer { path: place.shown().into(), found, known: FORMAT });
    }
    Ok(found)
}

/// The format of the store; 0 if there is none yet.
pub(super) async fn format(client: &Client) -> Result<i64, tokio_postgres::Error> {
    let there = client.query_one("SELECT to_regclass('meta') IS NOT NULL", &[]).await?;
    if !there.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    client.query_one("SELECT coalesce(max(format), 0) FROM meta", &[]).await?.try_get(0)
}

async fn migrate(client: &mut Client, place: &StoreServer) -> Result<(), OpenError> {
    embedded::migrations::runner()
        .set_grouped(true)
        .run_async(client)
        .await
        .map(|_| ())
        .map_err(|source| OpenError::Migrate { path: place.shown().into(), source: Box::new(source) })
}

/// Lists a key that is going to sign unless it is listed.
async fn list(client: &Client, signer: PublicKey) -> Result<(), tokio_postgres::Error> {
    let sql = "INSERT INTO signer (public_key) SELECT $1::bytea \
               WHERE NOT EXISTS (SELECT FROM signer WHERE public_key = $1) ON CONFLICT DO NOTHING";
    client.execute(sql, &[&&signer.0[..]]).await.map(|_| ())
}

/// Adds the edges the store does not know yet, in one transaction; none is ever taken away. A store that has every
/// edge of this program is left alone, though a newer program added more.
async fn sync_legal(client: &mut Client) -> Result<(), tokio_postgres::Error> {
    let digest = legal::digest();
    let row = client.query_one("SELECT edges FROM meta", &[]).await?;
    let stored: Option<&[u8]> = row.try_get(0)?;
    if stored == Some(&digest[..]) {
        return Ok(());
    }
    // In one order, so that two first starts wait for each other instead of both for ever.
    let mut edges = legal::edges();
    edges.sort_unstable_by_key(|edge| (edge.kind, edge.from_state, edge.via, edge.to_state));
    let column = |field: fn(&legal::LegalEdge) -> &'static str| edges.iter().map(field).collect::<Vec<_>>();
    let (kind, from_state) = (column(|edge| edge.kind), column(|edge| edge.from_state));
    let (via, to_state) = (column(|edge| edge.via), column(|edge| edge.to_state));
    let sql = "INSERT INTO legal SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
               EXCEPT SELECT kind, from_state, via, to_state FROM legal ORDER BY 1, 2, 3, 4 \
               ON CONFLICT DO NOTHING";
    let transaction = client.transaction().await?;
    let added = transaction.execute(sql, &[&kind, &from_state, &via, &to_state]).await?;
    if added > 0 || stored.is_none() {
        transaction.execute("UPDATE meta SET edges = $1", &[&&digest[..]]).await?;
    }
    transaction.commit().await
}
