//! The kernel's figures: a session that is started and completes, beside `statig` making the same two moves.
//!
//! Invariant: every decision is whole: reason checked, row found, evidence checked, event made, event applied, event
//! dropped. Time comes from the bench, because the kernel reads no clock; a caller pays for its own. Deliberately
//! absent: writing the event anywhere.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Command, Context, Decision, Entity, EntityId, Event, EvidenceRef, Moment, Order, RefusalCode,
    State, StateReason, Transition, apply, decide,
};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, ReasonCode, reason};
use statig::prelude::*;

use crate::count::{self, Heap};
use crate::measure::{self, Plan, Series, Side, Watch};
use crate::peer;

/// A lap of this length is mostly over before the scheduler gives the core to another process.
const PLAN: Plan = Plan { rounds: 15, laps: 50, lap: Duration::from_millis(1) };
const DECISIONS_AIM: f64 = 5_000_000.0;
/// Decisions of one session: it starts, it completes.
const MOVES: u64 = 2;
/// Sessions whose commands are made ahead of the clock at a time; few enough to stay in the cache.
const BATCH: u64 = 64;

const STARTED: &str = "run.started.ok";
const COMPLETED: &str = "run.completed.ok";

/// Measures and prints.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let stage = Stage::new()?;
    stage.rehearse()?;
    let watch = Watch::start()?;
    let series = measure::take_turns(sides(&stage), PLAN)?;
    let conditions = watch.conditions()?;

    let Plan { rounds, laps, lap } = PLAN;
    println!(
        "kernel: one thread; {rounds} rounds of {laps} laps of at least {} ms, the sides in turn",
        lap.as_millis()
    );
    println!("a session goes pending -> running -> completed; each move is one decision\n");
    measure::print_rates("decisions a second (decide, apply, drop the event)", &series);
    println!("\n{conditions}");
    compare(&series);
    print_heap(&stage);
    Ok(())
}

fn sides(stage: &Stage) -> [Side<'_>; 7] {
    let (started, completed) = (stage.started(), stage.completed());
    [
        Side::whole("command built for each decision", MOVES, move || {
            let stage = black_box(stage);
            let mut state = stage.pending.clone();
            stage.step(&mut state, stage.started());
            stage.step(&mut state, stage.completed());
            black_box(&state);
        }),
        Side::whole("the same, reason code looked up by name each time", MOVES, move || {
            let stage = black_box(stage);
            let mut state = stage.pending.clone();
            stage.step(&mut state, stage.started_for(found(black_box(STARTED))));
            stage.step(&mut state, stage.completed_for(found(black_box(COMPLETED))));
            black_box(&state);
        }),
        Side::whole("command made beforehand, cloned for each decision", MOVES, move || {
            let mut state = stage.pending.clone();
            stage.step(&mut state, black_box(&started).clone());
            stage.step(&mut state, black_box(&completed).clone());
            black_box(&state);
        }),
        Side {
            name: "command made beforehand, moved in",
            units: MOVES * BATCH,
            work: Box::new(move |turns| Ok((0..turns).map(|_| stage.batch()).sum())),
        },
        Side::whole("refusal: command built, illegal edge", 1, move || {
            let stage = black_box(stage);
            black_box(decide(&stage.pending, stage.completed(), &stage.context()).is_err());
        }),
        Side::whole("the table alone (transition_to), nothing recorded", MOVES, move || {
            let running = black_box(SessionState::Pending).transition_to(black_box(SessionState::Running));
            let completed = running.and_then(|state| state.transition_to(black_box(SessionState::Completed)));
            black_box(completed.is_ok());
        }),
        Side::whole("statig 0.4.1, nothing recorded", MOVES, move || {
            let mut machine = peer::Session.state_machine();
            machine.handle(black_box(&peer::Trigger::Spawned));
            machine.handle(black_box(&peer::Trigger::ExitedClean));
            black_box(machine.state());
        }),
    ]
}

fn compare([fresh, _, _, moved, _, table, statig]: &[Series; 7]) {
    measure::print_aim("full decisions", DECISIONS_AIM, fresh);
    println!("statig records nothing: no reason, no evidence, no event, no refusal. Round by round:");
    for (what, faster, slower) in [
        ("statig / full decision, command built", statig, fresh),
        ("statig / full decision, command moved in", statig, moved),
        ("the table alone / statig", table, statig),
    ] {
        let times = faster.times(slower);
        println!("  {what:<44} {:>7.1} times ({:.1} - {:.1})", times.median, times.min, times.max);
    }
}

/// Everything the decisions of the benchmark are made from.
struct Stage {
    pending: Entity,
    actor: Actor,
    now: Moment,
    started: ReasonCode,
    completed: ReasonCode,
}

impl Stage {
    fn new() -> Result<Self, Box<dyn Error>> {
        let id: EntityId = "ses_01k7c3h2f4x8w6t5r3q1n0m9bz".parse()?;
        Ok(Self {
            pending: Entity::known_by(State {
                id,
                version: 1,
                lifecycle: Some(SessionState::Pending.into()),
            }),
            actor: Actor::new(ActorClass::Supervisor, "host-a/4711"),
            now: Moment::from_micros(1_794_770_358_000_000),
            started: reason(STARTED)?,
            completed: reason(COMPLETED)?,
        })
    }

    fn context(&self) -> Context<'_> {
        Context::new(&self.actor, self.now)
    }

    fn started(&self) -> Command {
        self.started_for(self.started)
    }

    fn started_for(&self, code: ReasonCode) -> Command {
        let reason = StateReason::new(code, "process 4711 was started on host-a");
        self.command(Transition::to(black_box(SessionState::Running), reason))
    }

    fn completed(&self) -> Command {
        self.completed_for(self.completed)
    }

    fn completed_for(&self, code: ReasonCode) -> Command {
        let reason = StateReason::new(code, "process 4711 exited with 0 and delivered what it promised")
            .shown_by(EvidenceRef::tool_result("waitid: exited, status 0"));
        self.command(Transition::to(black_box(SessionState::Completed), reason))
    }

    fn command(&self, transition: Transition) -> Command {
        Command::new(self.pending.state.id, Order::Transition(transition))
    }

    /// One whole decision; the event is dropped at the end, as after it was written.
    fn step(&self, state: &mut Entity, command: Command) {
        black_box(self.decide(state, command));
    }

    fn decide(&self, state: &mut Entity, command: Command) -> Event {
        match decide(state, command, &self.context()) {
            Ok(Decision::Record(event)) if apply(&mut state.state, &event).is_ok() => event,
            other => panic!("BUG: the benchmark's own command was not recorded: {other:?}"),
        }
    }

    /// Times a batch of sessions whose commands exist before the clock starts.
    fn batch(&self) -> Duration {
        let commands: Vec<(Command, Command)> =
            (0..BATCH).map(|_| (self.started(), self.completed())).collect();
        let start = Instant::now();
        for (started, completed) in commands {
            let mut state = black_box(self).pending.clone();
            self.step(&mut state, started);
            self.step(&mut state, completed);
            black_box(&state);
        }
        start.elapsed()
    }

    /// Makes sure that each side does what its row of the table says, before anything is measured.
    fn rehearse(&self) -> Result<(), Box<dyn Error>> {
        let mut state = self.pending.clone();
        self.step(&mut state, self.started());
        self.step(&mut state, self.completed());
        if (state.state.version, state.state.lifecycle) != (3, Some(SessionState::Completed.into())) {
            return Err(format!("the session stands at {state:?} instead of completed").into());
        }
        let refused =
            decide(&self.pending, self.completed(), &self.context()).err().map(|refusal| refusal.code);
        if refused != Some(RefusalCode::IllegalEdge) {
            return Err(format!("the illegal edge was answered with {refused:?}").into());
        }
        let mut machine = peer::Session.state_machine();
        machine.handle(&peer::Trigger::Spawned);
        machine.handle(&peer::Trigger::ExitedClean);
        if !matches!(machine.state(), peer::State::Completed {}) {
            return Err(format!("statig stands at {:?} instead of completed", machine.state()).into());
        }
        Ok(())
    }
}

/// The code of a reason that is registered.
fn found(name: &str) -> ReasonCode {
    match reason(name) {
        Ok(code) => code,
        Err(error) => panic!("BUG: {error}"),
    }
}

/// What one decision took from the heap, and how much of that is in the event.
struct Taken {
    name: &'static str,
    heap: Heap,
    /// Blocks of the event that it took over from the command.
    brought: u64,
    /// Blocks the event holds.
    held: u64,
}

impl Taken {
    /// Blocks that were taken and are neither the command's nor the event's.
    fn beyond(&self) -> i64 {
        (self.heap.taken + self.brought) as i64 - self.held as i64
    }
}

fn print_heap(stage: &Stage) {
    let mut state = stage.pending.clone();
    let moved = |name, state: &mut Entity, command: Command| {
        let ((), brought) = count::heap_of({
            let twin = command.clone();
            || drop(twin)
        });
        taken(name, brought.given, || stage.decide(state, command))
    };
    let mut rows = vec![moved("pending -> running, command moved in", &mut state, stage.started())];
    rows.push(moved("running -> completed, command moved in", &mut state, stage.completed()));
    state = stage.pending.clone();
    rows.push(taken("pending -> running, command built", 0, || stage.decide(&mut state, stage.started())));
    rows.push(taken("running -> completed, command built", 0, || {
        stage.decide(&mut state, stage.completed())
    }));

    println!(
        "\n{:<42} {:>7} {:>7} {:>18} {:>18}",
        "heap blocks of one decision", "taken", "bytes", "held by the event", "beyond the record"
    );
    for row in &rows {
        let Heap { taken, bytes, .. } = row.heap;
        println!("  {:<40} {taken:>7} {bytes:>7} {:>18} {:>18}", row.name, row.held, row.beyond());
    }
    let command = stage.completed();
    let (refused, heap) = count::heap_of(|| decide(&stage.pending, command, &stage.context()));
    println!(
        "  {:<40} {:>7} {:>7} {:>18} {:>18}",
        "refusal, command moved in", heap.taken, heap.bytes, "-", "-"
    );
    drop(refused);
    let beyond: i64 = rows.iter().map(Taken::beyond).sum();
    println!("aim: nothing beyond the record: {}", if beyond == 0 { "reached" } else { "missed" });
}

fn taken(name: &'static str, brought: u64, decision: impl FnOnce() -> Event) -> Taken {
    let (event, heap) = count::heap_of(decision);
    let ((), dropped) = count::heap_of(|| drop(event));
    Taken { name, heap, brought, held: dropped.given }
}
