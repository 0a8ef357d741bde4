//! A terminal at which a run is started, and the keys of a person.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A program at a terminal; everything it writes is read, so that it never waits for its reader.
pub(crate) struct Screen {
    keys: File,
    pub(crate) child: Child,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    /// Starts the command at a terminal of its own; its environment and directory are those of the command.
    #[expect(clippy::disallowed_methods, reason = "the test types while the program runs, and waits for it")]
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        tcsetwinsize(&ours, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let child = command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs).spawn()?;
        let keys = File::from(ours);
        let said = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, kept, mut answers) = (keys.try_clone()?, Arc::clone(&said), keys.try_clone()?);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the last process has left the terminal.
            while let Ok(count) = screen.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                // A terminal tells where its cursor is when it is asked.
                if bytes[..count].windows(4).any(|window| window == b"\x1b[6n") {
                    drop(answers.write_all(b"\x1b[1;1R"));
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..count]);
            }
        });
        Ok(Self { keys, child, said })
    }

    pub(crate) fn type_in(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Everything that was written so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}
