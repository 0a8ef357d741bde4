//! One or more of something: most requests have one command, and a list of one would cost an allocation each.
//!
//! Invariant: never empty; the order is the order of the commands.

/// One value, and those behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Several<T> {
    pub(crate) first: T,
    pub(crate) then: Vec<T>,
}

impl<T> Several<T> {
    pub(crate) const fn one(first: T) -> Self {
        Self { first, then: Vec::new() }
    }

    /// All of them, unless there is none.
    pub(crate) fn of(mut all: Vec<T>) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let then = all.split_off(1);
        all.pop().map(|first| Self { first, then })
    }

    pub(crate) const fn len(&self) -> usize {
        1 + self.then.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.then)
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        all.push(self.first);
        all.extend(self.then);
        all
    }

    /// The same number of something else, made of each in order.
    pub(crate) fn try_map<'a, U, E>(
        &'a self,
        mut make: impl FnMut(&'a T) -> Result<U, E>,
    ) -> Result<Several<U>, E> {
        let first = make(&self.first)?;
        let then = self.then.iter().map(make).collect::<Result<_, E>>()?;
        Ok(Several { first, then })
    }
}
