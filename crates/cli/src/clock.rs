//! The one place where the real time is read.
//!
//! Invariant: everything else gets the time as a value, so that what it says can be reproduced. Deliberately absent:
//! time zones; moments are UTC.

use callboard_engine::Clock;
use callboard_kernel::Moment;

/// The real clock, for whoever takes one.
pub(crate) struct Real;

impl Clock for Real {
    fn now(&self) -> Moment {
        now()
    }
}

/// What time it is.
#[expect(clippy::disallowed_methods, reason = "the edge of the program is where time enters")]
pub(crate) fn now() -> Moment {
    jiff::Timestamp::now().into()
}
