//! Policy `v1` gives the verdict of every row of the conformance file, and the file covers every combination it can.

use callboard_kernel::Axes;
use callboard_lifecycle::{Delivery, Health, Outcome, PolicyVersion, Severity, Tone};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    outcome: Option<Outcome>,
    health: Option<Health>,
    delivery: Option<Delivery>,
    severity: Severity,
    tone: Tone,
}

#[test]
fn every_row_of_the_first_cascade_holds() {
    let mut rows = 0;
    for line in include_str!("conformance/severity_v1.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let axes =
            Axes { lifecycle: None, outcome: case.outcome, health: case.health, delivery: case.delivery };
        assert_eq!(axes.severity(PolicyVersion::V1, None), (case.severity, case.tone), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 840, "ten outcomes, twelve healths, seven deliveries, absent values included");
}
