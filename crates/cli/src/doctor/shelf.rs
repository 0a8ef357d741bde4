//! The store: does it open, can it be written, is it sound, is there room, and who can read it?

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use callboard_kernel::Moment;
use callboard_ledger::{Info, Ledger, Page, RecordScope};
use rustix::fs::{Access, access, statvfs};

use super::Check;
use crate::input::moment::{absolute, age};
use crate::show::record_text::size;
use crate::store::Store;

/// Less free space than this is worth saying, and less than this is too little.
const ROOM: u64 = 1 << 30;
const ROOM_LEAST: u64 = 64 << 20;
/// A database beyond this is not read through for a quick look.
const QUICK_MAX: u64 = 256 << 20;

/// Looks at the store, and gives it if it opens.
pub(super) fn checks(store: &Store, now: Moment) -> (Vec<Check>, Option<Ledger>) {
    let file = match store.file() {
        Ok(file) => file,
        Err(error) => {
            let (because, instead) = error.why_and_what_next();
            return (vec![Check::broken("store", because, instead)], None);
        }
    };
    if let Some(file) = file.as_ref().filter(|file| !file.exists()) {
        let found = format!("none yet at {}; the first record makes it", file.display());
        return (vec![Check::ok("store", found), disk(file), directory(file)], None);
    }
    let ledger = match store.open_existing() {
        Ok(ledger) => ledger,
        Err(error) => {
            let (because, instead) = error.why_and_what_next();
            let mut checks = vec![Check::broken("store", format!("{error}: {because}"), instead)];
            checks.extend(file.iter().flat_map(|file| [disk(file), directory(file)]));
            return (checks, None);
        }
    };
    let mut checks = vec![Check::ok("store", ledger.path().display().to_string())];
    match ledger.info() {
        Ok(info) => checks.extend([format(&info), database(&ledger, &info)]),
        Err(error) => checks.push(Check::broken("database", error.to_string(), CHECK)),
    }
    if let Some(file) = &file {
        checks.extend([writable(file), disk(file), directory(file)]);
    }
    checks.extend(durability(&ledger));
    checks.extend(key(store));
    checks.push(sealed(&ledger));
    checks.push(clock(&ledger, now));
    (checks, Some(ledger))
}

const CHECK: &str = "callboard store check says what is damaged; a backup can be opened with --store";

fn format(info: &Info) -> Check {
    Check::ok(
        "format",
        format!("{}, with {} records of {} entities", info.format, info.records, info.entities),
    )
}

fn database(ledger: &Ledger, info: &Info) -> Check {
    if info.bytes > QUICK_MAX {
        let found = format!("{}, {}, too large to be read through here", info.engine, size(info.bytes));
        return Check::ok("database", found);
    }
    match ledger.integrity() {
        Ok(None) => Check::ok("database", format!("{}, {}, sound", info.engine, size(info.bytes))),
        Ok(Some(problem)) => Check::broken("database", format!("{}: {problem}", info.engine), CHECK),
        Err(error) => Check::broken("database", error.to_string(), CHECK),
    }
}

/// Does what the server has answered for survive a crash of its machine?
fn durability(ledger: &Ledger) -> Option<Check> {
    match ledger.durability() {
        Ok(settings) if settings.is_empty() => None,
        Ok(settings) => Some(judged(&settings)),
        Err(error) => Some(Check::broken("durability", error.to_string(), CHECK)),
    }
}

fn judged(settings: &[(String, String)]) -> Check {
    let off = |name: &str| settings.iter().any(|(known, value)| known == name && value == "off");
    let lost: Vec<String> = ["fsync", "full_page_writes"]
        .into_iter()
        .filter(|name| off(name))
        .map(|name| format!("{name} is off"))
        .collect();
    if !lost.is_empty() {
        return Check::broken(
            "durability",
            format!("{}: a crash of the server's machine loses or damages records", lost.join(", ")),
            "turn it on in postgresql.conf and restart the server; take a backup first",
        );
    }
    if off("synchronous_commit") {
        return Check::warning(
            "durability",
            "synchronous_commit is off; callboard turns it on for its own records, others may lose theirs",
            "turn it on in postgresql.conf, or for the role and the database",
        );
    }
    Check::ok("durability", "the server syncs what it has answered for")
}

fn writable(file: &Path) -> Check {
    let directory = directory_of(file);
    // SQLite makes files beside the store, so the directory counts too.
    for path in [file, &directory] {
        if let Err(error) = access(path, Access::WRITE_OK) {
            let advice = "give yourself the right to write there, or name another store: --store PATH";
            return Check::broken(
                "writing",
                format!("{} cannot be written: {error}", path.display()),
                advice,
            );
        }
    }
    Check::ok("writing", "the store and its directory can be written")
}

fn disk(file: &Path) -> Check {
    let present = file.ancestors().skip(1).find(|path| path.exists()).unwrap_or(Path::new("."));
    let present = if present.as_os_str().is_empty() { Path::new(".") } else { present };
    match statvfs(present) {
        Err(error) => {
            Check::warning("disk", format!("{}: {error}", present.display()), "look at the disk: df -h")
        }
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let told = format!("{} free at {}", size(free), present.display());
            match free {
                ROOM.. => Check::ok("disk", told),
                ROOM_LEAST.. => Check::warning("disk", told, "make room before the disk is full"),
                _ => Check::broken("disk", told, "make room: records and output cannot be kept much longer"),
            }
        }
    }
}

fn directory(file: &Path) -> Check {
    let directory = directory_of(file);
    let Ok(found) = directory.metadata() else {
        return Check::ok("directory", format!("{} is made with the store", directory.display()));
    };
    let mode = found.permissions().mode() & 0o777;
    let told = format!("{} has mode {mode:03o}", directory.display());
    match mode {
        _ if mode & 0o022 != 0 => {
            let advice = format!("others can change records: chmod 700 {}", directory.display());
            Check::warning("directory", told, advice)
        }
        _ if mode & 0o055 != 0 => {
            let advice = format!("others can read what runs print: chmod 700 {}", directory.display());
            Check::warning("directory", told, advice)
        }
        _ => Check::ok("directory", told),
    }
}

/// The key that signs checkpoints.
fn key(store: &Store) -> Option<Check> {
    let path = store.key().ok()?;
    let Ok(found) = path.metadata() else {
        return Some(Check::warning(
            "key",
            format!("{} is not there", path.display()),
            "bring it back from a backup; without it checkpoints are signed with a key nobody knows",
        ));
    };
    let mode = found.permissions().mode() & 0o777;
    let place = if store.given_key().is_some() { "as you said" } else { "the usual place" };
    let told = format!("{} has mode {mode:03o} ({place})", path.display());
    Some(match mode & 0o077 {
        0 => Check::ok("key", format!("{told}; a run without --sandbox can read it, one with it cannot")),
        _ => {
            Check::broken("key", told, format!("others can sign in your name: chmod 600 {}", path.display()))
        }
    })
}

/// How far the log is sealed, and whether that is what was remembered beside the key.
fn sealed(ledger: &Ledger) -> Check {
    if let Some(doubt) = ledger.doubt() {
        return Check::broken("seal", doubt, crate::error::advice::BESIDE_THE_LOG);
    }
    match (ledger.root(), ledger.head()) {
        (Ok(Some(root)), Ok(head)) if root.seq >= head => {
            Check::ok("seal", format!("every record up to {} is sealed", root.seq))
        }
        (Ok(Some(root)), Ok(head)) => {
            let found = format!("the log ends at record {head}, and it is sealed up to {}", root.seq);
            Check::broken("seal", found, CHECK)
        }
        (Ok(None), Ok(0)) => Check::ok("seal", "there is no record yet"),
        (Ok(None), Ok(_)) => Check::warning("seal", "no record is sealed", CHECK),
        (Err(error), _) | (_, Err(error)) => Check::broken("seal", error.to_string(), CHECK),
    }
}

/// A clock that went back makes what happens look as if it had happened before.
fn clock(ledger: &Ledger, now: Moment) -> Check {
    let newest = ledger.head().and_then(|head| match head.checked_sub(1) {
        None => Ok(None),
        Some(after) => Ok(ledger.records(Page { after, limit: 1, scope: RecordScope::All })?.pop()),
    });
    match newest {
        Err(error) => Check::broken("clock", format!("the newest record cannot be read: {error}"), CHECK),
        Ok(Some(record)) if record.at > now => {
            let ahead = age(record.at.since(now));
            let found = format!("the newest record is of {}, {ahead} after the clock", absolute(record.at));
            Check::warning(
                "clock",
                found,
                "set the clock right; records get the time of the newest until then",
            )
        }
        Ok(Some(record)) => {
            Check::ok("clock", format!("the newest record is {} old", age(now.since(record.at))))
        }
        Ok(None) => Check::ok("clock", absolute(now)),
    }
}

fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_server_that_may_lose_what_it_answered_for_is_not_well() {
        let judge = |off: &[&str]| {
            let value = |name: &&str| if off.contains(name) { "off" } else { "on" };
            let all = ["fsync", "full_page_writes", "synchronous_commit"];
            let settings: Vec<_> =
                all.iter().map(|name| ((*name).to_owned(), value(name).to_owned())).collect();
            judged(&settings)
        };
        assert_eq!(judge(&[]).verdict, Verdict::Ok);
        for off in ["fsync", "full_page_writes"] {
            let check = judge(&[off, "synchronous_commit"]);
            assert_eq!(check.verdict, Verdict::Broken, "{off}");
            assert!(check.found.contains(&format!("{off} is off")), "{}", check.found);
        }
        assert_eq!(judge(&["synchronous_commit"]).verdict, Verdict::Warning);
    }
}
