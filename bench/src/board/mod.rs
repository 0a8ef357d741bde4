//! The task board's figures: tasks through their whole life, beside job queues, with many finished tasks behind.

mod cycles;
mod histories;
mod queues;
mod run;

pub(crate) use run::run;
