//! `callboard import`: takes an export in, all of it or nothing.
//!
//! Invariant: a record is taken only where it continues the store exactly and its hash holds. Deliberately absent:
//! merging two stores; two logs have two orders, and no third is true.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use callboard_ledger::{Imported, PublicKey};
use clap::Args;

use crate::error::{Error, Exit};
use crate::show::record_text::count;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::need_person;

/// Take an export in: into an empty store, or into one that it continues.
///
/// Every record is checked and decided anew, and on any error nothing is taken. The seals of an export are checked too, and it is
/// said how many records they cover: whoever made the file may have changed the others. A line {"legacy":{"kind","title","data"}} is a row from
/// before there were states: it is kept, counted by `ps` beside the list, and counted nowhere else.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The file to read; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take only records that this public key sealed where they come from. Can be given again.
    #[arg(long, value_name = "HEX")]
    key: Vec<PublicKey>,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

impl ImportArgs {
    /// Takes it in.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let mut input: Box<dyn BufRead> = if self.file == Path::new("-") {
            Box::new(std::io::stdin().lock())
        } else {
            let file = File::open(&self.file).map_err(|cause| Error::Input(self.file.clone(), cause))?;
            Box::new(BufReader::new(file))
        };
        let name = self.file.display().to_string();
        need_person("importing records", store.open_existing().ok().as_ref())?;
        let imported = store
            .open()?
            .import_sealed_by(&self.key, &mut input)
            .map_err(|cause| Error::Import(name, cause))?;
        if self.json {
            screen.json(&imported)?;
        } else {
            let (records, legacy) = (count(imported.records, "record"), count(imported.legacy, "legacy row"));
            let known = match imported.legacy_known {
                0 => String::new(),
                known => format!(", {} known already", count(known, "legacy row")),
            };
            let head = imported.head;
            screen.print(&format!("{records} and {legacy} taken in{known}; the log ends at {head}\n"))?;
            screen.print(&screen.prose(&seals(&imported)))?;
        }
        Ok(Exit::DONE)
    }
}

/// What the seals of the export say of what was taken in.
fn seals(imported: &Imported) -> String {
    if imported.records == 0 {
        return String::new();
    }
    let keys: Vec<String> = imported.keys.iter().map(ToString::to_string).collect();
    let unsealed = imported.records - imported.sealed;
    let told = match imported.sealed {
        0 => String::new(),
        sealed => {
            format!("{} sealed where they come from, by {}.", count(sealed, "record"), keys.join(" and "))
        }
    };
    let untold = match unsealed {
        0 => String::new(),
        unsealed => format!(
            "{} without a seal: whoever made the file may have changed what it says.",
            count(unsealed, "record")
        ),
    };
    [told, untold].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}
