//! Verifies an agreement: looks for everything that was promised, once, when the run has ended.
//!
//! Invariant: it gives a verdict unless somebody stops it. What cannot be looked at is a finding with its reason, not an
//! error; nothing outside of the artifact directory is read; everything is bounded. Deliberately absent: a clock.

use std::path::Path;
use std::time::Duration;

use callboard_kernel::Moment;
use callboard_supervisor::mutant;

use crate::agreement::Agreement;
use crate::artifact_root::{Refused, Root, Stamp};
use crate::baseline::Change;
use crate::check::{Check, CheckProgram, ProgramEnd, Ran};
use crate::contract::{Promise, Subject};
use crate::inspection::Inspected;
use crate::repository::Repository;
use crate::verification::{FileFound, Found, Item, Verification};
use crate::walk::Walk;

/// How far a verification looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectionLimits {
    /// Bytes of a file that is hashed; of a larger one only size and beginning are read.
    pub file_bytes_max: u64,
    /// Bytes of a file that is read as JSON.
    pub document_bytes_max: u64,
    /// Entries that the walk of one glob looks at.
    pub entries_max: usize,
    /// Files that are listed for one promise.
    pub files_listed_max: usize,
    /// Bytes that are kept of what a command said.
    pub output_bytes_max: usize,
}

impl InspectionLimits {
    /// What holds unless somebody chose otherwise.
    pub const DEFAULT: Self = Self {
        file_bytes_max: 1 << 30,
        document_bytes_max: 64 << 20,
        entries_max: 100_000,
        files_listed_max: 32,
        output_bytes_max: 4_096,
    };
}

/// A verification was stopped before it had a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the verification was stopped")]
pub struct Stopped;

/// Verifies an agreement.
///
/// # Errors
///
/// When `checks` does not let it go on.
pub fn verify(
    agreement: &Agreement,
    checks: &dyn Check,
    limits: &InspectionLimits,
    checked_at: Moment,
) -> Result<Verification, Stopped> {
    let root = Root::open(&agreement.dir);
    let mut items = Vec::new();
    for promise in &agreement.contract.artifacts {
        let finding = match &root {
            Ok(root) => Look { root, agreement, checks, limits }.at(promise),
            Err(Refused::Absent) => Finding::bad(Found::Missing, "the artifact directory does not exist"),
            Err(refused) => Finding::bad(Found::Invalid, format!("the artifact directory {refused}")),
        };
        // A finding of a look that was cut short is none.
        if !checks.proceeds() {
            return Err(Stopped);
        }
        items.push(finding.item(promise));
    }
    Ok(Verification::over(items, checked_at))
}

/// What was found for one promise.
#[derive(Debug)]
struct Finding {
    found: Found,
    because: Option<String>,
    files: Vec<FileFound>,
    matched: u64,
    output: Option<String>,
}

impl Finding {
    fn bad(found: Found, because: impl Into<String>) -> Self {
        Self { found, because: Some(because.into()), files: Vec::new(), matched: 0, output: None }
    }

    const fn good() -> Self {
        Self { found: Found::Produced, because: None, files: Vec::new(), matched: 0, output: None }
    }

    fn of_one(found: Found, because: Option<String>, file: FileFound) -> Self {
        Self { found, because, files: vec![file], matched: 1, output: None }
    }

    fn item(self, promise: &Promise) -> Item {
        let path = match &promise.subject {
            Subject::File(_) | Subject::Files(_) => Some(promise.to_string()),
            Subject::None => None,
        };
        Item {
            id: promise.id.clone(),
            path,
            required: promise.required,
            found: self.found,
            because: self.because,
            files: self.files,
            matched: self.matched,
            output: self.output,
        }
    }
}

/// Why a file that is there does not count.
const UNCHANGED: &str = "is there, unchanged since before the run";

fn unchanged(file: FileFound) -> Finding {
    Finding::of_one(Found::Unchanged, Some(UNCHANGED.to_owned()), file)
}

struct Look<'a> {
    root: &'a Root,
    agreement: &'a Agreement,
    checks: &'a dyn Check,
    limits: &'a InspectionLimits,
}

impl Look<'_> {
    fn at(&self, promise: &Promise) -> Finding {
        let mut finding = match &promise.subject {
            Subject::File(name) => self.file(promise, Path::new(name.as_str())),
            Subject::Files(_) => self.files(promise),
            Subject::None => Finding::good(),
        };
        if finding.found != Found::Produced || (!promise.git_diff && promise.command.is_empty()) {
            return finding;
        }
        if let Some(because) = self.checks.refuses_programs() {
            (finding.found, finding.because) = (Found::Unknown, Some(because.to_owned()));
            return finding;
        }
        if promise.git_diff {
            finding = self.repository();
        }
        if finding.found == Found::Produced && !promise.command.is_empty() {
            self.command(promise, &mut finding);
        }
        finding
    }

    fn file(&self, promise: &Promise, path: &Path) -> Finding {
        match Inspected::of(self.root, path, promise, self.limits, self.checks) {
            Ok(Inspected::Empty(file)) => Finding::of_one(Found::Empty, Some("is empty".to_owned()), file),
            Ok(Inspected::Sound(file, stamp)) => match self.change(promise, &file, &stamp) {
                Change::Written => Finding::of_one(Found::Produced, None, file),
                Change::Rewritten => Finding::of_one(
                    Found::Produced,
                    Some("touched or rewritten, with the same content".to_owned()),
                    file,
                ),
                Change::Unchanged => unchanged(file),
            },
            Ok(Inspected::Wrong(file, stamp, problem)) => match self.change(promise, &file, &stamp) {
                Change::Written | Change::Rewritten => Finding::of_one(Found::Invalid, Some(problem), file),
                Change::Unchanged => unchanged(file),
            },
            Err(Refused::Absent) => Finding::bad(Found::Missing, Refused::Absent.to_string()),
            Err(refused) => Finding::bad(Found::Invalid, refused.to_string()),
        }
    }

    /// What the run did to a file that is there.
    fn change(&self, promise: &Promise, file: &FileFound, stamp: &Stamp) -> Change {
        let baseline = self.agreement.baseline.as_ref().filter(|_| !promise.existing);
        if mutant::removed("written_by_the_run") {
            return Change::Written;
        }
        baseline.map_or(Change::Written, |baseline| baseline.change(file, stamp))
    }

    fn files(&self, promise: &Promise) -> Finding {
        let Subject::Files(pattern) = &promise.subject else { return Finding::good() };
        let walk = Walk::of(self.root, pattern, self.limits.entries_max);
        let mut finding = Finding::bad(Found::Missing, "nothing matches");
        let (mut wrong, mut old) = (None, 0_u64);
        for path in walk.files.iter().take_while(|_| self.checks.proceeds()) {
            let (file, problem) = match Inspected::of(self.root, path, promise, self.limits, self.checks) {
                Ok(Inspected::Sound(file, stamp)) => {
                    if self.change(promise, &file, &stamp) == Change::Unchanged {
                        old += 1;
                    } else {
                        finding.found = Found::Produced;
                    }
                    (Some(file), None)
                }
                // One of many may be empty, such as a log without a line.
                Ok(Inspected::Empty(file)) => (Some(file), None),
                Ok(Inspected::Wrong(file, _, problem)) => (Some(file), Some(problem)),
                // Gone since it was listed.
                Err(Refused::Absent) => continue,
                Err(refused) => (None, Some(refused.to_string())),
            };
            finding.matched += 1;
            if let Some(problem) = problem {
                wrong.get_or_insert_with(|| format!("{} {problem}", path.display()));
            }
            finding.files.extend(file.filter(|_| finding.files.len() < self.limits.files_listed_max));
        }
        let crowd = self.agreement.baseline.as_ref().filter(|_| !promise.existing);
        if finding.found == Found::Produced
            && crowd.is_some_and(|before| before.is_same_crowd(self.root, pattern.as_str(), &walk))
        {
            (finding.found, old) = (Found::Missing, finding.matched);
        }
        self.conclude(finding, wrong, old, walk)
    }

    fn conclude(&self, mut finding: Finding, wrong: Option<String>, old: u64, walk: Walk) -> Finding {
        let told = |(path, refused): (std::path::PathBuf, Refused)| format!("{} {refused}", path.display());
        let cut =
            || format!("after {} entries the walk stopped; use a narrower glob", self.limits.entries_max);
        if let Some(wrong) = wrong {
            (finding.found, finding.because) = (Found::Invalid, Some(wrong));
        } else if finding.found == Found::Produced {
            finding.because = walk.cut.then(cut);
        } else if old > 0 {
            (finding.found, finding.because) = (Found::Unchanged, Some(UNCHANGED.to_owned()));
        } else if finding.matched > 0 {
            (finding.found, finding.because) = (Found::Empty, Some("every match is empty".to_owned()));
        } else if let Some(other) = walk.other.or(walk.unread) {
            (finding.found, finding.because) = (Found::Invalid, Some(told(other)));
        } else if walk.cut {
            (finding.found, finding.because) = (Found::Invalid, Some(cut()));
        }
        finding
    }

    fn repository(&self) -> Finding {
        let Some(base) = &self.agreement.repository else {
            return Finding::bad(Found::Invalid, "the repository was not read at the start");
        };
        match Repository::read(&self.agreement.dir, self.checks) {
            Ok(end) => match end.changed_since(base) {
                Some(how) => Finding { because: Some(how), ..Finding::good() },
                None => Finding::bad(Found::Missing, "nothing in the repository changed since the start"),
            },
            Err(because) => Finding::bad(Found::Invalid, because),
        }
    }

    fn command(&self, promise: &Promise, finding: &mut Finding) {
        let program = CheckProgram {
            is_promised: true,
            argv: &promise.command,
            dir: &self.agreement.dir,
            limit: Duration::from_secs(promise.timeout_s),
            output_max: self.limits.output_bytes_max,
            without: &[],
            with: &[],
        };
        let name = promise.command.first().map_or("", String::as_str);
        let problem = match self.checks.run(&program) {
            Err(error) => Some(format!("{name} could not be started: {error}")),
            Ok(ran) => {
                finding.output = self.said(&ran);
                match ran.end {
                    ProgramEnd::Code(0) => None,
                    ProgramEnd::Code(code) => Some(format!("{name} exited with {code}")),
                    ProgramEnd::Signal(signal) => Some(format!("{name} was ended by signal {signal}")),
                    ProgramEnd::Limit => Some(format!("{name} took longer than {} s", promise.timeout_s)),
                }
            }
        };
        if let Some(problem) = problem {
            (finding.found, finding.because) = (Found::Invalid, Some(problem));
        }
    }

    /// The end of what a command said, as text that every store can keep.
    fn said(&self, ran: &Ran) -> Option<String> {
        let both = [ran.stdout.as_slice(), ran.stderr.as_slice()].concat();
        let kept = &both[both.len().saturating_sub(self.limits.output_bytes_max)..];
        let plain = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
        let text: String = String::from_utf8_lossy(kept).chars().map(plain).collect();
        Some(text).filter(|text| !text.trim().is_empty())
    }
}
