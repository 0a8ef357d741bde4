//! Reduces a run that fails to the fewest choices with which it still fails in the same way.

use std::collections::BTreeMap;

use crate::choices::Schedule;

/// How many runs it takes at the most.
const TRIES_MAX: u32 = 600;

/// Leaves out choices for as long as `fails` says that the run still fails; `fails` gives back the choices that were made.
pub(crate) fn shrink(schedule: Schedule, mut fails: impl FnMut(&Schedule) -> Option<Schedule>) -> Schedule {
    let (mut best, mut tries) = (schedule, 0);
    let mut size = best.0.len().div_ceil(2).max(1);
    loop {
        let mut from = 0;
        while from < best.0.len() && tries < TRIES_MAX {
            let kept = |(at, _): &(usize, (&u64, &u32))| *at < from || *at >= from + size;
            let without: BTreeMap<u64, u32> =
                best.0.iter().enumerate().filter(kept).map(|(_, (at, choice))| (*at, *choice)).collect();
            tries += 1;
            match fails(&Schedule(without)) {
                Some(taken) if taken.0.len() < best.0.len() => best = taken,
                Some(_) | None => from += size,
            }
        }
        if size == 1 || tries >= TRIES_MAX {
            return best;
        }
        size = size.div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let schedule = Schedule((0..200).map(|at| (at, 1 + (at % 5) as u32)).collect());
        let needs = |tried: &Schedule| tried.0.contains_key(&17) && tried.0.contains_key(&140);
        let shrunk = shrink(schedule, |tried| needs(tried).then(|| tried.clone()));
        assert_eq!(shrunk.to_string(), "17:3,140:1");
    }
}
