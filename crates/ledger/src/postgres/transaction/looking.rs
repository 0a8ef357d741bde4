//! What a batch looks at before it is decided: entities, earlier records, leases, offers and files in use.
//!
//! Invariant: behind the lock, one flight takes the lock, sees where the log ends and asks for everything that the batch names; a second one
//! asks for what the first one led to: the tasks on offer, and what somebody else changed. What was at hand is used only if nobody else wrote.
//! Deliberately absent: deciding.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use callboard_kernel::{EntityId, Moment, fact, task};
use futures_util::future::{join, join5, try_join3};
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::columns::{self, BEGIN};
use super::super::connection::session::Session;
use super::super::leases::LockedLeases;
use super::super::listings::offers::Asked;
use super::super::text;
use super::{Broken, Memory, parts, within};
use crate::error::ReadError;
use crate::mutant;
use crate::store::{Job, Part, Stored};
use crate::writing::batch::HOT_MAX;
use crate::writing::claim::{self, Claim, Listed};

/// What a batch needs to have read.
pub(super) struct Wanted<'a> {
    entities: Vec<Uuid>,
    key_of: Vec<Uuid>,
    keys: Vec<Cow<'a, str>>,
}

impl Memory {
    /// Takes the lock, sees where the log ends, and has everything at hand that decides about the batch. Gives back the records with the
    /// keys of the batch, and the tasks that each job may claim.
    pub(super) async fn look_around(
        &mut self,
        session: &Session,
        jobs: &[&Job],
        limit: Duration,
    ) -> Result<(Vec<Row>, Vec<Vec<Listed>>), Broken> {
        let is_anew = self.has_rivals;
        if is_anew {
            // Somebody else writes too: what is at hand would most likely have to be read again.
            self.let_go();
        }
        let wanted = self.wanted(jobs);
        let (leased, asked) = (self.maybe_leased(jobs), self.asked(jobs));
        let names: Vec<String> = leased.iter().map(ToString::to_string).collect();
        let (client, most) = (&session.client, self.offers_max(jobs));
        let look = join5(
            client.batch_execute(BEGIN),
            client.query_one(&session.end, &[]),
            fetch(session, &wanted),
            session.leases.lock(client, &names),
            session.offers.listed(client, &asked, most),
        );
        let (begun, end, loaded, locked, offers) = within(limit, look).await?;
        begun?;
        let is_disturbed = self.look(&end?)?;
        mutant::point("lock_held");
        let ((mut entities, keys), locked, mut offers) = (loaded?, locked?, offers?);
        if is_disturbed && !is_anew {
            let wanted = self.wanted(jobs);
            (entities, _) = within(limit, fetch(session, &wanted)).await??;
        }
        self.warm(jobs, &entities)?;
        let now_asked = self.asked(jobs);
        if now_asked != asked {
            // The log is ahead of the clocks of those who ask, so tasks that wait for a time may be on offer already.
            offers = within(limit, session.offers.listed(client, &now_asked, most)).await??;
        }
        let picked: Vec<Vec<Listed>> = jobs.iter().map(|job| of_job(job, &now_asked, &offers)).collect();
        within(limit, self.look_closer(session, jobs, &picked, (&leased, locked))).await??;
        Ok((keys, picked))
    }

    /// Has the tasks on offer at hand, with their leases, and what the first look left out.
    async fn look_closer(
        &mut self,
        session: &Session,
        jobs: &[&Job],
        picked: &[Vec<Listed>],
        (known, locked): (&[EntityId], LockedLeases),
    ) -> Result<(), ReadError> {
        let client = &session.client;
        self.standing.begin(Moment::default());
        let mut on_offer: Vec<EntityId> = picked.iter().flatten().map(|listed| listed.entity()).collect();
        on_offer.sort_unstable_by_key(|id| id.uuid());
        on_offer.dedup();
        let mut leased = self.leased(jobs);
        leased.extend(&on_offer);
        let missing: Vec<String> =
            leased.iter().filter(|id| !known.contains(id)).map(ToString::to_string).collect();
        let cold: Vec<Uuid> =
            on_offer.iter().filter(|id| !self.standing.has(**id)).map(|id| id.uuid()).collect();
        let asks = |id: &EntityId| {
            !self.standing.has(*id) || !task::files(&self.standing.stored(*id).entity.facts).is_empty()
        };
        let wants_files =
            parts(jobs).any(|part| self.standing.wants_files(part)) || on_offer.iter().any(asks);
        let entities = async {
            if cold.is_empty() {
                return Ok(Vec::new());
            }
            Ok(client.query(&session.entities, &[&cold]).await?)
        };
        let files = async {
            if !wants_files {
                return Ok(None);
            }
            session.offers.files_in_use(client).await.map(Some)
        };
        let (entities, more, files) =
            try_join3(entities, session.leases.lock(client, &missing), files).await?;
        for row in entities {
            self.standing.warm(columns::stored(&row)?);
            self.warmed += 1;
        }
        // The clock counts that was read after the last row was locked.
        self.standing.begin(locked.now.max(more.now));
        let mut rows = locked.rows;
        rows.extend(more.rows);
        for id in leased {
            self.standing.leases.load(id, rows.remove(&id.to_string()));
        }
        if let Some(files) = files {
            self.standing.load_files(files);
        }
        Ok(())
    }

    /// Has nothing at hand any more.
    fn let_go(&mut self) {
        self.standing.forget();
        self.warmed = 0;
    }

    /// What the batch needs that is not at hand.
    pub(super) fn wanted<'a>(&mut self, jobs: &[&'a Job]) -> Wanted<'a> {
        if self.warmed + parts(jobs).count() > HOT_MAX {
            // All of it at once: an entity let go in the middle of a batch would come back as it was before.
            self.let_go();
        }
        let mut wanted = Wanted { entities: Vec::new(), key_of: Vec::new(), keys: Vec::new() };
        for part in parts(jobs) {
            let command = &part.request.command;
            if !self.standing.has(command.entity) {
                wanted.entities.push(command.entity.uuid());
            }
            if let Some(key) = &command.key
                && !mutant::removed("look_up_keys")
            {
                wanted.key_of.push(command.entity.uuid());
                wanted.keys.push(text::stored(key));
            }
        }
        wanted.entities.sort_unstable();
        wanted.entities.dedup();
        wanted
    }

    /// Has every entity of the batch at hand, as the view says it stands.
    pub(super) fn warm(&mut self, jobs: &[&Job], rows: &[Row]) -> Result<(), ReadError> {
        let mut loaded = HashMap::with_capacity(rows.len());
        for row in rows {
            let stored = columns::stored(row)?;
            loaded.insert(stored.entity.state.id, stored);
        }
        for part in parts(jobs) {
            let id = part.request.command.entity;
            if !self.standing.has(id) {
                self.standing.warm(loaded.remove(&id).unwrap_or_else(|| Stored::unborn(id)));
                self.warmed += 1;
            }
        }
        Ok(())
    }

    /// How many offers are asked for. Every claim of the batch may take one that the next one wanted, so each gets as many to choose from.
    fn offers_max(&self, jobs: &[&Job]) -> usize {
        let claims = jobs.iter().filter(|job| job.claim.is_some()).count();
        (claim::PAGE << self.claim_rounds.min(7)) + claims
    }

    /// Whose offers the claims of a batch ask for. One list serves all who ask for the same role, as of the latest of them: whether an
    /// offer fits is asked again for each.
    fn asked<'a>(&self, jobs: &[&'a Job]) -> Vec<Asked<'a>> {
        let mut asked: Vec<Asked<'a>> = Vec::new();
        for job in jobs {
            let Some(query) = &job.claim else { continue };
            let role = query.role.as_deref();
            let now = job.parts.first.request.now.max(self.standing.seen.at);
            match asked.iter_mut().find(|one| one.role == role) {
                Some(one) => one.now = one.now.max(now),
                None => asked.push(Asked { role, now }),
            }
        }
        asked
    }

    /// Does a lease decide about this command, as far as is known without the lock?
    pub(super) fn is_leased(&self, part: &Part) -> bool {
        let command = &part.request.command;
        command.lease.is_some()
            || (self.standing.has(command.entity)
                && self.standing.stored(command.entity).entity.facts.read(fact::LEASE_EPOCH).is_some())
    }

    /// The entities of a batch whose leases may decide about it: those of which nothing is known yet too.
    fn maybe_leased(&self, jobs: &[&Job]) -> Vec<EntityId> {
        let may = |part: &&Part| {
            let id = part.request.command.entity;
            id != Claim::TASK && (self.is_leased(part) || !self.standing.has(id))
        };
        distinct(parts(jobs).filter(may))
    }

    /// The entities of a batch whose leases decide about it.
    pub(super) fn leased(&self, jobs: &[&Job]) -> Vec<EntityId> {
        let wants = |part: &&Part| {
            self.standing.leases.wants(part, self.standing.stored(part.request.command.entity))
        };
        distinct(parts(jobs).filter(wants))
    }
}

/// What a job may claim.
fn of_job(job: &Job, asked: &[Asked<'_>], offers: &[Vec<Listed>]) -> Vec<Listed> {
    let Some(query) = &job.claim else { return Vec::new() };
    let role = query.role.as_deref();
    let own = asked.iter().position(|one| one.role == role);
    own.and_then(|at| offers.get(at)).cloned().unwrap_or_default()
}

fn distinct<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<EntityId> {
    let mut all: Vec<EntityId> = parts.map(|part| part.request.command.entity).collect();
    all.sort_unstable_by_key(|id| id.uuid());
    all.dedup();
    all
}

/// Asks for entities and earlier records at once, and for nothing if nothing is wanted.
pub(super) async fn fetch(
    session: &Session,
    wanted: &Wanted<'_>,
) -> Result<(Vec<Row>, Vec<Row>), tokio_postgres::Error> {
    let entities = async {
        if wanted.entities.is_empty() {
            return Ok(Vec::new());
        }
        session.client.query(&session.entities, &[&wanted.entities]).await
    };
    let keys = async {
        if wanted.keys.is_empty() {
            return Ok(Vec::new());
        }
        session.client.query(&session.keys, &[&wanted.key_of, &wanted.keys]).await
    };
    let (entities, keys) = join(entities, keys).await;
    Ok((entities?, keys?))
}
