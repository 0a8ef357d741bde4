//! Import into a store in memory.
//!
//! Invariant: all lines or none: they are taken into a copy of the log, which replaces it at the end.

use std::collections::HashMap;

use super::log::Log;
use super::store::Shared;
use crate::error::{ReadError, chain};
use crate::moving::export::Legacy;
use crate::moving::import::{self, ImportError, Imported, Line, Lines};
use crate::proof::sealed::Ends;
use crate::record::Record;
use crate::store::Stored;

pub(super) fn import(shared: &Shared, lines: &mut Lines<'_>) -> Result<Imported, ImportError> {
    let mut log = shared.log();
    let (mut next, mut imported) = (log.clone(), Imported::default());
    let mut rows: HashMap<(String, Option<String>, String), usize> = HashMap::new();
    let mut scratch = Vec::new();
    for line in lines {
        match line? {
            (number, Line::Record(record)) => {
                take(&mut next, *record, &mut scratch)
                    .map_err(|problem| ImportError::Line { number, problem })?;
                imported.records += 1;
            }
            (_, Line::Legacy(row)) => {
                // The same row twice in one file is two rows; a row that an earlier import brought is known.
                let row_text = (row.kind.clone(), row.title.clone(), row.data.clone());
                let nth = rows.entry(row_text).and_modify(|nth| *nth += 1).or_insert(1);
                let known = log.legacy.iter().filter(|known| is_same(known, &row)).count();
                if known >= *nth {
                    imported.legacy_known += 1;
                } else {
                    imported.legacy += 1;
                    next.legacy.push(row);
                }
            }
        }
    }
    if let (Some(seal), true) = (&shared.seal, imported.records > 0) {
        let (key, before, seen) = (seal.public_key(), log.head(), next.seen());
        let ends = Ends::of(log.newest_checkpoints());
        let hashes = log.hashes_after(ends.since(key, before));
        let mut sealed = ends.follow(key, before, &hashes)?;
        next.hashes_after(before).into_iter().for_each(|hash| sealed.add(hash));
        let step = sealed.seal(seal, seen.seq, seen.at);
        next.seal(&step);
    }
    imported.head = next.head();
    *log = next;
    Ok(imported)
}

/// Takes one record in, or says what is wrong with it.
fn take(log: &mut Log, record: Record, scratch: &mut Vec<u8>) -> Result<(), String> {
    let told = |error: ReadError| chain(&error);
    let seen = log.seen();
    if record.seq != seen.seq + 1 {
        return Err(format!("it is record {}, and the log ends at {}", record.seq, seen.seq));
    }
    if record.at < seen.at {
        return Err(format!("it was decided before the record in front of it, at {}", record.at));
    }
    let id = record.id().map_err(|error| told(error.into()))?;
    let mut stored = log.views.get(&record.entity).cloned().unwrap_or_else(|| Stored::unborn(id));
    if record.hash_after(stored.head, scratch) != record.hash {
        return Err("its bytes, after the records before it, do not match its hash".to_owned());
    }
    import::decided(&record, &stored.entity)?;
    stored.follow(&record).map_err(told)?;
    log.views.insert(record.entity, stored);
    log.append(record);
    Ok(())
}

fn is_same(known: &Legacy, row: &Legacy) -> bool {
    (&known.kind, &known.title, &known.data) == (&row.kind, &row.title, &row.data)
}
