//! Trees that try to outlive their run, on every rung.

use std::time::{Duration, Instant};

use callboard_supervisor::process::{self, Sighting};
use callboard_supervisor::{Cause, Climb, How, Quiet, Rung, Running, Spec, StopCause};

use crate::common::{OnOutput, run, sh, started};

const RUNGS: [Climb; 2] = [Climb::Highest, Climb::Tree];

fn on(rung: Climb, mut spec: Spec) -> Spec {
    spec.climb = rung;
    spec.timers.grace = Duration::from_millis(300);
    spec
}

/// Stops the run when it has said how far it is.
fn stopped_when_ready(running: Running) -> callboard_supervisor::End {
    let stopper = running.stopper();
    running.watch(&mut OnOutput(|bytes: &[u8]| {
        if bytes.windows(5).any(|window| window == b"ready") {
            stopper.stop(StopCause::Operator);
        }
    }))
}

fn assert_nobody(marker: &str) {
    let left = process::find_marked(marker);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_rung_is_said() {
    let spec = sh("rung", "exec sleep 60");
    let marker = spec.marker.clone();
    let running = started(spec);
    match &running.containment().rung {
        Rung::Cgroup { path } => {
            let members = std::fs::read_to_string(path.join("cgroup.procs")).unwrap();
            assert!(path.to_string_lossy().contains(&marker), "{}", path.display());
            assert!(members.lines().count() > 0, "the command is not in {}", path.display());
        }
        Rung::Tree { why } => assert!(!why.is_empty()),
    }
    running.stopper().stop(StopCause::Operator);
    assert_eq!(running.watch(&mut Quiet).left, 0);
    let running = started(on(Climb::Tree, sh("rung", "exit 0")));
    assert!(matches!(running.containment().rung, Rung::Tree { .. }));
}

#[test]
fn daemons_that_fork_twice_and_leave_the_session_end_with_the_run() {
    for rung in RUNGS {
        let script =
            "for i in 1 2 3 4 5; do (setsid sh -c 'trap \"\" TERM; exec sleep 777' >/dev/null 2>&1 &) ; done
                      trap '' TERM; echo ready; while :; do sleep 1; done";
        let spec = on(rung, sh("b02", script));
        let marker = spec.marker.clone();
        let end = stopped_when_ready(started(spec));
        assert_eq!((end.left, end.killed), (0, true), "{rung:?}: {end:?}");
        assert_nobody(&marker);
    }
}

#[test]
fn a_daemon_without_environment_ends_with_the_run() {
    for rung in RUNGS {
        let script = "(env -i setsid sh -c 'exec sleep 776' >/dev/null 2>&1 &); sleep 0.1; echo done";
        let mut spec = on(rung, sh("b02env", script));
        spec.timers.leak = Duration::from_millis(100);
        let (end, _) = run(spec);
        assert_eq!((end.how, end.cause), (How::Exited { code: 0 }, Cause::OfItself));
        assert_eq!((end.left, end.escaped, end.leak), (0, 1, true), "{rung:?}: {end:?}");
    }
}

#[test]
fn a_fork_loop_ends() {
    for rung in RUNGS {
        let script = "f() { while :; do (sleep 5 &) ; sleep 0.01; done; }; f & f & echo ready; f";
        let spec = on(rung, sh("b03", script));
        let marker = spec.marker.clone();
        let end = stopped_when_ready(started(spec));
        assert_eq!(end.left, 0, "{rung:?}: {end:?}");
        assert_nobody(&marker);
    }
}

#[test]
fn a_limit_of_processes_holds() {
    let mut spec = sh("b03limit", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; wait");
    spec.limits.processes = Some(6);
    spec.timers.total = Some(Duration::from_secs(3));
    let running = started(spec);
    let containment = running.containment().clone();
    if containment.processes != callboard_supervisor::Force::Cgroup {
        println!("skipped: {:?}", containment.processes);
        return;
    }
    let mut told = crate::common::Told::default();
    let end = running.watch(&mut told);
    assert!(String::from_utf8_lossy(&told.stderr).to_lowercase().contains("fork"), "{end:?} {told:?}");
    assert_eq!(end.left, 0);
}

#[test]
fn a_stopped_child_is_seen_and_ends() {
    for rung in RUNGS {
        let running = started(on(rung, sh("b04", "kill -STOP $$; echo on; exec sleep 60")));
        let stopper = running.stopper();
        let mut seen = Seen { stopper, moves: Vec::new() };
        let end = running.watch(&mut seen);
        assert_eq!(seen.moves.first(), Some(&true), "{rung:?}");
        assert_eq!(end.cause, Cause::Stopped(StopCause::Operator));
        assert_eq!(
            (end.how, end.killed),
            (How::Signaled { signal: 15, core_dumped: false }, false),
            "{rung:?}"
        );
    }
}

struct Seen {
    stopper: callboard_supervisor::Stopper,
    moves: Vec<bool>,
}

impl callboard_supervisor::Observer for Seen {
    fn stopped(&mut self, by: Option<callboard_supervisor::StoppedBy>) {
        self.moves.push(by.is_some());
        if by.is_some() {
            self.stopper.stop(StopCause::Operator);
        }
    }
}

#[test]
fn who_holds_the_pipe_is_given_the_leak_time_and_ended() {
    for rung in RUNGS {
        let mut spec = on(rung, sh("b06", "sleep 100 & echo said; exit 5"));
        spec.timers.leak = Duration::from_millis(200);
        let (end, told) = run(spec);
        assert_eq!((end.how, end.cause), (How::Exited { code: 5 }, Cause::OfItself));
        assert_eq!((end.leak, end.escaped, end.left, end.killed), (true, 1, 0, false), "{rung:?}: {end:?}");
        assert_eq!(told.stdout, b"said\n");
    }
}

#[test]
fn those_who_end_within_the_leak_time_are_no_leak() {
    for rung in RUNGS {
        let mut spec = on(rung, sh("late", "(sleep 0.1; echo late) & exit 0"));
        spec.timers.leak = Duration::from_secs(20);
        let (end, told) = run(spec);
        assert_eq!((end.leak, end.escaped, end.left), (false, 0, 0), "{rung:?}: {end:?}");
        assert_eq!(told.stdout, b"late\n");
    }
}

#[test]
fn our_own_group_is_never_hit() {
    // A run is stopped before it could do anything; whoever signals a group too early hits this very process.
    for _ in 0..50 {
        let running = started(on(Climb::Highest, sh("b13", "exec sleep 60")));
        running.stopper().stop(StopCause::Operator);
        let end = running.watch(&mut callboard_supervisor::Quiet);
        assert_eq!((end.cause, end.left), (Cause::Stopped(StopCause::Operator), 0));
    }
}

#[test]
fn no_zombie_is_older_than_a_second() {
    for rung in RUNGS {
        // Orphans of the session, and orphans that left it, all ending at once.
        let script = "i=0; while [ $i -lt 100 ]; do (true &) ; (setsid true &) ; i=$((i+1)); done; echo ready; sleep 60";
        let running = started(on(rung, sh("b14", script)));
        let stopper = running.stopper();
        let mut calm = Calm { stopper, due_at: None, seen: None, old: None };
        running.watch(&mut calm);
        assert_eq!(calm.old, Some(Vec::new()), "{rung:?}");
    }
}

/// Looks for our zombies a moment after the child was ready, and again a second later.
struct Calm {
    stopper: callboard_supervisor::Stopper,
    due_at: Option<Instant>,
    seen: Option<Vec<u32>>,
    old: Option<Vec<u32>>,
}

impl callboard_supervisor::Observer for Calm {
    fn output(&mut self, _: callboard_supervisor::Stream, _: &[u8], _: Duration) {
        self.due_at.get_or_insert(Instant::now() + Duration::from_millis(100));
    }

    fn due(&mut self) -> Option<Duration> {
        Some(self.due_at?.saturating_duration_since(Instant::now()))
    }

    fn tick(&mut self) {
        let zombies = zombies();
        match &self.seen {
            None => {
                self.seen = Some(zombies);
                self.due_at = Some(Instant::now() + Duration::from_secs(1));
            }
            Some(seen) => {
                self.old = Some(zombies.into_iter().filter(|pid| seen.contains(pid)).collect());
                self.stopper.stop(StopCause::Operator);
                self.stopper.hurry();
            }
        }
    }
}

fn zombies() -> Vec<u32> {
    let own = std::process::id();
    let is_ours = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().unwrap_or_default().starts_with(&format!("Z {own} "))
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

#[test]
fn several_runs_in_one_process_keep_their_own() {
    let threads: Vec<_> = (0..8)
        .map(|number: u8| {
            std::thread::spawn(move || {
                for round in 0..10u8 {
                    let code = number * 10 + round;
                    let (end, _) = run(sh("many", &format!("(setsid true &); sleep 0.01; exit {code}")));
                    assert_eq!(end.how, How::Exited { code });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_dropped_run_is_ended() {
    for rung in RUNGS {
        let spec = on(rung, sh("dropped", "(setsid sleep 300 &); sleep 300"));
        let marker = spec.marker.clone();
        let running = started(spec);
        let identity = running.identity().clone();
        drop(running);
        assert_eq!(process::look(&identity).unwrap(), Sighting::Gone);
        assert_nobody(&marker);
    }
}

#[test]
fn what_a_dead_supervisor_left_is_found_by_its_marker() {
    // No supervisor: a shell with the marker in its environment, and a daemon of it.
    let marker = crate::common::marker("b10");
    let script = format!(
        "CALLBOARD_RUN=outer:{marker} setsid sh -c '(setsid sleep 300 &) ; trap \"\" TERM; while :; do sleep 1; done' >/dev/null 2>&1 & echo $!"
    );
    let mut spec = sh("b10host", &format!("{script}; sleep 60"));
    spec.timers.grace = Duration::from_millis(100);
    let running = started(spec);
    let stopper = running.stopper();
    let mut found = 0;
    let end = running.watch(&mut OnOutput(|_: &[u8]| {
        let until = Instant::now() + Duration::from_secs(10);
        while found < 2 && Instant::now() < until {
            found = process::find_marked(&marker).len();
        }
        let ended = process::end_all(&marker, None, Duration::from_millis(100));
        assert!(ended.count >= 2 && ended.left == 0, "{ended:?}");
        assert_nobody(&marker);
        stopper.stop(StopCause::Operator);
    }));
    assert!(found >= 2);
    assert_eq!(end.left, 0);
}

#[test]
fn a_signal_for_somebody_who_is_gone_reaches_nobody() {
    let running = started(sh("b11", "echo ready; trap 'echo hit' USR1; while :; do sleep 0.05; done"));
    let mut stranger = running.identity().clone();
    stranger.started_ticks -= 1;
    assert_eq!(process::signal(&stranger, libc::SIGKILL).unwrap(), process::Sent::Gone);
    assert_eq!(process::look(running.identity()).unwrap(), Sighting::Alive);
    drop(running);
}
