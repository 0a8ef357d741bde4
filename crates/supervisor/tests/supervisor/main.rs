//! Real processes, real signals: what must hold of a run. Names begin with the fault of the catalogue they show.

mod common;
mod output;
mod plain;
mod trees;
