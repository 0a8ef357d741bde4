//! A simulated command: it writes, ends by itself or is killed, and may leave children behind.
//!
//! Invariant: its supervisor is told of it as the real one is: what it wrote, its exit, then its end, after everybody of its tree is gone
//! or was not to be ended.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use callboard_engine::{PreparedCommand, RunningCommand};
use callboard_supervisor::sandbox::Walls;
use callboard_supervisor::{
    Cause, Containment, End, Force, How, Identity, Kept, Observer, Rung, Signals, Spec, StartError, Stream,
    Survivor, Usage,
};

use crate::stage::State;
use crate::world::SimWorld;

/// How long commands last, in microseconds.
const SPANS_US: [u64; 6] = [800, 500_000, 3_000_000, 20_000_000, 70_000_000, 150_000_000];
/// How commands end.
const HOWS: [How; 4] = [
    How::Exited { code: 0 },
    How::Exited { code: 1 },
    How::Exited { code: 3 },
    How::Signaled { signal: 9, core_dumped: false },
];

pub(crate) struct Prepared {
    world: SimWorld,
    spec: Spec,
}

impl Prepared {
    pub(crate) const fn new(world: SimWorld, spec: Spec) -> Self {
        Self { world, spec }
    }
}

impl PreparedCommand for Prepared {
    fn start(self: Box<Self>) -> Result<Box<dyn RunningCommand>, StartError> {
        self.world.stage.pause("starts a command");
        let Self { world, spec } = *self;
        let started = world.state(|state| start(state, world.host, &spec.marker));
        let Some((pid, started_ticks, how)) = started else {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(StartError::NotFound { program: OsString::from("agent"), source });
        };
        let identity = world.identity(pid, started_ticks);
        let containment = Containment {
            rung: Rung::Cgroup { path: PathBuf::from("/simulated") },
            memory: Force::NotAsked,
            cpu: Force::NotAsked,
            processes: Force::NotAsked,
            sees_oom: false,
        };
        let began_us = world.state(|state| state.now_us);
        Ok(Box::new(Running { world, marker: spec.marker, identity, containment, how, began_us }))
    }
}

/// Starts the command and its children, or nothing if there is no such program.
fn start(state: &mut State, host: usize, marker: &str) -> Option<(u32, u64, How)> {
    if state.choices.choose(2, 20) == 1 {
        return None;
    }
    let now_us = state.now_us;
    let until_us = now_us + SPANS_US[state.choices.pick(SPANS_US.len() as u32) as usize];
    let how = HOWS[state.choices.pick(HOWS.len() as u32) as usize];
    let children = state.choices.choose(3, 2);
    let is_stuck = state.scene.faults.stuck && children > 0 && state.choices.choose(2, 3) == 1;
    let machine = &mut state.scene.hosts[host];
    let pid = machine.start(Some(marker.to_owned()), until_us, now_us);
    let started_ticks = machine.processes[&pid].started_ticks;
    for nth in 0..children {
        let child = machine.start(Some(marker.to_owned()), until_us + 400_000_000, now_us);
        if let Some(child) = machine.processes.get_mut(&child) {
            child.is_stuck = is_stuck && nth == 0;
        }
    }
    state.tell(&format!(
        "the command {pid} ends at {:.3} with {how:?}, {children} children",
        until_us as f64 / 1e6
    ));
    Some((pid, started_ticks, how))
}

struct Running {
    world: SimWorld,
    marker: String,
    identity: Identity,
    containment: Containment,
    how: How,
    began_us: u64,
}

impl RunningCommand for Running {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn containment(&self) -> &Containment {
        &self.containment
    }

    fn walls(&self) -> Option<&Walls> {
        None
    }

    fn is_starting(&self) -> bool {
        false
    }

    fn watch(
        self: Box<Self>,
        signals: Option<Signals>,
        observer: &mut dyn Observer,
    ) -> (End, Option<Signals>) {
        let (how, at) = self.wait(observer);
        observer.exited(how, at);
        let end = self.end_the_rest(how, at);
        observer.ended(&end);
        (end, signals)
    }
}

impl Running {
    /// Waits for the exit of the command, and tells its owner what happens meanwhile.
    fn wait(&self, observer: &mut dyn Observer) -> (How, Duration) {
        loop {
            let (now_us, found) = self.world.state(|state| {
                let host = &state.scene.hosts[self.world.host];
                let process = host.processes.get(&self.identity.pid);
                let its = process.filter(|process| process.started_ticks == self.identity.started_ticks);
                (state.now_us, its.cloned())
            });
            let at = Duration::from_micros(now_us - self.began_us);
            let Some(process) = found.filter(|process| !process.is_killed) else {
                return (How::Signaled { signal: 9, core_dumped: false }, at);
            };
            if !process.is_alive(now_us) {
                return (self.how, at);
            }
            let due_us = observer.due().map_or(u64::MAX, |due| due.as_micros() as u64);
            let wait_us = due_us.min(process.until_us - now_us).min(10_000_000);
            self.world.stage.sleep(wait_us, "watches its command");
            if wait_us == due_us {
                observer.tick();
            } else {
                observer.output(Stream::Stdout, b"a line\n", at);
            }
        }
    }

    /// Ends who is left of the tree; whoever cannot be ended is told.
    fn end_the_rest(&self, how: How, elapsed: Duration) -> End {
        let found = |state: &State| state.scene.hosts[self.world.host].of_run(&self.marker, state.now_us);
        let escaped = self.world.state(|state| found(state));
        if !escaped.is_empty() {
            self.world.stage.sleep(500_000, "waits for those who outlived the command");
        }
        let left = self.world.state(|state| {
            for (pid, _) in found(state) {
                state.scene.hosts[self.world.host].kill(pid);
            }
            found(state)
        });
        let survivor = |(pid, started_ticks): &(u32, u64)| Survivor {
            pid: *pid,
            started_ticks: *started_ticks,
            name: "agent".to_owned(),
            uid: None,
            is_refused: false,
        };
        End {
            how,
            began: true,
            cause: Cause::OfItself,
            oom: Some(false),
            oom_kills: Some(0),
            flaw: None,
            elapsed,
            stood_still: Duration::ZERO,
            killed: !escaped.is_empty(),
            left: left.len() as u32,
            survivors: left.iter().map(survivor).collect(),
            escaped: escaped.len() as u32,
            leak: !escaped.is_empty(),
            output: Kept::default(),
            usage: Usage::default(),
        }
    }
}
