//! What was read of an entity, together with the one look it is judged with.
//!
//! Invariant: an end is never taken for a death. A supervisor records the end of its run and then goes; whoever read the
//! ledger before and finds the supervisor gone afterwards reads again, and nothing is judged by a second look that might
//! see something else. An end that a supervisor could not record and kept beside the output is recorded by whoever sees that
//! the supervisor is gone. Deliberately absent: judging, which the view does.

use std::path::Path;

use callboard_kernel::EntityId;
use callboard_kernel::health::{Liveness, Presence};
use callboard_ledger::{Ledger, ReadError, Stored};

use crate::host::machine::read_left;
use crate::judging::judge::Basis;
use crate::judging::view::{View, judged};
use crate::judging::viewpoint::{ProcessReading, Viewpoint};
use crate::run::find_saved_end;

/// An entity and the look it is judged with.
#[derive(Debug)]
pub struct Observed {
    /// What is recorded.
    pub stored: Stored,
    basis: Basis,
    look: ProcessReading,
}

impl Observed {
    /// Looks at what was read, and reads it again if it seems to be dead.
    pub fn of(ledger: &Ledger, stored: Stored, sight: &Viewpoint<'_>) -> Result<Self, ReadError> {
        let basis = Basis::of(&stored.entity);
        let look = basis.look(sight);
        if look.liveness != Liveness::Dead || stored.entity.ended_at.is_some() {
            return Ok(Self { stored, basis, look });
        }
        let again = read_again(ledger, stored.entity.state.id)?.unwrap_or(stored);
        // Its command may have been alive a moment before the end that is recorded now.
        let basis = Basis::of(&again.entity);
        let look = basis.look(sight);
        Ok(Self { stored: again, basis, look })
    }

    /// The same for many.
    pub fn all(ledger: &Ledger, stored: Vec<Stored>, sight: &Viewpoint<'_>) -> Result<Vec<Self>, ReadError> {
        stored.into_iter().map(|stored| Self::of(ledger, stored, sight)).collect()
    }

    /// What was seen of its processes.
    pub(crate) const fn presence(&self) -> Presence {
        self.look.presence
    }

    /// How it is shown.
    pub fn view(&self) -> View<'_> {
        judged(&self.stored, self.basis.clone(), self.look)
    }
}

/// Reads a run again whose supervisor is gone, after recording the end that the supervisor kept, if there is one. If the
/// store still cannot be written, the next one who looks tries again.
pub fn read_again(ledger: &Ledger, id: EntityId) -> Result<Option<Stored>, ReadError> {
    let Some(stored) = ledger.entity(id)? else { return Ok(None) };
    let remove = |path: &Path| drop(std::fs::remove_file(path));
    if stored.entity.ended_at.is_none()
        && let Ok(Some(kept)) = find_saved_end(&stored, &read_left)
        && kept.record(ledger, &stored, &remove).is_ok()
    {
        return ledger.entity(id);
    }
    Ok(Some(stored))
}
