//! Money in US dollars, exact to a millionth of a millionth.
//!
//! Invariant: what an agent printed is parsed digit by digit and added as integers, so a total does not drift the way a
//! sum of floats does. Digits past the twelfth are the noise of the agent's own floats and are rounded. Not here: other
//! currencies, and prices.

use std::fmt;

use serde::{Serialize, Serializer};

const DECIMALS: i32 = 12;
const PICOS: u64 = 1_000_000_000_000;

/// An amount of US dollars; in JSON its decimal text.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Usd {
    picos: u64,
}

impl Usd {
    /// Reads a JSON number such as `0.0421` or `1.2e-05`; none for a negative one or one past any bill.
    pub fn parse(number: &str) -> Option<Self> {
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (number, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // How many of all the digits stand before the point once the amount is counted in picos.
        let kept = i32::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_add(DECIMALS)?;
        let digit = |index: i32| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            let digits = if index < whole.len() { whole } else { fraction };
            let index = if index < whole.len() { index } else { index - whole.len() };
            u64::from(digits.as_bytes().get(index).map_or(0, |byte| byte - b'0'))
        };
        let mut picos = 0u64;
        // More digits than a u64 holds overflow below; a bound keeps `1e999999999` from counting to it first.
        if kept > i32::try_from(whole.len() + fraction.len()).ok()?.checked_add(40)? {
            return whole.bytes().chain(fraction.bytes()).all(|byte| byte == b'0').then_some(Self::default());
        }
        for index in 0..kept {
            picos = picos.checked_mul(10)?.checked_add(digit(index))?;
        }
        if kept >= 0 && digit(kept) >= 5 {
            picos = picos.checked_add(1)?;
        }
        Some(Self { picos })
    }

    /// The sum, or the greatest amount there is.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { picos: self.picos.saturating_add(other.picos) }
    }

    /// Millionths of a dollar, rounded down.
    pub const fn micros(self) -> u64 {
        self.picos / 1_000_000
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:012}", self.picos % PICOS);
        let fraction = fraction.trim_end_matches('0');
        // Cents are always shown, as on a bill.
        write!(out, "{}.{fraction:0<2}", self.picos / PICOS)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(number: &str) -> Option<String> {
        Usd::parse(number).map(|amount| amount.to_string())
    }

    #[test]
    fn numbers_are_read_exactly() {
        assert_eq!(shown("0.0421").as_deref(), Some("0.0421"));
        assert_eq!(shown("0").as_deref(), Some("0.00"));
        assert_eq!(shown("12").as_deref(), Some("12.00"));
        assert_eq!(shown("1.2e-05").as_deref(), Some("0.000012"));
        assert_eq!(shown("1.25E1").as_deref(), Some("12.50"));
        assert_eq!(shown("0.30000000000000004").as_deref(), Some("0.30"));
        assert_eq!(shown("0.0000000000006").as_deref(), Some("0.000000000001"));
        assert_eq!(shown("1e-999999999").as_deref(), Some("0.00"));
        assert_eq!(shown("0e999999999").as_deref(), Some("0.00"));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for number in ["-1", "", ".", "1e", "NaN", "null", "1e999999999", "99999999999", "1e2147483647"] {
            assert_eq!(Usd::parse(number), None, "{number}");
        }
    }

    #[test]
    fn ten_tenths_are_one() {
        let tenth = Usd::parse("0.1").expect("a number");
        let sum = (0..10).fold(Usd::default(), |sum, _| sum.plus(tenth));
        assert_eq!(Some(sum), Usd::parse("1"));
        assert_eq!(sum.micros(), 1_000_000);
    }
}
