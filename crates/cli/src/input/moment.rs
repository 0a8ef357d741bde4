//! Moments as people write and read them.
//!
//! Invariant: what is shown in a list is how long ago, in one unit; what is shown in detail is the date and the time
//! with its zone, which is UTC. Deliberately absent: reading the clock.

use std::time::Duration;

use callboard_kernel::Moment;

use crate::input::word::Misread;

/// A moment somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum When {
    At(Moment),
    Ago(Duration),
}

impl When {
    /// Reads RFC 3339, or how long ago: `5m`, `-5m`, `1h30m`, `5m ago`.
    pub(crate) fn read(text: &str) -> Result<Self, Misread> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::At(moment));
        }
        let span = text.strip_suffix(" ago").unwrap_or(text);
        let span = span.strip_prefix('-').unwrap_or(span);
        span_of(span).map(Self::Ago).ok_or_else(|| Misread {
            because: format!("{text:?} is no time"),
            instead: "2026-11-15T19:19:18Z, or how long ago: 5m, 2h, 1d".to_owned(),
        })
    }

    /// The moment it means, seen from `now`. What is yet to come cannot be looked at.
    pub(crate) fn moment(self, now: Moment) -> Moment {
        match self {
            Self::At(moment) => moment.min(now),
            Self::Ago(span) => {
                let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
                Moment::from_micros(now.as_micros().saturating_sub(micros))
            }
        }
    }
}

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Numbers, each with its unit, at least one.
fn span_of(text: &str) -> Option<Duration> {
    let (mut seconds, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        seconds = seconds.checked_add(number.checked_mul(scale)?)?;
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then(|| Duration::from_secs(seconds))
}

/// Reads how long something takes: `90`, `1.5s`, `500ms`, `15m`, `1h30m`. A number alone is seconds.
pub(crate) fn span(text: &str) -> Result<Duration, Misread> {
    let fraction = |number: &str, scale: f64| {
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = number.parse().ok().filter(|_| plain)?;
        Duration::try_from_secs_f64(number * scale).ok()
    };
    let alone = |unit: &str, scale| text.strip_suffix(unit).and_then(|number| fraction(number, scale));
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("", 1.0)];
    let single = units.into_iter().find_map(|(unit, scale)| alone(unit, scale));
    single.or_else(|| span_of(text)).ok_or_else(|| Misread {
        because: format!("{text:?} is no span of time"),
        instead: "90s, 15m, 1h30m or 500ms".to_owned(),
    })
}

/// How long it is, in its largest unit: `4m`.
pub(crate) fn age(span: Duration) -> String {
    let seconds = span.as_secs();
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| seconds >= *scale).unwrap_or(('s', 1));
    format!("{}{unit}", seconds / scale)
}

/// How long something took, exactly enough: `12m04s`, `3.2s`.
pub(crate) fn clock_time(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) if s < 10 => format!("{:.1}s", span.as_secs_f64()),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

/// How long ago something was; a dash where it was not.
pub(crate) fn age_of(moment: Option<Moment>, now: Moment) -> String {
    moment.map_or_else(|| "—".to_owned(), |moment| age(now.since(moment)))
}

/// Date and time with the zone: `2026-11-15 19:19:18Z`.
pub(crate) fn absolute(moment: Moment) -> String {
    let text = moment.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(date), Some(time)) => format!("{date} {time}Z"),
        _ => text,
    }
}

/// Date and time, and how long ago that was.
pub(crate) fn detailed(moment: Moment, now: Moment) -> String {
    format!("{} ({} ago)", absolute(moment), age(now.since(moment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_people_write_it() {
        let ms = |text: &str| span(text).map(|span| span.as_millis()).ok();
        let cases = [("90", 90_000), ("1.5s", 1_500), ("500ms", 500), ("15m", 900_000), ("1h30m", 5_400_000)];
        for (text, expected) in cases {
            assert_eq!(ms(text), Some(expected), "{text}");
        }
        for text in ["", "s", "-5s", "5x", "1e9", "inf", "5 m", "99999999999999999999d"] {
            assert_eq!(ms(text), None, "{text}");
        }
    }

    const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

    #[test]
    fn times_and_spans_are_read() {
        let ago = |text: &str| NOW.since(When::read(text).unwrap_or_else(|_| panic!("{text}")).moment(NOW));
        for (text, seconds) in
            [("5m", 300), ("-5m", 300), ("5m ago", 300), ("1h30m", 5_400), ("2d", 172_800), ("0s", 0)]
        {
            assert_eq!(ago(text).as_secs(), seconds, "{text}");
        }
        assert_eq!(ago("2026-11-15T20:19:08+01:00").as_secs(), 10);
        assert_eq!(When::read("2099-01-01T00:00:00Z").map(|when| when.moment(NOW)).ok(), Some(NOW));
    }

    #[test]
    fn what_is_no_time_is_refused_and_nothing_overflows() {
        for text in ["", "-", "5", "m5", "5x", "five minutes", "99999999999999999999d", "5m yesterday", "é"]
        {
            assert!(When::read(text).is_err(), "{text:?}");
        }
        let far = When::read("999999999999999s").unwrap_or_else(|_| panic!("a long time is a time"));
        assert!(far.moment(NOW) < NOW);
    }

    #[test]
    fn an_age_has_one_unit_and_a_detail_has_its_zone() {
        for (seconds, text) in [(0, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (90_000, "1d")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
        assert_eq!(age_of(None, NOW), "—");
        assert_eq!(detailed(NOW, NOW.plus(Duration::from_secs(240))), "2026-11-15 19:19:18Z (4m ago)");
    }
}
