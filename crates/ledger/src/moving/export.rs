//! Export: the log as lines of JSON, each one the record as every program sees it.
//!
//! Invariant: a line gives back the record byte for byte, so its hash can be computed anew from the line alone; the
//! chain is checked while it is read, and the first record that does not hold stops the export at its position.
//! The checkpoints over it come first, so that an export that was cut before the newest of them is found out when it
//! is imported. Deliberately absent: taking these checkpoints over; the next store signs its own.

use std::collections::HashMap;
use std::io;

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::engine::Ask;
use crate::error::{ReadError, chain};
use crate::ledger::Ledger;
use crate::moving::import::read_record;
use crate::record::{Hash, Record, Unreadable};
use crate::store::{Page, RecordScope};

/// Which part of the log is exported.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// After this sequence number.
    pub after: u64,
    /// Up to and with this one.
    pub until: u64,
}

impl Range {
    /// The whole log.
    pub const ALL: Self = Self { after: 0, until: u64::MAX };

    const fn is_all(self) -> bool {
        self.after == 0 && self.until == u64::MAX
    }
}

/// What an export wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// How many records.
    pub records: u64,
    /// How many rows from before there were states.
    pub legacy: u64,
}

/// Why an export stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A record does not hold; everything before it was written.
    #[error("record {seq} does not hold: {problem}")]
    Corrupt {
        /// Where in the log.
        seq: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The store cannot be read.
    #[error("failed to read what is to be exported")]
    Read(#[from] ReadError),
    /// What was read cannot be written.
    #[error("failed to write a line")]
    Write(#[source] io::Error),
}

/// A row from before there were states: kept as it came, counted nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Legacy {
    pub(crate) kind: String,
    pub(crate) title: Option<String>,
    /// An object, as the text it is.
    pub(crate) data: String,
}

impl Legacy {
    /// Its line in an export.
    fn line(&self) -> Result<String, Unreadable> {
        #[derive(Serialize)]
        struct Row<'a> {
            kind: &'a str,
            title: Option<&'a str>,
            data: &'a RawValue,
        }
        #[derive(Serialize)]
        struct Line<'a> {
            legacy: Row<'a>,
        }
        let data = serde_json::from_str(&self.data)?;
        let legacy = Row { kind: &self.kind, title: self.title.as_deref(), data };
        Ok(serde_json::to_string(&Line { legacy })?)
    }
}

impl Record {
    /// Its line in an export and in the feed: the record as JSON, from which the same record can be read back.
    pub fn line(&self) -> Result<String, Unreadable> {
        let mut text = serde_json::to_string(self)?;
        // The parts of a body are carried along as text, and another client may have broken its lines.
        text.retain(|c| c != '\n' && c != '\r');
        if read_record(&text).is_ok_and(|same| same == *self) {
            return Ok(text);
        }
        // A newer program's body has more in it than the fields of a record show.
        text.pop();
        text.push_str(",\"body\":");
        text.push_str(&serde_json::to_string(&self.body)?);
        text.push('}');
        Ok(text)
    }
}

/// Records held in memory at once.
const PAGE: usize = 1000;

impl Ledger {
    /// Gives the lines of a part of the log in order, checking each record before its line is given. A whole export
    /// ends with the rows from before there were states.
    pub fn export(
        &self,
        range: Range,
        each: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<Exported, ExportError> {
        let reader = self.reader();
        let mut exported = Exported::default();
        let mut chain = Chain { reader, heads: HashMap::new(), scratch: Vec::new() };
        for line in checkpoints_over(reader, range)? {
            each(&line).map_err(ExportError::Write)?;
        }
        // The table does not know what came before an archived record, so the way there is read too.
        let archived = reader.segments()?.last().map_or(0, |segment| segment.until);
        let mut after = if range.after < archived { 0 } else { range.after };
        while after < range.until {
            let records = page(reader, after)?;
            if records.is_empty() {
                break;
            }
            for record in records.iter().take_while(|record| record.seq <= range.until) {
                chain.check(after + 1, record)?;
                after = record.seq;
                if record.seq <= range.after {
                    continue;
                }
                let line = record.line().map_err(|error| corrupt(record.seq, &error))?;
                each(&line).map_err(ExportError::Write)?;
                exported.records += 1;
            }
            if records.last().is_some_and(|last| last.seq > range.until) {
                break;
            }
        }
        if range.is_all() {
            exported.legacy = export_legacy(reader, each)?;
        }
        Ok(exported)
    }

    /// How many rows from before there were states the store holds.
    pub fn legacy(&self) -> Result<u64, ReadError> {
        self.reader().legacy_count()
    }
}

/// The lines of the checkpoints in a range, and of the one before them, from which the first of them goes on.
fn checkpoints_over(reader: &dyn Ask, range: Range) -> Result<Vec<String>, ExportError> {
    let all = reader.checkpoints()?;
    let first = all.partition_point(|checkpoint| checkpoint.seq <= range.after);
    let end = all.partition_point(|checkpoint| checkpoint.seq <= range.until);
    if first >= end {
        return Ok(Vec::new());
    }
    all[first.saturating_sub(1)..end]
        .iter()
        .map(|checkpoint| checkpoint.line().map_err(|error| ReadError::from(error).into()))
        .collect()
}

fn export_legacy(reader: &dyn Ask, each: &mut dyn FnMut(&str) -> io::Result<()>) -> Result<u64, ExportError> {
    let mut count = 0;
    for row in reader.legacy()? {
        each(&row.line().map_err(ReadError::from)?).map_err(ExportError::Write)?;
        count += 1;
    }
    Ok(count)
}

/// The next records. A page that cannot be read is read one by one, so that what stands before the damage is given.
fn page(reader: &dyn Ask, after: u64) -> Result<Vec<Record>, ExportError> {
    let records = |limit| reader.records(Page { after, limit, scope: RecordScope::All });
    match records(PAGE) {
        Err(error) if !error.is_busy() => records(1).map_err(|error| corrupt(after + 1, &error)),
        read => Ok(read?),
    }
}

fn corrupt(seq: u64, error: &dyn std::error::Error) -> ExportError {
    ExportError::Corrupt { seq, problem: chain(error) }
}

/// The newest hash of every entity on the way through the log.
struct Chain<'a> {
    reader: &'a dyn Ask,
    heads: HashMap<Uuid, Hash>,
    scratch: Vec<u8>,
}

impl Chain<'_> {
    fn check(&mut self, expected: u64, record: &Record) -> Result<(), ExportError> {
        if record.seq != expected {
            let problem = format!("records {expected} to {} are missing", record.seq - 1);
            return Err(ExportError::Corrupt { seq: expected, problem });
        }
        let head = match self.heads.get(&record.entity) {
            Some(head) => *head,
            None => self.reader.before(record)?.map_or(Hash::GENESIS, |before| before.hash),
        };
        if record.hash_after(head, &mut self.scratch) != record.hash {
            let problem = "its bytes do not match its hash".to_owned();
            return Err(ExportError::Corrupt { seq: record.seq, problem });
        }
        self.heads.insert(record.entity, record.hash);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Moment;

    use super::*;

    fn record(kind: &str, body: &str) -> Record {
        Record {
            seq: 7,
            entity: Uuid::from_u128(9),
            kind: kind.to_owned(),
            version: 2,
            at: Moment::from_micros(1_794_770_358_123_456),
            event_type: "observed".to_owned(),
            channel: "audit".to_owned(),
            from_state: "running".to_owned(),
            via: "observed".to_owned(),
            to_state: "running".to_owned(),
            actor_type: "operator".to_owned(),
            actor_id: "ann \"the\nuser\"".to_owned(),
            key: Some("k\u{7f}\u{2028}".to_owned()),
            body: body.to_owned(),
            hash: Hash([0xab; 32]),
        }
    }

    #[test]
    fn a_line_gives_back_the_record_whatever_is_in_its_body() {
        let bodies = [
            ("", false),
            (r#"{"data":{"a":1}}"#, false),
            (r#"{"reasons":[{"code":"x.y.z","message":"m"}],"cause":"c\"","data":{"a":1.0}}"#, false),
            (r#"{"data":{"a":18446744073709551615,"b":1e400}}"#, false),
            (r#"{"cause":"c","guards":["no_living_supervisor"]}"#, false),
            (r#"{"data":{"a":1},"guards":["sunshine"]}"#, false),
            // What a newer program or another client wrote is not what this one would have written.
            (r#"{"data":{},"cause":"c"}"#, true),
            (r#"{"reasons":[]}"#, true),
            (r#"{"novel":1}"#, true),
            ("{\n  \"data\": {\n    \"a\": 1\r\n  }\n}\n", true),
        ];
        for (body, is_kept) in bodies {
            for kind in ["session", "galley"] {
                let record = record(kind, body);
                let line = record.line().unwrap_or_else(|error| panic!("{body}: {error}"));
                assert!(!line.contains(['\n', '\r']), "{line}");
                assert_eq!(line.contains(",\"body\":"), is_kept, "{line}");
                assert_eq!(read_record(&line).as_ref(), Ok(&record), "{line}");
            }
        }
    }

    #[test]
    fn a_body_that_is_no_body_has_no_line() {
        for body in ["nonsense", "[]", "{\"cause\":7}"] {
            assert!(record("session", body).line().is_err(), "{body}");
        }
    }
}
