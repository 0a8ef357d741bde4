//! "The git diff is not empty", in real repositories.

use callboard_delivery::{Agreement, Found};

use crate::place::{Place, git, looked};

const PROMISE: &str = "artifacts: [{id: change, git_diff: true}]";

/// A repository with one commit, one file that is dirty and one that is ignored.
fn repository(place: &Place) -> std::io::Result<()> {
    let dir = place.dir();
    git(&dir, &["init", "-q"])?;
    place.write("a.txt", "one")?;
    place.write("dirty.txt", "clean")?;
    place.write(".gitignore", "*.log")?;
    git(&dir, &["add", "."])?;
    git(&dir, &["commit", "-qm", "first"])?;
    place.write("dirty.txt", "dirty")?;
    place.write("untracked.txt", "old")
}

fn found(agreement: &Agreement) -> (Found, String) {
    let item = looked(agreement).items.remove(0);
    (item.found, item.because.unwrap_or_default())
}

#[test]
fn what_counts_as_a_change() {
    type Change = fn(&Place) -> std::io::Result<()>;
    let cases: &[(&str, Change, Found)] = &[
        ("nothing", |_| Ok(()), Found::Missing),
        ("touched", |place| place.write("a.txt", "one"), Found::Missing),
        ("ignored", |place| place.write("x.log", "x"), Found::Missing),
        (
            "empty commit",
            |place| git(&place.dir(), &["commit", "-q", "--allow-empty", "-m", "x"]),
            Found::Missing,
        ),
        ("empty directory", |place| std::fs::create_dir(place.dir().join("empty")), Found::Missing),
        ("edited", |place| place.write("a.txt", "two"), Found::Produced),
        ("dirty edited again", |place| place.write("dirty.txt", "DIRTY"), Found::Produced),
        ("untracked edited again", |place| place.write("untracked.txt", "new"), Found::Produced),
        ("untracked", |place| place.write("deep/new file.txt", "x"), Found::Produced),
        ("deleted", |place| std::fs::remove_file(place.dir().join("a.txt")), Found::Produced),
        ("committed", |place| git(&place.dir(), &["commit", "-qam", "second"]), Found::Produced),
        ("link", |place| std::os::unix::fs::symlink("a.txt", place.dir().join("l")), Found::Produced),
    ];
    for (what, change, expected) in cases {
        let place = Place::new().unwrap();
        repository(&place).unwrap();
        let agreement = place.agree(PROMISE).unwrap();
        let restored = Agreement::restore(&agreement.snapshot().unwrap()).unwrap();
        change(&place).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (seen, because) = found(&restored);
        assert_eq!(seen, *expected, "{what}: {because}");
        assert!(!because.is_empty(), "{what}");
    }
}

#[test]
fn a_link_that_points_elsewhere_is_a_change() {
    let place = Place::new().unwrap();
    repository(&place).unwrap();
    let link = place.dir().join("link");
    std::os::unix::fs::symlink("a.txt", &link).unwrap();
    let agreement = place.agree(PROMISE).unwrap();
    assert_eq!(found(&agreement).0, Found::Missing);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("dirty.txt", &link).unwrap();
    assert_eq!(found(&agreement).0, Found::Produced);
}

#[test]
fn the_first_commit_counts_and_a_subdirectory_belongs_to_its_repository() {
    let place = Place::new().unwrap();
    git(&place.dir(), &["init", "-q"]).unwrap();
    place.write("sub/a.txt", "x").unwrap();
    let contract = callboard_delivery::Contract::parse(PROMISE, None).unwrap();
    let agreement = contract.agree(&place.dir().join("sub"), &crate::place::Real).unwrap();
    assert_eq!(found(&agreement).0, Found::Missing);
    git(&place.dir(), &["add", "."]).unwrap();
    git(&place.dir(), &["commit", "-qm", "first"]).unwrap();
    let (seen, because) = found(&agreement);
    assert_eq!(seen, Found::Produced);
    assert!(because.starts_with("HEAD went from nothing to "), "{because}");
}

#[test]
fn without_a_repository_the_start_is_refused_and_a_lost_one_is_invalid() {
    let place = Place::new().unwrap();
    let error = place.agree(PROMISE).unwrap_err().to_string();
    assert!(
        error.contains("\"change\" promises a git diff") && error.contains("not a git repository"),
        "{error}"
    );
    repository(&place).unwrap();
    let agreement = place.agree(PROMISE).unwrap();
    std::fs::remove_dir_all(place.dir().join(".git")).unwrap();
    let (seen, because) = found(&agreement);
    assert!(seen == Found::Invalid && because.contains("not a git repository"), "{because}");
}
