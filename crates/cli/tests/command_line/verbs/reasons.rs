//! `callboard reasons`: the registry as programs and people read it.

use std::collections::BTreeSet;

use insta::{assert_snapshot, with_settings};
use serde_json::{Value, json};

use crate::harness::driver::callboard;

fn reasons(arguments: &[&str]) -> Vec<Value> {
    let document = callboard(&[&["reasons", "--json"], arguments].concat()).json();
    document["reasons"].as_array().unwrap_or_else(|| panic!("no list in {document}")).clone()
}

#[test]
fn every_reason_has_what_other_programs_rely_on() {
    let all = reasons(&[]);
    let codes: BTreeSet<_> = all.iter().filter_map(|reason| reason["code"].as_str()).collect();
    assert_eq!(codes.len(), all.len(), "a code stands once");
    for reason in &all {
        let code = reason["code"].as_str().unwrap();
        let (entity, dimension) = (reason["entity"].as_str().unwrap(), reason["dimension"].as_str().unwrap());
        assert!(code.starts_with(&format!("{entity}.{dimension}")), "{reason}");
        assert!(reason["meaning"].as_str().unwrap().ends_with('.'), "{reason}");
    }
    assert!(all.contains(&json!({
        "code": "run.aborted.sigint", "entity": "run", "dimension": "aborted", "meaning": "A person pressed Ctrl-C.",
        "kind": "session", "old_codes": ["run.cancelled.sigint", "run.aborted.user"], "chosen": true,
    })));
    let shared = all.iter().find(|reason| reason["code"] == "system.operator.note").unwrap();
    assert_eq!((&shared["kind"], &shared["chosen"]), (&Value::Null, &json!(false)));
}

#[test]
fn a_kind_and_its_entity_give_the_same_and_nothing_else() {
    let of_session = reasons(&["session"]);
    assert!(!of_session.is_empty());
    assert!(of_session.iter().all(|reason| reason["kind"] == "session" && reason["entity"] == "run"));
    assert_eq!(of_session, reasons(&["run"]));
    assert_eq!(reasons(&["claim"]), reasons(&["knowledge"]));
    assert!(reasons(&["system"]).iter().all(|reason| reason["entity"] == "system"));
    assert_eq!(reasons(&["legacy"]).len(), 1);
}

#[test]
fn the_list_fits_eighty_columns() {
    with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        assert_snapshot!("reasons-team", callboard(&["reasons", "team", "--width", "80"]).well());
    });
    for line in callboard(&["reasons", "--width", "80"]).well().lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(callboard(&["reasons"]).well().contains("OLD CODES"), "what is piped is whole");
}
