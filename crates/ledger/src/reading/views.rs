//! The views beside what the log says of them, on every engine.
//!
//! Invariant: view rows are read in the order of their ids on one snapshot, and compared with the log as it was in
//! that snapshot. Deliberately absent: reading and writing rows; each engine does that in its own way.

use std::iter::Peekable;
use std::vec::IntoIter;

use uuid::Uuid;

use crate::error::ReadError;
use crate::mutant;
use crate::proof::verify::Problem;
use crate::reading::borrowed::Borrowed;
use crate::reading::entities::Entities;
use crate::reading::fold::Fold;
use crate::reading::ranges;
use crate::store::Stored;

/// Gets the records of a range one by one.
pub(crate) type EachRecord<'a> = &'a mut dyn FnMut(&Borrowed<'_>) -> Result<(), ReadError>;

/// What the log up to a record says of the entities whose ids lie in a range.
pub(crate) struct Share {
    pub(crate) low: Uuid,
    pub(crate) high: Uuid,
    /// The last record that was folded.
    pub(crate) last: u64,
    /// In the order of the ids.
    folds: Vec<(Uuid, Fold)>,
}

impl Share {
    /// Everything in one share.
    pub(crate) fn whole(mut folds: Vec<(Uuid, Fold)>, last: u64) -> Self {
        folds.sort_unstable_by_key(|(id, _)| *id);
        Self { low: Uuid::nil(), high: Uuid::max(), last, folds }
    }

    /// The same in shares, one for each core.
    pub(crate) fn cut(self) -> Vec<Self> {
        let Self { low, mut high, last, mut folds } = self;
        let size = folds.len().div_ceil(ranges::workers()).max(1);
        let mut shares: Vec<Self> = Vec::new();
        while folds.len() > size {
            let upper = folds.split_off(folds.len() - size);
            let Some(&(first, _)) = upper.first() else { unreachable!("BUG: a share is never empty") };
            shares.push(Self { low: first, high, last, folds: upper });
            high = Uuid::from_u128(first.as_u128() - 1);
        }
        shares.push(Self { low, high, last, folds });
        shares
    }

    /// Folds in what others wrote since; `walk` goes through the records after `last`.
    pub(crate) fn catch_up(
        &mut self,
        walk: impl FnOnce(u64, EachRecord<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let (low, high) = (self.low, self.high);
        let mut late: Entities<Fold> = Entities::new();
        walk(self.last, &mut |line| {
            if line.entity >= low && line.entity <= high {
                late.at(line.entity, || Fold::before(line, None)).take(line, None);
            }
            Ok(())
        })?;
        let mut born = Vec::new();
        for (id, later) in late.into_all() {
            match self.folds.binary_search_by_key(&id, |(id, _)| *id) {
                Ok(at) => self.folds[at].1.join(later),
                Err(_) => born.push((id, later)),
            }
        }
        if !born.is_empty() {
            self.folds.append(&mut born);
            self.folds.sort_unstable_by_key(|(id, _)| *id);
        }
        Ok(())
    }

    /// The entities as they stand, in the order of their ids.
    pub(crate) fn settle(self) -> Result<Vec<Stored>, ReadError> {
        self.folds.into_iter().map(|(_, fold)| fold.settle()).collect()
    }

    /// The same on all cores, in parts that follow one another.
    pub(crate) fn settle_parts(self) -> Result<Vec<Vec<Stored>>, ReadError> {
        let mut shares = self.cut();
        shares.reverse();
        ranges::each(shares, Self::settle).into_iter().collect()
    }

    /// Begins to compare view rows with it.
    pub(crate) fn compare(self) -> Comparison {
        Comparison { folds: self.folds.into_iter().peekable(), problems: Vec::new() }
    }
}

/// View rows and folds, side by side.
pub(crate) struct Comparison {
    folds: Peekable<IntoIter<(Uuid, Fold)>>,
    problems: Vec<Problem>,
}

impl Comparison {
    /// The next row; `is_view_of` looks at its columns.
    pub(crate) fn row<E>(
        &mut self,
        id: Uuid,
        kind: &str,
        is_view_of: impl FnOnce(&Stored) -> Result<bool, E>,
    ) -> Result<(), E> {
        while let Some((missing, fold)) = self.folds.next_if(|(folded, _)| *folded < id) {
            self.problems.push(Problem::of_view(fold.kind().unwrap_or_default(), missing));
        }
        let fold = self.folds.next_if(|(folded, _)| *folded == id);
        // The log knows the kind better than a row that may have been changed.
        let kind = fold.as_ref().and_then(|(_, fold)| fold.kind()).unwrap_or(kind);
        let is_right = match fold {
            Some((_, fold)) => {
                let is_known = fold.kind().is_some();
                match fold.settle() {
                    Ok(stored) => is_view_of(&stored)?,
                    // A kind that only a newer program knows cannot be judged.
                    Err(_) if !is_known => true,
                    Err(error) => {
                        self.problems.push(Problem::of_unknown(kind, id, &error));
                        true
                    }
                }
            }
            None => false,
        };
        if !is_right && !mutant::removed("fold_the_views") {
            self.problems.push(Problem::of_view(kind, id));
        }
        Ok(())
    }

    /// What is wrong.
    pub(crate) fn finish(self) -> Vec<Problem> {
        let Self { folds, mut problems } = self;
        problems
            .extend(folds.map(|(missing, fold)| Problem::of_view(fold.kind().unwrap_or_default(), missing)));
        problems
    }
}
