//! What the text that names a store means: a path, or the URL of a server.
//!
//! Invariant: a URL of a scheme that no engine serves is never taken for a path. Deliberately absent: what stands in a
//! URL behind its scheme.

/// The schemes of stores on a server.
pub const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Is it the URL of a store on a server?
pub fn is_server(store: &str) -> bool {
    scheme(store).is_some_and(|scheme| SCHEMES.contains(&scheme))
}

/// The scheme of a URL that no engine serves.
pub fn unknown_scheme(store: &str) -> Option<&str> {
    scheme(store).filter(|scheme| !SCHEMES.contains(scheme))
}

/// What stands before `://`, if it has the form of a scheme; `./a://b` is a path.
fn scheme(store: &str) -> Option<&str> {
    let (scheme, _) = store.split_once("://")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_part);
    is_one.then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_an_unknown_scheme_is_no_path() {
        for (store, is_of_a_server, unknown) in [
            ("postgres://host/db", true, None),
            ("postgresql:///db?host=/run", true, None),
            ("postgress://host/db", false, Some("postgress")),
            ("mysql://u:p@host/db", false, Some("mysql")),
            ("Postgres://host/db", false, Some("Postgres")),
            ("sqlite+wal.1-x://a", false, Some("sqlite+wal.1-x")),
            ("/var/lib/postgres", false, None),
            ("./mysql://host", false, None),
            ("board.db", false, None),
            ("://board", false, None),
            ("1a://board", false, None),
            ("a b://board", false, None),
        ] {
            assert_eq!((is_server(store), unknown_scheme(store)), (is_of_a_server, unknown), "{store}");
        }
    }
}
