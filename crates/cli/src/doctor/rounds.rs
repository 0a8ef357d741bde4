//! Every check, in the order in which they are told.

use super::check::Check;
use super::{host, notices, runs, services, shelf};
use crate::clock;
use crate::store::Store;

/// Looks at everything; with `test`, sends a test message on every configured way too.
pub(crate) fn examine(store: &Store, test: bool) -> Vec<Check> {
    let now = clock::now();
    let (mut checks, ledger) = shelf::checks(store, now);
    checks.extend(host::checks());
    if let Some(ledger) = &ledger {
        checks.extend(runs::checks(store, ledger, now));
        checks.extend(services::checks(ledger, now));
    }
    checks.extend(notices::checks(test, now));
    checks
}
