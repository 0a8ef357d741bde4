//! The runs that this process is inside of, as its environment tells.

use super::MARKER_VARIABLE;

/// The markers of the runs that this process is inside of, outermost first. A supervisor in the background carries the
/// marker of its own run, too.
#[must_use]
pub fn markers_around() -> Vec<String> {
    let markers = std::env::var(MARKER_VARIABLE).unwrap_or_default();
    markers.split(':').filter(|marker| !marker.is_empty()).map(str::to_owned).collect()
}
