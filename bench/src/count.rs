//! Counts the heap blocks that the calling thread takes and gives back.
//!
//! Invariant: every allocation of the process passes here and goes on to the system's allocator unchanged. The count
//! is a thread's own cell and no atomic, so that counting costs about a cycle and can stay on while time is measured.
//! Deliberately absent: which code allocated; a profiler knows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Sub;

/// What a thread has taken from the heap and given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    /// Blocks taken; one that grows counts again.
    pub(crate) taken: u64,
    /// Blocks given back; one that grows counts as given back too.
    pub(crate) given: u64,
    /// Bytes taken.
    pub(crate) bytes: u64,
}

impl Sub for Heap {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            taken: self.taken - earlier.taken,
            given: self.given - earlier.given,
            bytes: self.bytes - earlier.bytes,
        }
    }
}

thread_local! {
    static HEAP: Cell<Heap> = const { Cell::new(Heap { taken: 0, given: 0, bytes: 0 }) };
}

/// What this thread has taken and given back so far.
pub(crate) fn heap() -> Heap {
    HEAP.with(Cell::get)
}

/// What `work` took and gave back, beside its result.
pub(crate) fn heap_of<T>(work: impl FnOnce() -> T) -> (T, Heap) {
    let before = heap();
    let result = work();
    (result, heap() - before)
}

fn note(taken: u64, given: u64, bytes: usize) {
    // A thread that is being torn down has no cell left, and nobody reads its count.
    let _torn_down = HEAP.try_with(|cell| {
        let heap = cell.get();
        cell.set(Heap {
            taken: heap.taken + taken,
            given: heap.given + given,
            bytes: heap.bytes + bytes as u64,
        });
    });
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(
    unsafe_code,
    reason = "an allocator can only be wrapped by being one; every call goes on as it came"
)]
// SAFETY: each method hands its arguments to `System`, whose contract is the same, and returns what that returns.
// `note` does not allocate: its cell has a constant initial value and nothing to drop.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, 0, layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, 0, layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, 1, size);
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, 1, 0);
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_counted_when_it_is_taken_when_it_grows_and_when_it_goes() {
        let (mut text, taken) = heap_of(|| String::with_capacity(10));
        assert_eq!(taken, Heap { taken: 1, given: 0, bytes: 10 });
        let ((), grown) = heap_of(|| text.reserve_exact(20));
        assert_eq!(grown, Heap { taken: 1, given: 1, bytes: 20 });
        let ((), gone) = heap_of(|| drop(text));
        assert_eq!(gone, Heap { taken: 0, given: 1, bytes: 0 });
    }
}
