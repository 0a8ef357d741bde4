//! The lease of an entity on the way through a batch: asked, granted and ended with the record of a command.
//!
//! Invariant: an epoch is one more than the highest that the log or the table of leases knows. What is granted or ended is part of the
//! record, as three facts that only the store records; renewing changes the table alone. A move to where nobody holds a task ends its lease,
//! whoever makes it. Deliberately absent: loading and writing rows, which each engine does in its own way.

use std::collections::HashMap;

use callboard_kernel::{
    EntityId, Event, Facts, HeldLease, LeaseChange, LeaseTerms, Moment, Order, RefusalCode, Value, fact, task,
};
use callboard_lifecycle::ActorClass;

use crate::lease::{LEASE_MAX, LEASE_MIN, LeaseRow};
use crate::mutant;
use crate::store::{Part, Request, Stored};

/// The facts that only the store records.
const OWN: [&str; 3] = [fact::LEASE_HOLDER.name(), fact::LEASE_EPOCH.name(), fact::LEASE_MS.name()];

/// The leases of a batch.
#[derive(Default)]
pub(crate) struct Leases {
    /// What the clock of the store says.
    now: Moment,
    /// What is at hand; nothing in it if there is no row.
    rows: HashMap<EntityId, Option<LeaseRow>>,
    /// What is to be written.
    changed: Vec<EntityId>,
}

/// How many rows had changed, and the rows of some entities.
pub(crate) type LeaseMark = (usize, Vec<(EntityId, Option<LeaseRow>)>);

/// What a record does to the lease of its entity.
pub(crate) struct Leased {
    pub(crate) facts: Facts,
    /// The row as it is to be; nothing if the record is there already.
    pub(crate) row: Option<LeaseRow>,
}

/// Why a command about a lease is refused: the code, what is wrong and what to do.
pub(crate) type Objection = (RefusalCode, String, &'static str);

impl Leases {
    /// Begins a batch: nothing of the one before counts.
    pub(crate) fn begin(&mut self, now: Moment) {
        self.now = now;
        self.rows.clear();
        self.changed.clear();
    }

    /// Must the row of an entity be loaded before this command is decided?
    pub(crate) fn wants(&self, part: &Part, stored: &Stored) -> bool {
        let command = &part.request.command;
        (command.lease.is_some() || stored.entity.facts.read(fact::LEASE_EPOCH).is_some())
            && !self.rows.contains_key(&command.entity)
    }

    /// Has the row of an entity at hand.
    pub(crate) fn load(&mut self, id: EntityId, row: Option<LeaseRow>) {
        self.rows.insert(id, row);
    }

    /// The rows that are to be written, once.
    pub(crate) fn take_changed(&mut self) -> Vec<(EntityId, LeaseRow)> {
        let row = |id: EntityId| self.rows.get(&id).cloned().flatten().map(|row| (id, row));
        std::mem::take(&mut self.changed).into_iter().filter_map(row).collect()
    }

    /// Where a group began, in case it is not taken.
    pub(crate) fn mark(&self, entities: impl Iterator<Item = EntityId>) -> LeaseMark {
        let rows = entities.filter_map(|id| self.rows.get(&id).map(|row| (id, row.clone()))).collect();
        (self.changed.len(), rows)
    }

    pub(crate) fn restore(&mut self, (changed, rows): LeaseMark) {
        self.changed.truncate(changed);
        self.rows.extend(rows);
    }

    /// The lease of an entity that is in force.
    pub(crate) fn held(&self, id: EntityId) -> Option<HeldLease> {
        let row = self.row(id).filter(|row| row.is_held(self.now))?;
        Some(HeldLease { holder: row.holder.clone(), epoch: row.epoch, until: row.until })
    }

    fn row(&self, id: EntityId) -> Option<&LeaseRow> {
        self.rows.get(&id).and_then(Option::as_ref)
    }

    /// Takes over what a record does to the lease of its entity.
    pub(crate) fn change(&mut self, id: EntityId, row: LeaseRow) {
        self.rows.insert(id, Some(row));
        if !self.changed.contains(&id) {
            self.changed.push(id);
        }
    }

    /// What the record of a command will say of the lease; nothing if it does not speak of it.
    pub(crate) fn judge(
        &self,
        request: &Request,
        stored: &Stored,
        earlier: Option<&Event>,
    ) -> Result<Option<Leased>, Objection> {
        let command = &request.command;
        if data_of(&command.order).is_some_and(|data| OWN.iter().any(|name| data.get(name).is_some())) {
            let problem = "lease_holder, lease_epoch and lease_ms are recorded by the store".to_owned();
            return Err((
                RefusalCode::NotPermitted,
                problem,
                "ask for the lease itself, and leave these facts out",
            ));
        }
        if let (Some(_), Some(earlier)) = (&command.key, earlier) {
            // The record that is there says what was granted or ended then.
            let own = own_facts(&earlier.data)
                .filter(|own| command.lease.is_some() || own.read(fact::LEASE_EPOCH).is_none());
            return Ok(own.map(|facts| Leased { facts, row: None }));
        }
        let id = command.entity;
        let held = self.held(id);
        let is_let_go =
            matches!(&command.order, Order::Transition(order) if task::is_let_go(&stored.entity, order));
        let Some(terms) = &command.lease else {
            return Ok(if is_let_go { self.ended(id, stored) } else { None });
        };
        if let Some(epoch) = terms.epoch
            && held.as_ref().map(|held| held.epoch) != Some(epoch)
            && !mutant::removed("check_the_epoch")
        {
            let problem = format!("the lease with epoch {epoch} is over: {}", told(held.as_ref()));
            return Err((RefusalCode::LeaseLost, problem, "stop; claim it again if it is still to be done"));
        }
        if matches!(command.order, Order::Entry(_)) && !matches!(terms.change, LeaseChange::Keep) {
            let problem = "an entry carries the epoch of a lease and changes no lease".to_owned();
            return Err((RefusalCode::NotPermitted, problem, "grant or end the lease with another command"));
        }
        match &terms.change {
            LeaseChange::Keep => Ok(if is_let_go { self.ended(id, stored) } else { None }),
            LeaseChange::Grant { holder, length } => {
                let is_text = !holder.is_empty() && holder.len() <= 255 && !holder.contains('\0');
                if !is_text || !(LEASE_MIN..=LEASE_MAX).contains(length) {
                    let problem =
                        "a holder has 1 to 255 bytes and no NUL, and a lease lasts 1 ms to 24 h".to_owned();
                    return Err((RefusalCode::TooLarge, problem, "ask for a lease within these bounds"));
                }
                if let Some(held) = held.filter(|held| held.holder != *holder) {
                    let help = "take another one, or wait until the lease has ended";
                    return Err((RefusalCode::LeaseHeld, told(Some(&held)), help));
                }
                let row = LeaseRow {
                    holder: holder.clone(),
                    epoch: self.last_epoch(id, stored) + 1,
                    until: self.now.plus(*length),
                    length: *length,
                };
                Ok(Some(granted(row)))
            }
            LeaseChange::End => self.end(request, terms, stored, held),
        }
    }

    fn end(
        &self,
        request: &Request,
        terms: &LeaseTerms,
        stored: &Stored,
        held: Option<HeldLease>,
    ) -> Result<Option<Leased>, Objection> {
        let may_take_away = match request.actor.class {
            ActorClass::Operator | ActorClass::System => true,
            ActorClass::Supervisor | ActorClass::Worker | ActorClass::Agent | ActorClass::ApprovalDesk => {
                false
            }
        };
        if let Some(held) = held.filter(|_| terms.epoch.is_none() && !may_take_away) {
            let help = "send the epoch that you were given, or wait until the lease has ended";
            return Err((RefusalCode::LeaseHeld, told(Some(&held)), help));
        }
        Ok(self.ended(request.command.entity, stored))
    }

    /// The end of the lease of an entity, if somebody holds it as far as the log knows.
    fn ended(&self, id: EntityId, stored: &Stored) -> Option<Leased> {
        stored.entity.facts.known(fact::LEASE_HOLDER)?;
        let length = self.row(id).map_or(LEASE_MIN, |row| row.length);
        let epoch = self.last_epoch(id, stored);
        let row = LeaseRow { holder: String::new(), epoch, until: self.now, length };
        Some(Leased { facts: Facts::none().and(fact::LEASE_HOLDER, None::<&str>), row: Some(row) })
    }

    /// An export carries what the log says and not the table, so both are asked.
    fn last_epoch(&self, id: EntityId, stored: &Stored) -> u64 {
        let recorded = stored.entity.facts.read(fact::LEASE_EPOCH).unwrap_or_default();
        let recorded = u64::try_from(recorded).unwrap_or_default();
        self.row(id).map_or(0, |row| row.epoch).max(recorded)
    }
}

fn granted(row: LeaseRow) -> Leased {
    let ms = u64::try_from(row.length.as_millis()).unwrap_or(u64::MAX);
    let facts = Facts::none()
        .and(fact::LEASE_HOLDER, row.holder.as_str())
        .and(fact::LEASE_EPOCH, row.epoch)
        .and(fact::LEASE_MS, ms);
    Leased { facts, row: Some(row) }
}

fn told(held: Option<&HeldLease>) -> String {
    match held {
        Some(HeldLease { holder, epoch, until }) => {
            format!("{holder} holds its lease (epoch {epoch}) until {until}")
        }
        None => "nobody holds its lease".to_owned(),
    }
}

fn own_facts(data: &Facts) -> Option<Facts> {
    let own: Vec<(&str, &Value)> = data.iter().filter(|(name, _)| OWN.contains(name)).collect();
    let add = |facts: Facts, (name, value): (&str, &Value)| facts.with(name.to_owned(), value.clone());
    (!own.is_empty()).then(|| own.into_iter().fold(Facts::none(), add))
}

fn data_of(order: &Order) -> Option<&Facts> {
    match order {
        Order::Create(order) => Some(&order.data),
        Order::Transition(order) => Some(&order.data),
        Order::Observe(order) => Some(&order.data),
        // What an entry holds becomes no fact of its entity.
        Order::Entry(_) => None,
    }
}

/// Adds facts to what a command records.
pub(crate) fn add(order: &mut Order, facts: &Facts) {
    match order {
        Order::Create(order) => order.data.merge(facts),
        Order::Transition(order) => order.data.merge(facts),
        Order::Observe(order) => order.data.merge(facts),
        // It changes no lease, so there is nothing to add.
        Order::Entry(_) => {}
    }
}
