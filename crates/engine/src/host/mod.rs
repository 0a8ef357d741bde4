//! This host: its process table, whose run something is, which run this process is inside of, which project a directory
//! belongs to.

mod enclosing_run;
pub(crate) mod machine;
pub(crate) mod owner;
pub(crate) mod process_table;
pub(crate) mod project;

pub use enclosing_run::{EnclosingRun, is_inside, run_around};
pub use process_table::{Host, descriptor};
pub use project::project_of;
