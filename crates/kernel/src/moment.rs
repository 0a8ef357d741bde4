//! A moment: microseconds since 1970 in UTC, printed as RFC 3339 with all six digits.
//!
//! Invariant: two moments compare as they happened, and one prints one way. Deliberately absent: reading a clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, exact to the microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// The moment this many microseconds after 1970 began.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970 began.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// How long ago `earlier` was, seen from here; zero if it is yet to come, as it is when a clock was set back.
    pub const fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(if micros < 0 { 0 } else { micros as u64 })
    }

    /// The moment this much later.
    pub const fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_micros() as i64))
    }

    /// The moment this much earlier.
    pub const fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_micros() as i64))
    }
}

impl From<jiff::Timestamp> for Moment {
    fn from(timestamp: jiff::Timestamp) -> Self {
        Self(timestamp.as_microsecond())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.6}"),
            Err(_) => f.write_str("out of range"),
        }
    }
}

impl std::str::FromStr for Moment {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(Self::from)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_six_digits_and_reads_them_back() {
        let moment = Moment::from_micros(1_794_770_358_000_000);
        assert_eq!(moment.to_string(), "2026-11-15T19:19:18.000000Z");
        assert_eq!("2026-11-15T20:19:18+01:00".parse::<Moment>().unwrap(), moment);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_negative_ages() {
        assert_eq!(Moment::from_micros(5).since(Moment::from_micros(9)), Duration::ZERO);
    }
}
