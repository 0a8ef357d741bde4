//! Takes secrets out of a command line before a title is made of it; the ledger takes them out of everything that is recorded.
//!
//! Invariant: the kernel knows what a secret looks like, and nobody else. Deliberately absent: rules.

pub(crate) use callboard_kernel::redact::text;

use crate::mutant;

/// The words of a command line, without their secrets.
pub(crate) fn words<'a>(argv: impl Iterator<Item = &'a str>) -> Vec<String> {
    if mutant::removed("redact_words") {
        return argv.map(str::to_owned).collect();
    }
    callboard_kernel::redact::words(argv)
}
