//! What stands behind the question mark, read strictly.
//!
//! Invariant: a word that is not understood is refused with what would be; it is never silently left out, because an
//! answer to another question than was asked is wrong. Deliberately absent: what the words mean.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use callboard_lifecycle::Words;

use crate::problem::Problem;

/// The pairs of a query, in order.
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let axum::extract::Query(pairs) =
            axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(|error| {
                Problem::bad_request(error.body_text(), "write it as name=value&name=value")
            })?;
        Ok(Self(pairs))
    }
}

impl Query {
    /// Refuses every name that is not one of these.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Problem> {
        match self.0.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let help = match names {
                    [] => "this path takes no parameters".to_owned(),
                    names => format!("this path takes {}", names.join(", ")),
                };
                Err(Problem::bad_request(format!("unknown parameter {name:?}"), help))
            }
        }
    }

    /// The last value of a name.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// A value that can be read from text.
    pub(crate) fn read<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.one(name) else { return Ok(None) };
        let unread =
            |_| Problem::bad_request(format!("{name}={text:?} cannot be read"), format!("write {what}"));
        text.parse().map(Some).map_err(unread)
    }

    /// A whole number between two bounds.
    pub(crate) fn number(&self, name: &str, low: usize, high: usize) -> Result<Option<usize>, Problem> {
        let what = format!("a whole number from {low} to {high}");
        let number = self.read::<usize>(name, &what)?;
        match number {
            Some(number) if !(low..=high).contains(&number) => Err(Problem::bad_request(
                format!("{name}={number} is out of bounds"),
                format!("write {what}"),
            )),
            other => Ok(other),
        }
    }

    /// Yes or no.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        Ok(self.read(name, "true or false")?.unwrap_or(false))
    }

    /// Words of a closed set, given several times or with commas between them.
    pub(crate) fn words<W: Words>(&self, name: &str) -> Result<Vec<W>, Problem> {
        self.all(name)
            .flat_map(|value| value.split(','))
            .map(|word| {
                W::parse(word).map_err(|unknown| {
                    Problem::bad_request(unknown.to_string(), "GET /api/v1/vocabulary lists them")
                })
            })
            .collect()
    }
}
