//! How it went: the answer of `GET /trends`.

use std::collections::BTreeMap;

use callboard_kernel::Moment;
use serde::Serialize;
use utoipa::ToSchema;

/// How it went.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Report)]
pub struct TrendReport {
    /// Span by span, the oldest first.
    pub buckets: Vec<BucketReport>,
    /// The reasons of ends that were no success, the most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// How long entities stay in each state.
    pub time_in_state: Vec<StateTime>,
}

/// How it went in one span of time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BucketReport {
    /// When it begins.
    #[schema(value_type = String)]
    pub from: Moment,
    /// How many ended, by outcome.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub outcomes: BTreeMap<&'static str, u64>,
    /// The median of how long they took, in seconds.
    pub p50_s: Option<f64>,
    /// What 95 of 100 stayed below, in seconds.
    pub p95_s: Option<f64>,
}

/// How often a reason led to an end that was no success.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReasonCount {
    /// The code of the reason.
    pub code: String,
    /// How often.
    pub count: u64,
}

/// How long entities stay in a state.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StateTime {
    /// The state.
    pub state: &'static str,
    /// The median, in seconds.
    pub p50_s: Option<f64>,
    /// What 95 of 100 stay below, in seconds.
    pub p95_s: Option<f64>,
}
