//! Looks into one file: its size, its hash and whether its bytes are what was promised.
//!
//! Invariant: one pass over one descriptor. The bytes that are judged are the bytes that are hashed, even if somebody
//! writes to the file meanwhile; memory is bounded, whatever the size. Deliberately absent: finding the file.

use std::io::Read;
use std::path::Path;

use crate::artifact_root::{Opened, Refused, Root, Stamp};
use crate::check::Check;
use crate::contract::{Promise, PromisedSchema};
use crate::media::TextScan;
use crate::schema;
use crate::verification::FileFound;
use crate::verify::InspectionLimits;

/// What one file is.
#[derive(Debug)]
pub(super) enum Inspected {
    /// It is as promised.
    Sound(FileFound, Stamp),
    /// It has no bytes.
    Empty(FileFound),
    /// It is there and wrong.
    Wrong(FileFound, Stamp, String),
}

/// Bytes that a signature or the beginning of a page is looked for in.
const HEAD_MAX: usize = 64 * 1024;

impl Inspected {
    /// Looks into a file.
    pub(super) fn of(
        root: &Root,
        path: &Path,
        promise: &Promise,
        limits: &InspectionLimits,
        checks: &dyn Check,
    ) -> Result<Self, Refused> {
        let opened = root.file(path)?;
        let stamp = opened.stamp;
        let name = path.to_string_lossy().into_owned();
        let wants_document = promise.json_schema.is_some()
            || promise.media_type.is_some_and(crate::media::MediaType::needs_document);
        let document_max = if wants_document { limits.document_bytes_max } else { 0 };
        let read = match Pass::over(opened, limits.file_bytes_max, document_max, checks) {
            Ok(read) => read,
            Err(error) => {
                let errno =
                    error.raw_os_error().map_or(rustix::io::Errno::IO, rustix::io::Errno::from_raw_os_error);
                return Err(Refused::Unreadable(errno));
            }
        };
        let found = FileFound { path: name, bytes: read.bytes, blake3: read.hash.clone() };
        if read.bytes == 0 {
            return Ok(Self::Empty(found));
        }
        Ok(match read.problem(promise, limits, wants_document) {
            None => Self::Sound(found, stamp),
            Some(problem) => Self::Wrong(found, stamp, problem),
        })
    }
}

/// What one pass over a file gave.
struct Pass {
    bytes: u64,
    /// None of a file beyond the bound.
    hash: Option<String>,
    head: Vec<u8>,
    text: TextScan,
    document: Vec<u8>,
    document_cut: bool,
}

impl Pass {
    fn over(opened: Opened, file_max: u64, document_max: u64, checks: &dyn Check) -> std::io::Result<Self> {
        let Opened { mut file, stamp: Stamp { bytes: size, .. } } = opened;
        let mut pass = Self {
            bytes: 0,
            hash: None,
            head: Vec::new(),
            text: TextScan::default(),
            document: Vec::new(),
            document_cut: false,
        };
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; HEAD_MAX];
        // Of a file beyond the bound only the beginning is looked at.
        let beyond = size > file_max;
        let bound = if beyond { HEAD_MAX as u64 } else { file_max };
        let mut ended = false;
        while !ended && pass.bytes < bound && checks.proceeds() {
            let room = usize::try_from(bound - pass.bytes).unwrap_or(HEAD_MAX).min(HEAD_MAX);
            let read = match file.read(&mut buffer[..room]) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            ended = read == 0;
            pass.take(&buffer[..read], &mut hasher, document_max);
        }
        // At the bound exactly, only another read tells whether there is more.
        if !beyond && (ended || file.read(&mut buffer[..1])? == 0) {
            pass.hash = Some(hasher.finalize().to_hex().to_string());
            pass.text.end();
        } else {
            pass.bytes = file.metadata()?.len().max(pass.bytes);
        }
        Ok(pass)
    }

    fn take(&mut self, bytes: &[u8], hasher: &mut blake3::Hasher, document_max: u64) {
        self.bytes += bytes.len() as u64;
        hasher.update(bytes);
        self.text.feed(bytes);
        let room = HEAD_MAX - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if document_max > 0 {
            self.document_cut |= (self.document.len() + bytes.len()) as u64 > document_max;
            if !self.document_cut {
                self.document.extend_from_slice(bytes);
            }
        }
    }

    fn problem(&self, promise: &Promise, limits: &InspectionLimits, wants_document: bool) -> Option<String> {
        if let Some(least) = promise.min_bytes.filter(|least| self.bytes < *least) {
            return Some(format!("has {} bytes, fewer than {least}", self.bytes));
        }
        if wants_document && (self.document_cut || self.hash.is_none()) {
            let max = limits.document_bytes_max;
            return Some(format!("has {} bytes, more than the {max} that are read as JSON", self.bytes));
        }
        let document = wants_document.then_some(self.document.as_slice());
        if let Some(media) = promise.media_type
            && let Some(problem) = media.mismatch(&self.head, &self.text, document)
        {
            return Some(problem);
        }
        let schema = match &promise.json_schema {
            None => return None,
            Some(PromisedSchema::Inline(schema)) => schema,
            Some(PromisedSchema::File(name)) => {
                return Some(format!("has a schema, {name}, that was not read at the start"));
            }
        };
        match serde_json::from_slice(&self.document) {
            Ok(document) => {
                schema::mismatch(schema, &document).map(|what| format!("does not fit its schema: {what}"))
            }
            Err(error) => Some(format!("is no JSON: {error}")),
        }
    }
}
