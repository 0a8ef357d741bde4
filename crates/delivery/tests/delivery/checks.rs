//! Each check: what it takes, what it does not, and the words for it.

use std::os::unix::fs::PermissionsExt;

use callboard_delivery::{
    Check, CheckProgram, Contract, EVIDENCE_MAX, Found, InspectionLimits, ProgramEnd, Ran, verify,
};
use callboard_kernel::Moment;
use callboard_lifecycle::Delivery;
use callboard_lifecycle::session::SessionTrigger;

use crate::place::{Place, looked};

#[test]
fn every_check_takes_what_is_right_and_says_what_is_not() {
    let place = Place::new().unwrap();
    place.write("review.md", "# good\n").unwrap();
    place.write("empty.md", "").unwrap();
    place.write("a.json", r#"{"n": 1}"#).unwrap();
    place.write("broken.json", r#"{"n": "#).unwrap();
    place.write("latin.txt", b"gr\xf6\xdfer").unwrap();
    place.write("out/a.json", r#"{"n": 1}"#).unwrap();
    place.write("out/deep/b.json", r#"{"n": "x"}"#).unwrap();
    place.write("out/none.log", "").unwrap();
    place.write("odd [1] *.md", "x").unwrap();
    std::os::unix::fs::symlink("review.md", place.dir().join("link.md")).unwrap();
    let schema = "json_schema: {required: [n], properties: {n: {type: integer}}}";
    let cases: &[(&str, Found, &str)] = &[
        ("path: review.md", Found::Produced, ""),
        ("path: ./review.md", Found::Produced, ""),
        ("path: absent.md", Found::Missing, "does not exist"),
        ("path: review.md/below", Found::Missing, "does not exist"),
        ("path: empty.md", Found::Empty, "is empty"),
        ("path: out", Found::Invalid, "is a directory"),
        ("path: link.md", Found::Invalid, "symbolic link"),
        ("path: 'odd [1] *.md'", Found::Produced, ""),
        ("path: review.md, min_bytes: 7", Found::Produced, ""),
        ("path: review.md, min_bytes: 8", Found::Invalid, "has 7 bytes, fewer than 8"),
        ("path: review.md, media_type: text/markdown", Found::Produced, ""),
        ("path: latin.txt, media_type: text/plain", Found::Invalid, "not UTF-8 at offset 2"),
        ("path: review.md, media_type: image/png", Found::Invalid, "does not begin as image/png"),
        ("path: a.json, media_type: application/json", Found::Produced, ""),
        ("path: broken.json, media_type: application/json", Found::Invalid, "is no JSON"),
        (&format!("path: a.json, {schema}"), Found::Produced, ""),
        (&format!("path: broken.json, {schema}"), Found::Invalid, "is no JSON"),
        (&format!("path: out/deep/b.json, {schema}"), Found::Invalid, "$.n is string, not integer"),
        ("glob: '*.json'", Found::Produced, ""),
        ("glob: 'out/**/*.json'", Found::Produced, ""),
        ("glob: 'out/*.txt'", Found::Missing, "nothing matches"),
        ("glob: 'nowhere/*.txt'", Found::Missing, "nothing matches"),
        ("glob: 'out/*.log'", Found::Empty, "every match is empty"),
        ("glob: 'out/*'", Found::Produced, ""),
        ("glob: 'link*'", Found::Invalid, "link.md is or is behind a symbolic link"),
        ("glob: 'out/{a,b}.json'", Found::Produced, ""),
        (&format!("glob: 'out/**/*.json', {schema}"), Found::Invalid, "out/deep/b.json does not fit"),
        ("id: c, command: ['true']", Found::Produced, ""),
        ("id: c, command: [sh, -c, 'echo no >&2; exit 3']", Found::Invalid, "sh exited with 3"),
        ("id: c, command: [sh, -c, 'kill -9 $$']", Found::Invalid, "sh was ended by signal 9"),
        ("id: c, command: [no-such-program-anywhere]", Found::Invalid, "could not be started"),
        ("path: review.md, command: [grep, -q, good, review.md]", Found::Produced, ""),
        ("path: review.md, command: [grep, -q, bad, review.md]", Found::Invalid, "grep exited with 1"),
        ("path: absent.md, command: ['true']", Found::Missing, "does not exist"),
    ];
    for (promise, found, because) in cases {
        let item = place.look(&format!("{{{promise}}}")).unwrap_or_else(|error| panic!("{promise}: {error}"));
        assert_eq!(item.found, *found, "{promise}: {item:?}");
        match &item.because {
            Some(said) => assert!(!because.is_empty() && said.contains(because), "{promise}: {said}"),
            None => assert!(because.is_empty(), "{promise}: {item:?}"),
        }
    }
}

#[test]
fn what_was_found_has_its_size_and_hash() {
    let place = Place::new().unwrap();
    place.write("out/a.txt", "a").unwrap();
    place.write("out/b.txt", "bb").unwrap();
    let item = place.look("{id: all, glob: 'out/*'}").unwrap();
    let files: Vec<(&str, u64)> = item.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    assert_eq!((files, item.matched), (vec![("out/a.txt", 1), ("out/b.txt", 2)], 2));
    assert_eq!(item.files[0].blake3.as_deref(), Some(blake3::hash(b"a").to_hex().as_str()));
}

#[test]
fn a_command_says_why_and_is_kept_as_plain_text() {
    let place = Place::new().unwrap();
    let item =
        place.look("{id: c, command: [sh, -c, 'printf \"one\\\\033[31m\\\\000\\\\n\"; exit 1']}").unwrap();
    assert_eq!(item.output.as_deref(), Some("one\u{fffd}[31m\u{fffd}\n"));
    let long = place.look("{id: c, command: [sh, -c, 'seq 1 100000']}").unwrap();
    let output = long.output.unwrap();
    assert!(output.len() <= InspectionLimits::DEFAULT.output_bytes_max && output.ends_with("100000\n"));
}

struct TooSlow;

impl Check for TooSlow {
    fn run(&self, program: &CheckProgram<'_>) -> std::io::Result<Ran> {
        assert_eq!(program.limit.as_secs(), 7);
        Ok(Ran { end: ProgramEnd::Limit, stdout: Vec::new(), stderr: Vec::new(), cut: false })
    }
}

#[test]
fn a_command_has_its_own_limit() {
    let place = Place::new().unwrap();
    let agreement = place.agree("artifacts: [{id: c, command: [sleep, '9'], timeout_s: 7}]").unwrap();
    let found = verify(&agreement, &TooSlow, &InspectionLimits::DEFAULT, Moment::from_micros(0)).unwrap();
    assert_eq!(found.items[0].because.as_deref(), Some("sleep took longer than 7 s"));
}

#[test]
fn beyond_a_bound_it_says_so() {
    let place = Place::new().unwrap();
    place.write("large.json", format!("[{}1]", "1,".repeat(5_000))).unwrap();
    for number in 0..50 {
        place.write(&format!("many/{number:02}.txt"), "x").unwrap();
    }
    let with = |promise: &str, limits: InspectionLimits| {
        let agreement = place.agree(&format!("artifacts: [{{{promise}}}]")).unwrap();
        verify(&agreement, &TooSlow, &limits, Moment::from_micros(0)).unwrap().items.remove(0)
    };
    let small = InspectionLimits { file_bytes_max: 100, ..InspectionLimits::DEFAULT };
    let large = with("path: large.json", small);
    assert_eq!((large.found, large.files[0].bytes, &large.files[0].blake3), (Found::Produced, 10_003, &None));
    let exact =
        with("path: large.json", InspectionLimits { file_bytes_max: 10_003, ..InspectionLimits::DEFAULT });
    assert!(exact.files[0].blake3.is_some(), "a file of exactly the bound is hashed");
    let json = with(
        "path: large.json, media_type: application/json",
        InspectionLimits { document_bytes_max: 99, ..small },
    );
    assert!(json.found == Found::Invalid && json.because.unwrap().contains("more than the 99"));
    let few = InspectionLimits { entries_max: 10, ..InspectionLimits::DEFAULT };
    let cut = with("glob: 'many/*.txt'", few);
    assert_eq!((cut.found, cut.matched), (Found::Produced, 10));
    assert!(cut.because.unwrap().contains("after 10 entries the walk stopped"));
    let cut = with("glob: 'many/*.md'", few);
    assert_eq!(cut.found, Found::Invalid, "what was not looked at is not missing");
    let listed =
        with("glob: 'many/*.txt'", InspectionLimits { files_listed_max: 3, ..InspectionLimits::DEFAULT });
    assert_eq!((listed.files.len(), listed.matched), (3, 50));
}

#[test]
fn a_directory_that_is_gone_or_replaced_is_told_apart() {
    let place = Place::new().unwrap();
    place.write("ok.txt", "x").unwrap();
    let agreement = place.agree("artifacts: [{path: ok.txt}, {id: c, command: ['true']}]").unwrap();
    std::fs::remove_dir_all(place.dir()).unwrap();
    let gone = looked(&agreement);
    assert_eq!(gone.delivery, Delivery::Missing);
    assert_eq!(gone.items[1].because.as_deref(), Some("the artifact directory does not exist"));
    std::os::unix::fs::symlink(place.outside(), place.dir()).unwrap();
    let replaced = looked(&agreement);
    assert_eq!(replaced.delivery, Delivery::Invalid, "the outside has an ok.txt too");
    assert!(replaced.items[0].because.as_deref().unwrap().contains("symbolic link"));
    std::fs::remove_file(place.dir()).unwrap();
    place.write("ok.txt", "made anew").unwrap();
    assert_eq!(
        looked(&agreement).delivery,
        Delivery::Passed,
        "a directory that was made anew is the same place"
    );
}

#[test]
fn a_file_that_may_not_be_read_is_invalid() {
    let place = Place::new().unwrap();
    place.write("locked.txt", "x").unwrap();
    std::fs::set_permissions(place.dir().join("locked.txt"), PermissionsExt::from_mode(0o000)).unwrap();
    let item = place.look("{path: locked.txt}").unwrap();
    // Nothing is locked for root.
    if std::fs::File::open(place.dir().join("locked.txt")).is_err() {
        assert_eq!(item.found, Found::Invalid);
        assert!(item.because.unwrap().starts_with("cannot be read"));
    } else {
        assert_eq!(item.found, Found::Produced);
    }
}

#[test]
fn only_what_was_required_changes_a_clean_exit() {
    let place = Place::new().unwrap();
    place.write("good.md", "x").unwrap();
    place.write("small.md", "x").unwrap();
    let wrong = "{path: small.md, min_bytes: 9";
    for (artifacts, delivery, detail, codes) in [
        ("".to_owned(), Delivery::NotExpected, None, vec![]),
        ("{path: good.md}".to_owned(), Delivery::Passed, None, vec![]),
        (
            "{path: review.md, required: false}".to_owned(),
            Delivery::Partial,
            Some("review.md missing"),
            vec![],
        ),
        (format!("{wrong}, required: false}}"), Delivery::Invalid, Some("small.md invalid"), vec![]),
        (
            "{path: review.md}".to_owned(),
            Delivery::Missing,
            Some("review.md missing"),
            vec!["run.failed.missing_artifact"],
        ),
        (
            "{path: review.md}, {path: good.md}".to_owned(),
            Delivery::Partial,
            Some("review.md missing"),
            vec!["run.failed.missing_artifact"],
        ),
        (
            format!("{wrong}}}"),
            Delivery::Invalid,
            Some("small.md invalid"),
            vec!["run.failed.invalid_artifact"],
        ),
        (
            format!("{{path: review.md}}, {wrong}}}"),
            Delivery::Invalid,
            Some("small.md invalid, review.md missing"),
            vec!["run.failed.invalid_artifact", "run.failed.missing_artifact"],
        ),
    ] {
        let agreement = place.agree(&format!("artifacts: [{artifacts}]")).unwrap();
        let found = looked(&agreement);
        assert_eq!((found.delivery, found.detail.as_deref()), (delivery, detail), "{artifacts}");
        let effect = found.effect();
        assert!(effect.iter().all(|effect| effect.trigger == SessionTrigger::ContractBroken));
        let reasons = effect.map(|effect| effect.reasons).unwrap_or_default();
        let found_codes: Vec<&str> = reasons.iter().map(|reason| reason.code.as_str()).collect();
        assert_eq!(found_codes, codes, "{artifacts}");
        for reason in &reasons {
            assert_eq!(reason.check(), Ok(()));
            assert!(!reason.evidence.is_empty(), "{artifacts}");
        }
    }
}

#[test]
fn evidence_can_be_followed_and_is_bounded() {
    let place = Place::new().unwrap();
    place.write("good.md", "x").unwrap();
    for number in 0..100 {
        place.write(&format!("many/{number:03}"), "x").unwrap();
    }
    let agreement = place
        .agree("artifacts: [{path: good.md}, {path: review.md}, {glob: many/0*}, {glob: many/*}]")
        .unwrap();
    let evidence = looked(&agreement).evidence();
    assert_eq!(evidence.len(), EVIDENCE_MAX);
    let hash = blake3::hash(b"x").to_hex();
    assert_eq!(evidence[0].path.as_deref(), Some("good.md"));
    assert_eq!(evidence[0].artifact_id.as_deref(), Some("good-md"));
    assert_eq!(evidence[0].detail.as_deref(), Some(format!("1 bytes, blake3 {hash}").as_str()));
    assert_eq!(evidence[0].content_hash.as_deref(), Some(format!("blake3:{hash}").as_str()));
    assert_eq!(evidence[1].detail.as_deref(), Some("does not exist"));
}

#[test]
fn a_contract_from_both_places_is_verified() {
    let place = Place::new().unwrap();
    let file = Contract::parse("artifacts: [{id: a-md, path: other.md}, {path: b.md}]", None).unwrap();
    let line = Contract::expecting(&["a.md".to_owned(), "c.md:optional".to_owned()]).unwrap();
    let agreement = file.with(line).unwrap().agree(&place.dir(), &TooSlow).unwrap();
    place.write("a.md", "x").unwrap();
    let found = looked(&agreement);
    assert_eq!(found.produced, ["a-md"]);
    assert_eq!(
        (found.missing_required, found.missing_optional),
        (vec!["b-md".to_owned()], vec!["c-md".to_owned()])
    );
}
