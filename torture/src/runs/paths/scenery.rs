//! An artifact directory with everything in it that is not what it seems, and a secret beside it.

use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::Result;
use callboard_delivery::{Agreement, Contract};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::Nothing;

/// What every honest file holds.
pub(super) const INSIDE: &[u8] = b"inside";
/// What the files outside hold.
const OUTSIDE: &[u8] = b"outside";
/// Somebody who is not us.
const STRANGER: u32 = 65_534;

/// `artifacts/` and `outside/`, gone afterwards.
pub(super) struct Scenery {
    temp: TempDir,
    /// Keeps a socket in the directory.
    _socket: UnixListener,
}

impl Scenery {
    /// Honest files, some with strange names.
    pub(super) const HONEST: &[&str] =
        &["ok.txt", "sub/ok.txt", "sub/deep/ok.txt", "...", "..%2f", "%2e%2e", "..\\", "．．", ".. ", "-rf"];
    /// Everything else.
    pub(super) const TRAPS: &[&str] = &[
        "link",
        "absolute",
        "linkdir",
        "up",
        "magic",
        "loop",
        "sub/chain",
        "fifo",
        "sock",
        "device",
        "hard",
    ];
    /// What `to_swap` lets change places.
    pub(super) const SWAPPED: [&str; 2] = ["swap/ok.txt", "file.txt"];

    pub(super) fn new() -> Result<Self> {
        let temp = tempfile::Builder::new().prefix("callboard-torture-").tempdir()?;
        let (dir, outside) = (temp.path().join("artifacts"), temp.path().join("outside"));
        std::fs::create_dir_all(dir.join("sub/deep"))?;
        std::fs::create_dir(&outside)?;
        for name in Self::HONEST {
            std::fs::write(dir.join(name), INSIDE)?;
        }
        for name in ["ok.txt", "secret.txt", "foreign.txt"] {
            std::fs::write(outside.join(name), OUTSIDE)?;
        }
        symlink("../outside/secret.txt", dir.join("link"))?;
        symlink(outside.join("secret.txt"), dir.join("absolute"))?;
        symlink("../outside", dir.join("linkdir"))?;
        symlink("..", dir.join("up"))?;
        symlink("/proc/self/root", dir.join("magic"))?;
        symlink("loop", dir.join("loop"))?;
        symlink("../linkdir", dir.join("sub/chain"))?;
        special(&dir, &outside)?;
        let socket = UnixListener::bind(dir.join("sock"))?;
        Ok(Self { temp, _socket: socket })
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.temp.path().join("artifacts")
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    /// Adds what changes places, and promises it in every way.
    pub(super) fn to_swap(&self) -> Result<Agreement> {
        let dir = self.dir();
        std::fs::create_dir(dir.join("swap"))?;
        for name in Self::SWAPPED {
            std::fs::write(dir.join(name), INSIDE)?;
        }
        symlink("../outside", dir.join("swapped"))?;
        symlink("../outside/ok.txt", dir.join("swapped.txt"))?;
        let promises = ["swap/ok.txt", "file.txt", "swap/*", "**/*.txt"].map(str::to_owned);
        Ok(Contract::expecting(&promises)?.agree(&dir, &Nothing)?)
    }
}

/// A fifo, and what only root can make: a device and a hard link to a stranger's file.
fn special(dir: &Path, outside: &Path) -> Result<()> {
    rustix::fs::mknodat(CWD, dir.join("fifo"), FileType::Fifo, Mode::RWXU, 0)?;
    let zero = rustix::fs::makedev(1, 5);
    if rustix::fs::mknodat(CWD, dir.join("device"), FileType::CharacterDevice, Mode::RWXU, zero).is_err() {
        symlink("/dev/zero", dir.join("device"))?;
    }
    if chown(outside.join("foreign.txt"), Some(STRANGER), None).is_ok() {
        std::fs::hard_link(outside.join("foreign.txt"), dir.join("hard"))?;
    }
    Ok(())
}
