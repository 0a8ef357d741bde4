//! Time to truth: from what happens to a run until each surface tells it, beside what the machine itself needs.
//!
//! Invariant: the released binary on a store of its own for each event, one thing at a time to one run that has been at rest for longer
//! than its supervisor keeps the store open; surfaces are asked again and again until they tell it. The floor is taken in
//! turn with the surfaces: a bare process, a descriptor of it, and one message over a loopback socket. Deliberately absent:
//! load; what else the machine did stands beside the figures.

mod event;
mod floor;
mod measured;
mod stage;
mod surface;

pub(crate) use measured::run;
