//! The machine itself as the world: the real clock, the supervisor and the file system.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callboard_kernel::Moment;
use callboard_kernel::health::ProcessIdentity;
use callboard_notify::{Note, Webhook};
use callboard_supervisor::private_files::open_plain;
use callboard_supervisor::process::Ended;
use callboard_supervisor::sandbox::Walls;
use callboard_supervisor::{
    Containment, End, Identity, Observer, Prepared, Running, Signals, Spec, StartError, process,
};
use rustix::fs::FallocateFlags;

use super::owner::this_uid;
use super::process_table::{Host, identity};
use crate::world::{Job, PreparedCommand, Room, RunningCommand, World};

/// The monotonic clock of this machine, for threads that no simulation starts: it makes the steps of services itself, and nobody
/// looks at its board.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the machine that everybody else reaches through `World`"
)]
pub(crate) fn monotonic_now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the machine that everybody else reaches through `World`"
)]
impl World for Host {
    fn instant(&self) -> Instant {
        monotonic_now()
    }

    fn sleep(&self, span: Duration) {
        std::thread::sleep(span);
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }

    fn each(&self, jobs: Vec<Job<'_>>) {
        std::thread::scope(|scope| {
            let running: Vec<_> = jobs.into_iter().map(|job| scope.spawn(job)).collect();
            for thread in running {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }

    fn this(&self) -> io::Result<Identity> {
        process::this()
    }

    fn markers_around(&self) -> Vec<String> {
        process::markers_around()
    }

    fn signals(&self) -> io::Result<Option<Signals>> {
        Signals::take().map(Some)
    }

    fn prepare(&self, spec: Spec) -> Result<Box<dyn PreparedCommand>, StartError> {
        callboard_supervisor::prepare(spec).map(|prepared| Box::new(prepared) as Box<dyn PreparedCommand>)
    }

    fn end_marked(&self, marker: &str, command: Option<&ProcessIdentity>, grace: Duration) -> Ended {
        process::end_all(marker, command.map(identity).as_ref(), grace)
    }

    fn find_marked(&self, marker: &str) -> Vec<Identity> {
        process::find_marked(marker)
    }

    fn reserve(&self, path: &Path, bytes: u64) -> io::Result<Box<dyn Room>> {
        private_dir(path.parent())?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        Ok(Box::new(Reserved { file, path: path.to_owned() }))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        private_dir(path.parent())?;
        let fresh = path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)?;
        if let Some(dir) = path.parent() {
            File::open(dir)?.sync_all()?;
        }
        Ok(path.to_owned())
    }

    fn read_left(&self, path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
        read_left(path, bytes_max)
    }

    fn remove(&self, path: &Path) {
        std::fs::remove_file(path).ok();
    }

    fn call(&self, webhook: &Webhook, id: &str, body: Vec<u8>, now: Moment) -> Result<(), String> {
        callboard_notify::send(webhook, id, body, now)
    }

    fn show(&self, note: &Note<'_>) -> Result<(), String> {
        callboard_notify::show(note)
    }
}

/// A plain file that this user left. What another user put there is not for us to read, or to remove.
pub(crate) fn read_left(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_plain(path).ok()?;
    if file.metadata().ok()?.uid() != this_uid() {
        return None;
    }
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn private_dir(dir: Option<&Path>) -> io::Result<()> {
    let Some(dir) = dir else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// A file whose room was taken.
struct Reserved {
    file: File,
    path: PathBuf,
}

impl Room for Reserved {
    /// The directory may have been moved meanwhile, and the file with it.
    fn fill(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        if self.file.metadata()?.nlink() == 0 {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        self.file.write_all_at(bytes, 0)?;
        self.file.set_len(bytes.len() as u64)?;
        self.file.sync_all()?;
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file));
        Ok(std::fs::read_link(link).unwrap_or_else(|_| self.path.clone()))
    }
}

impl PreparedCommand for Prepared {
    fn start(self: Box<Self>) -> Result<Box<dyn RunningCommand>, StartError> {
        Prepared::start(*self).map(|running| Box::new(running) as Box<dyn RunningCommand>)
    }
}

impl RunningCommand for Running {
    fn identity(&self) -> &Identity {
        Self::identity(self)
    }

    fn containment(&self) -> &Containment {
        Self::containment(self)
    }

    fn walls(&self) -> Option<&Walls> {
        Self::walls(self)
    }

    fn is_starting(&self) -> bool {
        Self::is_starting(self)
    }

    fn watch(
        self: Box<Self>,
        signals: Option<Signals>,
        observer: &mut dyn Observer,
    ) -> (End, Option<Signals>) {
        let running = match signals {
            Some(signals) => self.listen(signals),
            None => *self,
        };
        running.watch_and_return_signals(observer)
    }
}
