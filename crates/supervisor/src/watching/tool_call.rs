//! The tool call that an agent waits for: which processes belong to it, and ending those alone.
//!
//! Who belongs: processes of the run that began after the last output before the call was announced. An agent announces a call before it
//! starts anybody for it, and what its own helpers and earlier calls started was there before. From the moment of the abort on, nobody
//! joins them but their descendants and those in a session of theirs, so what the agent starts next is left alone.
//!
//! Invariant: the main process is never among them. It is over when all of them are gone, or when those that are left after KILL were
//! counted. Deliberately absent: why, and what becomes of the call, which the agent decides.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::containment::outermost_first;
use crate::process::{Mark, Stat, all, send};
use crate::watching::poll_loop::Watch;
use crate::watching::stages::Stage;
use crate::{ToolEnd, Wait};

/// How long a KILL may take until it counts as not confirmed.
const CONFIRM: Duration = Duration::from_secs(5);
/// How often those who were asked to end are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at a table that never stands still.
const FREEZE_ROUNDS: usize = 64;

/// What is known of the tool calls of a run.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    /// The tick after which the processes of the open call began; nothing while none is open.
    since: Option<u64>,
    /// The tick of the newest output.
    heard: Option<u64>,
    ending: Option<Ending>,
}

/// A call whose processes are being ended.
#[derive(Debug)]
struct Ending {
    members: HashSet<Mark>,
    sessions: HashSet<u32>,
    asked: u32,
    /// KILL follows at this moment, or the end of waiting for it.
    until: Duration,
    killed: bool,
}

impl ToolCall {
    /// Output was read from this tick on, and this is what the run waits for since.
    pub(crate) fn heard(&mut self, tick: u64, waits: Option<Wait>) {
        self.since = match waits {
            // Calls that run at once are one: the first of them counts.
            Some(Wait::Tool { .. }) => self.since.or(self.heard).or(Some(tick)),
            Some(Wait::Person) | None => None,
        };
        self.heard = Some(tick);
    }

    /// When the loop must look again.
    pub(crate) fn look(&self) -> Option<Duration> {
        self.ending.as_ref().map(|_| LOOK)
    }
}

impl Ending {
    /// Those who are alive, with whoever joined them.
    fn look(&mut self, run_session: u32, main: u32) -> Vec<Mark> {
        let table: Vec<Stat> = all().into_iter().filter(|stat| !stat.is_zombie()).collect();
        loop {
            let before = self.members.len();
            let pids: HashSet<u32> = self.members.iter().map(|mark| mark.pid).collect();
            for stat in &table {
                let is_theirs = pids.contains(&stat.parent) || self.sessions.contains(&stat.session);
                if is_theirs && stat.pid != main && self.members.insert(Mark::from(stat)) {
                    self.sessions.extend(Some(stat.session).filter(|session| *session != run_session));
                }
            }
            if self.members.len() == before {
                break;
            }
        }
        table.iter().map(Mark::from).filter(|mark| self.members.contains(mark)).collect()
    }
}

impl Watch<'_> {
    /// Asks the processes of the open tool call to end; KILL follows after the grace of the run.
    pub(crate) fn end_tool(&mut self) {
        if self.tool.ending.is_some() {
            // Asked again: the rest of the grace is skipped.
            let now = self.clocks.elapsed();
            if let Some(ending) = self.tool.ending.as_mut().filter(|ending| !ending.killed) {
                ending.until = now;
            }
            return;
        }
        let Some(since) = self.tool.since.filter(|_| self.stage == Stage::Free) else {
            return self.observer.tool_ended(None);
        };
        let main = self.run.identity.pid;
        let is_of_call = |stat: &Stat| stat.pid != main && stat.started_ticks > since && !stat.is_zombie();
        let stats: Vec<Stat> =
            self.members().into_iter().filter_map(|mark| Stat::read(mark.pid)).filter(is_of_call).collect();
        let mut ending = Ending {
            members: stats.iter().map(Mark::from).collect(),
            sessions: stats.iter().map(|stat| stat.session).filter(|session| *session != main).collect(),
            asked: 0,
            until: self.clocks.elapsed().saturating_add(self.run.spec.timers.grace),
            killed: false,
        };
        let mut marks = ending.look(main, main);
        ending.asked = u32::try_from(marks.len()).unwrap_or(u32::MAX);
        outermost_first(&mut marks);
        for signal in [Signal::TERM, Signal::CONT] {
            // Who is gone in between needs no signal.
            marks.iter().for_each(|mark| drop(send(*mark, signal)));
        }
        self.tool.ending = Some(ending);
    }

    /// Looks whether the processes of an aborted tool call are gone, and kills them when their grace is over.
    pub(crate) fn tool_due(&mut self) {
        let (now, main) = (self.clocks.elapsed(), self.run.identity.pid);
        let Some(ending) = &mut self.tool.ending else { return };
        let left = ending.look(main, main);
        if !left.is_empty() && now < ending.until {
            return;
        }
        if !left.is_empty() && !ending.killed {
            freeze(ending, main);
            ending.members.iter().for_each(|mark| drop(send(*mark, Signal::KILL)));
            (ending.killed, ending.until) = (true, now.saturating_add(CONFIRM));
            return;
        }
        let left = u32::try_from(left.len()).unwrap_or(u32::MAX);
        let end = ToolEnd { asked: ending.asked, killed: ending.killed, left };
        self.tool.ending = None;
        self.observer.tool_ended(Some(end));
    }
}

/// Stops everybody, until a look finds nobody who was not stopped before.
fn freeze(ending: &mut Ending, main: u32) {
    let mut frozen = HashSet::new();
    for _ in 0..FREEZE_ROUNDS {
        let awake: Vec<Mark> =
            ending.look(main, main).into_iter().filter(|mark| !frozen.contains(mark)).collect();
        if awake.is_empty() {
            return;
        }
        for mark in awake {
            drop(send(mark, Signal::STOP));
            frozen.insert(mark);
        }
    }
}

/// The clock by which the kernel tells when a process began, in the ticks of the process table.
pub(crate) fn tick() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds * ticks_per_second + nanos * ticks_per_second / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_begins_with_the_output_before_it_and_calls_at_once_are_one() {
        let mut call = ToolCall::default();
        let tool = |call| Some(Wait::Tool { call });
        call.heard(10, None);
        call.heard(20, tool(1));
        assert_eq!(call.since, Some(10), "who began before the call was announced is not of it");
        call.heard(30, tool(2));
        assert_eq!(call.since, Some(10));
        call.heard(40, None);
        assert_eq!(call.since, None);
        call.heard(50, tool(3));
        assert_eq!(call.since, Some(40));
    }

    #[test]
    fn the_tick_is_that_of_the_process_table() {
        let own = Stat::read(std::process::id()).unwrap();
        let age = tick().checked_sub(own.started_ticks).expect("it began before now");
        assert!(age < 3_600 * rustix::param::clock_ticks_per_second(), "{age} ticks");
    }
}
