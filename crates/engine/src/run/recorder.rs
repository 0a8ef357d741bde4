//! What a run writes down, and when: through a ledger that is open only while there is something to write.
//!
//! Invariant: an end is recorded, or kept beside the output for whoever can record it later, and the caller is told which;
//! nobody waits long for a store that fails. A store that is not there any more is not made anew. A supervisor that only
//! waits keeps no store open, because hundreds may wait.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Command, Context, Decision, EntityId, Facts, Moment, Observe, Order, RefusalCode, decide, fact,
};
use callboard_ledger::{
    AppendError, Fault, Ledger, OpenError, Receipt, Record, Request, Stored, Ticket, error_chain,
};
use callboard_lifecycle::ActorClass;
use callboard_supervisor::Identity;

use super::saved_end::EndKeeper;
use crate::abort::escalate;
use crate::mutant;
use crate::world::World;

/// How long an end is tried to be written while others hold the store, or after a write that failed without saying why.
/// The command has ended, and whoever started it waits for its exit code.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// The clock of the program.
pub trait Clock {
    /// What time it is.
    fn now(&self) -> Moment;
}

/// What a run needs of its surroundings.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// Opens the store, making it if it is not there.
    pub open: &'a dyn Fn() -> Result<Ledger, OpenError>,
    /// Opens the store again, which must be there.
    pub reopen: &'a dyn Fn() -> Result<Ledger, OpenError>,
    /// Tells the time.
    pub clock: &'a dyn Clock,
    /// The machine it runs on.
    pub world: &'a dyn World,
    /// Does the store serve several hosts, so that a lease has to be held?
    pub is_shared: bool,
}

/// Why something was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The store does not open.
    #[error("the store cannot be opened")]
    Open(#[from] OpenError),
    /// The kernel or the store said no.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// An end that is not in the store.
#[derive(Debug)]
pub struct Unrecorded {
    /// Why.
    pub because: RecordError,
    /// Where it is kept; nothing if the store has another end, which stays.
    pub kept: Option<io::Result<PathBuf>>,
}

impl Unrecorded {
    /// Does the store have another end?
    pub(crate) fn is_ended_already(&self) -> bool {
        matches!(&self.because, RecordError::Append(AppendError::Refused(refusal)) if refusal.code == RefusalCode::Ended)
    }
}

/// Writes the records of one run.
pub(crate) struct Recorder<'a> {
    desk: Desk<'a>,
    ledger: Option<Ledger>,
    /// The store was open once; from then on it must be there.
    was_open: bool,
    keeper: Option<EndKeeper>,
    actor: Actor,
    /// That the process is there, until its record is known to be.
    begun: Option<Command>,
    /// What led to the run, for its first record.
    cause: Option<String>,
    /// It was not sent yet; it goes with the end.
    is_begun_kept: bool,
    /// What was recorded, as far as its answer was waited for.
    records: Vec<Record>,
    pub(crate) id: EntityId,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(
        desk: Desk<'a>,
        id: EntityId,
        dir: &Path,
        this: &Identity,
        cause: Option<String>,
    ) -> Self {
        let actor = Actor::new(ActorClass::Supervisor, format!("{}/{}", this.host, this.pid));
        let keeper = EndKeeper::new(id, dir, desk.world);
        Self {
            desk,
            ledger: None,
            was_open: false,
            keeper,
            actor,
            begun: None,
            is_begun_kept: false,
            records: Vec::new(),
            cause,
            id,
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.desk.clock.now()
    }

    pub(crate) const fn world(&self) -> &'a dyn World {
        self.desk.world
    }

    /// A moment on the clock that never jumps.
    pub(crate) fn instant(&self) -> Instant {
        self.desk.world.instant()
    }

    pub(crate) const fn is_shared(&self) -> bool {
        self.desk.is_shared
    }

    fn ledger(&mut self) -> Result<&Ledger, OpenError> {
        let open = match self.ledger.take() {
            Some(ledger) => ledger,
            None if self.was_open => (self.desk.reopen)()?,
            None => (self.desk.open)()?,
        };
        self.was_open = true;
        Ok(self.ledger.insert(open))
    }

    /// What the first record holds, so that an end that is kept can be known by it.
    pub(crate) fn end_key(&self) -> Facts {
        let key = self.keeper.as_ref().map(EndKeeper::public_key);
        key.map_or_else(Facts::none, |key| Facts::none().and(fact::END_KEY, key))
    }

    /// Takes the room for an end that may have to be kept.
    pub(crate) fn reserve(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.reserve(self.desk.world);
        }
    }

    /// Gives that room back.
    fn discard(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.discard(self.desk.world);
        }
    }

    /// Lets go of the store until there is something to write again.
    pub(crate) fn rest(&mut self) {
        self.ledger = None;
    }

    /// Waits until a record is durable.
    pub(crate) fn wait(&mut self, ticket: Ticket) -> Result<(), RecordError> {
        self.records.push(ticket.wait()?.record);
        Ok(())
    }

    /// Queues one record.
    pub(crate) fn submit(&mut self, order: Order) -> Result<Ticket, OpenError> {
        self.send(Command::new(self.id, order))
    }

    fn send(&mut self, command: Command) -> Result<Ticket, OpenError> {
        let request = self.request(command);
        Ok(self.ledger()?.submit(request))
    }

    fn request(&mut self, command: Command) -> Request {
        let cause = self.cause.take();
        Request { command, actor: self.actor.clone(), now: self.now(), cause }
    }

    /// Queues the record that the process is there. The command runs already, so nothing is stopped if the store fails
    /// now; the end makes sure of it.
    pub(crate) fn begin(&mut self, order: Order) -> Option<Ticket> {
        let command = Command { key: Some("begin".to_owned()), ..Command::new(self.id, order) };
        self.begun = Some(command.clone());
        self.send(command).ok()
    }

    /// Keeps the record that the process was there for the end, which follows at once: together they cost one sync.
    pub(crate) fn begin_with_end(&mut self, order: Order) {
        self.begun = Some(Command { key: Some("begin".to_owned()), ..Command::new(self.id, order) });
        self.is_begun_kept = true;
    }

    /// Sends the end, behind what was kept for it, and waits for the answers.
    fn send_end(&mut self, end: Command) -> Result<Receipt, RecordError> {
        let kept = self.begun.clone().filter(|_| self.is_begun_kept);
        let requests = kept.into_iter().chain([end]).map(|command| self.request(command)).collect();
        let tickets = self.ledger()?.submit_together(requests);
        self.is_begun_kept = false;
        let mut answer = Err(AppendError::Fault(Fault::Closed));
        for ticket in tickets {
            answer = ticket.wait();
            self.records.extend(answer.iter().map(|receipt| receipt.record.clone()));
        }
        Ok(answer?)
    }

    /// Queues an observation. What is seen on the way may be lost with the store; the end says it again.
    pub(crate) fn observe(&mut self, data: Facts) -> Option<Ticket> {
        self.submit(Order::Observe(Observe { reasons: Vec::new(), data })).ok()
    }

    /// Writes the end. If the store is busy that may pass; if it cannot be written, the end is kept.
    pub(crate) fn end(&mut self, order: &Order) -> Result<Receipt, Unrecorded> {
        // With a key, because an answer that never came may belong to a record that is there.
        let command = Command { key: Some("end".to_owned()), ..Command::new(self.id, order.clone()) };
        match self.try_to_end(&command) {
            Ok(receipt) => {
                self.discard();
                Ok(receipt)
            }
            Err(because) => {
                let is_lost = is_final(&because) || mutant::removed("ends_are_kept");
                let kept = if is_lost { None } else { Some(self.keep(&command, &because)) };
                Err(Unrecorded { because, kept })
            }
        }
    }

    fn try_to_end(&mut self, command: &Command) -> Result<Receipt, RecordError> {
        let deadline = self.instant() + PATIENCE;
        loop {
            let error = match self.send_end(command.clone()) {
                Ok(receipt) => return Ok(receipt),
                Err(error) => error,
            };
            let may_pass = match &error {
                RecordError::Open(cause) => cause.is_busy(),
                RecordError::Append(AppendError::Fault(fault)) => {
                    matches!(fault, Fault::Busy | Fault::NotWritten(_) | Fault::Unknown(_) | Fault::Closed)
                }
                RecordError::Append(AppendError::Refused(refusal))
                    if refusal.code == RefusalCode::NotFound =>
                {
                    let told = "the store at its path does not know this run".to_owned();
                    return Err(AppendError::Fault(Fault::Replaced(told)).into());
                }
                // Without the record that it began, its end follows from nothing.
                RecordError::Append(AppendError::Refused(_)) => self.begin_again(),
            };
            if !may_pass || self.instant() >= deadline {
                return Err(error);
            }
            self.rest();
            self.desk.world.sleep(PAUSE);
        }
    }

    /// Sends the record that it began once more; is there anything to hope for?
    fn begin_again(&mut self) -> bool {
        let Some(begun) = self.begun.take() else { return false };
        let again = self.send(begun.clone()).map_err(RecordError::from);
        let again = again.and_then(|ticket| Ok(ticket.wait()?));
        // If that is refused too, somebody else has ended the run.
        if !matches!(again, Ok(_) | Err(RecordError::Append(AppendError::Refused(_)))) {
            self.begun = Some(begun);
        }
        true
    }

    /// Keeps the end, and that the process was there, if that may not be recorded either.
    fn keep(&mut self, end: &Command, because: &RecordError) -> io::Result<PathBuf> {
        let none = || io::Error::other("there was no randomness for a key");
        let keeper = self.keeper.as_ref().ok_or_else(none)?;
        let moves: Vec<Command> = self.begun.iter().chain([end]).cloned().collect();
        keeper.keep(&moves, self.desk.clock.now(), &error_chain(because), self.desk.world)
    }

    /// The run as it would be if its end were recorded.
    pub(crate) fn imagined(&self, end: &Order) -> Option<Stored> {
        let prefix = self.records.iter().zip(1..).take_while(|(record, version)| record.version == *version);
        let known: Vec<Record> = prefix.map(|(record, _)| record.clone()).collect();
        let mut stored = Stored::told_by(&known)?;
        let end = Command::new(self.id, end.clone());
        for command in self.begun.iter().cloned().chain([end]) {
            let command = Command { key: None, ..command };
            let context = Context::new(&self.actor, self.desk.clock.now());
            if let Ok(Decision::Record(event)) = decide(&stored.entity, command, &context) {
                stored.entity.apply(&event).ok()?;
            }
        }
        stored.entity.ended_at.is_some().then_some(stored)
    }

    /// The run as its own records say, if they are all there are; as the store says otherwise.
    pub(crate) fn ended(&mut self) -> Option<Stored> {
        Stored::told_by(&self.records).or_else(|| self.stored(self.id))
    }

    /// Lets a failure spread as far as the policy of the parent says.
    pub(crate) fn escalate(&mut self, ended: &Stored) {
        let now = self.now();
        if ended.entity.facts.known(fact::PARENT).is_some()
            && let Ok(ledger) = self.ledger()
        {
            drop(escalate(ledger, ended, now));
        }
    }

    /// A run as it is recorded.
    pub(crate) fn stored(&mut self, id: EntityId) -> Option<Stored> {
        self.ledger().ok()?.entity(id).ok()?
    }
}

/// Does the store have another end, so that this one would never be recorded?
const fn is_final(error: &RecordError) -> bool {
    matches!(error, RecordError::Append(AppendError::Refused(_)))
}
