//! Tells a condition once: claims it, sends, and records what became of it.
//!
//! Invariant: whoever sends has claimed the condition at the version that was judged, so of two senders one sends. What
//! failed is recorded too and tried again later, a few times, only where it failed. Deliberately absent: when to look.

use callboard_kernel::health::Liveness;
use callboard_kernel::{Actor, Command, EntityId, Facts, Moment, Observe, Order, RefusalCode};
use callboard_ledger::{AppendError, Fault, Ledger, ReadError, Request, Stored};
use callboard_lifecycle::{ActorClass, Severity};
use callboard_notify::{ATTENTION, Note, Settings, body};

use super::notification::{ChannelState, Due, NotificationMark};
use crate::judging::attention::{AttentionItem, Choice, attention, fingerprint, needs_somebody};
use crate::judging::judge::Basis;
use crate::judging::view::{View, judged};
use crate::judging::viewpoint::Viewpoint;
use crate::mutant;
use crate::run::Clock;
use crate::world::World;

/// How often a record that comes in between is read again.
const ROUNDS: usize = 8;

/// What a sender needs.
#[derive(Clone, Copy)]
pub struct Notifier<'a> {
    /// Where it looks and writes.
    pub ledger: &'a Ledger,
    /// What is sent, and where.
    pub settings: &'a Settings,
    /// The host it stands on.
    pub world: &'a dyn World,
    /// Tells the time.
    pub clock: &'a dyn Clock,
}

/// What became of telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It needs nobody, or it was told.
    NotDue,
    /// Somebody else is telling it, or it failed and is tried again after a while.
    Later,
    /// It was sent.
    Sent,
    /// It was not, for this reason; it is recorded and tried again later.
    Failed(String),
}

/// What is done about a run whose supervisor is gone and whose end is not recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// It is told.
    Told,
    /// Nothing is told: the reaper ends it a moment later, and the end is told.
    Left,
}

/// Why nothing could be told.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// The store could not be asked.
    #[error("the store cannot be asked")]
    Ask(#[from] ReadError),
    /// The store could not be written.
    #[error("the store cannot be written")]
    Write(#[source] Fault),
    /// The kernel did not take the record of it.
    #[error("it cannot be recorded: {0}")]
    Refused(String),
    /// What was to be sent could not be written down.
    #[error("the message cannot be written")]
    Message(#[from] serde_json::Error),
}

/// Is the condition of this view to be told at this moment?
pub fn notification_due(view: &View<'_>, settings: &Settings, now: Moment) -> bool {
    is_wanted(view, settings, now) && matches!(NotificationMark::due(view, now), Due::Yes(_))
}

/// Does the user want to be told of the condition of this view?
fn is_wanted(view: &View<'_>, settings: &Settings, now: Moment) -> bool {
    !settings.is_off() && view.state.severity <= settings.min_severity && needs_somebody(view, now)
}

/// What was found out about one claim.
enum Claim {
    Held,
    Lost,
    Again,
}

impl Notifier<'_> {
    /// Tells what an entity needs somebody for, if it does and nobody was told.
    pub fn tell(&self, id: EntityId) -> Result<Told, TellError> {
        self.tell_of(id, Abandoned::Told)
    }

    pub(super) fn tell_of(&self, id: EntityId, abandoned: Abandoned) -> Result<Told, TellError> {
        for _ in 0..ROUNDS {
            let now = self.clock.now();
            let Some(stored) = self.ledger.entity(id)? else { return Ok(Told::NotDue) };
            let basis = Basis::of(&stored.entity);
            let look = basis.look(&Viewpoint::present(now, self.world));
            let is_abandoned = look.liveness == Liveness::Dead && stored.entity.ended_at.is_none();
            if is_abandoned && abandoned == Abandoned::Left {
                return Ok(Told::NotDue);
            }
            let view = judged(&stored, basis, look);
            if !is_wanted(&view, self.settings, now) {
                return Ok(Told::NotDue);
            }
            let before = match NotificationMark::due(&view, now) {
                Due::No => return Ok(Told::NotDue),
                Due::Later => return Ok(Told::Later),
                Due::Yes(before) => before,
            };
            let mark = NotificationMark { tries: before.tries + 1, ..before };
            match self.write(&stored, mark.facts(&view, "sending", &self.by(), now), now)? {
                Claim::Held => return self.deliver(&view, mark, now),
                Claim::Lost => return Ok(Told::NotDue),
                Claim::Again => {}
            }
        }
        Ok(Told::Later)
    }

    fn deliver(
        &self,
        view: &View<'_>,
        mut mark: NotificationMark,
        claimed_at: Moment,
    ) -> Result<Told, TellError> {
        let views = std::slice::from_ref(view);
        let listed = attention(views, Choice { limit: 0, set_aside: false }, claimed_at);
        let Some(item) = listed.items.first() else { return Ok(Told::NotDue) };
        let id = id_of(view);
        let message = body(ATTENTION, &id, Some(view.id), claimed_at, item)?;
        let problems = self.send_on_channels(
            &mut mark,
            &Message { id, body: message, note: &of_item(item) },
            claimed_at,
        );
        let state = if problems.is_empty() { "sent" } else { "failed" };
        mark.problem = problems.first().cloned();
        self.resolve(view, &mark, state, claimed_at)?;
        Ok(problems.into_iter().next().map_or(Told::Sent, Told::Failed))
    }

    /// Records the result of the claim, unless another process has taken over the claim.
    fn resolve(
        &self,
        view: &View<'_>,
        mark: &NotificationMark,
        state: &str,
        claimed_at: Moment,
    ) -> Result<(), TellError> {
        for _ in 0..ROUNDS {
            let Some(stored) = self.ledger.entity(view.id)? else { return Ok(()) };
            if !NotificationMark::is_held(&stored.entity.facts, &self.by(), claimed_at) {
                return Ok(());
            }
            let now = self.clock.now();
            match self.write(&stored, mark.facts(view, state, &self.by(), now), now)? {
                Claim::Held | Claim::Lost => return Ok(()),
                Claim::Again => {}
            }
        }
        Ok(())
    }

    /// Records at the version that was read.
    fn write(&self, stored: &Stored, data: Facts, now: Moment) -> Result<Claim, TellError> {
        let order = Order::Observe(Observe { reasons: Vec::new(), data });
        let mut command = Command::new(stored.entity.state.id, order);
        if !mutant::removed("claim_at_the_judged_version") {
            command.if_version = Some(stored.entity.state.version);
        }
        let actor = Actor::new(ActorClass::System, self.by());
        match self.ledger.append(Request { command, actor, now, cause: None }) {
            Ok(_) => Ok(Claim::Held),
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::VersionConflict => {
                Ok(Claim::Again)
            }
            Err(AppendError::Refused(_)) => Ok(Claim::Lost),
            Err(AppendError::Fault(fault)) => Err(TellError::Write(fault)),
        }
    }

    /// Sends on every way that is wanted and open; says what went wrong.
    fn send_on_channels(
        &self,
        mark: &mut NotificationMark,
        message: &Message<'_>,
        now: Moment,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let mut done = |way: &mut ChannelState, sent: Result<(), String>| match sent {
            Ok(()) => *way = ChannelState::Sent,
            Err(problem) => {
                *way = ChannelState::Failed;
                problems.push(problem);
            }
        };
        if self.settings.desktop && mark.desktop != ChannelState::Sent {
            let Words { title, text, is_urgent } = message.note;
            let note = Note { marker: &message.id, is_urgent: *is_urgent, title, text };
            done(&mut mark.desktop, self.world.show(&note));
        }
        if let Some(webhook) = &self.settings.webhook
            && mark.webhook != ChannelState::Sent
        {
            done(&mut mark.webhook, self.world.call(webhook, &message.id, message.body.clone(), now));
        }
        problems
    }

    /// Who sends: one process on one host.
    pub(super) fn by(&self) -> String {
        let pid = self.world.this().map_or(0, |this| this.pid);
        format!("notifier@{}/{pid}", self.world.here().host)
    }
}

/// The id of the condition a view is in. The same condition of the same entity has the same one, however often it is sent, so
/// that a receiver can tell a repetition from something that happened again.
fn id_of(view: &View<'_>) -> String {
    let since = view.cause_since().map_or_else(String::new, |since| since.to_string());
    let hash = blake3::hash(format!("{}\0{since}", fingerprint(view)).as_bytes());
    hash.to_hex()[..32].to_owned()
}

/// What is sent on every way.
struct Message<'a> {
    id: String,
    body: Vec<u8>,
    note: &'a Words<'a>,
}

/// The words of a note.
struct Words<'a> {
    title: String,
    text: &'a str,
    is_urgent: bool,
}

fn of_item<'a>(item: &'a AttentionItem<'_>) -> Words<'a> {
    let name = item.entity.title.map_or_else(|| item.entity.id.to_string(), str::to_owned);
    let text = item.reason.as_ref().map_or("", |reason| reason.message);
    Words {
        title: format!("{} — {name}", item.chain), text, is_urgent: item.severity == Severity::Critical
    }
}
