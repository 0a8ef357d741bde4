//! `callboard retry`: runs again what was run, with the same words in the same directory.
//!
//! Invariant: the words are those that were typed, byte for byte, kept where only the user can read them; the record of a
//! run has its secrets taken out and is no source for this. The run can write the file, so its hash is recorded before the
//! run is started, and words that do not have it are not run. Deliberately absent: changing them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use callboard_kernel::{EntityId, Value};
use clap::{Args, Parser};

use crate::commands::run::{RunArgs, WORDS};
use crate::error::{Error, Exit};
use crate::ids;
use crate::screen::Screen;
use crate::store::Store;

/// Run again what was run: the same command, in the same directory, with the same options.
#[derive(Args, Debug)]
pub(crate) struct RetryArgs {
    /// The run, or as much of its id as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// In the background, whatever it was before.
    #[arg(long, short)]
    detach: bool,
}

/// The words of a run, to be read again.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: RunArgs,
}

impl RetryArgs {
    /// Runs it again.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (id, args, cwd) = kept(store, &self.id)?;
        std::env::set_current_dir(&cwd).map_err(|source| Error::Cwd(cwd, source))?;
        args.again(id, self.detach).run(screen, store)
    }
}

/// What was run under an id, and where.
pub(crate) fn kept(store: &Store, typed: &str) -> Result<(EntityId, RunArgs, PathBuf), Error> {
    let ledger = store.open_existing()?;
    let id = ids::find(&ledger, typed)?;
    let stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
    let fact = |name| match stored.entity.facts.get(name) {
        Some(Value::Text(text)) => Ok(PathBuf::from(text)),
        Some(_) | None => Err(Error::NoWords(id)),
    };
    let kept = std::fs::read(fact("dir")?.join(WORDS)).map_err(|_| Error::NoWords(id))?;
    let recorded = match stored.entity.facts.get("words_hash") {
        Some(Value::Text(hash)) => hash.as_str(),
        Some(_) | None => return Err(Error::ChangedWords(id, "no hash of them was recorded")),
    };
    if blake3::hash(&kept).to_hex().as_str() != recorded {
        return Err(Error::ChangedWords(
            id,
            "they are not those that were recorded: somebody changed the file",
        ));
    }
    let words = words(&kept).ok_or(Error::NoWords(id))?;
    let Ok(Words { args }) = Words::try_parse_from(words) else { return Err(Error::NoWords(id)) };
    Ok((id, args, fact("cwd")?))
}

/// The words behind the salt.
fn words(kept: &[u8]) -> Option<Vec<OsString>> {
    let words = kept.strip_suffix(b"\0")?.split(|byte| *byte == 0).skip(1);
    Some(words.map(|word| OsString::from_vec(word.to_vec())).collect())
}
