//! The services: who runs them, how far they have come, and what went wrong.

use callboard_engine::{ServiceStanding, ServiceStatus, services};
use callboard_kernel::Moment;
use callboard_ledger::Ledger;

use super::Check;
use crate::error::told;
use crate::input::moment::age;

/// Looks at the services of the store.
pub(super) fn checks(ledger: &Ledger, now: Moment) -> Vec<Check> {
    match services(ledger) {
        Err(error) => {
            let advice = "callboard store check says what is damaged";
            vec![Check::broken("services", told(&error), advice)]
        }
        Ok(all) => all.iter().map(|status| check(status, now)).collect(),
    }
}

fn check(status: &ServiceStatus, now: Moment) -> Check {
    const NAME: &str = "service";
    let ServiceStatus { name, holder, lag, last_step_at, error, .. } = status;
    let who = holder.as_deref().unwrap_or("no process");
    let last = last_step_at.map_or_else(
        || "it never made a step".to_owned(),
        |at| format!("last step {} ago", age(now.since(at))),
    );
    let behind = match lag {
        None => String::new(),
        Some(0) => ", up to date".to_owned(),
        Some(1) => ", 1 record behind".to_owned(),
        Some(lag) => format!(", {lag} records behind"),
    };
    match (status.standing, error) {
        (ServiceStanding::Working, _) => Check::ok(NAME, format!("{name}: {who}, {last}{behind}")),
        (ServiceStanding::Failing, error) => Check::warning(
            NAME,
            format!("{name}: {who}, {last}{behind}; {}", error.as_deref().unwrap_or("it failed")),
            "it is tried again by itself; if the error stays, mend what it names",
        ),
        (ServiceStanding::Unattended, _) => {
            let meanwhile = "callboard serve runs it; every run tells its own end all the same";
            Check::ok(NAME, format!("{name}: no process runs it, {last}; {meanwhile}"))
        }
    }
}
