//! A small generator that gives the same numbers for the same seed on every machine.

/// An xorshift generator.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // A seed of zero would give zeros for ever.
        let mut dice = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        dice.next();
        dice
    }

    /// The dice of one trial among many: neighbouring seeds and neighbouring trials have nothing in common.
    pub(crate) fn of(seed: u64, trial: u64) -> Self {
        Self::new(mix(mix(seed).wrapping_add(trial)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }
}

/// Spreads a number over all bits (the finish of splitmix64).
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}
