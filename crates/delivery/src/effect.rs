//! What a verification does to a run: what a clean exit becomes, and the evidence for it.
//!
//! Invariant: only a clean exit changes. A run that failed, timed out, was aborted or cancelled keeps its own reason, and
//! the verification stands beside it. Deliberately absent: applying it; the engine gives it to the kernel.

use callboard_kernel::{EvidenceRef, StateReason};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::session::SessionTrigger;

use crate::verification::{FileFound, Found, Item, Verification};

const MISSING: ReasonCode = ReasonCode::of("run.failed.missing_artifact");
const INVALID: ReasonCode = ReasonCode::of("run.failed.invalid_artifact");

/// Pieces of evidence that are given; the kernel takes 64 behind one reason, and the supervisor has its own.
pub const EVIDENCE_MAX: usize = 48;

/// What a clean exit becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The trigger instead of the one of a clean exit.
    pub trigger: SessionTrigger,
    /// Why, the graver one first.
    pub reasons: Vec<StateReason>,
}

impl Verification {
    /// What a clean exit becomes; none if it stays one.
    pub fn effect(&self) -> Option<Effect> {
        let of = |found: &dyn Fn(&Item) -> bool| -> Vec<&Item> {
            self.items.iter().filter(|item| item.required && found(item)).collect()
        };
        let invalid = of(&|item| item.found == Found::Invalid);
        let missing = of(&Item::is_missing);
        let reasons: Vec<StateReason> =
            [reason(INVALID, &invalid), reason(MISSING, &missing)].into_iter().flatten().collect();
        (!reasons.is_empty()).then_some(Effect { trigger: SessionTrigger::ContractBroken, reasons })
    }

    /// Every file that was found and every promise that is not kept, as evidence, as much as a reason takes.
    pub fn evidence(&self) -> Vec<EvidenceRef> {
        bounded(self.items.iter().flat_map(of_item).collect())
    }
}

fn reason(code: ReasonCode, items: &[&Item]) -> Option<StateReason> {
    let first = items.first()?;
    let because = first.because.as_deref().unwrap_or("is not there");
    let more = match items.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let mut reason = StateReason::new(code, format!("{}: {because}{more}", first.label()));
    reason.evidence = bounded(items.iter().flat_map(|item| of_item(item)).collect());
    Some(reason)
}

fn bounded(mut all: Vec<EvidenceRef>) -> Vec<EvidenceRef> {
    all.truncate(EVIDENCE_MAX);
    all
}

fn of_item(item: &Item) -> Vec<EvidenceRef> {
    let mut evidence: Vec<EvidenceRef> = item.files.iter().map(|file| of_file(item, file)).collect();
    if evidence.is_empty() {
        let mut none = EvidenceRef::artifact(item.label());
        none.path.clone_from(&item.path);
        none.artifact_id = Some(item.id.clone());
        none.detail = Some(match (&item.because, item.found) {
            (Some(because), _) => because.clone(),
            (None, Found::Produced) => "as promised".to_owned(),
            (None, Found::Missing | Found::Empty | Found::Unchanged | Found::Invalid) => {
                "not as promised".to_owned()
            }
            (None, Found::Unknown) => "not checked".to_owned(),
        });
        evidence.push(none);
    }
    evidence
}

fn of_file(item: &Item, file: &FileFound) -> EvidenceRef {
    let mut evidence = EvidenceRef::artifact(file.path.as_str());
    evidence.artifact_id = Some(item.id.clone());
    evidence.content_hash = file.blake3.as_ref().map(|hash| format!("blake3:{hash}"));
    let hash = file
        .blake3
        .as_deref()
        .map_or_else(|| "too large to hash".to_owned(), |hash| format!("blake3 {hash}"));
    let because = match (item.found, &item.because) {
        (
            Found::Invalid | Found::Empty | Found::Unchanged | Found::Produced | Found::Unknown,
            Some(because),
        ) => {
            format!("; {because}")
        }
        (_, _) => String::new(),
    };
    evidence.detail = Some(format!("{} bytes, {hash}{because}", file.bytes));
    evidence
}
