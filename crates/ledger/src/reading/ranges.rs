//! The log cut into ranges, one for each core.
//!
//! Invariant: the ranges cover the log without a gap, and no checkpoint's records lie in two of them.

/// Records after one number up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeqRange {
    pub(crate) after: u64,
    pub(crate) last: u64,
}

/// How many threads share a walk through the log.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}

/// Each has a connection of its own.
const WORKERS_MAX: usize = 4;

/// Cuts the log up to `head`, where a checkpoint ends (`seals`, in order) if there are any.
pub(crate) fn cut(head: u64, seals: &[u64]) -> Vec<SeqRange> {
    let share = head.div_ceil(workers() as u64).max(1);
    let mut ranges: Vec<SeqRange> = Vec::new();
    let mut after = 0;
    while after < head {
        let wanted = after + share;
        let seal = seals[seals.partition_point(|seal| *seal < wanted)..].first().copied();
        let last = seal.unwrap_or(wanted).min(head);
        ranges.push(SeqRange { after, last });
        after = last;
    }
    if ranges.is_empty() {
        ranges.push(SeqRange { after: 0, last: 0 });
    }
    ranges
}

/// Does the work for all parts at once, each on a thread of its own; what came out, in their order.
pub(crate) fn each<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || work(part))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_log_and_end_with_a_checkpoint() {
        for head in [0, 1, 2, 7, 100, 1001] {
            for seals in [vec![], vec![40, 60, 90], vec![3, 500, 900, 5000]] {
                let ranges = cut(head, &seals);
                let mut after = 0;
                for range in &ranges {
                    assert_eq!(range.after, after);
                    after = range.last;
                    let inside = |seal: &&u64| **seal > range.last && range.last < head;
                    assert!(
                        seals.is_empty()
                            || !seals.iter().any(|seal| inside(&seal))
                            || seals.contains(&range.last),
                        "{ranges:?} {seals:?}"
                    );
                }
                assert_eq!(after, head);
            }
        }
    }

    #[test]
    fn what_comes_out_has_the_order_of_the_parts() {
        assert_eq!(each(vec![3, 1, 2], |part| part * 2), [6, 2, 4]);
    }
}
