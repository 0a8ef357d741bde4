//! What a run writes down, and when: through a ledger that is open only while there is something to write.
//!
//! Invariant: an end is written if the store can be written at all within the patience; what cannot be is told to the
//! caller, never dropped silently. A supervisor that only waits keeps no store open, because hundreds may wait.

use std::time::{Duration, Instant};

use callboard_kernel::{Actor, Command, EntityId, Facts, Moment, Observe, Order};
use callboard_ledger::{AppendError, Fault, Ledger, OpenError, Receipt, Record, Request, Stored, Ticket};
use callboard_lifecycle::ActorClass;
use callboard_supervisor::Identity;

/// How long an end is tried to be written.
const PATIENCE: Duration = Duration::from_secs(60);
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
    /// Opens the store.
    pub open: &'a dyn Fn() -> Result<Ledger, OpenError>,
    /// Tells the time.
    pub clock: &'a dyn Clock,
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

/// Writes the records of one run.
pub(crate) struct Recorder<'a> {
    desk: Desk<'a>,
    ledger: Option<Ledger>,
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
    pub(crate) fn new(desk: Desk<'a>, id: EntityId, this: &Identity, cause: Option<String>) -> Self {
        let actor = Actor::new(ActorClass::Supervisor, format!("{}/{}", this.host, this.pid));
        Self { desk, ledger: None, actor, begun: None, is_begun_kept: false, records: Vec::new(), cause, id }
    }

    pub(crate) fn now(&self) -> Moment {
        self.desk.clock.now()
    }

    pub(crate) const fn is_shared(&self) -> bool {
        self.desk.is_shared
    }

    fn ledger(&mut self) -> Result<&Ledger, OpenError> {
        let open = match self.ledger.take() {
            Some(ledger) => ledger,
            None => (self.desk.open)()?,
        };
        Ok(self.ledger.insert(open))
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

    /// Writes the end, with patience: a full disk or a busy store may pass.
    pub(crate) fn end(&mut self, order: &Order) -> Result<Receipt, RecordError> {
        let deadline = Instant::now() + PATIENCE;
        // With a key, because an answer that never came may belong to a record that is there.
        let command = Command { key: Some("end".to_owned()), ..Command::new(self.id, order.clone()) };
        loop {
            let error = match self.send_end(command.clone()) {
                Ok(receipt) => return Ok(receipt),
                Err(error) => error,
            };
            let may_pass = match &error {
                RecordError::Open(_) => true,
                RecordError::Append(AppendError::Fault(fault)) => !matches!(fault, Fault::Corrupt(_)),
                // Without the record that it began, its end follows from nothing.
                RecordError::Append(AppendError::Refused(_)) => match self.begun.take() {
                    Some(begun) => {
                        let again = self.send(begun.clone()).map_err(RecordError::from);
                        let again = again.and_then(|ticket| Ok(ticket.wait()?));
                        // If that is refused too, somebody else has ended the run.
                        if !matches!(again, Ok(_) | Err(RecordError::Append(AppendError::Refused(_)))) {
                            self.begun = Some(begun);
                        }
                        true
                    }
                    None => false,
                },
            };
            if !may_pass || Instant::now() >= deadline {
                return Err(error);
            }
            self.rest();
            std::thread::sleep(PAUSE);
        }
    }

    /// The run as its own records say, if they are all there are; as the store says otherwise.
    pub(crate) fn ended(&mut self) -> Option<Stored> {
        Stored::told_by(&self.records).or_else(|| self.stored(self.id))
    }

    /// A run as it is recorded.
    pub(crate) fn stored(&mut self, id: EntityId) -> Option<Stored> {
        self.ledger().ok()?.entity(id).ok()?
    }
}
