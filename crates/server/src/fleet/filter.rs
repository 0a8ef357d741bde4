//! Which entities a listing shows.
//!
//! Invariant: a filter looks at the judged view, so it can never disagree with what is shown; what the ledger can
//! leave out by itself is asked of the ledger too. Deliberately absent: order and pieces.

use callboard_kernel::EntityId;
use callboard_lifecycle::{Health, Kind, Severity};

use super::entry::Traits;
use crate::problem::Problem;
use crate::query::Query;

/// What somebody looks for.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) kind: Option<Kind>,
    pub(crate) parent: Option<EntityId>,
    states: Vec<String>,
    health: Vec<Health>,
    severity: Vec<Severity>,
    labels: Vec<(String, String)>,
    project: Option<String>,
    /// In small letters.
    text: Option<String>,
}

impl Filter {
    /// The names it is written with.
    pub(crate) const NAMES: [&str; 8] =
        ["kind", "state", "health", "severity", "label", "project", "parent", "q"];

    pub(crate) fn read(query: &Query) -> Result<Self, Problem> {
        let kinds = query.words::<Kind>("kind")?;
        if kinds.len() > 1 {
            return Err(Problem::bad_request("several kinds are named", "name one kind, or none for all"));
        }
        let label = |text: &str| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => {
                Err(Problem::bad_request(format!("label={text:?} cannot be read"), "write label=NAME=VALUE"))
            }
        };
        let states = query.all("state").flat_map(|states| states.split(',')).map(str::to_owned);
        Ok(Self {
            kind: kinds.first().copied(),
            parent: query.read("parent", "a whole id, such as ses_01k7c3h2f4x8w6t5r3q1n0m9bz")?,
            states: states.map(known_state).collect::<Result<_, _>>()?,
            health: query.words("health")?,
            severity: query.words("severity")?,
            labels: query.all("label").map(label).collect::<Result<_, _>>()?,
            project: query.one("project").map(str::to_owned),
            text: query.one("q").map(str::to_lowercase).filter(|text| !text.is_empty()),
        })
    }

    /// Is there nothing to look at that the ledger does not leave out by itself?
    pub(crate) fn is_plain(&self) -> bool {
        let Self { kind: _, parent: _, states, health, severity, labels, project, text } = self;
        states.is_empty()
            && health.is_empty()
            && severity.is_empty()
            && labels.is_empty()
            && project.is_none()
            && text.is_none()
    }

    /// What can be told without judging.
    pub(crate) fn takes_traits(&self, traits: &Traits) -> bool {
        let is = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        self.kind.is_none_or(|kind| kind == traits.kind())
            && is(&self.parent.map(|id| id.to_string()), traits.parent())
            && is(&self.project, traits.project())
            && (self.states.is_empty()
                || traits.state.is_some_and(|state| self.states.iter().any(|name| name == state.name())))
            && self.labels.iter().all(|(name, value)| traits.has_label(name, value))
            && self.text.as_deref().is_none_or(|wanted| traits.says(wanted))
    }

    /// What only the judge can tell.
    pub(crate) fn takes(&self, health: Option<Health>, severity: Severity) -> bool {
        (self.health.is_empty() || health.is_some_and(|health| self.health.contains(&health)))
            && (self.severity.is_empty() || self.severity.contains(&severity))
    }
}

/// A state that no machine has is a slip, and nothing would ever be found under it.
fn known_state(name: String) -> Result<String, Problem> {
    let names = || {
        callboard_lifecycle::MACHINES.iter().flat_map(|machine| machine.states.iter()).map(|s| s.word.name)
    };
    if names().any(|known| known == name) {
        return Ok(name);
    }
    let unknown = callboard_lifecycle::UnknownWord::new("state", &name, names());
    Err(Problem::bad_request(unknown.to_string(), "GET /api/v1/machines lists the states of every kind"))
}
