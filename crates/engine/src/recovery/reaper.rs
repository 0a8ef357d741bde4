//! The reaper: ends what is recorded as alive and is dead, with what shows it.
//!
//! Invariant: a run is ended only when the judge says that nobody is left to write its end, and only at the version that
//! was judged, so a run that finishes meanwhile wins and of two reapers one ends it. What still lives of its processes is
//! ended first. Never touched: what is alive, what another host holds a lease on, and what another user started. Nothing that
//! a record names is executed: a promise that needs a program is not checked, and that is said. Deliberately absent: judging.

use std::io;
use std::time::Duration;

use callboard_delivery::{Agreement, Check, CheckProgram, InspectionLimits, Ran, Verification, verify};
use callboard_kernel::health::{ProcessIdentity, Vantage};
use callboard_kernel::{
    Actor, Command, EntityId, EvidenceRef, Facts, Moment, Order, RefusalCode, StateReason, SupervisorSeen,
    Transition, fact,
};
use callboard_ledger::{AppendError, Fault, Ledger, ReadError, Request, Slice, Stored};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::{ActorClass, Health, Kind, ReasonCode, Words};
use serde::Serialize;

use crate::abort::escalate;
use crate::host::owner::stranger;
use crate::judging::recorded::{command, keeper};
use crate::judging::view::{View, evaluate};
use crate::judging::viewpoint::{Viewpoint, is_seen_alive};
use crate::mutant;
use crate::recovery::read_end::{Kept, ReadExit};
use crate::run::{SavedEnd, checks_of, delivered, find_saved_end, process_facts, unchecked};
use crate::world::{Job, World};

/// How long those who are asked to go get before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// How many of those who cannot be ended are recorded.
const SURVIVORS_MAX: usize = 16;

/// How many runs are looked at at once.
const AT_ONCE: usize = 32;

/// What the reaper goes by.
#[derive(Clone, Copy)]
pub struct Reaper<'a> {
    /// Where it looks and writes.
    pub ledger: &'a Ledger,
    /// The host it stands on.
    pub world: &'a dyn World,
    /// When it looks.
    pub now: Moment,
    /// How long nothing must have been heard of a run.
    pub older_than: Duration,
    /// Says what it would do, and does nothing.
    pub dry_run: bool,
}

/// What became of one run that looked as if it were alive.
#[derive(Debug, Serialize)]
pub struct Reaped {
    /// The run.
    pub id: EntityId,
    /// What it is called.
    pub title: Option<String>,
    /// What was done.
    pub act: ReapAct,
    /// Why.
    pub because: String,
    /// How many of its processes were still there and were ended.
    pub processes_ended: u32,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReapAct {
    /// It was ended.
    Ended,
    /// It would have been ended.
    WouldEnd,
    /// It was left alone.
    LeftAlone,
}

/// Why the reaper gave up.
#[derive(Debug, thiserror::Error)]
pub enum ReapError {
    /// The store could not be asked.
    #[error("the store cannot be asked")]
    Ask(#[from] ReadError),
    /// The store could not be written.
    #[error("the store cannot be written")]
    Write(#[source] Fault),
}

impl Reaper<'_> {
    /// Looks at every run that is recorded as alive.
    pub fn reap(&self) -> Result<Vec<Reaped>, ReapError> {
        let mut slice = Slice { kind: Some(Kind::Session), live: true, limit: AT_ONCE, ..Slice::default() };
        let mut done = Vec::new();
        // A piece at a time, because there may be many, and what was read of them takes more memory than what became
        // of them.
        loop {
            let some = self.ledger.slice(slice.clone())?;
            let Some(last) = some.last() else { return done.into_iter().collect() };
            slice.beyond = Some(last.entity.state.id);
            // Who does not go when asked is waited for, and nobody waits behind the processes of another run. Most are
            // alive, and to see that nobody has to wait.
            let mut doubtful = Vec::new();
            for stored in &some {
                match self.left_alone(stored) {
                    Some(left) => done.push(Ok(left)),
                    None => doubtful.push((stored, None)),
                }
            }
            let look = |(stored, became): &mut (&Stored, Option<Result<Reaped, ReapError>>)| {
                *became = Some(self.consider(stored));
            };
            self.world.each(doubtful.iter_mut().map(|one| Box::new(move || look(one)) as Job<'_>).collect());
            done.extend(doubtful.into_iter().filter_map(|(_, became)| became));
        }
    }

    /// What is to be said of a run that is left alone; nothing if it may be dead.
    fn left_alone(&self, stored: &Stored) -> Option<Reaped> {
        let view = evaluate(stored, &Viewpoint::present(self.now, self.world));
        let because = self.finding(stored, &view).err()?;
        let title = view.title.map(str::to_owned);
        Some(Reaped { id: view.id, title, act: ReapAct::LeftAlone, because, processes_ended: 0 })
    }

    /// Looks at one run.
    pub fn consider(&self, stored: &Stored) -> Result<Reaped, ReapError> {
        let view = evaluate(stored, &Viewpoint::present(self.now, self.world));
        let done = |act, because: String, processes_ended| Reaped {
            id: view.id,
            title: view.title.map(str::to_owned),
            act,
            because,
            processes_ended,
        };
        let finding = match self.finding(stored, &view) {
            Ok(finding) => finding,
            Err(alive) => return Ok(done(ReapAct::LeftAlone, alive, 0)),
        };
        let finding = match find_saved_end(stored, &|path, bytes| self.world.read_left(path, bytes)) {
            Ok(Some(kept)) => {
                let because = format!("its supervisor kept its end in {}", kept.path.display());
                return self.record_kept(stored, kept, |act, told: Option<String>| {
                    done(act, told.unwrap_or_else(|| because.clone()), 0)
                });
            }
            Ok(None) => finding,
            Err(ignored) => Finding { shown: format!("{}; {ignored}", finding.shown), ..finding },
        };
        if self.dry_run {
            return Ok(done(ReapAct::WouldEnd, finding.message, 0));
        }
        let ended = self.end_processes(stored, &finding);
        let (count, left) = ended.unwrap_or_default();
        match self.ledger.append(self.request(stored, &view, &finding, ended)) {
            Ok(_) => {
                self.escalate(stored);
                let left = match left {
                    0 => String::new(),
                    left => format!("; {left} of its processes could not be ended"),
                };
                Ok(done(ReapAct::Ended, finding.message + &left, count))
            }
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::VersionConflict => {
                self.again(stored, |because| done(ReapAct::LeftAlone, because, count))
            }
            Err(AppendError::Refused(refusal)) => Ok(done(ReapAct::LeftAlone, refusal.message, count)),
            Err(AppendError::Fault(fault)) => Err(ReapError::Write(fault)),
        }
    }

    /// Records the end that the supervisor kept, instead of one of the reaper's own.
    fn record_kept(
        &self,
        stored: &Stored,
        kept: SavedEnd,
        done: impl Fn(ReapAct, Option<String>) -> Reaped,
    ) -> Result<Reaped, ReapError> {
        if self.dry_run {
            return Ok(done(ReapAct::WouldEnd, None));
        }
        match kept.record(self.ledger, stored, &|path| self.world.remove(path)) {
            Ok(()) => {
                self.escalate(stored);
                Ok(done(ReapAct::Ended, None))
            }
            Err(AppendError::Refused(refusal)) => {
                self.again(stored, |_| done(ReapAct::LeftAlone, Some(refusal.message.clone())))
            }
            Err(AppendError::Fault(fault)) => Err(ReapError::Write(fault)),
        }
    }

    /// Lets the failure of a run spread as far as the policy of its parent says. The end is recorded whatever becomes of that.
    fn escalate(&self, before: &Stored) {
        if let Ok(Some(ended)) = self.ledger.entity(before.entity.state.id) {
            drop(escalate(self.ledger, &ended, self.now));
        }
    }

    /// Somebody wrote meanwhile: its end, which wins, or something that moves nothing, such as a last heartbeat.
    fn again(&self, before: &Stored, left: impl Fn(String) -> Reaped) -> Result<Reaped, ReapError> {
        let id = before.entity.state.id;
        match self.ledger.entity(id)? {
            Some(after) if after.entity.ended_at.is_none() && after.last_seq > before.last_seq => {
                self.consider(&after)
            }
            Some(_) | None => Ok(left("it ended meanwhile".to_owned())),
        }
    }

    /// What shows that it is dead, or why it is left alone.
    fn finding(&self, stored: &Stored, view: &View<'_>) -> Result<Finding, String> {
        let facts = &stored.entity.facts;
        let process = keeper(facts);
        // A record from the future is as far away: the clock was set back, and that must not keep the dead.
        let heard =
            view.last_activity_at.map_or(Duration::MAX, |at| self.now.since(at).max(at.since(self.now)));
        let health = view.state.health.ok_or("nothing is known of its health")?;
        let health = if mutant::removed("spare_the_living") { Health::ProcessDead } else { health };
        let finding = match health {
            Health::ProcessDead | Health::Orphaned => {
                if let Some(because) = stranger(facts, self.ledger.is_shared()) {
                    return Err(because);
                }
                self.dead(health, process, view)
            }
            Health::Disconnected => {
                let until =
                    facts.read(fact::LEASE_UNTIL).map_or_else(String::new, |until| format!(" at {until}"));
                Finding {
                    code: const { ReasonCode::of("system.health.lease_expired") },
                    message: "its host let the lease run out".to_owned(),
                    shown: format!(
                        "the lease of {} ran out{until}",
                        facts.read(fact::HOST).unwrap_or("its host")
                    ),
                    is_here: false,
                    is_restarted: false,
                }
            }
            Health::Unknown => {
                let told = view.judged().first().map(|reason| reason.message.clone());
                return Err(told.unwrap_or_else(|| "it cannot be judged from here".to_owned()));
            }
            Health::Ok
            | Health::Running
            | Health::Idle
            | Health::Degraded
            | Health::Stalled
            | Health::Blocked
            | Health::Misfired
            | Health::Due
            | Health::Paused => return Err(format!("it is alive: health is {}", health.name())),
        };
        if heard <= self.older_than && !self.older_than.is_zero() {
            return Err(format!("heard of {} s ago, which is not long enough", heard.as_secs()));
        }
        Ok(finding)
    }

    fn dead(&self, health: Health, process: Option<ProcessIdentity>, view: &View<'_>) -> Finding {
        let here = self.world.here();
        let heard = view.last_activity_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let seen_from = |process: &ProcessIdentity| process.place.seen_from(here);
        let restarted = process.as_ref().map(seen_from) == Some(Vantage::Restarted);
        let shown = process.map_or_else(String::new, |process| {
            format!(
                "no process has the pid {} and the start time {}; last heard of: {heard}",
                process.pid, process.started_ticks
            )
        });
        let (code, message) = match (restarted, health) {
            (true, _) => (
                const { ReasonCode::of("system.health.host_restarted") },
                "its host was restarted and it wrote no end",
            ),
            (false, Health::Orphaned) => (
                const { ReasonCode::of("system.health.orphaned") },
                "its supervisor died before it was started",
            ),
            (false, _) => (
                const { ReasonCode::of("system.health.process_dead_no_terminal") },
                "its supervisor died and wrote no end",
            ),
        };
        Finding { code, message: message.to_owned(), shown, is_here: !restarted, is_restarted: restarted }
    }

    /// Ends what a dead supervisor left: how many there were, and how many are still there; nothing where nobody can look.
    fn end_processes(&self, stored: &Stored, finding: &Finding) -> Option<(u32, u32)> {
        if finding.is_restarted || mutant::removed("end_leftovers") {
            // Nobody outlives a boot.
            return Some((0, 0));
        }
        if !finding.is_here {
            return None;
        }
        let facts = &stored.entity.facts;
        let id = stored.entity.state.id.to_string();
        let checks = agreement(stored).map(|_| checks_of(&id));
        let recorded = keeper(facts).zip(command(facts)).map(|(keeper, (pid, started_ticks))| {
            ProcessIdentity { place: keeper.place, pid, started_ticks }
        });
        // Whoever can write a shared store could name any process of ours as the command of a run.
        let named = recorded.as_ref().filter(|_| !self.ledger.is_shared());
        let markers = [Some(id), checks].into_iter().flatten();
        let ended = markers.map(|marker| self.world.end_marked(&marker, named, GRACE));
        let (count, left) =
            ended.fold((0, 0), |(count, left), ended| (count + ended.count, left + ended.left));
        let is_alive = recorded.is_some_and(|command| is_seen_alive(&command, self.world));
        Some((count, left.max(u32::from(is_alive))))
    }

    /// Looks for the files that the run promised, from outside, since nobody else will.
    fn delivery(&self, stored: &Stored, finding: &Finding) -> Promised {
        let Some(agreement) = agreement(stored) else { return Promised::Nothing };
        if !finding.is_here {
            return Promised::Unchecked(finding.message.clone());
        }
        // Whoever can write the store could name any file and learn from the verdict what is in it.
        if self.ledger.is_shared() {
            let because = "its supervisor died, and a reaper reads no files for a shared store";
            return Promised::Unchecked(because.to_owned());
        }
        if agreement.lacks_something() {
            let because = "its schema holds something that was taken for a secret and not recorded";
            return Promised::Unchecked(because.to_owned());
        }
        // Nobody can stop it, so there is a verdict.
        match verify(&agreement, &FilesOnly, &InspectionLimits::DEFAULT, self.now) {
            Ok(verified) => Promised::Checked(Box::new((agreement, verified))),
            Err(stopped) => Promised::Unchecked(stopped.to_string()),
        }
    }

    fn request(
        &self,
        stored: &Stored,
        view: &View<'_>,
        finding: &Finding,
        ended: Option<(u32, u32)>,
    ) -> Request {
        let promised = self.delivery(stored, finding);
        let is_running = view.state.lifecycle == Some(SessionState::Running.into());
        let exit = ReadExit::of(&stored.entity.facts).filter(|_| is_running);
        let read = exit.as_ref().and_then(|exit| exit.end(promised.kept()));
        let mut transition = read.unwrap_or_else(|| {
            let mut reason = StateReason::new(finding.code, finding.message.as_str())
                .shown_by(EvidenceRef::tool_result(finding.shown.as_str()));
            reason.evidence.extend(exit.iter().map(|exit| EvidenceRef::tool_result(exit.seen())));
            let data = exit.as_ref().map(ReadExit::data).unwrap_or_default();
            Transition::to(SessionState::Aborted, reason).caused_by(SessionTrigger::Reaped).with(data)
        });
        if let Some(first) = transition.reasons.first_mut() {
            first.evidence.extend(remains(stored, finding, ended).into_iter().map(EvidenceRef::tool_result));
        }
        let left = ended.map(|(_, left)| left);
        if let Some(left) = left.filter(|left| *left > 0) {
            let code = const { ReasonCode::of("run.health.kill_unconfirmed") };
            let message = format!("{left} of its processes could not be ended");
            let seen = EvidenceRef::tool_result(message.as_str());
            transition.reasons.push(StateReason::new(code, message).shown_by(seen));
        }
        // Where nobody looked, nobody knows how many are left.
        if let Some(left) = left {
            transition.data.record(fact::LEFTOVERS, i64::from(left));
        }
        if left.is_some_and(|left| left > 0) {
            transition.data.record(fact::SURVIVORS, survivors(stored, self.world));
        }
        transition.data.merge(&promised.facts());
        let mut command = Command::new(view.id, Order::Transition(transition));
        command.if_version = Some(view.version);
        // `finding` has seen that nobody is there who would record the end.
        command.testimony.supervisor = Some(SupervisorSeen::Absent);
        let actor = Actor::new(ActorClass::System, format!("reaper@{}", self.world.here().host));
        Request { command, actor, now: self.now, cause: None }
    }
}

/// What is known of what the run promised.
enum Promised {
    Nothing,
    Checked(Box<(Agreement, Verification)>),
    /// It was not looked at, for this reason.
    Unchecked(String),
}

impl Promised {
    fn kept(&self) -> Kept<'_> {
        match self {
            Self::Nothing => Kept::Yes,
            Self::Checked(checked) => match (checked.1.effect(), checked.1.is_unknown()) {
                (Some(_), _) => Kept::No(&checked.1),
                (None, true) => Kept::Unknown,
                (None, false) => Kept::Yes,
            },
            Self::Unchecked(_) => Kept::Unknown,
        }
    }

    /// The verdict, as it is recorded.
    fn facts(&self) -> Facts {
        match self {
            Self::Nothing => Facts::none(),
            Self::Checked(checked) => delivered(&checked.0, &checked.1),
            Self::Unchecked(because) => unchecked(because),
        }
    }
}

/// Looks at files and runs nothing: what is recorded of a run is data, and whoever wrote it is not here to answer for it.
struct FilesOnly;

impl Check for FilesOnly {
    fn run(&self, _: &CheckProgram<'_>) -> io::Result<Ran> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn refuses_programs(&self) -> Option<&'static str> {
        Some("was not checked: its supervisor died, and a reaper runs no programs")
    }
}

/// What became of its processes, in sentences.
fn remains(stored: &Stored, finding: &Finding, ended: Option<(u32, u32)>) -> Vec<String> {
    let mut told = Vec::new();
    let Some((ended, left)) = ended else {
        told.push("nobody looked for its processes on its host: whether one is alive is unknown".to_owned());
        return told;
    };
    if ended > 0 {
        told.push(format!("{ended} of its processes were still there and were ended"));
    }
    if left > 0 {
        told.push(format!("{left} of its processes could not be ended"));
    }
    let held = stored.entity.facts.read(fact::CONTAINMENT).and_then(|held| held.read(fact::RUNG));
    // A process that leaves its session and clears its environment is nobody's any more once its supervisor is dead.
    if finding.is_here && held == Some("tree") {
        told.push(
            "it had no control group, so processes that left its process tree cannot be ruled out".to_owned(),
        );
    }
    if finding.is_here && held == Some("cgroup") && stored.entity.facts.read(fact::UID) == Some(0) {
        told.push(
            "it ran as root, which can leave a control group, so processes that did and left its process tree cannot \
             be ruled out"
                .to_owned(),
        );
    }
    told
}

/// What the run promised, if it promised anything.
fn agreement(stored: &Stored) -> Option<Agreement> {
    let facts = stored.entity.facts.read(fact::ARTIFACTS)?;
    Agreement::restore(facts).ok().filter(|agreement| !agreement.contract.is_empty())
}

/// Those who could not be ended, as they are recorded.
fn survivors(stored: &Stored, world: &dyn World) -> Vec<Facts> {
    let id = stored.entity.state.id.to_string();
    let found = [checks_of(&id), id].into_iter().flat_map(|marker| world.find_marked(&marker));
    found.take(SURVIVORS_MAX).map(|one| process_facts(&one)).collect()
}

/// What shows that a run is dead.
struct Finding {
    code: ReasonCode,
    message: String,
    shown: String,
    /// Its processes, if there are any left, are on this host.
    is_here: bool,
    /// They were on this host before its last start.
    is_restarted: bool,
}
