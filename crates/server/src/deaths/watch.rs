//! The descriptors that are held: which process of which runs each of them is, and which of them became ready.
//!
//! Invariant: no more are held than half of what this process may open, so that connections find room; those of whom
//! none is held are counted and can be tried again. Deliberately absent: what an end means.

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use callboard_engine::descriptor;
use callboard_kernel::EntityId;
use callboard_kernel::health::ProcessIdentity;
use rustix::event::{Timespec, epoll};
use rustix::process::{Resource, getrlimit};

use super::bell::Bell;

/// Descriptors at the most, however many this process may open.
const HELD_MAX: usize = 16_384;
/// Ends that are read at once.
const READY: usize = 64;
/// Runs that are tried again at once.
const AGAIN_MAX: usize = 64;
/// The number of the bell among the descriptors.
const BELL: u64 = 0;

/// A process of a run that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) run: EntityId,
    pub(super) pid: u32,
}

/// The processes of the live runs of this host.
pub(super) struct Watch {
    poll: OwnedFd,
    bell: Arc<Bell>,
    held: HashMap<u64, Held>,
    /// The number of the descriptor of a process; several runs may have one supervisor.
    numbers: HashMap<Key, u64>,
    runs: HashMap<EntityId, Vec<(Key, Watched)>>,
    /// Those of the runs that have ended by the log.
    after_end: HashSet<EntityId>,
    next: u64,
    most: usize,
}

/// A process of this boot: its pid and its start time.
type Key = (u32, u64);

struct Held {
    process: ProcessIdentity,
    runs: Vec<EntityId>,
    descriptor: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    /// Under this number.
    Held(u64),
    /// There was no descriptor for it.
    Not,
    /// It ended, or cannot be seen from here.
    Over,
}

/// How many processes a server can watch that may open as many files as this process may.
pub fn watchable() -> usize {
    let open = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize);
    (open / 2).min(HELD_MAX)
}

const fn key(process: &ProcessIdentity) -> Key {
    (process.pid, process.started_ticks)
}

impl Watch {
    pub(super) fn new(bell: Arc<Bell>) -> io::Result<Self> {
        Self::of(bell, watchable())
    }

    fn of(bell: Arc<Bell>, most: usize) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &*bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        let (held, numbers, runs, after_end) = Default::default();
        Ok(Self { poll, bell, held, numbers, runs, after_end, next: BELL + 1, most })
    }

    /// Watches the processes of a run, the one that answers for it first, and says which of them have ended already.
    pub(super) fn keep(&mut self, run: EntityId, processes: Vec<ProcessIdentity>) -> Vec<Ended> {
        let mut ended = Vec::new();
        for (place, process) in processes.into_iter().enumerate() {
            // Whoever answers for a run goes before what others run.
            let most = if place == 0 { self.most } else { self.most / 2 };
            let known = self.runs.get(&run).into_iter().flatten().find(|(its, _)| *its == key(&process));
            if known.is_some_and(|(_, watched)| *watched != Watched::Not) {
                continue;
            }
            let watched = match self.hold(run, &process, most) {
                Ok(Some(number)) => Watched::Held(number),
                Ok(None) => {
                    ended.push(Ended { run, pid: process.pid });
                    Watched::Over
                }
                // Who cannot be seen from here is nobody of ours.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => Watched::Over,
                Err(_) => Watched::Not,
            };
            let its = self.runs.entry(run).or_default();
            its.retain(|(known, _)| *known != key(&process));
            its.push((key(&process), watched));
        }
        ended
    }

    /// Watches no others of a run that has ended than these, which live on, and says which of them have ended already.
    pub(super) fn keep_after_end(&mut self, run: EntityId, processes: Vec<ProcessIdentity>) -> Vec<Ended> {
        self.release(run);
        if processes.is_empty() {
            return Vec::new();
        }
        self.after_end.insert(run);
        self.keep(run, processes)
    }

    /// Is it watched although it has ended by the log?
    pub(super) fn is_after_end(&self, run: EntityId) -> bool {
        self.after_end.contains(&run)
    }

    /// Lets go of the processes of a run.
    pub(super) fn release(&mut self, run: EntityId) {
        self.after_end.remove(&run);
        for (_, watched) in self.runs.remove(&run).unwrap_or_default() {
            let Watched::Held(number) = watched else { continue };
            let Some(held) = self.held.get_mut(&number) else { continue };
            held.runs.retain(|its| *its != run);
            if held.runs.is_empty() {
                self.let_go(number);
            }
        }
    }

    /// Some runs of which a process is without a descriptor, if there is room for one.
    pub(super) fn waiting(&self) -> Vec<EntityId> {
        let room = self.most.saturating_sub(self.held.len()).min(AGAIN_MAX);
        let waits = |all: &&Vec<(Key, Watched)>| all.iter().any(|(_, watched)| *watched == Watched::Not);
        let waiting = self.runs.iter().filter(|(_, all)| waits(all)).map(|(run, _)| *run);
        waiting.take(room).collect()
    }

    /// How many processes are held, and how many are not.
    pub(super) fn counts(&self) -> (u64, u64) {
        let all = self.runs.values().flatten();
        (self.held.len() as u64, all.filter(|(_, watched)| *watched == Watched::Not).count() as u64)
    }

    /// Waits until somebody ends or the bell rings, and says who ended.
    pub(super) fn wait(&mut self, within: Option<Duration>) -> io::Result<Vec<Ended>> {
        let within = within.map(|within| Timespec {
            tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: within.subsec_nanos().into(),
        });
        let mut ready = [MaybeUninit::uninit(); READY];
        let numbers: Vec<u64> = match epoll::wait(&self.poll, &mut ready, within.as_ref()) {
            Ok((ready, _)) => ready.iter().map(|event| event.data.u64()).collect(),
            Err(rustix::io::Errno::INTR) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(numbers.into_iter().flat_map(|number| self.ready(number)).collect())
    }

    fn ready(&mut self, number: u64) -> Vec<Ended> {
        if number == BELL {
            self.bell.silence();
        }
        let Some(held) = self.let_go(number) else { return Vec::new() };
        for run in &held.runs {
            let its = self.runs.get_mut(run).into_iter().flatten();
            its.filter(|(_, watched)| *watched == Watched::Held(number))
                .for_each(|(_, watched)| *watched = Watched::Over);
        }
        held.runs.iter().map(|run| Ended { run: *run, pid: held.process.pid }).collect()
    }

    fn let_go(&mut self, number: u64) -> Option<Held> {
        let held = self.held.remove(&number)?;
        self.numbers.remove(&key(&held.process));
        // Closing it would be enough, were it not for children that are between fork and exec and still have it.
        epoll::delete(&self.poll, &held.descriptor).ok();
        Some(held)
    }

    /// Holds a descriptor of a process, under a number; nothing if it has ended.
    fn hold(&mut self, run: EntityId, process: &ProcessIdentity, most: usize) -> io::Result<Option<u64>> {
        let known = self.numbers.get(&key(process)).copied();
        if let Some(number) = known
            && let Some(held) = self.held.get_mut(&number).filter(|held| held.process == *process)
        {
            held.runs.push(run);
            return Ok(Some(number));
        }
        if self.held.len() >= most {
            return Err(io::Error::other("as many descriptors are held as may be"));
        }
        let Some(descriptor) = descriptor(process)? else { return Ok(None) };
        let number = self.next;
        let data = epoll::EventData::new_u64(number);
        epoll::add(&self.poll, &descriptor, data, epoll::EventFlags::IN)?;
        self.held.insert(number, Held { process: process.clone(), runs: vec![run], descriptor });
        self.numbers.insert(key(process), number);
        self.next += 1;
        Ok(Some(number))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use callboard_engine::TriageInput;
    use callboard_kernel::{Entity, Facts, State, Value};
    use callboard_ledger::{Hash, Stored};
    use callboard_lifecycle::Kind;
    use callboard_lifecycle::session::SessionState;
    use callboard_supervisor::process;
    use uuid::Uuid;

    use super::*;

    /// A process that is the supervisor of a run.
    struct Supervisor {
        run: EntityId,
        child: Child,
    }

    impl Supervisor {
        #[expect(clippy::disallowed_methods, reason = "a test ends the process it starts")]
        fn start(number: u128) -> Self {
            let run = EntityId::new(Kind::Session, Uuid::from_u128(number));
            Self { run, child: Command::new("sleep").arg("600").spawn().unwrap() }
        }

        fn processes(&self) -> Vec<ProcessIdentity> {
            let process = process::of(self.child.id()).unwrap().unwrap();
            let supervisor = Facts::none()
                .with("pid", i64::from(process.pid))
                .with("started_ticks", i64::try_from(process.started_ticks).unwrap());
            let facts = Facts::none()
                .with("host", process.host.as_str())
                .with("boot", process.boot.as_str())
                .with("supervisor", Value::Map(supervisor));
            let state = State { id: self.run, version: 1, lifecycle: Some(SessionState::Running.into()) };
            let entity = Entity {
                state,
                created_at: None,
                started_at: None,
                entered_at: None,
                ended_at: None,
                last_activity_at: None,
                reasons: Vec::new(),
                facts,
            };
            TriageInput::of(&Stored { entity, state_seq: 1, last_seq: 1, head: Hash([0; 32]) }).processes()
        }

        fn ended(&self) -> Ended {
            Ended { run: self.run, pid: self.child.id() }
        }
    }

    impl Drop for Supervisor {
        fn drop(&mut self) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }

    fn watch(most: usize) -> Watch {
        Watch::of(Arc::new(Bell::new().unwrap()), most).unwrap()
    }

    #[test]
    fn an_end_is_told_once_and_the_bell_wakes() {
        let (mut watch, mut one, other) = (watch(9), Supervisor::start(1), Supervisor::start(2));
        for supervisor in [&one, &other] {
            assert_eq!(watch.keep(supervisor.run, supervisor.processes()), []);
        }
        assert_eq!(watch.counts(), (2, 0));
        watch.bell.ring();
        assert_eq!(watch.wait(None).unwrap(), [], "nobody ended; somebody rang");
        one.child.kill().unwrap();
        assert_eq!(watch.wait(None).unwrap(), [one.ended()]);
        assert_eq!(watch.wait(Some(Duration::ZERO)).unwrap(), [], "it is told once");
        assert_eq!(watch.counts(), (1, 0));
        watch.release(other.run);
        assert_eq!((watch.counts(), watch.runs.len()), ((0, 0), 1));
    }

    #[test]
    fn runs_of_one_supervisor_share_its_descriptor_and_are_all_told_its_end() {
        let (mut watch, mut one) = (watch(1), Supervisor::start(1));
        let other = EntityId::new(Kind::Session, Uuid::from_u128(2));
        for run in [one.run, other] {
            assert_eq!(watch.keep(run, one.processes()), []);
        }
        assert_eq!(watch.counts(), (1, 0));
        one.child.kill().unwrap();
        assert_eq!(watch.wait(None).unwrap(), [one.ended(), Ended { run: other, ..one.ended() }]);
    }

    #[test]
    fn who_ended_before_is_told_when_the_run_is_met() {
        let (mut watch, mut one) = (watch(9), Supervisor::start(1));
        let processes = one.processes();
        one.child.kill().unwrap();
        one.child.wait().unwrap();
        assert_eq!(watch.keep(one.run, processes.clone()), [one.ended()]);
        assert_eq!(watch.keep(one.run, processes), [], "it is told once");
    }

    #[test]
    fn a_process_without_a_descriptor_is_counted_until_there_is_room_for_one() {
        let (mut watch, one, mut two, three) =
            (watch(1), Supervisor::start(1), Supervisor::start(2), Supervisor::start(3));
        let of_two = two.processes();
        for supervisor in [&one, &two, &three] {
            assert_eq!(watch.keep(supervisor.run, supervisor.processes()), []);
        }
        assert_eq!((watch.counts(), watch.waiting()), ((1, 2), vec![]), "there is no room to try again");
        two.child.kill().unwrap();
        two.child.wait().unwrap();
        watch.release(one.run);
        assert_eq!(watch.waiting().len(), 1, "as many as there is room for");
        assert_eq!(watch.keep(two.run, of_two), [two.ended()]);
        assert_eq!(watch.waiting(), [three.run]);
        assert_eq!(watch.keep(three.run, three.processes()), []);
        assert_eq!((watch.counts(), watch.waiting()), ((1, 0), vec![]));
    }
}
