//! Where a listing goes on.
//!
//! Invariant: a cursor names the last thing that was shown, by what the listing is ordered by, so nothing that stays in
//! its place is shown twice or left out. Deliberately absent: a place in a list, which moves when the list does.

use std::str::FromStr;

use callboard_kernel::EntityId;
use callboard_lifecycle::{Severity, Words};

use thiserror::Error;

/// The last thing that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Ordered by severity.
    Ranked(Severity, EntityId),
    /// Ordered by id.
    Listed(EntityId),
    /// Everything urgent was shown, and nothing else yet.
    Rest,
}

/// A text that is no cursor.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the cursor cannot be read")]
pub struct UnreadableCursor;

impl FromStr for Cursor {
    type Err = UnreadableCursor;

    fn from_str(text: &str) -> Result<Self, UnreadableCursor> {
        if text == "rest" {
            return Ok(Self::Rest);
        }
        let (first, rest) = text.split_once('.').ok_or(UnreadableCursor)?;
        let id = rest.parse().map_err(|_| UnreadableCursor)?;
        match first {
            "id" => Ok(Self::Listed(id)),
            word => Ok(Self::Ranked(Severity::parse(word).map_err(|_| UnreadableCursor)?, id)),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ranked(severity, id) => write!(f, "{}.{id}", severity.name()),
            Self::Listed(id) => write!(f, "id.{id}"),
            Self::Rest => f.write_str("rest"),
        }
    }
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Kind;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let id = EntityId::new(Kind::Session, Uuid::from_u128(7));
        for cursor in [Cursor::Ranked(Severity::Warning, id), Cursor::Listed(id), Cursor::Rest] {
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
        for text in ["", "id", "id.", "id.x", "loud.ses_00000000000000000000000001", "rest.x"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
