//! What may happen and what it is called: machines, reasons, and every word with its look.
//!
//! Invariant: read from the tables alone. Deliberately absent: entities.

use callboard_lifecycle::render::{Catalogue, Legacy, TokenDescription, VocabularyDescription};
use callboard_lifecycle::{Kind, MACHINES, REASONS, Scope};
use serde::Serialize;

use crate::app::Answer;
use crate::problem::Problem;
use crate::query::Query;

/// Every state machine, as `callboard machines --json` prints them.
#[utoipa::path(get, path = "/machines", tag = "reference", responses((status = 200, body = serde_json::Value)))]
pub(super) async fn machines(query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    Answer::json(&Catalogue::of(&MACHINES))
}

#[derive(Serialize)]
struct Reasons {
    reasons: Vec<Reason>,
}

#[derive(Serialize)]
struct Reason {
    code: &'static str,
    entity: &'static str,
    dimension: &'static str,
    meaning: &'static str,
    kind: Option<Kind>,
    chosen: bool,
}

/// Every reason code and what it means.
#[utoipa::path(get, path = "/reasons", tag = "reference", responses((status = 200, body = serde_json::Value)))]
pub(super) async fn reasons(query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    let reasons = REASONS.iter().map(|def| Reason {
        code: def.code,
        entity: def.entity(),
        dimension: def.dimension(),
        meaning: def.meaning,
        kind: match def.scope {
            Scope::Of(kind) => Some(kind),
            Scope::Any => None,
        },
        chosen: def.chosen,
    });
    Answer::json(&Reasons { reasons: reasons.collect() })
}

#[derive(Serialize)]
struct Vocabulary {
    taxonomies: Vec<VocabularyDescription>,
    states: Vec<States>,
    tokens: Vec<TokenDescription>,
    legacy: Legacy,
}

#[derive(Serialize)]
struct States {
    kind: Kind,
    noun: &'static str,
    prefix: &'static str,
    values: Vec<callboard_lifecycle::render::StateDescription>,
}

/// Every word people see, with its label, icon and colour token, and the colours of both themes.
#[utoipa::path(get, path = "/vocabulary", tag = "reference", responses((status = 200, body = serde_json::Value)))]
pub(super) async fn vocabulary(query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    let Catalogue { machines, taxonomies, tokens, legacy, .. } = Catalogue::of(&MACHINES);
    let states = machines.into_iter().map(|machine| States {
        kind: machine.kind,
        noun: machine.noun,
        prefix: machine.prefix,
        values: machine.states,
    });
    Answer::json(&Vocabulary { taxonomies, states: states.collect(), tokens, legacy })
}
