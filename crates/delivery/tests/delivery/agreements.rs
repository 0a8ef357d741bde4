//! What was agreed on at the start is what is verified, whatever happens to the files it came from.

use callboard_delivery::{Agreement, Contract};
use callboard_kernel::Facts;
use callboard_lifecycle::Delivery;

use crate::place::{Place, Real, looked};

const WHOLE: &str = "
artifacts:
- {id: review, path: review.md, description: What was found, min_bytes: 3, media_type: text/markdown}
- {id: data, glob: 'out/**/*.json', required: false, json_schema: {type: object, properties: {n: {minimum: 0.5}}}}
- {id: tests, command: ['true'], timeout_s: 9}
";

#[test]
fn an_agreement_reads_back_from_the_ledger() {
    let place = Place::new().unwrap();
    let agreement = place.agree(WHOLE).unwrap();
    let text = serde_json::to_string(&agreement.snapshot().unwrap()).unwrap();
    let facts: Facts = serde_json::from_str(&text).unwrap();
    assert_eq!(Agreement::restore(&facts).unwrap(), agreement);
    let with_more = facts.with("verification", "of an earlier look");
    assert_eq!(Agreement::restore(&with_more).unwrap(), agreement, "what stands beside it is not read");
}

#[test]
fn what_is_no_agreement_is_not_read_back() {
    let place = Place::new().unwrap();
    let text = serde_json::to_string(&place.agree(WHOLE).unwrap().snapshot().unwrap()).unwrap();
    for (from, to) in [
        ("review.md", "../secret.txt"),
        ("\"review\"", "\"data\""),
        ("\"dir\":\"/", "\"dir\":\""),
        ("\"timeout_s\":9", "\"timeout_s\":0"),
        ("\"artifacts\"", "\"artefacts\""),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from}");
        let facts: Facts = serde_json::from_str(&forged).unwrap();
        assert!(Agreement::restore(&facts).is_err(), "{from} as {to}");
    }
    assert!(Agreement::restore(&Facts::none()).is_err());
}

#[test]
fn a_schema_file_is_read_once_at_the_start() {
    let place = Place::new().unwrap();
    place.write("s.json", r#"{"type": "object"}"#).unwrap();
    place.write("a.json", "[]").unwrap();
    let agreement = place.agree("artifacts: [{path: a.json, json_schema: s.json}]").unwrap();
    place.write("s.json", "true").unwrap();
    assert_eq!(looked(&agreement).delivery, Delivery::Invalid);
    let restored = Agreement::restore(&agreement.snapshot().unwrap()).unwrap();
    assert_eq!(looked(&restored).delivery, Delivery::Invalid);
}

#[test]
fn a_schema_that_cannot_be_read_stops_the_start() {
    let place = Place::new().unwrap();
    place.write("broken.json", "{").unwrap();
    place.write("wild.json", r#"{"pattern": "x"}"#).unwrap();
    place.write("large.json", " ".repeat(256 * 1024 + 1)).unwrap();
    std::os::unix::fs::symlink(place.outside().join("secret.txt"), place.dir().join("link.json")).unwrap();
    for (schema, because) in [
        ("absent.json", "absent.json does not exist"),
        ("broken.json", "broken.json is no JSON"),
        ("wild.json", "#/pattern is a keyword"),
        ("large.json", "more than 262144"),
        ("link.json", "symbolic link"),
    ] {
        let error =
            place.agree(&format!("artifacts: [{{path: a, json_schema: {schema}}}]")).unwrap_err().to_string();
        assert!(error.contains(because) && error.contains("\"a\""), "{schema}: {error}");
    }
}

#[test]
fn links_to_the_directory_are_resolved_once_and_it_may_come_later() {
    let place = Place::new().unwrap();
    let (inside, link) = (place.dir().join("real"), place.dir().join("link"));
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    let expecting = || Contract::expecting(&["ok.txt".to_owned()]).unwrap();
    let agreement = expecting().agree(&link.join("to/come"), &Real).unwrap();
    assert!(agreement.dir.ends_with("artifacts/real/to/come"), "{}", agreement.dir.display());
    assert_eq!(looked(&agreement).delivery, Delivery::Missing);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(place.outside(), &link).unwrap();
    std::fs::create_dir_all(inside.join("to/come")).unwrap();
    std::fs::write(inside.join("to/come/ok.txt"), "x").unwrap();
    let found = looked(&agreement);
    assert_eq!((found.delivery, found.items[0].files[0].bytes), (Delivery::Passed, 1));
}

#[test]
fn a_directory_that_is_none_is_refused() {
    let place = Place::new().unwrap();
    place.write("file", "x").unwrap();
    std::os::unix::fs::symlink("nowhere", place.dir().join("dangling")).unwrap();
    for (dir, because) in
        [("file", "is not a directory"), ("dangling", "leads nowhere"), ("file/below", "Not a directory")]
    {
        let contract = Contract::expecting(&["a".to_owned()]).unwrap();
        let error = contract.agree(&place.dir().join(dir), &Real).unwrap_err().to_string();
        assert!(error.contains(because), "{dir}: {error}");
    }
}
