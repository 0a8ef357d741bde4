//! Import: takes the lines of an export in, all of them or none.
//!
//! Invariant: a record is taken only if it continues the log and its entity, and if its hash, computed anew, is the
//! one it names, and if the kernel, which decides it anew, takes it from the actor it names, with its reasons and its
//! evidence. Deliberately absent: whose record it is; a file can be made by anybody, and only its checkpoints say who signed it.

use std::io::{self, BufRead, Read};

use callboard_kernel::{Entity, EntityId, Moment};
use callboard_lifecycle::{Kind, Words};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::{ReadError, chain};
use crate::ledger::Ledger;
use crate::moving::export::Legacy;
use crate::moving::export_checkpoints::ExportCheckpoints;
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::guarded;
use crate::proof::redecide::{self, Judgement};
use crate::record::{Hash, Record};
use crate::writing::group::{Member, Wholeness};

/// What an import took in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// How many records.
    pub records: u64,
    /// How many rows from before there were states.
    pub legacy: u64,
    /// How many of those rows the store had already.
    pub legacy_known: u64,
    /// Where the log ends.
    pub head: u64,
    /// How many of the records a seal in the export covers; whoever made the file may have changed the others.
    pub sealed: u64,
    /// The keys that sealed them.
    pub keys: Vec<PublicKey>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line cannot be taken.
    #[error("line {number} cannot be taken: {problem}")]
    Line {
        /// Counted from 1.
        number: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The lines cannot be read.
    #[error("failed to read the lines")]
    Input(#[source] io::Error),
    /// The store failed.
    #[error("failed to write what is imported")]
    Store(#[from] ReadError),
}

/// One line of an export.
pub(crate) enum Line {
    Record(Box<Record>),
    Legacy(Legacy),
}

/// What a line of an export can be.
pub(crate) enum Piece {
    Line(Line),
    Checkpoint(Box<Checkpoint>),
}

/// Numbered lines, read one at a time.
pub(crate) type Lines<'a> = dyn Iterator<Item = Result<(u64, Line), ImportError>> + 'a;

impl Ledger {
    /// Takes an export in: into an empty store, or into one that it continues. On any error nothing was taken.
    pub fn import(&self, from: &mut dyn BufRead) -> Result<Imported, ImportError> {
        self.import_sealed_by(&[], from)
    }

    /// The same, where every record must be sealed by one of these keys, if there are any.
    pub fn import_sealed_by(
        &self,
        keys: &[PublicKey],
        from: &mut dyn BufRead,
    ) -> Result<Imported, ImportError> {
        self.check_writes()?;
        let mut reading = Reading {
            from,
            number: 0,
            signed: ExportCheckpoints::by(keys),
            groups: Some(Wholeness::of_log()),
        };
        let mut imported = self.reader().import(&mut reading)?;
        (imported.sealed, imported.keys) = reading.signed.told();
        Ok(imported)
    }
}

/// Would the kernel have recorded it? What this program cannot decide is taken, and `verify` counts it as unproved.
pub(crate) fn decided(record: &Record, before: &Entity) -> Result<(), String> {
    match redecide::judge(&record.borrowed()) {
        Judgement::Wrong(problem) if !mutant::removed("decide_anew") => Err(problem),
        Judgement::Guarded { asked, .. } => guarded::hold(asked, before, record),
        Judgement::Sound | Judgement::Unproved | Judgement::Wrong(_) => Ok(()),
    }
}

/// The numbered lines of an export that an engine takes; the checkpoints among them are checked on the way.
pub(crate) fn lines(from: &mut dyn BufRead) -> impl Iterator<Item = Result<(u64, Line), ImportError>> {
    Reading { from, number: 0, signed: ExportCheckpoints::default(), groups: None }
}

/// An export that is being read.
struct Reading<'a> {
    from: &'a mut dyn BufRead,
    number: u64,
    signed: ExportCheckpoints,
    /// A part of a log may begin and end inside of a group, and then nobody asks.
    groups: Option<Wholeness>,
}

impl Iterator for Reading<'_> {
    type Item = Result<(u64, Line), ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let piece = next(self.from, &mut self.number);
            let number = self.number;
            let refuse = |problem| ImportError::Line { number, problem };
            return match piece {
                Err(error) => Some(Err(error)),
                Ok(Some(Piece::Checkpoint(checkpoint))) => match self.signed.promise(*checkpoint) {
                    Ok(()) => continue,
                    Err(problem) => Some(Err(refuse(problem))),
                },
                Ok(Some(Piece::Line(line))) => {
                    let passed = self.signed.pass(&line).and_then(|()| self.is_whole(&line));
                    Some(passed.map(|()| (number, line)).map_err(refuse))
                }
                Ok(None) => {
                    let open = || self.groups.take().and_then(|groups| groups.end());
                    self.signed.end().or_else(open).map(|problem| Err(refuse(problem)))
                }
            };
        }
    }
}

impl Reading<'_> {
    /// Does the group of a record stand whole as far as the lines go?
    fn is_whole(&mut self, line: &Line) -> Result<(), String> {
        let (Line::Record(record), Some(groups)) = (line, &mut self.groups) else { return Ok(()) };
        let member = record.member().map_err(|error| chain(&error))?;
        groups.follow(member).map_or(Ok(()), Err)
    }
}

/// The longest line that is taken; a record is far below it.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn next(from: &mut dyn BufRead, number: &mut u64) -> Result<Option<Piece>, ImportError> {
    loop {
        let mut bytes = Vec::new();
        let read = from.take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes).map_err(ImportError::Input)?;
        if read == 0 {
            return Ok(None);
        }
        *number += 1;
        let refuse = |problem| Err(ImportError::Line { number: *number, problem });
        if read as u64 == LINE_BYTES_MAX {
            return refuse(format!("it is longer than {} MiB", LINE_BYTES_MAX / 1024 / 1024));
        }
        let Ok(text) = str::from_utf8(&bytes) else { return refuse("it is not UTF-8".to_owned()) };
        if text.trim().is_empty() {
            continue;
        }
        return match read_piece(text) {
            Ok(piece) => Ok(Some(piece)),
            Err(problem) => refuse(problem),
        };
    }
}

/// Reads a line of an export.
pub(crate) fn read_piece(text: &str) -> Result<Piece, String> {
    let text = text.trim();
    if text.starts_with(CHECKPOINT) {
        return Checkpoint::read(text).map(Box::new).map(Piece::Checkpoint);
    }
    read_line(text).map(Piece::Line)
}

/// How the line of a checkpoint begins.
const CHECKPOINT: &str = "{\"checkpoint\":";

fn read_line(text: &str) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct RecordShape<'a> {
        #[serde(borrow)]
        legacy: Option<LegacyLine<'a>>,
    }
    #[derive(Deserialize)]
    struct LegacyLine<'a> {
        kind: String,
        title: Option<String>,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    // A list would be read as the fields in their order, which nobody means.
    if !text.starts_with('{') {
        return Err("it is not an object".to_owned());
    }
    let shape: RecordShape<'_> = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let Some(row) = shape.legacy else {
        return read_record(text).map(|record| Line::Record(Box::new(record)));
    };
    let mut data = row.data.map_or("{}", RawValue::get).to_owned();
    if !data.starts_with('{') {
        return Err("the data of a legacy row is not an object".to_owned());
    }
    data.retain(|c| c != '\n' && c != '\r');
    Ok(Line::Legacy(Legacy { kind: row.kind, title: row.title, data }))
}

#[derive(Deserialize)]
struct RecordLine<'a> {
    seq: u64,
    at: Moment,
    entity: EntityLine,
    version: u64,
    #[serde(rename = "type")]
    event_type: String,
    channel: String,
    from: Option<String>,
    to: String,
    trigger: Option<String>,
    actor: ActorLine,
    #[serde(borrow)]
    reasons: Option<&'a RawValue>,
    cause: Option<String>,
    key: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    group: Option<Member>,
    #[serde(borrow)]
    guards: Option<&'a RawValue>,
    hash: String,
    body: Option<String>,
}

#[derive(Deserialize)]
struct EntityLine {
    kind: String,
    id: String,
}

#[derive(Deserialize)]
struct ActorLine {
    #[serde(rename = "type")]
    class: String,
    id: String,
}

/// Reads a record from its line.
pub(crate) fn read_record(text: &str) -> Result<Record, String> {
    let line: RecordLine<'_> = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let body = match line.body {
        Some(body) => body,
        None => body_of(&line).map_err(|error| malformed(&error))?,
    };
    Ok(Record {
        seq: line.seq,
        entity: uuid(&line.entity)?,
        kind: line.entity.kind,
        version: line.version,
        at: line.at,
        // Without a trigger, what happened is the type itself.
        via: line.trigger.unwrap_or_else(|| line.event_type.clone()),
        event_type: line.event_type,
        channel: line.channel,
        from_state: line.from.unwrap_or_default(),
        to_state: line.to,
        actor_type: line.actor.class,
        actor_id: line.actor.id,
        key: line.key,
        body,
        hash: Hash::from_hex(&line.hash).ok_or("its hash is not 64 hexadecimal digits")?,
    })
}

/// The body that says these parts, as it is encoded when it is written.
fn body_of(line: &RecordLine<'_>) -> Result<String, serde_json::Error> {
    let said = |part: Option<&RawValue>, nothing: &str| {
        part.map(RawValue::get).filter(|text| *text != nothing).map(str::to_owned)
    };
    let cause = line.cause.as_ref().map(serde_json::to_string).transpose()?;
    let group = line.group.map(|member| serde_json::to_string(&member)).transpose()?;
    let parts = [
        ("reasons", said(line.reasons, "[]")),
        ("cause", cause),
        ("data", said(line.data, "{}")),
        ("group", group),
        ("guards", said(line.guards, "[]")),
    ];
    let fields: Vec<String> =
        parts.into_iter().filter_map(|(name, text)| Some(format!("\"{name}\":{}", text?))).collect();
    Ok(if fields.is_empty() { String::new() } else { format!("{{{}}}", fields.join(",")) })
}

/// The bits of an id, whose prefix must be its kind's; a kind of a newer program is named by its bits alone.
fn uuid(entity: &EntityLine) -> Result<Uuid, String> {
    let Ok(kind) = Kind::parse(&entity.kind) else {
        return Uuid::try_parse(&entity.id).map_err(|_| format!("{:?} is no id", entity.id));
    };
    match entity.id.parse::<EntityId>() {
        Ok(id) if id.kind() == kind => Ok(id.uuid()),
        Ok(_) => Err(format!("{} is not the id of a {kind}", entity.id)),
        Err(error) => Err(error.to_string()),
    }
}

fn malformed(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let told = text.rsplit_once(" at line ").map_or(text.as_str(), |(told, _)| told);
    format!("{told}, at column {}", error.column())
}
