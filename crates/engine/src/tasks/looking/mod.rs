//! Looking at the task board: tasks that fit a filter, the board as cards, the story of one task, and the workers.
//!
//! Invariant: nothing is recorded here. What is shown was read, or is judged by the kernel. Deliberately absent: drawing, which each surface does.

mod cards;
mod listing;
mod story;
#[cfg(test)]
mod tests;
mod workers;

pub use cards::{CardFilter, board, card_note};
pub use listing::{Over, TaskFilter};
pub use story::{ClaimShown, MergeShown, RunShown, TaskStory, TurnShown, story};
pub(crate) use workers::live;
pub use workers::{WorkersWanted, worker_names, workers};
