//! The desk from the terminal: questions are asked, answered once, and nobody answers for their own work.

mod asking;
mod inside;
mod permission;
