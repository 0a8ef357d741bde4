//! `paths`: names that try to leave the artifact directory, and links that are swapped in while it is verified.
//!
//! Invariant: nothing outside is ever opened or hashed, nothing blocks, and a name that says `..` or begins at the top is
//! refused before anything is looked for; yet the honest files beside the hostile ones are found. Both ways of resolving
//! a path are tried, the kernel's and our own. Deliberately absent: somebody who may mount or who owns the files outside.

mod names;
mod scenery;

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use callboard_delivery::{
    Agreement, Check, CheckProgram, Contract, InspectionLimits, Ran, Root, Way, verify,
};
use callboard_kernel::Moment;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use self::names::Names;
use self::scenery::{INSIDE, Scenery};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};

pub(crate) const TORTURE: Torture = Torture {
    name: "paths",
    about: "hostile names and swapped links lead to nothing outside of the artifact directory",
    mutants: &["refuse_symlinks", "refuse_parents"],
    run,
    child: None,
};

const WAYS: [Way; 2] = [Way::OneCall, Way::Components];

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    if let Err(error) = names(plan, &mut tally).and_then(|()| race(plan, &mut tally)) {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

/// Every name by itself: as a promise, as a glob, and straight to the door.
fn names(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let scenery = Scenery::new()?;
    let dir = scenery.dir().canonicalize()?;
    let roots = open_both(&dir)?;
    let (mut refused, mut opened) = (0_u64, 0_u64);
    for trial in 0..plan.choose(20_000, 5_000, 2_000) {
        let name = Names(Dice::of(plan.seed, trial)).next(&scenery);
        let outcome = one_name(&scenery, &roots, &name, &mut refused, &mut opened);
        tally.trial(outcome, || format!("name {trial}, {name:?}"));
    }
    ensure!(
        refused > 0 && opened > 0,
        "only {refused} names were refused when read, {opened} files were opened"
    );
    tally
        .notes
        .push(format!("{refused} names were refused when they were read, {opened} honest files were opened"));
    Ok(())
}

fn open_both(dir: &Path) -> Result<Vec<Root>> {
    WAYS.iter().map(|way| Root::open_by(dir, *way).with_context(|| format!("{way:?}"))).collect()
}

fn one_name(
    scenery: &Scenery,
    roots: &[Root],
    name: &str,
    refused: &mut u64,
    opened: &mut u64,
) -> Result<()> {
    for (root, way) in roots.iter().zip(WAYS) {
        if let Some(text) = read(root, name)? {
            ensure!(text == INSIDE, "{way:?} opened something outside");
            *opened += 1;
        }
    }
    let leaves = name.starts_with('/') || name.split('/').any(|part| part == "..") || name.contains('\0');
    let contract = Contract::expecting(&[name.to_owned(), format!("{name}*")]);
    match contract {
        Ok(_) if leaves => bail!("it was taken as a promise"),
        Ok(contract) => look(&contract.agree(&scenery.dir(), &Nothing)?),
        Err(_) => {
            *refused += 1;
            Ok(())
        }
    }
}

/// What is behind a name, if it is opened at all.
fn read(root: &Root, name: &str) -> Result<Option<Vec<u8>>> {
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let Ok(mut opened) = root.file(path) else { return Ok(None) };
    let mut text = Vec::new();
    opened.file.by_ref().take(1 << 16).read_to_end(&mut text)?;
    Ok(Some(text))
}

/// Verifies, and finds only what is inside.
fn look(agreement: &Agreement) -> Result<()> {
    let found = verify(agreement, &Nothing, &InspectionLimits::DEFAULT, Moment::from_micros(0))?;
    let inside = blake3::hash(INSIDE).to_hex();
    for file in found.items.iter().flat_map(|item| &item.files) {
        let known = file.blake3.as_deref() == Some(inside.as_str());
        ensure!(known || file.bytes == 0, "something outside was hashed as {}", file.path);
    }
    Ok(())
}

/// A directory and a file change places with links to the outside, as fast as they can.
fn race(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let scenery = Scenery::new()?;
    let agreement = scenery.to_swap()?;
    let roots = open_both(&agreement.dir)?;
    let until = Instant::now() + Duration::from_secs(plan.choose(60, 2, 1));
    let done = AtomicBool::new(false);
    let (mut kept, mut refused, mut escaped) = (0_u64, 0_u64, Vec::new());
    let swaps = std::thread::scope(|scope| -> Result<u64> {
        let swapper = scope.spawn(|| swap(&scenery, &done));
        let mut one_pass = || -> Result<()> {
            if let Err(error) = look(&agreement) {
                escaped.push(format!("{error:#}"));
            }
            for (root, way) in roots.iter().zip(WAYS) {
                for path in Scenery::SWAPPED {
                    match read(root, path)? {
                        Some(text) if text == INSIDE => kept += 1,
                        Some(_) => escaped.push(format!("{way:?} read the outside through {path}")),
                        None => refused += 1,
                    }
                }
            }
            Ok(())
        };
        let mut outcome = Ok(());
        while outcome.is_ok() && Instant::now() < until {
            outcome = one_pass();
        }
        done.store(true, Ordering::Relaxed);
        let swaps = swapper.join().map_err(|_| anyhow::anyhow!("BUG: the swapping thread panicked"))??;
        outcome.map(|()| swaps)
    })?;
    tally.passed += kept + refused;
    tally.failures.extend(escaped);
    ensure!(kept > 0 && refused > 0, "the race did not happen: {kept} inside, {refused} refused");
    tally.notes.push(format!(
        "{swaps} swaps; {kept} times the file inside was read, {refused} times a link was refused"
    ));
    Ok(())
}

fn swap(scenery: &Scenery, done: &AtomicBool) -> Result<u64> {
    let mut swaps = 0;
    while !done.load(Ordering::Relaxed) {
        for (one, other) in [("swap", "swapped"), ("file.txt", "swapped.txt")] {
            let (one, other) = (scenery.dir().join(one), scenery.dir().join(other));
            renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?;
            swaps += 1;
        }
    }
    Ok(swaps)
}

/// No promise here runs a program.
pub(crate) struct Nothing;

impl Check for Nothing {
    fn run(&self, program: &CheckProgram<'_>) -> std::io::Result<Ran> {
        Err(std::io::Error::other(format!("nobody promised to run {:?}", program.argv)))
    }
}
