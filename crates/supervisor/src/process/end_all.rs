//! Ends what a supervisor left behind when it died: by its marker, its control group and its command.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Identity, Mark, Sighting, is_own, look, of};
use crate::containment::{Group, Roots, Tree, find, is_our_program};

/// What came of ending everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Who was there.
    pub count: u32,
    /// Who is still there: the kill is not confirmed.
    pub left: u32,
}

/// Everybody who belongs to a run: in its control group, or with its marker in the environment, or descended from one of
/// those. The caller itself is never among them.
pub fn find_marked(marker: &str) -> Vec<Identity> {
    found(marker, &mut tree(marker, None))
}

fn found(marker: &str, tree: &mut Tree) -> Vec<Identity> {
    let mut pids: Vec<u32> = find(marker).iter().flat_map(Group::members).collect();
    pids.extend(tree.members().into_iter().map(|mark| mark.pid));
    pids.retain(|pid| *pid != std::process::id());
    pids.sort_unstable();
    pids.dedup();
    pids.into_iter().filter_map(|pid| of(pid).ok().flatten()).collect()
}

/// Ends everybody who belongs to a run whose supervisor is gone: TERM, the grace period, KILL. Its command belongs to it, and
/// whoever descends from that, although it has left the control group and cleared its environment. Removes its control
/// group when nobody is left.
pub fn end_all(marker: &str, command: Option<&Identity>, grace: Duration) -> Ended {
    let mut tree = tree(marker, command);
    let mut found = found(marker, &mut tree);
    let count = found.len() as u32;
    let mut groups = find(marker);
    if count > 0 && !grace.is_zero() {
        outermost_first(&mut found);
        for signal in [Signal::TERM, Signal::CONT] {
            for identity in &found {
                // Who is gone in between needs no signal.
                drop(super::signal(identity, signal.as_raw()));
            }
        }
        wait(grace, || !groups.iter_mut().any(Group::is_populated) && tree.members().is_empty());
    }
    for group in &groups {
        group.kill();
    }
    // The groups first, which cost next to nothing to watch; a look through the whole table then finds the rest.
    wait(CONFIRM, || !groups.iter_mut().any(Group::is_populated));
    let mut left = tree.kill(CONFIRM);
    for group in &groups {
        if !group.remove() {
            left = left.max(group.members().len() as u32);
        }
    }
    Ended { count, left }
}

/// How long a KILL may take until it counts as not confirmed.
const CONFIRM: Duration = Duration::from_secs(5);

/// A supervisor inside of the run hears of the stop before its command can die of it.
fn outermost_first(found: &mut [Identity]) {
    found.sort_by_cached_key(|one| (!is_our_program(one.pid), one.started_ticks, one.pid));
}

fn tree(marker: &str, command: Option<&Identity>) -> Tree {
    let is_there =
        |one: &&Identity| is_own(one.pid) && matches!(look(one), Ok(Sighting::Alive | Sighting::Stopped));
    let main = command.filter(is_there);
    let main = main.map(|one| Mark { pid: one.pid, started_ticks: one.started_ticks });
    Tree::new(Roots { marker: marker.to_owned(), main, ours: false })
}

/// Waits until it is so, or for so long.
fn wait(within: Duration, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + within;
    let mut pause = Duration::from_millis(1);
    while Instant::now() < until && !is_so() {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
