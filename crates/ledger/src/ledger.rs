//! The handle: commands go in, durable records come out, questions are answered beside.
//!
//! Invariant: one writer thread a process; it commits everything that is queued in one transaction, so many callers
//! cost one sync. The queue is bounded: a caller waits instead of filling the memory. Deliberately absent: SQL.
//!
//! Long because the handle is one type, and each thing that it is asked for is a short function of it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callboard_kernel::{Entity, EntityId, Moment, RefusalCode};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, Words};

use crate::address;
use crate::engine::{Ask, Commit};
use crate::error::{AppendError, Fault, GroupError, NotReady, OpenError, ReadError};
use crate::lease::Clock;
use crate::memory::{self, Memory};
use crate::postgres;
use crate::proof::leased;
use crate::proof::verify::{self, Problem, Report, Trust};
use crate::proof::witness::{self, SealedRoot, Witness};
use crate::reading::fold;
use crate::reading::views::Share;
use crate::record::{Hash, Record};
use crate::sqlite::{Reader, StoreFile, Writer};
use crate::store::{Info, Job, Listing, Page, Receipt, RecordScope, Request, Slice, StateCount, Stored};
use crate::writing::batch::Anchor;
use crate::writing::claim::Claim;
use crate::writing::group::Group;
use crate::writing::ticket::{self, GroupTicket, Ticket};
use crate::writing::wake_up::WakeUp;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a writer waits for another process before it gives up.
    pub busy_wait: Duration,
    /// How many commands may wait; a caller beyond that waits itself.
    pub queue_max: usize,
    /// How many commands share one transaction at the most.
    pub batch_max: usize,
    /// Where the key lies that signs checkpoints. Unset, it lies beside a store that is a file; on a server nothing
    /// is signed then.
    pub key_path: Option<PathBuf>,
    /// Is a store that is a file made if there is none?
    pub create: bool,
    /// By which clock a store that is a file judges leases; a server has its own.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_wait: Duration::from_secs(10),
            queue_max: 4096,
            batch_max: 512,
            key_path: None,
            create: true,
            clock: Clock::default(),
        }
    }
}

/// A store, open for commands and questions. Clones share it; it closes when the last one is dropped.
#[derive(Clone)]
pub struct Ledger(Arc<Inside>);

struct Inside {
    path: PathBuf,
    queue: Queue,
    writer: Mutex<Option<JoinHandle<()>>>,
    reader: Box<dyn Ask>,
    wake_up: Arc<WakeUp>,
    health: Arc<WriteHealth>,
    /// What remembers outside of the store how far it was sealed.
    witness: Option<Arc<Witness>>,
    /// Who writes if it comes to that, for a handle that was opened to read.
    later: Option<Later>,
}

/// Where commands go.
enum Queue {
    /// Nowhere: it was opened to read.
    None,
    /// To the thread that writes.
    Thread(SyncSender<Job>),
    /// To a writer that the caller drives itself, so that nothing happens but what the caller does.
    Direct(Mutex<Box<dyn Commit>>),
}

/// A writer that is opened with the first command; nothing if it cannot be.
struct Later {
    store: String,
    options: Options,
    opened: OnceLock<Option<Ledger>>,
}

impl Ledger {
    /// Opens a store by its URL if it is on a PostgreSQL server, and by its path otherwise.
    pub fn connect(store: &str, options: Options) -> Result<Self, OpenError> {
        if let Some(scheme) = address::unknown_scheme(store) {
            return Err(OpenError::Scheme { scheme: scheme.to_owned() });
        }
        if !address::is_server(store) {
            return Self::open(Path::new(store), options);
        }
        let place = postgres::StoreServer::parse(store, options.busy_wait)?;
        let reader = postgres::Reader::new(place.clone(), options.key_path.clone())?;
        let path = PathBuf::from(place.shown());
        // Opening blocks on a runtime of its own, which the caller's thread may not do if it belongs to another one.
        let writer = std::thread::scope(|scope| {
            let opening = scope.spawn(|| postgres::Writer::new(place, options.key_path.as_deref()));
            opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let second = options.key_path.as_deref().map(|key| witness::path_of(key, path.to_str()));
        Self::start(path, writer, Box::new(reader), &options, second)
    }

    /// Opens the store at `path`, making it if it is not there.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_place(StoreFile::new(path, options.busy_wait), options)
    }

    /// Opens a store for questions alone, by its URL or its path. Nothing is made, locked, brought up to date or recorded: a
    /// store that is a file may lie where nothing can be written, and a role on a server needs no more than SELECT. A
    /// command is answered with a fault.
    pub fn open_reader(store: &str, options: &Options) -> Result<Self, OpenError> {
        Self::read_alone(store, options, None)
    }

    /// The same for somebody who seldom has to record what is seen: the first command opens the store for writing.
    pub fn open_lazily(store: &str, options: &Options) -> Result<Self, OpenError> {
        let writing = Options { create: false, ..options.clone() };
        let later = Later { store: store.to_owned(), options: writing, opened: OnceLock::new() };
        Self::read_alone(store, options, Some(later))
    }

    fn read_alone(store: &str, options: &Options, later: Option<Later>) -> Result<Self, OpenError> {
        if let Some(scheme) = address::unknown_scheme(store) {
            return Err(OpenError::Scheme { scheme: scheme.to_owned() });
        }
        let (path, reader, second): (PathBuf, Box<dyn Ask>, _) = if address::is_server(store) {
            let place = postgres::StoreServer::parse(store, options.busy_wait)?;
            let path = PathBuf::from(place.shown());
            let reader = postgres::Reader::new(place, options.key_path.clone())?;
            reader.check_format()?;
            let second = options.key_path.as_deref().map(|key| witness::path_of(key, path.to_str()));
            (path, Box::new(reader), second)
        } else {
            let place = StoreFile::new(Path::new(store), options.busy_wait)
                .sealed_by(options.key_path.clone())
                .judged_by(options.clock.clone());
            let second = place.second_place();
            (place.path.clone(), Box::new(Reader::alone(place.existing())?), second)
        };
        let failed = |source| OpenError::Seal { path: path.clone(), source: Box::new(source) };
        let witness =
            second.map(|second| Witness::open(second, reader.as_ref())).transpose().map_err(failed)?;
        Ok(Self(Arc::new(Inside {
            path,
            queue: Queue::None,
            writer: Mutex::new(None),
            reader,
            wake_up: Arc::default(),
            health: Arc::default(),
            witness: witness.map(Arc::new),
            later,
        })))
    }

    /// Opens the store on a file system that was registered with SQLite under a name.
    #[cfg(feature = "mutants")]
    pub fn open_on(path: &Path, options: Options, vfs: &str) -> Result<Self, OpenError> {
        Self::open_place(StoreFile::new(path, options.busy_wait).on(vfs), options)
    }

    fn open_place(place: StoreFile, options: Options) -> Result<Self, OpenError> {
        let place = place.sealed_by(options.key_path.clone()).judged_by(options.clock.clone());
        let place = if options.create { place } else { place.existing() };
        let (writer, presence, pinned) = Writer::new(place.clone())?;
        let second = place.second_place();
        let path = place.path.clone();
        Self::start(path, writer, Box::new(Reader::new(place, pinned, presence)), &options, second)
    }

    fn start(
        path: PathBuf,
        mut writer: impl Commit + 'static,
        reader: Box<dyn Ask>,
        options: &Options,
        second: Option<PathBuf>,
    ) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Seal { path: path.clone(), source: Box::new(source) };
        let witness =
            second.map(|second| Witness::open(second, reader.as_ref())).transpose().map_err(failed)?;
        let witness = witness.map(Arc::new);
        if let Some(witness) = &witness {
            writer.watched_by(Arc::clone(witness));
        }
        let batch_max = options.batch_max;
        let (queue, jobs) = sync_channel(options.queue_max);
        let wake_up = Arc::new(WakeUp::default());
        let woken = Arc::clone(&wake_up);
        let health = Arc::new(WriteHealth::default());
        let told = Arc::clone(&health);
        let thread = std::thread::Builder::new().name("ledger-writer".to_owned());
        let handle = thread
            .spawn(move || {
                drain(&jobs, batch_max, |batch| {
                    told.set(writer.commit(batch));
                    woken.send();
                });
            })
            .map_err(|source| OpenError::Directory { path: path.clone(), source })?;
        Ok(Self(Arc::new(Inside {
            path,
            queue: Queue::Thread(queue),
            writer: Mutex::new(Some(handle)),
            reader,
            wake_up,
            health,
            witness,
            later: None,
        })))
    }

    /// Opens a store in memory, with a thread that writes, as the other engines have.
    pub fn of_memory(memory: &Memory, options: &Options) -> Result<Self, OpenError> {
        let writer = memory::Writer::new(memory, options.busy_wait);
        Self::start(memory.path(), writer, Box::new(memory::Reader::new(memory)), options, None)
    }

    /// Opens a store in memory without a thread: a command is durable or refused when the call that sends it returns, and a wait
    /// for the log to grow ends at once.
    #[must_use]
    pub fn direct(memory: &Memory) -> Self {
        let writer = memory::Writer::new(memory, Duration::ZERO);
        let queue = Queue::Direct(Mutex::new(Box::new(writer)));
        Self::without_thread(memory, queue, Box::new(memory::Reader::alone(memory)))
    }

    /// Opens a copy of a store in memory that lags behind as the medium says.
    #[must_use]
    pub fn standby(memory: &Memory) -> Self {
        Self::without_thread(memory, Queue::None, Box::new(memory::Reader::standby(memory)))
    }

    fn without_thread(memory: &Memory, queue: Queue, reader: Box<dyn Ask>) -> Self {
        Self(Arc::new(Inside {
            path: memory.path(),
            queue,
            writer: Mutex::new(None),
            reader,
            wake_up: Arc::default(),
            health: Arc::default(),
            witness: None,
            later: None,
        }))
    }

    /// Queues a command; the ticket is answered when it is durable or refused.
    pub fn submit(&self, request: Request) -> Ticket {
        let (reply, ticket) = ticket::pair();
        self.send([Job::new(request, reply)]);
        ticket
    }

    /// Queues several commands at once, in their order, so that they share one sync if nothing else fills the batch.
    pub fn submit_together(&self, requests: Vec<Request>) -> Vec<Ticket> {
        let prepared = requests.into_iter().map(|request| {
            let (reply, ticket) = ticket::pair();
            (Job::new(request, reply), ticket)
        });
        // All of them are made before the first is sent, because the writer does not wait for the second.
        let (jobs, tickets): (Vec<Job>, Vec<Ticket>) = prepared.unzip();
        self.send(jobs);
        tickets
    }

    /// Queues a group; the ticket is answered when all of it is durable, or none of it will be.
    pub fn submit_group(&self, group: Group) -> GroupTicket {
        let (reply, ticket) = ticket::pair();
        self.send(Job::group(group, reply));
        GroupTicket::of(ticket)
    }

    fn send(&self, jobs: impl IntoIterator<Item = Job>) {
        match &self.0.queue {
            // If the writer has ended, sending fails and drops the job with its reply channel; the caller then reads "closed".
            Queue::Thread(queue) => jobs.into_iter().for_each(|job| drop(queue.send(job))),
            Queue::Direct(writer) => {
                let became = {
                    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                    writer.commit(jobs.into_iter().collect())
                };
                self.0.health.set(became);
                self.0.wake_up.send();
            }
            Queue::None => match self.0.later.as_ref().and_then(Later::writer) {
                Some(writer) => writer.send(jobs),
                None => {
                    let fault = Fault::ReadOnly("it was opened for reading".to_owned());
                    jobs.into_iter().for_each(|job| job.reply.answer(Err(fault.clone().into())));
                }
            },
        }
    }

    /// Records all commands of a group in one transaction, or none of them; returns after the sync.
    pub fn append_group(&self, group: Group) -> Result<Vec<Receipt>, GroupError> {
        self.submit_group(group).wait()
    }

    /// Claims a task: picks one that fits and records the group about it, in one transaction. Nothing if none fits.
    pub fn claim_next(&self, claim: Claim) -> Result<Option<Vec<Receipt>>, GroupError> {
        let (reply, ticket) = ticket::pair();
        self.send(Job::claim(claim, reply));
        match GroupTicket::of(ticket).wait() {
            Ok(receipts) => Ok(Some(receipts)),
            Err(GroupError::Refused { refusal, .. }) if refusal.code == RefusalCode::NothingOffered => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Records a command, or says why not; returns after the sync.
    pub fn append(&self, request: Request) -> Result<Receipt, AppendError> {
        self.submit(request).wait()
    }

    /// Can the store be read and written, and does it hold what this process has written? If the last write failed, or none
    /// was tried for a while, a write that changes nothing is tried. The error says why not.
    pub fn ready(&self) -> Result<(), NotReady> {
        let after = |seq: u64| Page { after: seq, limit: 1, scope: RecordScope::All };
        match self.0.health.anchor() {
            None => drop(self.head().map_err(NotReady::of_reading)?),
            Some((seq, hash)) => {
                let found = self.records(after(seq - 1)).map_err(NotReady::of_reading)?;
                if found.first().map(|record| record.hash) != Some(hash) {
                    return Err(NotReady::Replaced(format!("the log does not hold record {seq} any more")));
                }
            }
        }
        if self.0.health.is_trusted() {
            return Ok(());
        }
        let probed = self.0.reader.probe();
        self.0.health.probed(probed.is_ok());
        probed.map_err(NotReady::of_writing)
    }

    /// The sequence number of the newest record; 0 if there is none.
    pub fn head(&self) -> Result<u64, ReadError> {
        self.0.reader.head()
    }

    /// Waits until there is a record after `seq`, whoever writes it, or until the time is up; gives back the newest.
    ///
    /// Whoever follows the log calls this and then reads what comes after the last record it has. A server that is
    /// away is waited for as in every question, so the call can take longer than it was given.
    pub fn wait_beyond(&self, seq: u64, timeout: Duration) -> Result<u64, ReadError> {
        self.0.reader.wait_beyond(seq, Instant::now() + timeout, &self.0.wake_up)
    }

    /// One entity as it stands.
    pub fn entity(&self, id: EntityId) -> Result<Option<Stored>, ReadError> {
        self.0.reader.entity(id)
    }

    /// Some entities as they stand on one snapshot, in the order of the ids: one question.
    pub fn each_of<const N: usize>(&self, ids: [EntityId; N]) -> Result<[Option<Stored>; N], ReadError> {
        let mut found = self.0.reader.each_of(&ids)?.into_iter();
        Ok(ids.map(|_| found.next().flatten()))
    }

    /// How many tasks have ended in each state. The store keeps the numbers, so history costs nothing.
    pub fn ended_counts(&self) -> Result<Vec<(String, u64)>, ReadError> {
        self.0.reader.ended_counts()
    }

    /// Tasks that ended in a state, the newest first, from behind one of them on.
    pub fn ended_tasks(
        &self,
        state: TaskState,
        beyond: Option<EntityId>,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.0.reader.ended_tasks(state.name(), beyond, limit)
    }

    /// One entity as it stood after the record `seq`: the same fold, over the records up to there.
    pub fn entity_at(&self, id: EntityId, seq: u64) -> Result<Option<Stored>, ReadError> {
        let mut stored: Option<Stored> = None;
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        for record in self.records(page)?.into_iter().take_while(|record| record.seq <= seq) {
            let entity = stored.get_or_insert_with(|| Stored::unborn(id));
            entity.follow(&record)?;
        }
        Ok(stored)
    }

    /// Entities as they stand, newest first.
    pub fn entities(&self, listing: Listing) -> Result<Vec<Stored>, ReadError> {
        self.0.reader.entities(listing)
    }

    /// A piece of a long listing of entities as they stand, in the order of their ids.
    pub fn slice(&self, slice: Slice) -> Result<Vec<Stored>, ReadError> {
        self.0.reader.slice(slice)
    }

    /// How many entities stand in each state, and the newest record that counts in it.
    pub fn standings(&self) -> Result<(u64, Vec<StateCount>), ReadError> {
        self.0.reader.standings()
    }

    /// Entities as they stood after the record `seq`, newest first.
    pub fn entities_at(&self, listing: Listing, seq: u64) -> Result<Vec<Stored>, ReadError> {
        let (folds, last) = fold::of_log(self.reader(), seq)?;
        let mut folded = Share::whole(folds, last).settle()?;
        folded.retain(|stored| {
            let Entity { state, ended_at, .. } = &stored.entity;
            listing.kind.is_none_or(|kind| kind == state.id.kind()) && (listing.ended || ended_at.is_none())
        });
        folded.reverse();
        if listing.limit > 0 {
            folded.truncate(listing.limit);
        }
        Ok(folded)
    }

    /// What needs somebody by what is stored, the most urgent and oldest first.
    pub fn attention(&self, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.0.reader.attention(limit)
    }

    /// Records in the order of the log.
    pub fn records(&self, page: Page) -> Result<Vec<Record>, ReadError> {
        self.0.reader.records(page)
    }

    /// The newest record decided at or before a moment.
    pub fn seq_at(&self, moment: Moment) -> Result<u64, ReadError> {
        self.0.reader.seq_at(moment)
    }

    /// The ids of a kind whose bits lie between two bounds.
    pub fn between(
        &self,
        kind: Kind,
        low: u128,
        high: u128,
        limit: usize,
    ) -> Result<Vec<EntityId>, ReadError> {
        self.0.reader.between(kind, low, high, limit)
    }

    /// Checks the whole log: hashes, decisions, seals, views, the schema, and what the second place remembers.
    pub fn verify(&self) -> Result<Report, ReadError> {
        self.verify_against(&Trust::default())
    }

    /// The same, measured by what somebody kept elsewhere.
    pub fn verify_against(&self, trust: &Trust) -> Result<Report, ReadError> {
        let mut report = verify::verify(self.0.reader.as_ref(), trust)?;
        report.extend(leased::problems(self.0.reader.as_ref())?);
        report.extend(self.doubt().map(|doubt| Problem::of_doubt(&doubt)));
        Ok(report)
    }

    /// What contradicts the second place that remembers how far this store was sealed, if anything does.
    pub fn doubt(&self) -> Option<String> {
        self.0.witness.as_ref().and_then(|witness| witness.doubt())
    }

    /// Takes the store as it is for the true one, after it was restored or put back on purpose.
    pub fn accept(&self) -> Result<(), ReadError> {
        match &self.0.witness {
            Some(witness) => Ok(witness.accept(self.root()?.as_ref())?),
            None => Ok(()),
        }
    }

    /// How far the log is sealed; nothing if nothing in it is.
    pub fn root(&self) -> Result<Option<SealedRoot>, ReadError> {
        SealedRoot::newest(self.0.reader.as_ref())
    }

    /// Drops the views and folds them anew from the log.
    pub fn rebuild(&self) -> Result<(), ReadError> {
        self.check_writes()?;
        let (folds, last) = fold::of_log(self.reader(), u64::MAX)?;
        self.0.reader.rebuild(Share::whole(folds, last))
    }

    /// What the store says of itself.
    pub fn info(&self) -> Result<Info, ReadError> {
        self.0.reader.info()
    }

    /// Copies the store as it is at one moment, while others write.
    pub fn backup(&self, to: &Path) -> Result<(), ReadError> {
        self.0.reader.backup(to)
    }

    /// Is the database itself sound? `None` means yes.
    pub fn integrity(&self) -> Result<Option<String>, ReadError> {
        self.0.reader.integrity()
    }

    /// Settings of the database server, as name and value, on which it depends whether what was answered survives a crash:
    /// as the server has them, whatever the sessions of this program ask for. None for a store that is a file.
    pub fn durability(&self) -> Result<Vec<(String, String)>, ReadError> {
        self.0.reader.durability()
    }

    /// Gives back the space that is not needed.
    pub fn vacuum(&self) -> Result<(), ReadError> {
        self.check_writes()?;
        self.0.reader.vacuum()
    }

    /// Was it opened by somebody who writes?
    pub(crate) fn check_writes(&self) -> Result<(), ReadError> {
        match self.0.queue {
            Queue::Thread(_) | Queue::Direct(_) => Ok(()),
            Queue::None => Err(ReadError::Unsupported {
                what: "being written by a process that opened it for reading",
                instead: "use a command that writes",
            }),
        }
    }

    /// The handle that writes: this one, or the one that is opened with the first command.
    pub(crate) fn writer(&self) -> Result<&Self, ReadError> {
        match self.0.later.as_ref().and_then(Later::writer) {
            Some(writer) => Ok(writer),
            None => self.check_writes().map(|()| self),
        }
    }

    pub(crate) fn reader(&self) -> &dyn Ask {
        self.0.reader.as_ref()
    }

    /// Is the store on a server, so that other users and other hosts may write it?
    pub fn is_shared(&self) -> bool {
        self.0.path.to_str().is_some_and(address::is_server)
    }

    /// Where the store is: its path, or its URL without the password.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Later {
    fn writer(&self) -> Option<&Ledger> {
        let open = || Ledger::connect(&self.store, self.options.clone()).ok();
        self.opened.get_or_init(open).as_ref()
    }
}

/// What became of the last write.
#[derive(Default)]
struct WriteHealth(Mutex<LastWrite>);

#[derive(Default)]
struct LastWrite {
    /// The newest record that was acknowledged.
    anchor: Anchor,
    /// When the store was last seen to take a write; nothing if it did not take the last one.
    worked_at: Option<Instant>,
}

/// For so long a write that worked shows that the next one will.
const TRUSTED_FOR: Duration = Duration::from_secs(5);

impl WriteHealth {
    fn set(&self, became: Result<Anchor, Fault>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.worked_at = became.is_ok().then(Instant::now);
        last.anchor = became.unwrap_or(last.anchor);
    }

    fn probed(&self, worked: bool) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.worked_at = worked.then(Instant::now);
    }

    fn anchor(&self) -> Option<(u64, Hash)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).anchor.newest()
    }

    fn is_trusted(&self) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.worked_at.is_some_and(|at| at.elapsed() < TRUSTED_FOR)
    }
}

/// Takes the first job and everything that is queued behind it, up to the limit, until every sender is gone.
fn drain(jobs: &Receiver<Job>, batch_max: usize, mut commit: impl FnMut(Vec<Job>)) {
    while let Ok(first) = jobs.recv() {
        let mut commands = first.parts.len();
        let mut batch = vec![first];
        while commands < batch_max
            && let Ok(next) = jobs.try_recv()
        {
            commands += next.parts.len();
            batch.push(next);
        }
        commit(batch);
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(std::mem::replace(&mut self.queue, Queue::None));
        let handle = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = handle
            && handle.join().is_err()
        {
            // The writer's panic was printed when it happened; there is nobody left to tell.
        }
        if let Some(witness) = &self.witness {
            witness.close();
        }
    }
}
