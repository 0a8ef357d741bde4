//! Real processes, real signals: what must hold of a run. Names begin with the fault of the catalogue they show.

mod common;
mod foreground;
mod hanging;
mod held_exec;
mod notices;
mod output;
mod plain;
mod second;
mod terminal;
mod trees;
