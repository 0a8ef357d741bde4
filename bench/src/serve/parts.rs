//! The parts of the measurement, in the order in which they are taken, and what is asked for of them.
//!
//! Deliberately absent: what each part measures.

use std::error::Error;
use std::path::{Path, PathBuf};

use super::{feed, looks, moves, page, rest, store};
use crate::built;
use crate::measure::Watch;

/// What is measured, and with what.
struct Plan {
    /// The binary.
    callboard: PathBuf,
    /// Entities of the large store.
    entities: u64,
    /// Only this part.
    part: Option<String>,
}

/// Where a part finds the large stores, and where it may put things.
pub(super) struct Places<'a> {
    pub(super) callboard: &'a Path,
    /// The store of a million entities, or as many as were asked for.
    pub(super) large: &'a Path,
    pub(super) entities: u64,
    /// The store of a tenth of that, which the page is opened on.
    pub(super) middle: &'a Path,
    /// A directory of its own.
    pub(super) scratch: &'a Path,
}

type Part = fn(&Places<'_>) -> Result<(), Box<dyn Error>>;

const PARTS: &[(&str, Part)] = &[
    ("start", rest::starts),
    ("memory", rest::memory),
    ("looks", looks::run),
    ("feed", feed::run),
    ("moves", moves::run),
    ("page", page::run),
];

/// Measures and prints.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let plan = read(arguments)?;
    let scratch = tempfile::tempdir()?;
    let large = store::filled(&scratch.path().join("large"), plan.entities)?;
    let middle = store::filled(&scratch.path().join("middle"), plan.entities / 10)?;
    println!("serve: the released binary, loopback sockets, SQLite with synchronous=FULL");
    println!("the large store: {}", store::described(plan.entities));
    let places = Places {
        callboard: &plan.callboard,
        large: &large,
        entities: plan.entities,
        middle: &middle,
        scratch: scratch.path(),
    };
    for (name, part) in PARTS.iter().filter(|(name, _)| plan.part.as_deref().is_none_or(|one| one == *name)) {
        let watch = Watch::start()?;
        println!("\n{name}");
        part(&places)?;
        println!("{}", watch.conditions()?);
    }
    Ok(())
}

fn read(arguments: &[String]) -> Result<Plan, Box<dyn Error>> {
    let (mut entities, mut part, mut callboard) = (store::ENTITIES, None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--entities" => entities = value.parse()?,
            "--binary" => callboard = Some(PathBuf::from(value)),
            "--part" if PARTS.iter().any(|(name, _)| name == value) => part = Some(value.clone()),
            "--part" => {
                let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no part {value:?}; there are {}", names.join(", ")).into());
            }
            other => {
                let known = "--entities N, --part NAME and --binary PATH";
                return Err(format!("unknown argument {other:?}; there are {known}").into());
            }
        }
    }
    let callboard = match callboard {
        Some(path) => path,
        None => built::callboard()?,
    };
    Ok(Plan { callboard, entities, part })
}
