//! Everything that is left to chance, as one list of numbers.
//!
//! Invariant: a run of the simulation is a function of its choices, and the choice 0 is always the harmless one: nothing fails, nobody
//! dies, whoever is at work goes on. So a list of the few choices that are not 0 says everything about a run, and a
//! shorter list is a simpler run.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The choices of a run that are not 0, by their place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedule(pub(crate) BTreeMap<u64, u32>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(at, choice)| format!("{at}:{choice}")).collect();
        f.write_str(&pairs.join(","))
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |pair: &str| {
            let (at, choice) = pair.split_once(':')?;
            Some((at.parse().ok()?, choice.parse().ok()?))
        };
        let pairs = text.split(',').filter(|text| !text.is_empty());
        let read: Option<BTreeMap<u64, u32>> = pairs.map(pair).collect();
        read.map(Self).ok_or_else(|| format!("invalid schedule \"{text}\": expected PLACE:CHOICE,..."))
    }
}

/// Where choices come from.
enum Source {
    /// A generator that gives the same numbers for the same seed on every machine.
    Seed(u64),
    Schedule(Schedule),
}

/// Makes the choices of one run, and remembers them.
pub(crate) struct Choices {
    source: Source,
    at: u64,
    taken: BTreeMap<u64, u32>,
}

impl Choices {
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self::of(Source::Seed(mix(seed)))
    }

    pub(crate) fn of_schedule(schedule: Schedule) -> Self {
        Self::of(Source::Schedule(schedule))
    }

    fn of(source: Source) -> Self {
        Self { source, at: 0, taken: BTreeMap::new() }
    }

    /// One of so many; all but 0 together have one chance in `odds`.
    pub(crate) fn choose(&mut self, sides: u32, odds: u32) -> u32 {
        self.take(sides, |number| {
            let is_harmful = number % u64::from(odds.max(1)) == 0;
            if is_harmful { 1 + ((number >> 32) % u64::from(sides - 1)) as u32 } else { 0 }
        })
    }

    /// One of so many, each as likely as the others.
    pub(crate) fn pick(&mut self, sides: u32) -> u32 {
        self.take(sides, |number| (number % u64::from(sides)) as u32)
    }

    fn take(&mut self, sides: u32, draw: impl Fn(u64) -> u32) -> u32 {
        let at = self.at;
        self.at += 1;
        if sides < 2 {
            return 0;
        }
        let choice = match &mut self.source {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                draw(mix(*state))
            }
            Source::Schedule(schedule) => schedule.0.get(&at).copied().unwrap_or(0).min(sides - 1),
        };
        if choice > 0 {
            self.taken.insert(at, choice);
        }
        choice
    }

    /// What was chosen.
    pub(crate) fn taken(&self) -> Schedule {
        Schedule(self.taken.clone())
    }
}

/// Spreads a number over all bits (the finish of splitmix64).
const fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_repeats_what_a_seed_chose() {
        let mut seeded = Choices::of_seed(7);
        let first: Vec<u32> =
            (0..200).map(|at| if at % 3 == 0 { seeded.pick(5) } else { seeded.choose(4, 6) }).collect();
        let schedule: Schedule = seeded.taken().to_string().parse().unwrap();
        let mut again = Choices::of_schedule(schedule);
        let second: Vec<u32> =
            (0..200).map(|at| if at % 3 == 0 { again.pick(5) } else { again.choose(4, 6) }).collect();
        assert_eq!(first, second);
        assert!(first.iter().any(|choice| *choice > 0) && first.contains(&0));
    }

    #[test]
    fn without_a_schedule_every_choice_is_harmless() {
        let mut none = Choices::of_schedule(Schedule::default());
        assert!((0..50).all(|_| none.choose(9, 1) == 0 && none.pick(9) == 0));
        assert!("1:2;3".parse::<Schedule>().is_err());
    }
}
