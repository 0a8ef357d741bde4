//! What happens to supervisors, to the places they run in, and to starts.

pub(super) mod namespaces;
pub(super) mod nested;
pub(super) mod paused;
pub(super) mod starts;
pub(super) mod still;
pub(super) mod supervisors;
