//! Somebody swaps a directory for a link to the outside while the verification goes on.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callboard_delivery::{Root, Way};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::place::{Place, looked, secret_hash};

const RACE: Duration = Duration::from_secs(2);

#[test]
fn a_swapped_link_never_leads_to_the_secret() {
    let place = Place::new().unwrap();
    let dir = place.dir();
    place.write("swap/ok.txt", "inside").unwrap();
    place.write("file.txt", "inside").unwrap();
    std::os::unix::fs::symlink("../outside", dir.join("other")).unwrap();
    std::os::unix::fs::symlink("../outside/ok.txt", dir.join("other.txt")).unwrap();
    let agreement = place
        .agree("artifacts: [{path: swap/ok.txt}, {path: file.txt}, {glob: '**/*.txt'}, {glob: 'swap/*'}]")
        .unwrap();
    let done = AtomicBool::new(false);
    let (mut kept, mut refused) = (0_u64, 0_u64);
    let until = Instant::now() + RACE;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The bound is for a test that fails: the scope waits for this thread.
            while !done.load(Ordering::Relaxed) && Instant::now() < until + RACE {
                for (one, other) in [("swap", "other"), ("file.txt", "other.txt")] {
                    renameat_with(CWD, dir.join(one), CWD, dir.join(other), RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let roots = [Way::OneCall, Way::Components]
            .map(|way| Root::open_by(&agreement.dir, way).unwrap_or_else(|refused| panic!("{refused}")));
        while Instant::now() < until {
            let found = looked(&agreement);
            for file in found.items.iter().flat_map(|item| &item.files) {
                assert_ne!(file.blake3.as_deref(), Some(secret_hash().as_str()), "{file:?}");
            }
            for (root, path) in roots.iter().flat_map(|root| [(root, "swap/ok.txt"), (root, "file.txt")]) {
                let Ok(mut opened) = root.file(Path::new(path)) else {
                    refused += 1;
                    continue;
                };
                let mut text = String::new();
                opened.file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                kept += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(kept > 0 && refused > 0, "both sides of the race were seen: {kept} inside, {refused} refused");
}
