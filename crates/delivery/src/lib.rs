//! Delivery: what a run promised to leave behind, written down at its start and checked at its end.
//!
//! Invariant: the contract that is verified is the one that was agreed on before the process was started, and nothing
//! outside of the artifact directory is ever read. Deliberately absent: the state of the run. A verification is
//! evidence and a verdict; the kernel moves the run.

mod agreement;
mod artifact_root;
mod baseline;
mod check;
mod contract;
mod effect;
mod error;
mod inspection;
mod media;
mod name;
mod reading;
mod repository;
mod schema;
mod verification;
mod verify;
mod walk;

pub use agreement::Agreement;
pub use artifact_root::{Opened, Refused, Root, Stamp, Way};
pub use baseline::Baseline;
pub use check::{Check, CheckProgram, ProgramEnd, Ran};
pub use contract::{COMMAND_LIMIT_S, Contract, Promise, PromisedSchema, Subject};
pub use effect::{EVIDENCE_MAX, Effect};
pub use error::{ContractProblem, Error};
pub use media::MediaType;
pub use name::{Name, Pattern};
pub use repository::Repository;
pub use verification::{FileFound, Found, Item, Verification};
pub use verify::{InspectionLimits, Stopped, verify};
