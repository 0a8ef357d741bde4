//! Names that try to leave: thousands of them, and nothing outside is ever opened.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use callboard_delivery::{Contract, Root, Way};
use rustix::fs::{CWD, FileType, Mode};

use crate::place::{Place, Real, looked, secret_hash};

/// Everything that can stand in a directory and is not what it seems. Gives back what holds the socket.
fn furnish(place: &Place) -> std::io::Result<UnixListener> {
    let (dir, outside) = (place.dir(), place.outside());
    for name in ["ok.txt", "sub/ok.txt", "...", "..%2f", "%2e%2e", "..\\", "．．", "sub/..;", ".. "] {
        place.write(name, "inside")?;
    }
    symlink("../outside/secret.txt", dir.join("link"))?;
    symlink(outside.join("secret.txt"), dir.join("absolute"))?;
    symlink("../outside", dir.join("linkdir"))?;
    symlink("..", dir.join("up"))?;
    symlink("/proc/self/root", dir.join("magic"))?;
    symlink("loop", dir.join("loop"))?;
    symlink("../linkdir", dir.join("sub/chain"))?;
    rustix::fs::mknodat(CWD, dir.join("fifo"), FileType::Fifo, Mode::RWXU, 0)?;
    // Only root may make a device, or give a file away.
    let null = rustix::fs::makedev(1, 3);
    let device = rustix::fs::mknodat(CWD, dir.join("null"), FileType::CharacterDevice, Mode::RWXU, null);
    if device.is_err() {
        symlink("/dev/null", dir.join("null"))?;
    }
    if chown(outside.join("ok.txt"), Some(65_534), None).is_ok() {
        std::fs::hard_link(outside.join("ok.txt"), dir.join("hard"))?;
    }
    UnixListener::bind(dir.join("sock"))
}

fn names(outside: &Path) -> Vec<String> {
    let long = "x".repeat(300);
    let outside = outside.to_string_lossy().into_owned();
    let parts = [
        "..",
        "...",
        "..%2f",
        "%2e%2e",
        "..\\",
        "．．",
        "..;",
        ".. ",
        "..\0",
        "",
        ".",
        "link",
        "linkdir",
        "absolute",
        "up",
        "magic",
        "loop",
        "sub",
        "chain",
        "fifo",
        "sock",
        "null",
        "hard",
        "ok.txt",
        "secret.txt",
        "outside",
        "\u{202e}",
        long.as_str(),
        outside.as_str(),
        "%00",
        "\n",
        "c0\u{fffd}",
    ];
    let mut names = BTreeSet::new();
    for one in parts {
        for two in parts {
            for three in ["", "..", "ok.txt", "secret.txt", "link", "linkdir", "outside/secret.txt"] {
                names.insert(format!("{one}/{two}/{three}"));
                names.insert(format!("{one}/{two}").trim_end_matches('/').to_owned());
                names.insert(format!("/{one}/{three}"));
            }
        }
    }
    names.insert("../".repeat(1_400) + "etc/passwd");
    names.into_iter().collect()
}

#[test]
fn no_hostile_name_opens_anything_outside() {
    let place = Place::new().unwrap();
    let _listener = furnish(&place).unwrap();
    let names = names(&place.outside());
    assert!(names.len() >= 5_000, "{}", names.len());
    let dir = place.dir().canonicalize().unwrap();
    let mut opened_count = 0;
    for way in [Way::OneCall, Way::Components] {
        let root = Root::open_by(&dir, way).unwrap();
        for name in &names {
            if let Ok(mut opened) = root.file(Path::new(OsStr::from_bytes(name.as_bytes()))) {
                let mut text = String::new();
                opened.file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside", "{name:?} {way:?}");
                opened_count += 1;
            }
        }
    }
    assert!(opened_count > 0, "the honest files among them are found");
}

#[test]
fn no_hostile_name_is_verified_as_anything_outside() {
    let place = Place::new().unwrap();
    let _listener = furnish(&place).unwrap();
    let (mut agreed, mut found) = (0, 0);
    let all = names(&place.outside());
    for some in all.chunks(100) {
        let mut sound = Contract::default();
        for name in some {
            let Ok(one) = Contract::expecting(&[name.clone(), format!("{name}*")]) else { continue };
            agreed += 1;
            for (number, mut promise) in one.artifacts.into_iter().enumerate() {
                promise.id = format!("{agreed}-{number}");
                // What lies there was written by the run.
                promise.existing = true;
                sound.artifacts.push(promise);
            }
        }
        let verification = looked(&sound.agree(&place.dir(), &Real).unwrap());
        let text = serde_json::to_string(&verification).unwrap();
        assert!(!text.contains(&secret_hash()), "{text}");
        found += verification.produced.len();
    }
    assert!(agreed > 500 && found > 10, "{agreed} agreed, {found} found");
}

#[test]
fn each_thing_that_is_no_file_is_named() {
    let place = Place::new().unwrap();
    let _listener = furnish(&place).unwrap();
    for (name, because) in [
        ("fifo", "is a fifo"),
        ("sock", "is a socket"),
        ("null", "is a device"),
        ("sub", "is a directory"),
        ("link", "symbolic link"),
        ("absolute", "symbolic link"),
        ("linkdir/secret.txt", "symbolic link"),
        ("sub/chain/secret.txt", "symbolic link"),
        ("magic/etc/passwd", "symbolic link"),
        ("loop", "symbolic link"),
        ("hard", "hard link to a file of another user"),
    ] {
        let is_root = place.dir().join("hard").exists();
        if !is_root && matches!(name, "null" | "hard") {
            continue;
        }
        for way in [Way::OneCall, Way::Components] {
            let root = Root::open_by(&place.dir().canonicalize().unwrap(), way).unwrap();
            let refused = root.file(Path::new(name)).unwrap_err().to_string();
            assert!(refused.contains(because), "{name} {way:?}: {refused}");
        }
    }
}

#[test]
fn a_hard_link_of_our_own_is_a_file() {
    let place = Place::new().unwrap();
    place.write("built", "x").unwrap();
    std::fs::hard_link(place.dir().join("built"), place.dir().join("copy")).unwrap();
    let item = place.look("{path: copy}").unwrap();
    assert_eq!(item.matched, 1, "build tools link what they made: {item:?}");
}
