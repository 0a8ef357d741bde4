//! The streams of the known agent programs, as recorded, against what is read from them.

mod fixtures;
mod properties;
mod signals;
mod table;
