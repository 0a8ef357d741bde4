//! Giving memory back that was needed for a moment.
//!
//! Invariant: nothing that is in use is touched. Deliberately absent: another allocator; the system's keeps what was freed
//! for the next time, and only has to be told that there is none soon.

/// Gives what is free back to the system, where the allocator can be told to.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(
        unsafe_code,
        reason = "the allocator of the system can be told this only through its C interface"
    )]
    // SAFETY: it takes a number, and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
