//! A file that was there before the run is not what the run delivered.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use callboard_delivery::{Agreement, Found};
use callboard_lifecycle::Delivery;

use crate::place::{Place, looked};

const LAST_WEEK: Duration = Duration::from_secs(1_700_000_000);

/// A file from last week.
fn old(place: &Place, path: &str, bytes: &str) {
    place.write(path, bytes).unwrap_or_else(|error| panic!("{error}"));
    date(place, path);
}

fn date(place: &Place, path: &str) {
    let file =
        File::options().append(true).open(place.dir().join(path)).unwrap_or_else(|error| panic!("{error}"));
    file.set_modified(SystemTime::UNIX_EPOCH + LAST_WEEK).unwrap_or_else(|error| panic!("{error}"));
}

/// What is found after a run that does this, by an agreement that was kept in the ledger meanwhile.
fn found(promise: &str, run: impl FnOnce(&Place)) -> (Delivery, Found, String) {
    let place = Place::new().unwrap_or_else(|error| panic!("{error}"));
    old(&place, "out.md", "old words");
    old(&place, "d/a.json", "[1]");
    old(&place, "d/b.json", "[2]");
    let agreement =
        place.agree_now(&format!("artifacts: [{{{promise}}}]")).unwrap_or_else(|error| panic!("{error}"));
    let agreement = Agreement::restore(&agreement.snapshot().unwrap_or_else(|error| panic!("{error}")))
        .unwrap_or_else(|error| panic!("{error}"));
    run(&place);
    let found = looked(&agreement);
    let item = &found.items[0];
    (found.delivery, item.found, item.because.clone().unwrap_or_default())
}

#[test]
fn an_old_file_is_delivered_only_by_who_writes_it() {
    let unchanged =
        (Delivery::Missing, Found::Unchanged, "is there, unchanged since before the run".to_owned());
    let written = (Delivery::Passed, Found::Produced, String::new());
    let rewritten =
        (Delivery::Passed, Found::Produced, "touched or rewritten, with the same content".to_owned());
    assert_eq!(found("path: out.md", |_| ()), unchanged);
    assert_eq!(found("path: out.md, existing: true", |_| ()), written);
    assert_eq!(found("path: out.md", |place| place.write("out.md", "new words").unwrap()), written);
    assert_eq!(found("path: out.md", |place| place.write("out.md", "old words").unwrap()), rewritten);
    let restored = |place: &Place| {
        place.write("out.md", "new words").unwrap();
        date(place, "out.md");
    };
    assert_eq!(found("path: out.md", restored), written, "the content counts, whatever the time says");
    let replaced = |place: &Place| {
        place.write("next", "old words").unwrap();
        date(place, "next");
        std::fs::rename(place.dir().join("next"), place.dir().join("out.md")).unwrap();
    };
    assert_eq!(found("path: out.md", replaced), rewritten, "another file in its place");
    let chmod = |place: &Place| {
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(place.dir().join("out.md"), mode).unwrap();
    };
    assert_eq!(found("path: out.md", chmod), unchanged, "the mode of a file is not its content");
    let wrong = found("path: out.md, min_bytes: 100", |_| ());
    assert_eq!(wrong, unchanged, "what the run did not write cannot be its mistake");
    assert_eq!(found("path: new.md", |place| place.write("new.md", "x").unwrap()), written);
}

#[test]
fn of_a_glob_at_least_one_file_must_be_written() {
    let (delivery, kind, _) = found("glob: 'd/*.json'", |_| ());
    assert_eq!((delivery, kind), (Delivery::Missing, Found::Unchanged));
    for name in ["d/a.json", "d/c.json"] {
        let (delivery, kind, _) = found("glob: 'd/*.json'", |place| place.write(name, "[3]").unwrap());
        assert_eq!((delivery, kind), (Delivery::Passed, Found::Produced), "{name}");
    }
    let (delivery, ..) = found("glob: 'd/*.json', existing: true", |_| ());
    assert_eq!(delivery, Delivery::Passed);
}

#[test]
fn more_files_than_are_kept_one_by_one_are_compared_together() {
    let place = Place::new().unwrap();
    for number in 0..300 {
        old(&place, &format!("many/{number:03}.txt"), "x");
    }
    let agree = || place.agree_now("artifacts: [{glob: 'many/*.txt'}]").unwrap();
    let agreement = agree();
    assert_eq!(looked(&agreement).items[0].found, Found::Unchanged);
    place.write("many/007.txt", "x").unwrap();
    assert_eq!(looked(&agreement).items[0].found, Found::Produced);
    let agreement = agree();
    place.write("many/more.txt", "x").unwrap();
    assert_eq!(looked(&agreement).items[0].found, Found::Produced);
}
