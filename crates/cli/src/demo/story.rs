//! The story: starts the fleet, does to each what is done to it, and waits until each stands where it must.
//!
//! Invariant: every wait has a bound, and at the end nobody of the fleet is left. Deliberately absent: what is shown.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callboard_engine::{Host, Reaper, StopFor, StopWish, Viewpoint, evaluate, wish_to_stop};
use callboard_kernel::{
    Actor, Command as Order, Create, EntityId, EvidenceRef, Facts, Order as Ask, StateReason, Transition,
    Value, fact,
};
use callboard_ledger::{Ledger, Listing, Request, Stored};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};
use callboard_server::Runner;
use callboard_supervisor::process;
use callboard_wire::{RunRequest, Word};
use rustix::process::{Pid, Signal, kill_process};

use super::cast::{Act, CAST, Role};
use super::stage::Stage;
use crate::clock;
use crate::error::Error;
use crate::input::ids;
use crate::store::sending;

/// How long ago the stalled one was last heard of.
const STALLED_FOR: Duration = Duration::from_secs(7 * 3600);
/// How long any one may take to get where it must.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
const STALLED: &str = "Migrate the database";

/// What one agent came to.
pub(crate) struct Scene {
    pub(crate) title: String,
    pub(crate) expected: &'static str,
    /// What is shown of it.
    pub(crate) chain: String,
    pub(crate) is_right: bool,
}

/// The fleet as it stands.
pub(crate) struct Fleet {
    runs: Vec<(EntityId, &'static Role)>,
    stalled: EntityId,
    /// The process that stands for the supervisor of the stalled one.
    sleeper: Child,
}

/// Starts the fleet and does to each what is done to it.
pub(crate) fn play(stage: &Stage, ledger: &Ledger, runner: &dyn Runner) -> Result<Fleet, Error> {
    // The log's time never runs backwards, so what happened long ago is written first.
    let (stalled, sleeper) = stall(ledger)?;
    let mut fleet = Fleet { runs: Vec::new(), stalled, sleeper };
    for (number, role) in CAST.iter().enumerate() {
        let id = ids::new(Kind::Session, clock::now());
        let program = stage.program(number).into();
        let options = ["-p", role.title, "--output-format", "stream-json", "--verbose"].map(Word::from);
        let argv = [program].into_iter().chain(options).collect();
        let request = RunRequest {
            title: Some(role.title.to_owned()),
            labels: [("team".to_owned(), role.project.to_owned())].into(),
            timeout_s: role.timeout_s,
            expect: role.expect.iter().map(|path| (*path).to_owned()).collect(),
            ..RunRequest::new(argv, stage.cwd(number, role).into())
        };
        let started = runner.start(id, "the demo", &request);
        started.map_err(|error| Error::Shim(std::io::Error::other(error.to_string())))?;
        fleet.runs.push((id, role));
    }
    for (id, role) in &fleet.runs {
        act(ledger, *id, role.act)?;
    }
    Ok(fleet)
}

fn act(ledger: &Ledger, id: EntityId, act: Act) -> Result<(), Error> {
    let stored = entity(ledger, id)?;
    match act {
        Act::Nothing => {}
        Act::Stop => {
            let said = Some("the plan changed".to_owned());
            stop(ledger, &stored, said, 1)?;
        }
        Act::Interrupt => signal(&stored, Signal::INT),
        Act::Kill => signal(&stored, Signal::KILL),
    }
    Ok(())
}

/// Sends a signal to the supervisor of a run that was started here.
fn signal(stored: &Stored, signal: Signal) {
    let pid = match stored.entity.facts.value(fact::SUPERVISOR) {
        Some(Value::Map(supervisor)) => match supervisor.value(fact::PID) {
            Some(Value::Int(pid)) => i32::try_from(*pid).ok().and_then(Pid::from_raw),
            Some(_) | None => None,
        },
        Some(_) | None => None,
    };
    if let Some(pid) = pid {
        // One that is gone already needs no signal.
        kill_process(pid, signal).ok();
    }
}

fn stop(ledger: &Ledger, stored: &Stored, said: Option<String>, times: usize) -> Result<(), Error> {
    for _ in 0..times {
        let (actor, wanted, now) = (sending::operator(), StopFor::Operator, clock::now());
        let wish = StopWish { actor, wanted, said: said.clone(), key: None, cause: None, now };
        // One that has ended meanwhile is what was wanted.
        drop(wish_to_stop(ledger, stored, wish));
    }
    Ok(())
}

/// Writes a run whose agent fell silent hours ago, with a live process that stands for its supervisor.
#[expect(
    clippy::disallowed_methods,
    reason = "this process stands for a supervisor and is ended with the demonstration"
)]
fn stall(ledger: &Ledger) -> Result<(EntityId, Child), Error> {
    let sleeper = Command::new("sleep")
        .arg("3600")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(Error::Shim)?;
    let then = callboard_kernel::Moment::from_micros(
        clock::now().as_micros() - i64::try_from(STALLED_FOR.as_micros()).unwrap_or(0),
    );
    let seen = process::of(sleeper.id()).map_err(Error::Shim)?;
    let seen = seen.ok_or_else(|| Error::Shim(std::io::Error::other("it ended at once")))?;
    let supervisor = Facts::none()
        .and(fact::PID, i64::from(seen.pid))
        .and(fact::STARTED_TICKS, i64::try_from(seen.started_ticks).unwrap_or(i64::MAX));
    let facts = Facts::none()
        .and(fact::TITLE, STALLED)
        .and(fact::PROJECT, "shop")
        .and(fact::HOST, seen.host.as_str())
        .and(fact::BOOT, seen.boot.as_str())
        .and(fact::SUPERVISOR, supervisor)
        .and(fact::PID, i64::from(seen.pid));
    let id = ids::new(Kind::Session, then);
    let actor = Actor::new(ActorClass::Supervisor, format!("{}/{}", seen.host, seen.pid));
    let begun = StateReason::new(const { ReasonCode::of("run.started.ok") }, "the process was started")
        .shown_by(EvidenceRef::tool_result(format!("pid {}", seen.pid)));
    let running = Transition::to(SessionState::Running, begun).caused_by(SessionTrigger::Spawned);
    let pending = Create { at: SessionState::Pending.into(), reasons: Vec::new(), data: facts };
    for order in [Ask::Create(pending), Ask::Transition(running)] {
        let request =
            Request { command: Order::new(id, order), actor: actor.clone(), now: then, cause: None };
        ledger.append(request).map_err(|error| Error::Shim(std::io::Error::other(error.to_string())))?;
    }
    Ok((id, sleeper))
}

pub(super) fn entity(ledger: &Ledger, id: EntityId) -> Result<Stored, Error> {
    ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))
}

impl Fleet {
    /// Waits until each stands where it must, or the patience is over.
    pub(crate) fn settle(&self, ledger: &Ledger) -> Result<Vec<Scene>, Error> {
        let until = Instant::now() + PATIENCE;
        let mut scenes = vec![self.scene(ledger, self.stalled, STALLED, "running", "Stalled", until)?];
        for (id, role) in &self.runs {
            scenes.push(self.scene(ledger, *id, role.title, role.state, role.says, until)?);
        }
        Ok(scenes)
    }

    fn scene(
        &self,
        ledger: &Ledger,
        id: EntityId,
        title: &str,
        state: &str,
        says: &'static str,
        until: Instant,
    ) -> Result<Scene, Error> {
        let host = Host::this();
        loop {
            let stored = entity(ledger, id)?;
            let view = evaluate(&stored, &Viewpoint::present(clock::now(), &host));
            let stands = view.state.lifecycle.is_some_and(|lifecycle| lifecycle.name() == state);
            let is_right = stands && view.chain.contains(says);
            if is_right || Instant::now() >= until {
                return Ok(Scene { title: title.to_owned(), expected: says, chain: view.chain, is_right });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends the one whose supervisor was killed, as the server does every ten seconds.
    pub(crate) fn reap(&self, ledger: &Ledger) -> Result<Vec<Scene>, Error> {
        let (host, now, older_than, dry_run) = (Host::this(), clock::now(), Duration::ZERO, false);
        let reaper = Reaper { ledger, world: &host, now, older_than, dry_run };
        reaper.reap().map_err(crate::commands::records::reap::of_reaper)?;
        let killed = self.runs.iter().filter(|(_, role)| role.act == Act::Kill);
        let until = Instant::now() + PATIENCE;
        killed
            .map(|(id, role)| {
                let title = format!("{}, reaped", role.title);
                self.scene(ledger, *id, &title, "aborted", "Aborted", until)
            })
            .collect()
    }
}

/// Stops whoever still runs and waits until nobody is left.
pub(crate) fn clear(ledger: &Ledger, fleet: Option<Fleet>) -> Result<(), Error> {
    let alive = |ledger: &Ledger| {
        let listing = Listing { kind: Some(Kind::Session), ended: false, limit: 0 };
        ledger.entities(listing).map_err(Error::Ask)
    };
    let stalled = fleet.as_ref().map(|fleet| fleet.stalled);
    for stored in alive(ledger)? {
        if Some(stored.entity.state.id) != stalled {
            stop(ledger, &stored, None, 2)?;
        }
    }
    if let Some(mut fleet) = fleet {
        // It stood for a supervisor; with it gone the reaper ends the run.
        fleet.sleeper.kill().ok();
        fleet.sleeper.wait().ok();
    }
    let (host, until) = (Host::this(), Instant::now() + PATIENCE);
    while !alive(ledger)?.is_empty() && Instant::now() < until {
        let (now, older_than, dry_run) = (clock::now(), Duration::ZERO, false);
        let reaper = Reaper { ledger, world: &host, now, older_than, dry_run };
        reaper.reap().map_err(crate::commands::records::reap::of_reaper)?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}
