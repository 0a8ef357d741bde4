//! The task board from the terminal: every verb, its exit codes and its JSON.

mod acts;
mod adding;
mod boards;
mod deciding;
mod holding;
mod inside;
mod plans;
