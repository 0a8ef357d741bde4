//! What goes wrong by itself: processes die and stall, pids are given out again, clocks jump, hosts part from the store.
//!
//! Invariant: after each step something may happen, and only what the seed allows in this run.

use crate::stage::State;

/// One step in so many is struck.
const ODDS: u32 = 30;
/// How far a clock jumps, in microseconds: back an hour, on a few seconds, a minute, a day.
const JUMPS_US: [i64; 4] = [-3_600_000_000, 5_000_000, 61_000_000, 86_400_000_000];

pub(crate) fn strike(state: &mut State) {
    if state.scene.is_calm {
        return;
    }
    match state.choices.choose(6, ODDS) {
        1 if state.scene.faults.kills => kill(state),
        2 if state.scene.faults.stalls => stall(state),
        3 if state.scene.faults.reused_pids => reuse(state),
        4 if state.scene.faults.clocks => jump(state),
        5 if state.scene.faults.partitions => part(state),
        _ => {}
    }
}

/// Kills a supervisor, as `kill -9` would: what it started goes on.
fn kill(state: &mut State) {
    let Some((host, pid)) = one_of(state) else { return };
    state.tell(&format!("the supervisor {pid} on host{host} is killed"));
    state.scene.hosts[host].kill(pid);
    state.scene.supervisors.remove(&(host, pid));
    state.scene.at_work -= 1;
    state.kill((host, pid));
}

/// Stops a supervisor for a while.
fn stall(state: &mut State) {
    let Some((host, pid)) = one_of(state) else { return };
    let until_us = state.now_us + 1_000_000 * (1 + 40 * u64::from(state.choices.pick(4)));
    state.tell(&format!("the supervisor {pid} on host{host} is stopped until {:.1}", until_us as f64 / 1e6));
    if let Some(process) = state.scene.hosts[host].processes.get_mut(&pid) {
        process.held_until_us = until_us;
    }
    state.stall((host, pid), until_us);
}

/// Gives the pid of a dead process to a stranger.
fn reuse(state: &mut State) {
    let now_us = state.now_us;
    let is_dead = |host: usize| {
        let processes = state.scene.hosts[host].processes.iter();
        processes.filter(|(_, process)| !process.is_alive(now_us)).map(move |(pid, _)| (host, *pid))
    };
    let dead: Vec<(usize, u32)> = (0..state.scene.hosts.len()).flat_map(is_dead).collect();
    let at = state.choices.pick(dead.len() as u32) as usize;
    let Some(&(host, pid)) = dead.get(at) else { return };
    state.tell(&format!("a stranger gets the pid {pid} on host{host}"));
    state.scene.hosts[host].start_as(pid, None, u64::MAX, now_us);
}

fn jump(state: &mut State) {
    let host = state.choices.pick(state.scene.hosts.len() as u32) as usize;
    let by = JUMPS_US[state.choices.pick(JUMPS_US.len() as u32) as usize];
    state.tell(&format!("the clock of host{host} jumps by {} s", by / 1_000_000));
    state.scene.hosts[host].ahead_us += by;
}

fn part(state: &mut State) {
    let host = state.choices.pick(state.scene.hosts.len() as u32) as usize;
    let until_us = state.now_us + 1_000_000 * (1 + 30 * u64::from(state.choices.pick(4)));
    state.tell(&format!("host{host} does not reach the store until {:.1}", until_us as f64 / 1e6));
    state.scene.hosts[host].parted_until_us = until_us;
}

fn one_of(state: &mut State) -> Option<(usize, u32)> {
    let at = state.choices.pick(state.scene.supervisors.len() as u32) as usize;
    state.scene.supervisors.iter().nth(at).copied()
}
