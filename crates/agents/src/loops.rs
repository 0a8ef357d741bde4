//! Finds an agent that repeats itself.
//!
//! Invariant: a step repeats when all of it, the tool, its input and its result, equals one of the three steps before
//! it; [`STEPS_MIN`] such steps in a row are a loop, and one step that differs ends it. Nothing is guessed from similar
//! text. Only hashes of the last three steps are kept.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many steps without any change are a loop; an agent that polls a few times is not in one.
const STEPS_MIN: u64 = 20;
/// A loop may alternate between as many steps.
const PERIOD_MAX: usize = 3;

#[derive(Debug)]
pub(crate) struct Loops {
    recent: VecDeque<u64>,
    repeated: u64,
    /// What the step that is going on has done so far, where the agent says when a step begins and ends.
    open: Option<u64>,
}

impl Loops {
    pub(crate) const fn new() -> Self {
        Self { recent: VecDeque::new(), repeated: 0, open: None }
    }

    /// A step begins; what is done until it ends belongs to it.
    pub(crate) const fn begin_step(&mut self) {
        self.open = Some(0);
    }

    /// The step that was begun has ended.
    pub(crate) fn end_step(&mut self) {
        if let Some(hash) = self.open.take() {
            self.step(hash);
        }
    }

    /// The agent did something: a part of the step that is going on, or a step of its own.
    pub(crate) fn did(&mut self, what: impl Hash) {
        let hash = hash_of(what);
        match self.open {
            Some(so_far) => self.open = Some(hash_of((so_far, hash))),
            None => self.step(hash),
        }
    }

    /// How many steps went by without a change, the first of them included, if that is a loop.
    pub(crate) const fn steps(&self) -> Option<u64> {
        if self.repeated < STEPS_MIN { None } else { Some(self.repeated + 1) }
    }

    fn step(&mut self, hash: u64) {
        self.repeated = if self.recent.contains(&hash) { self.repeated + 1 } else { 0 };
        if self.recent.len() == PERIOD_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(hash);
    }
}

pub(crate) fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_step_again_and_again_is_a_loop_and_another_one_ends_it() {
        let mut loops = Loops::new();
        for _ in 0..STEPS_MIN {
            loops.did("bash ls");
        }
        assert_eq!(loops.steps(), None, "the first one repeats nothing");
        loops.did("bash ls");
        assert_eq!(loops.steps(), Some(STEPS_MIN + 1));
        loops.did("bash ls -l");
        assert_eq!(loops.steps(), None);
    }

    #[test]
    fn a_loop_may_alternate_and_a_list_that_is_worked_through_is_none() {
        let mut loops = Loops::new();
        for index in 0..3 + STEPS_MIN {
            loops.did(("read", index % 3));
        }
        assert_eq!(loops.steps(), Some(STEPS_MIN + 1));
        let mut loops = Loops::new();
        for index in 0..500 {
            loops.did(("read", index % 4));
        }
        assert_eq!(loops.steps(), None);
    }

    #[test]
    fn steps_that_do_nothing_at_all_repeat_each_other() {
        let mut loops = Loops::new();
        for _ in 0..=STEPS_MIN {
            loops.begin_step();
            loops.end_step();
        }
        assert_eq!(loops.steps(), Some(STEPS_MIN + 1));
        loops.begin_step();
        loops.did("text");
        loops.end_step();
        assert_eq!(loops.steps(), None);
    }
}
