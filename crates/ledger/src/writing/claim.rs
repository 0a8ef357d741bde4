//! A claim: a group in which one task is not known before the transaction picks it.
//!
//! Invariant: the task is picked, decided and recorded in one transaction, so two claims never get the same one. The first that
//! fits is taken: by priority, then by age; one whose guards refuse, because a file it needs is in use, is passed over.
//! Deliberately absent: which tasks are offered, which the kernel says, and how an engine finds them.

use callboard_kernel::task::{self, Offer};
use callboard_kernel::{EntityId, Moment, Refusal, RefusalCode, Value};
use callboard_lifecycle::Kind;
use uuid::Uuid;

use crate::error::AppendError;
use crate::store::{Part, Stored};
use crate::writing::batch::Denied;
use crate::writing::group::Group;
use crate::writing::several::Several;

/// How many offers are looked at before the next ones are asked for.
pub(crate) const PAGE: usize = 32;
/// How many offers one claim looks at. Only tasks whose files are in use, or whose labels do not fit, are looked at in vain.
pub(crate) const LOOKED_AT_MAX: usize = 4096;

/// Which task a claim may get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimQuery {
    /// One for this role, or for nobody in particular; any task if there is none.
    pub role: Option<String>,
    /// It has all of these labels.
    pub labels: Vec<(String, String)>,
    /// It works on one of these repositories, or on none; any if the list is empty.
    pub repos: Vec<String>,
}

/// A group that claims a task.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Which one it may get.
    pub query: ClaimQuery,
    /// What is recorded. Where it speaks of `Claim::TASK`, by id or in a fact, the task that was picked stands in the records.
    /// It has no key: whoever did not hear the answer asks the worker's own record.
    pub group: Group,
}

impl Claim {
    /// Stands for the task that is picked.
    pub const TASK: EntityId = EntityId::new(Kind::Task, Uuid::nil());
}

/// A place in the order of offers: behind the offer with this priority and id.
pub(crate) type Place = (i64, Uuid);

/// An offer as an engine lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listed {
    pub(crate) priority: i64,
    pub(crate) id: Uuid,
}

impl Listed {
    pub(crate) const fn place(self) -> Place {
        (self.priority, self.id)
    }

    pub(crate) const fn entity(self) -> EntityId {
        EntityId::new(Kind::Task, self.id)
    }
}

impl ClaimQuery {
    /// Does an entity fit, as it stands?
    pub(crate) fn fits(&self, stored: &Stored, now: Moment) -> bool {
        let Some(Offer { role, not_before, labels, repo, .. }) = task::offer(&stored.entity) else {
            return false;
        };
        let has = |(name, value): &(String, String)| match labels.and_then(|labels| labels.get(name)) {
            Some(Value::Text(text)) => text == value,
            Some(_) | None => false,
        };
        let is_for = |own: &String| role.is_none_or(|role| role == own);
        self.role.as_ref().is_none_or(is_for)
            && not_before.is_none_or(|at| at <= now)
            && self.labels.iter().all(has)
            && (self.repos.is_empty() || repo.is_none_or(|repo| self.repos.iter().any(|own| own == repo)))
    }
}

/// The commands of a claim, about the task that was picked.
pub(crate) fn about(parts: &Several<Part>, id: EntityId) -> Several<Part> {
    let one = |part: &Part| {
        let mut request = part.request.clone();
        request.command = request.command.about(Claim::TASK, id);
        Part::new(request, part.member)
    };
    Several { first: one(&parts.first), then: parts.then.iter().map(one).collect() }
}

/// Is the answer about the task alone, so that another one may do?
pub(crate) fn is_passed_over(denied: &Denied, id: EntityId) -> bool {
    match &denied.error {
        AppendError::Refused(refusal) => refusal.entity.id == id,
        AppendError::Fault(_) => false,
    }
}

/// The answer if no task fits.
pub(crate) fn nothing() -> Denied {
    let refusal = Refusal {
        code: RefusalCode::NothingOffered,
        message:
            "no task can be claimed: none is open that fits, has what it depends on, and whose files are free"
                .to_owned(),
        entity: Claim::TASK.into(),
        from: None,
        to: None,
        allowed: Vec::new(),
        guard: None,
        help: "see what the open tasks wait for: callboard board".to_owned(),
    };
    Denied { at: 0, error: AppendError::Refused(Box::new(refusal)) }
}
