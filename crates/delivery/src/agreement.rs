//! The agreement: the contract as it stood when the run was started, and what it is measured against.
//!
//! Invariant: what is verified is what was agreed on. Later edits of the contract file, of a schema file or of the
//! links on the way to the artifact directory change nothing. Deliberately absent: keeping it; the ledger does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callboard_kernel::redact::HIDDEN;
use callboard_kernel::{Facts, fact};
use serde::{Deserialize, Serialize};

use crate::artifact_root::Root;
use crate::baseline::Baseline;
use crate::check::Check;
use crate::contract::{Contract, PromisedSchema, Written};
use crate::error::{ContractProblem, Error};
use crate::repository::Repository;
use crate::schema;

/// Bytes of a schema; it is kept in the ledger with the contract.
const SCHEMA_BYTES_MAX: u64 = 256 * 1024;

/// A contract that was agreed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// What is promised.
    pub contract: Contract,
    /// The artifact directory, absolute, with every link on the way to it resolved.
    pub dir: PathBuf,
    /// The repository at the start, if a promise needs it.
    pub repository: Option<Repository>,
    /// The promised files at the start; none in a record from before they were looked at.
    pub baseline: Option<Baseline>,
}

/// An agreement as it stands in the ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    dir: String,
    contract: KeptContract,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptContract {
    artifacts: Vec<Written>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<Repository>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baseline: Option<Baseline>,
}

impl Contract {
    /// Fixes the contract for a run that is about to start: reads its schemas, and the repository if a promise is about
    /// it; and looks at the promised files that are there already. The artifact directory need not exist yet.
    ///
    /// # Errors
    ///
    /// If a promise could never be checked: no such schema, no repository, or a directory that is none.
    pub fn agree(mut self, dir: &Path, checks: &dyn Check) -> Result<Agreement, Error> {
        let dir = resolved(dir)?;
        for promise in &mut self.artifacts {
            if let Some(PromisedSchema::File(name)) = &promise.json_schema {
                let bad = |because| ContractProblem::Schema { id: promise.id.clone(), because };
                let value = read_schema(&dir, name.as_str()).map_err(|why| bad(format!("{name} {why}")))?;
                if let Some(flaw) = schema::flaw(&value) {
                    return Err(bad(format!("{name}: {flaw}")).into());
                }
                promise.json_schema = Some(PromisedSchema::Inline(value));
            }
        }
        let repository = match self.artifacts.iter().find(|promise| promise.git_diff) {
            Some(promise) => {
                Some(Repository::read(&dir, checks).map_err(|because| ContractProblem::Repository {
                    id: promise.id.clone(),
                    because: format!("{because}; start the run in a repository, or drop the promise"),
                })?)
            }
            None => None,
        };
        let baseline = Some(Baseline::of(&self, &dir));
        Ok(Agreement { contract: self, dir, repository, baseline })
    }
}

impl Agreement {
    /// The agreement as facts for the ledger: `dir` and `contract`.
    ///
    /// # Errors
    ///
    /// If the directory's name is not UTF-8, which the ledger could not give back.
    pub fn snapshot(&self) -> Result<Facts, Error> {
        let dir = self.dir.to_str().ok_or_else(|| not_text(&self.dir))?.to_owned();
        let artifacts = self.contract.artifacts.iter().map(Written::from).collect();
        let contract =
            KeptContract { artifacts, repository: self.repository.clone(), baseline: self.baseline.clone() };
        let broken = |error: serde_json::Error| Error::from(ContractProblem::Record(error.to_string()));
        let json = serde_json::to_value(Kept { dir, contract }).map_err(broken)?;
        serde_json::from_value(json).map_err(broken)
    }

    /// Was something in a schema taken for a secret and not recorded? Then the schema that is recorded is another one.
    pub fn lacks_something(&self) -> bool {
        let schemas = self.contract.artifacts.iter().filter_map(|promise| promise.json_schema.as_ref());
        schemas.into_iter().any(|schema| match schema {
            PromisedSchema::Inline(schema) => has_hidden(schema),
            PromisedSchema::File(_) => false,
        })
    }

    /// Reads an agreement back from the ledger, with every check that a contract file gets.
    ///
    /// # Errors
    ///
    /// If the facts are no agreement.
    pub fn restore(facts: &Facts) -> Result<Self, Error> {
        let broken = |error: serde_json::Error| Error::from(ContractProblem::Record(error.to_string()));
        let mut kept = Facts::none();
        kept.copy(fact::DIR, facts, fact::DIR);
        kept.copy(fact::CONTRACT, facts, fact::CONTRACT);
        let json = serde_json::to_value(&kept).map_err(broken)?;
        let mut kept: Kept = serde_json::from_value(json).map_err(broken)?;
        let dir = PathBuf::from(kept.dir);
        if !dir.is_absolute() {
            return Err(ContractProblem::Record(format!("{} is not absolute", dir.display())).into());
        }
        let mut contract = Contract::default();
        let mut taken = BTreeSet::new();
        for written in std::mem::take(&mut kept.contract.artifacts) {
            let promise = written.promise(&taken)?;
            taken.insert(promise.id.clone());
            contract.artifacts.push(promise);
        }
        contract.check_count()?;
        let KeptContract { repository, baseline, .. } = kept.contract;
        Ok(Self { contract, dir, repository, baseline })
    }
}

fn has_hidden(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => text.contains(HIDDEN),
        Value::Array(list) => list.iter().any(has_hidden),
        Value::Object(map) => map.iter().any(|(_, value)| has_hidden(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn not_text(dir: &Path) -> Error {
    let because = "its name is not UTF-8; use another directory".to_owned();
    ContractProblem::Directory { dir: dir.to_string_lossy().into_owned(), because }.into()
}

/// The directory with every link resolved; what does not exist yet is put behind what does.
fn resolved(dir: &Path) -> Result<PathBuf, Error> {
    let bad = |because: String| ContractProblem::Directory { dir: dir.display().to_string(), because };
    let absolute = std::path::absolute(dir).map_err(|error| bad(error.to_string()))?;
    let mut rest: Vec<&std::ffi::OsStr> = Vec::new();
    let mut at = absolute.as_path();
    loop {
        match at.canonicalize() {
            Ok(real) if !real.is_dir() => return Err(bad("is not a directory".to_owned()).into()),
            Ok(mut real) => {
                real.extend(rest.iter().rev());
                if real.to_str().is_none() {
                    return Err(not_text(&real));
                }
                return Ok(real);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A link that leads nowhere would come true wherever somebody makes its target.
                if at.is_symlink() {
                    return Err(bad("is behind a link that leads nowhere".to_owned()).into());
                }
                let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else {
                    return Err(bad("has `..` behind a directory that does not exist".to_owned()).into());
                };
                rest.push(name);
                at = parent;
            }
            Err(error) => return Err(bad(error.to_string()).into()),
        }
    }
}

fn read_schema(dir: &Path, name: &str) -> Result<serde_json::Value, String> {
    let opened =
        Root::open(dir).and_then(|root| root.file(Path::new(name))).map_err(|why| why.to_string())?;
    if opened.stamp.bytes > SCHEMA_BYTES_MAX {
        return Err(format!("has {} bytes, more than {SCHEMA_BYTES_MAX}", opened.stamp.bytes));
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(opened.file, SCHEMA_BYTES_MAX), &mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("is no JSON: {error}"))
}
