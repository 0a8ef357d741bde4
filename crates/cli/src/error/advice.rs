//! What to do when the store fails, in a sentence.
//!
//! Invariant: a fault that is not named here still gets advice that helps. Deliberately absent: what went wrong, which
//! the ledger says itself.

use callboard_kernel::EntityId;
use callboard_ledger::{ArchiveError, BackupError, Fault, OpenError, ReadError};
use callboard_server::{KeyError, ServeError};

const BUSY: &str = "try again, or look for the program that holds it";
const REPLACED: &str = "bring the file back that was there before; or end the programs that have it open, move the \
                        files that end in -wal and -shm away, and try again";
const CHECK: &str = "callboard store check says what is damaged; a backup can be opened with --store";

/// What to do about a plan with so many flaws.
pub(super) fn on_flaws(count: usize) -> (String, String) {
    let flaws = if count == 1 { "a flaw".to_owned() } else { format!("{count} flaws") };
    let because = format!("it has {flaws}, and nothing was recorded");
    (because, "docs/tasks.md says what a plan may hold".to_owned())
}

/// Why the words of a run are not run again, and what to do.
pub(crate) fn on_changed_recipe(id: EntityId, why: &str) -> (String, String) {
    (
        format!("the recipe that is kept to run it again cannot be trusted: {why}"),
        format!("callboard inspect {id} shows what was run; start it with callboard run"),
    )
}

/// After a store did not open.
pub(crate) fn on_opening(error: &OpenError) -> &'static str {
    if error.is_busy() {
        BUSY
    } else if matches!(error, OpenError::Key { .. }) {
        "name its key, or a file that is not there yet to make one: --key-file PATH"
    } else if matches!(error, OpenError::Newer { .. }) {
        "use the newer callboard that wrote it, or name another store: --store PATH"
    } else if matches!(error, OpenError::OldSqlite { .. }) {
        "build callboard with the SQLite that comes with it"
    } else if matches!(error, OpenError::Replaced { .. }) {
        REPLACED
    } else if matches!(error, OpenError::Older { .. }) {
        "callboard store migrate brings it up to date"
    } else if matches!(error, OpenError::WalOutOfReach { .. }) {
        "ask as the owner of the store, or copy it with its -wal to a directory of your own"
    } else if matches!(error, OpenError::Missing { .. }) {
        "bring the store back to where it was, or name another one: --store PATH"
    } else {
        "name a store that can be read and written: --store PATH"
    }
}

/// After a question went wrong.
pub(crate) fn on_asking(error: &ReadError) -> &'static str {
    if error.is_busy() {
        BUSY
    } else if let ReadError::Unsupported { instead, .. } = error {
        instead
    } else if matches!(error, ReadError::Segment { .. }) {
        "bring the file back to where it was, or say where it is: callboard store restore FILE"
    } else if matches!(error, ReadError::Replaced(_)) {
        REPLACED
    } else if error.is_away() {
        "look after the server or the way to it, then ask again"
    } else {
        CHECK
    }
}

/// After nothing was archived.
pub(crate) fn on_archiving(error: &ArchiveError) -> &'static str {
    if let ArchiveError::Store(cause) = error {
        on_asking(cause)
    } else if matches!(error, ArchiveError::Nothing { .. }) {
        "a checkpoint is kept about every 256 records; name a later record or time"
    } else if matches!(error, ArchiveError::Unsound(_)) {
        "callboard verify says what is wrong; nothing was moved"
    } else if matches!(error, ArchiveError::Stranger(_)) {
        "callboard store info lists the segments of this store"
    } else {
        "name a directory that can be written and has none of these files: --to DIR"
    }
}

/// After a backup was not made or not restored.
pub(crate) fn on_backing_up(error: &BackupError) -> &'static str {
    match error {
        BackupError::Occupied(_) => {
            "name a file that does not exist yet; to restore, move the store, its .key, .segments, -wal and -shm away first"
        }
        BackupError::Held(_) => "stop callboard serve and the runs that use it, then restore again",
        BackupError::Wal(_) => {
            "callboard store check opens the store and copies them into it; or move the store, its -wal and -shm away \
             together, then restore again"
        }
        BackupError::File { .. } => "name a place that can be written and has room",
        BackupError::Open(cause) => on_opening(cause),
        BackupError::Store(cause) => on_asking(cause),
        BackupError::Segment(cause) => on_archiving(cause),
    }
}

/// After a record was not written.
pub(crate) fn on_writing(fault: &Fault) -> &'static str {
    if matches!(fault, Fault::Busy) {
        BUSY
    } else if matches!(fault, Fault::Full) {
        "make space on the disk, then send it again"
    } else if matches!(fault, Fault::Unknown(_)) {
        "look with callboard events whether it is there before sending it again"
    } else if matches!(fault, Fault::Replaced(_)) {
        REPLACED
    } else if matches!(fault, Fault::Corrupt(_)) {
        CHECK
    } else {
        "look at the disk and at who may write there, then send it again"
    }
}

/// After a server did not start.
pub(crate) fn on_serving(error: &ServeError) -> &'static str {
    match error {
        ServeError::Remote(_) => {
            "listen on 127.0.0.1, or add --allow-remote if others shall reach it: nothing is encrypted, and whoever gets \
             hold of a token can start programs as you"
        }
        ServeError::Listen(..) => "name another address, or port 0 for a free one: --listen 127.0.0.1:0",
        ServeError::Keys(KeyError::Exposed { .. } | KeyError::Damaged { .. }) => {
            "remove the file; the next start makes a new token, and every browser has to come in anew"
        }
        ServeError::Keys(KeyError::File { .. } | KeyError::Random) => "look at who may write there",
        ServeError::Store(cause) => on_asking(cause),
        ServeError::Traces(_) => "correct the variable, or unset it; nothing is sent without a collector",
        ServeError::Threads(_) => "end programs that are not needed, or raise the limit of processes",
    }
}

/// After the store was found to be another one than was sealed, or to defend itself no longer.
pub(crate) const BESIDE_THE_LOG: &str = "if you put the store back or moved it yourself, callboard store accept; if not, keep the files as they are and look \
     at who could write them";

/// After a record was found that does not hold.
pub(crate) fn on_damage(seq: u64) -> String {
    match seq.checked_sub(1) {
        None | Some(0) => "keep the file as it is, and go on from a backup".to_owned(),
        Some(sound) => format!(
            "keep the file as it is; callboard export --until {sound} FILE saves what holds, and import takes it into \
             a fresh store"
        ),
    }
}
