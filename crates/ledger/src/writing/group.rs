//! Groups: several commands that are recorded together or not at all, and how the log shows it.
//!
//! Invariant: the records of a group follow each other in the log, and each says which of how many it is; a log that
//! holds some of them without the others is torn. The key of a group is the key of its first record about each entity,
//! so sending the group again finds every record of it. Deliberately absent: deciding; `batch` does that.

use serde::{Deserialize, Serialize};

use crate::record::Unreadable;
use crate::store::Request;
use crate::writing::body::Body;

/// How many commands one group may have.
pub const GROUP_MAX: usize = 256;

/// Several commands that are recorded together or not at all. A later one sees what the earlier ones did.
#[derive(Clone, Debug)]
pub struct Group {
    pub(crate) key: Option<String>,
    pub(crate) requests: Vec<Request>,
}

impl Group {
    /// A group that begins with this command. Its own key becomes the key of the group.
    pub fn new(mut first: Request) -> Self {
        Self { key: first.command.key.take(), requests: vec![first] }
    }

    /// The same group with one more command. A key of its own means nothing: the key of the group covers all of it.
    #[must_use]
    pub fn and(mut self, mut next: Request) -> Self {
        next.command.key = None;
        self.requests.push(next);
        self
    }

    /// The same group under a key: sent again with the same commands it is answered with the same records.
    #[must_use]
    pub fn keyed(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// How many commands it has.
    #[expect(clippy::len_without_is_empty, reason = "a group is never empty")]
    pub const fn len(&self) -> usize {
        self.requests.len()
    }

    /// The commands, each under the key by which it is found again.
    pub(crate) fn into_requests(self) -> Vec<Request> {
        let Self { key, mut requests } = self;
        if let Some(key) = key {
            for at in 0..requests.len() {
                let entity = requests[at].command.entity;
                let before = requests[..at].iter().filter(|request| request.command.entity == entity).count();
                requests[at].command.key = Some(nth_key(&key, before));
            }
        }
        requests
    }
}

/// An entity has each key once, so the second record about it in a group needs another one.
fn nth_key(key: &str, before: usize) -> String {
    if before == 0 { key.to_owned() } else { format!("{key}#{}", before + 1) }
}

/// Which of how many records of its group a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Counted from 0.
    pub at: u32,
    /// At least 2.
    pub of: u32,
}

impl Member {
    /// What a stored body says; a record that was recorded alone says nothing.
    pub(crate) fn of_body(body: &str) -> Result<Option<Self>, Unreadable> {
        if !body.contains("\"group\"") {
            return Ok(None);
        }
        Ok(Body::parse(body)?.group)
    }

    const fn is_last(self) -> bool {
        self.at + 1 >= self.of
    }
}

/// What the records of a log say of their groups, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wholeness {
    /// What the first record said, if there was one.
    first: Option<Option<Member>>,
    /// The newest record, if records of its group must follow.
    open: Option<Member>,
}

impl Wholeness {
    /// Before the first record of a log, or of what continues one.
    pub(crate) const fn of_log() -> Self {
        Self { first: Some(None), open: None }
    }

    /// Takes the next record in; what is wrong with it, if a group is torn here. Where the first one belongs is for
    /// whoever knows what came before it.
    pub(crate) fn follow(&mut self, member: Option<Member>) -> Option<String> {
        let problem = match self.first {
            None => {
                self.first = Some(member);
                None
            }
            Some(_) => torn(self.open, member),
        };
        self.open = member.filter(|member| !member.is_last());
        problem
    }

    /// Goes on with later records; what is wrong where the two meet.
    pub(crate) fn join(&mut self, later: Self) -> Option<String> {
        let problem = later.first.and_then(|first| torn(self.open, first));
        if later.first.is_some() {
            self.open = later.open;
        }
        problem
    }

    /// The log ends here; what is missing.
    pub(crate) fn end(&self) -> Option<String> {
        torn(self.open, None)
    }
}

/// What is wrong if this record comes next.
fn torn(open: Option<Member>, next: Option<Member>) -> Option<String> {
    match (open, next) {
        (None, None) => None,
        (None, Some(next)) if next.at == 0 && next.of > 1 => None,
        (Some(open), Some(next)) if next.of == open.of && next.at == open.at + 1 => None,
        (Some(open), _) => {
            Some(format!("its group is torn: {} of {} records are there", open.at + 1, open.of))
        }
        (None, Some(next)) => Some(format!(
            "its group is torn: it is record {} of {} without those before it",
            next.at + 1,
            next.of
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(log: &[Option<(u32, u32)>]) -> Vec<usize> {
        let members = || log.iter().map(|member| member.map(|(at, of)| Member { at, of }));
        let mut whole = Wholeness::default();
        let mut found: Vec<usize> = Vec::new();
        let mut start = Wholeness::of_log();
        for (at, member) in members().enumerate() {
            found.extend(whole.follow(member).map(|_| at));
        }
        found.extend(start.join(whole).map(|_| 0));
        found.extend(start.end().map(|_| log.len()));
        // Cut anywhere, the parts say the same.
        for cut in 0..=log.len() {
            let (mut joined, mut count) = (Wholeness::of_log(), 0);
            for part in [0..cut, cut..log.len()] {
                let mut one = Wholeness::default();
                for member in members().skip(part.start).take(part.len()) {
                    count += usize::from(one.follow(member).is_some());
                }
                count += usize::from(joined.join(one).is_some());
            }
            count += usize::from(joined.end().is_some());
            assert_eq!(count, found.len(), "{log:?} cut at {cut}");
        }
        found
    }

    #[test]
    fn a_group_is_whole_only_with_all_its_records_in_order() {
        assert!(walk(&[]).is_empty());
        assert!(
            walk(&[None, Some((0, 2)), Some((1, 2)), None, Some((0, 3)), Some((1, 3)), Some((2, 3))])
                .is_empty()
        );
        assert!(walk(&[Some((0, 2)), Some((1, 2)), Some((0, 2)), Some((1, 2))]).is_empty());
        assert_eq!(walk(&[None, Some((0, 2)), None]), [2]);
        assert_eq!(walk(&[Some((0, 3)), Some((2, 3))]), [1]);
        assert_eq!(walk(&[Some((1, 2)), None]), [0]);
        assert_eq!(walk(&[None, Some((0, 2))]), [2], "the end is missing");
        assert_eq!(walk(&[Some((0, 2)), Some((1, 3)), Some((2, 3))]), [1]);
    }
}
